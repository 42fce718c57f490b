# shellcheck shell=bash
# Three Redis servers, of which one is the master at any time, and three Sentinels that watch them, for
# `scripts/stack up --sentinel`. They are apart from the services redis and replica, whose roles never change.
#
# Sentinel writes the present roles into the servers' and its own configuration files, so each has one in its folder.

SENTINEL_SERVICE=shop
# How long a master may be silent before the Sentinels replace it. Small machines stall for a second now and then.
SENTINEL_DOWN_AFTER_MS=2000

watched_start() {
    local conf
    conf=$(home_of "$1")/redis.conf
    if [[ ! -e $conf ]]; then
        {
            echo "include $REPO/docker/redis.conf"
            echo "bind 127.0.0.1"
            echo "port ${PORT[$1]}"
            echo "dir $(home_of "$1")"
            [[ $1 == watched0 ]] || echo "replicaof 127.0.0.1 ${PORT[watched0]}"
        } >"$conf"
    fi
    launch "$1" "$(home_of "$1")" redis-server "$conf"
}

sentinel_start() {
    local conf
    conf=$(home_of "$1")/sentinel.conf
    if [[ ! -e $conf ]]; then
        cat >"$conf" <<END
bind 127.0.0.1
port ${PORT[$1]}
dir $(home_of "$1")
sentinel monitor $SENTINEL_SERVICE 127.0.0.1 ${PORT[watched0]} 2
sentinel down-after-milliseconds $SENTINEL_SERVICE $SENTINEL_DOWN_AFTER_MS
sentinel failover-timeout $SENTINEL_SERVICE 10000
END
    fi
    launch "$1" "$(home_of "$1")" redis-server "$conf" --sentinel
}

watched0_start() { watched_start watched0; }
watched1_start() { watched_start watched1; }
watched2_start() { watched_start watched2; }
watched0_ready() { redis_answers watched0; }
watched1_ready() { redis_answers watched1; }
watched2_ready() { redis_answers watched2; }
watched0_stop() { end watched0 TERM; }
watched1_stop() { end watched1 TERM; }
watched2_stop() { end watched2 TERM; }

sentinel0_start() { sentinel_start sentinel0; }
sentinel1_start() { sentinel_start sentinel1; }
sentinel2_start() { sentinel_start sentinel2; }
sentinel0_ready() { redis_answers sentinel0; }
sentinel1_ready() { redis_answers sentinel1; }
sentinel2_ready() { redis_answers sentinel2; }
sentinel0_stop() { end sentinel0 TERM; }
sentinel1_stop() { end sentinel1 TERM; }
sentinel2_stop() { end sentinel2 TERM; }

# join_sentinels: waits until every Sentinel knows both replicas and both other Sentinels, and the replicas are linked.
join_sentinels() {
    local sentinel state deadline=$((SECONDS + 60))
    for sentinel in "${SENTINELS[@]}"; do
        until state=$(ask_redis "$sentinel" info sentinel) &&
            [[ $state == *status=ok*slaves=2,sentinels=3* ]] && replicas_linked "$sentinel"; do
            ((SECONDS < deadline)) || { complain "the Sentinels do not find each other: $state" && return 1; }
            sleep 0.2
        done
    done
}

# replicas_linked SENTINEL: whether it knows both replicas as up and linked to the master.
replicas_linked() {
    local replicas
    replicas=$(ask_redis "$1" sentinel replicas "$SENTINEL_SERVICE")
    [[ $(grep -A1 '^master-link-status$' <<<"$replicas" | grep -c '^ok$') == 2 && $replicas != *s_down* ]]
}

sentinel_url() {
    local sentinel hosts=()
    for sentinel in "${SENTINELS[@]}"; do
        hosts+=("127.0.0.1:${PORT[$sentinel]}")
    done
    (IFS=, && echo "redis+sentinel://${hosts[*]}/$SENTINEL_SERVICE")
}
