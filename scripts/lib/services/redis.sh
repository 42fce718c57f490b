# shellcheck shell=bash
# Redis: the master, which holds the stock, and one replica, which the gate reads.

redis_start() {
    set_redis_tls
    launch redis "$(home_of redis)" redis-server "$REPO/docker/redis.conf" --bind 127.0.0.1 --port "${PORT[redis]}" \
        --tls-port "${PORT[redis_tls]}" "${REDIS_TLS[@]}"
}

# It follows the master by TLS.
replica_start() {
    set_redis_tls
    launch replica "$(home_of replica)" redis-server "$REPO/docker/redis.conf" --bind 127.0.0.1 \
        --port "${PORT[replica]}" --tls-port "${PORT[replica_tls]}" "${REDIS_TLS[@]}" \
        --tls-replication yes --replicaof 127.0.0.1 "${PORT[redis_tls]}"
}

# The certificates of both. On the ports with TLS clients need one too.
set_redis_tls() {
    local tls=$STACK/tls
    REDIS_TLS=(--tls-cert-file "$tls/server.pem" --tls-key-file "$tls/server.key" --tls-ca-cert-file "$tls/ca.pem"
        --tls-auth-clients yes)
}

redis_ready() {
    redis_answers redis
}

# A replica without its master serves its last data, so it counts as up.
replica_ready() {
    redis_answers replica || return 1
    [[ $(ask_redis replica info replication) == *master_link_status:up* ]] || ! pid_of redis >/dev/null
}

# redis_answers SERVICE: whether it has loaded its data, and is the process that was started here.
redis_answers() {
    [[ $(ask_redis "$1" ping) == PONG && $(ask_redis "$1" info server) == *process_id:"$(pid_of "$1")"$'\r'* ]]
}

# ask_redis SERVICE COMMAND…: sends a command; no answer within 3 s counts as down.
ask_redis() {
    timeout 3 redis-cli -p "${PORT[$1]}" "${@:2}" 2>/dev/null
}

redis_stop() { end redis TERM; }
replica_stop() { end replica TERM; }
