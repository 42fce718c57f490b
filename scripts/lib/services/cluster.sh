# shellcheck shell=bash
# A Redis Cluster of three masters with a third of the slots each, for `scripts/stack up --cluster`.

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
        until [[ $(ask_redis "$shard" cluster info) == *cluster_state:ok*cluster_known_nodes:3* ]]; do
            ((SECONDS < deadline)) || { complain "the cluster does not become ok" && return 1; }
            sleep 0.1
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
