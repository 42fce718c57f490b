# shellcheck shell=bash
# Redis: the master, which holds the stock, and one replica, which the gate reads.

redis_start() {
    set_redis_tls
    launch redis "$(home_of redis)" redis-server "$REPO/docker/redis.conf" --bind 127.0.0.1 \
        --port "$(plain_port_of redis)" --tls-port "${PORT[redis_tls]}" "${REDIS_TLS[@]}"
}

# The replica follows the master by TLS.
replica_start() {
    set_redis_tls
    launch replica "$(home_of replica)" redis-server "$REPO/docker/redis.conf" --bind 127.0.0.1 \
        --port "$(plain_port_of replica)" --tls-port "${PORT[replica_tls]}" "${REDIS_TLS[@]}" \
        --tls-replication yes --replicaof 127.0.0.1 "${PORT[redis_tls]}"
}

# Sets the certificates of master and replica. Clients need a certificate too on the ports with TLS.
set_redis_tls() {
    local tls=$STACK/tls
    REDIS_TLS=(--tls-cert-file "$tls/server.pem" --tls-key-file "$tls/server.key" --tls-ca-cert-file "$tls/ca.pem"
        --tls-auth-clients yes)
}

# plain_port_of SERVICE: the plain port; 0, which means none, on a stack with TLS only.
plain_port_of() {
    if is_tls_only; then echo 0; else echo "${PORT[$1]}"; fi
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
    local tls=()
    ! is_tls_only || [[ -z ${PORT[$1_tls]:-} ]] ||
        tls=(--tls --cacert "$STACK/tls/ca.pem" --cert "$STACK/tls/client.pem" --key "$STACK/tls/client.key")
    timeout 3 redis-cli "${tls[@]}" -p "$(port_of "$1")" "${@:2}" 2>/dev/null
}

redis_stop() { end redis TERM; }
replica_stop() { end replica TERM; }
