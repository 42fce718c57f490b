# shellcheck shell=bash
# A Redis Cluster of three masters, for `scripts/stack up --cluster`. Each has a third of the slots.

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

# join_shards: makes one cluster of them, unless they are one already, and waits until each knows it.
join_shards() {
    local shard deadline=$((SECONDS + 30)) members=()
    for shard in "${SHARDS[@]}"; do
        members+=("127.0.0.1:${PORT[$shard]}")
    done
    if [[ $(ask_redis shard0 cluster info) != *cluster_slots_assigned:16384* ]]; then
        redis-cli --cluster create "${members[@]}" --cluster-yes >"$STACK/log/cluster.log" 2>&1 ||
            { complain "no cluster can be made; see $STACK/log/cluster.log" && return 1; }
    fi
    for shard in "${SHARDS[@]}"; do
        until [[ $(ask_redis "$shard" cluster info) == *cluster_state:ok*cluster_known_nodes:3* ]]; do
            ((SECONDS < deadline)) || { complain "the cluster does not come together" && return 1; }
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
