# shellcheck shell=bash
# Redis: the master, which decides, and one replica, where the gate reads.

redis_start() {
    launch redis "$(home_of redis)" redis-server "$REPO/docker/redis.conf" --bind 127.0.0.1 --port "${PORT[redis]}"
}

replica_start() {
    launch replica "$(home_of replica)" redis-server "$REPO/docker/redis.conf" --bind 127.0.0.1 \
        --port "${PORT[replica]}" --replicaof 127.0.0.1 "${PORT[redis]}" --appendonly no
}

redis_ready() {
    redis_answers redis
}

# A replica without its master serves what it last knew: that is up, too.
replica_ready() {
    redis_answers replica || return 1
    [[ $(ask_redis replica info replication) == *master_link_status:up* ]] || ! pid_of redis >/dev/null
}

# redis_answers SERVICE: it has loaded its data, and it is not a stranger on the same port.
redis_answers() {
    [[ $(ask_redis "$1" ping) == PONG && $(ask_redis "$1" info server) == *process_id:"$(pid_of "$1")"$'\r'* ]]
}

# ask_redis SERVICE COMMAND…: one that hangs counts as down.
ask_redis() {
    timeout 3 redis-cli -p "${PORT[$1]}" "${@:2}" 2>/dev/null
}

redis_stop() { end redis TERM; }
replica_stop() { end replica TERM; }
