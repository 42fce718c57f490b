# shellcheck shell=bash
# A Redis Cluster of three masters with a third of the slots each, for `scripts/stack up --cluster`; with
# `--cluster-replicas` also a replica for each, which takes its place when it fails.

shard_start() {
    launch "$1" "$(home_of "$1")" redis-server "$REPO/docker/redis.conf" --bind 127.0.0.1 --port "${PORT[$1]}" \
        --cluster-enabled yes --cluster-port "${PORT[$1_bus]}" --cluster-config-file nodes.conf \
        --cluster-node-timeout 3000 --cluster-require-full-coverage no
}

shard0_start() { shard_start shard0; }
shard1_start() { shard_start shard1; }
shard2_start() { shard_start shard2; }
shard0_ready() { redis_answers shard0; }
shard1_ready() { redis_answers shard1; }
shard2_ready() { redis_answers shard2; }
shard0_stop() { end shard0 TERM; }
shard1_stop() { end shard1 TERM; }
shard2_stop() { end shard2 TERM; }

spare0_start() { shard_start spare0; }
spare1_start() { shard_start spare1; }
spare2_start() { shard_start spare2; }
spare0_ready() { redis_answers spare0; }
spare1_ready() { redis_answers spare1; }
spare2_ready() { redis_answers spare2; }
spare0_stop() { end spare0 TERM; }
spare1_stop() { end spare1 TERM; }
spare2_stop() { end spare2 TERM; }

# join_shards: creates the cluster unless it exists, and waits until every member reports it as ok.
join_shards() {
    local shard deadline=$((SECONDS + 30)) members=()
    for shard in "${SHARDS[@]}"; do
        members+=("127.0.0.1:${PORT[$shard]}")
    done
    if [[ $(ask_redis shard0 cluster info) != *cluster_slots_assigned:16384* ]]; then
        redis-cli --cluster create "${members[@]}" --cluster-yes >"$STACK/log/cluster.log" 2>&1 ||
            { complain "the cluster cannot be created; see $STACK/log/cluster.log" && return 1; }
    fi
    for shard in "${SHARDS[@]}"; do
        until [[ $(ask_redis "$shard" cluster info) == *cluster_state:ok*cluster_known_nodes:[36]* ]]; do
            ((SECONDS < deadline)) || { complain "the cluster does not become ok" && return 1; }
            sleep 0.1
        done
    done
}

# join_spares: makes each spare a replica of its shard, unless it belongs to the cluster already.
join_spares() {
    local n id deadline=$((SECONDS + 60))
    for n in 0 1 2; do
        if [[ $(ask_redis "spare$n" cluster info) != *cluster_known_nodes:[2-9]* ]]; then
            ask_redis "spare$n" cluster meet 127.0.0.1 "${PORT[shard$n]}" "${PORT[shard${n}_bus]}" >/dev/null
            id=$(ask_redis "shard$n" cluster myid)
            until [[ $(ask_redis "spare$n" cluster replicate "$id") == OK ]]; do
                ((SECONDS < deadline)) || { complain "spare$n does not join the cluster" && return 1; }
                sleep 0.2
            done
        fi
        # After a failover the spare is the master and the shard its replica.
        until [[ $(ask_redis "spare$n" info replication) == *role:master* ||
            $(ask_redis "spare$n" info replication) == *master_link_status:up* ]]; do
            ((SECONDS < deadline)) || { complain "spare$n does not follow its shard" && return 1; }
            sleep 0.2
        done
    done
}

cluster_url() {
    local shard urls=()
    for shard in "${SHARDS[@]}"; do
        urls+=("redis://127.0.0.1:${PORT[$shard]}/")
    done
    (IFS=, && echo "${urls[*]}")
}
