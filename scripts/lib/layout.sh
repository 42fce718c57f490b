# shellcheck shell=bash
# The files of a stack: folders, ports, the password, the lock.

# The names of the ports, in the order of their numbers. `shop` and `ops` are the program's.
PORT_NAMES=(
    nginx shop ops redis replica postgres
    rabbitmq rabbitmq_management rabbitmq_prometheus rabbitmq_dist rabbitmq_epmd
    shard0 shard1 shard2 shard0_bus shard1_bus shard2_bus
    memcached
    watched0 watched1 watched2 sentinel0 sentinel1 sentinel2
    spare0 spare1 spare2 spare0_bus spare1_bus spare2_bus
    redis_tls replica_tls rabbitmq_tls smtp
    providers
)

install_packages() {
    install_missing redis-server=redis-server redis-cli=redis-tools "$RABBITMQ_SERVER=rabbitmq-server" \
        "/usr/lib/postgresql/*/bin/postgres=postgresql" nginx=nginx openssl=openssl \
        ps=procps setsid=util-linux setpriv=util-linux flock=util-linux
}

create_stack() {
    local service
    mkdir -p "$STACK"/{run,log,data/pages}
    for service in "${SERVICES[@]}" "${ON_DEMAND[@]}"; do
        [[ -e $STACK/$service ]] || mkdir "$STACK/$service"
    done
    [[ -s $STACK/password ]] || (umask 077 && random_password >"$STACK/password")
    if [[ -s $STACK/ports ]]; then
        add_new_ports
    else
        choose_ports
    fi
    create_certificates
}

# Whether the services have ports with TLS only, which `up --tls` sets.
is_tls_only() {
    [[ -e $STACK/tls/only ]]
}

# use_tls_only: gives the services only ports with TLS from now on. Stops services that run with plain ports.
use_tls_only() {
    ! is_tls_only || return 0
    down >/dev/null
    touch "$STACK/tls/only"
}

# port_of SERVICE: the port that clients use.
port_of() {
    if is_tls_only && [[ -n ${PORT[$1_tls]:-} ]]; then
        echo "${PORT[$1_tls]}"
    else
        echo "${PORT[$1]}"
    fi
}

random_password() {
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

password() {
    cat "$STACK/password"
}

# Ports are below the kernel's range for outgoing connections, in a block of 40 that is derived from the folder's name:
# the same folder gets the same ports again, and different folders seldom begin their search at the same block. One
# stack chooses at a time, and a block is its own from then on, since another may choose before its services listen.
choose_ports() {
    local first=20000 blocks=300 taken=/tmp/seckill-ports-$UID hash i base choosing
    mkdir -p "$taken"
    exec {choosing}>"$taken/lock"
    flock "$choosing"
    hash=$(cksum <<<"$STACK")
    for ((i = 0; i < blocks; i++)); do
        base=$((first + 40 * ((${hash%% *} + i) % blocks)))
        if ! is_taken "$taken/$base" "$base" && block_is_free "$base"; then
            ln -sfn "$STACK" "$taken/$base"
            write_ports "$base"
            exec {choosing}>&-
            return
        fi
    done
    die "no 40 free ports in a row between $first and $((first + 40 * blocks))"
}

# is_taken LINK BASE: whether LINK leads to a stack, not purged since, whose ports begin at BASE.
is_taken() {
    grep -qsx "${PORT_NAMES[0]}=$2" "$1/ports"
}

block_is_free() {
    local hex
    hex=$(printf '%04X|' $(seq "$1" $(($1 + 39))))
    ! grep -qsE "^ *[0-9]+: [0-9A-F]+:(${hex%|}) [0-9A-F]+:[0-9A-F]+ 0A " /proc/net/tcp /proc/net/tcp6
}

write_ports() {
    local i
    for i in "${!PORT_NAMES[@]}"; do
        printf '%s=%d\n' "${PORT_NAMES[i]}" $(($1 + i))
    done >"$STACK/ports.new"
    mv "$STACK/ports.new" "$STACK/ports"
}

# add_new_ports: adds the last names, which a stack of an earlier version lacks.
add_new_ports() {
    local first
    first=$(head -n 1 "$STACK/ports")
    (($(wc -l <"$STACK/ports") == ${#PORT_NAMES[@]})) || write_ports "${first#*=}"
}

read_ports() {
    [[ -s $STACK/ports ]] || die "no stack in $STACK yet; first: scripts/stack up"
    local name port
    while IFS='=' read -r name port; do
        # shellcheck disable=SC2034 # the services read it
        PORT["$name"]=$port
    done <"$STACK/ports"
    # The names that a stack of an earlier version lacks.
    local i
    for i in "${!PORT_NAMES[@]}"; do
        : "${PORT["${PORT_NAMES[i]}"]:=$((PORT[nginx] + i))}"
    done
}

# One command changes a stack at a time. Daemons do not inherit the lock (see `launch`).
lock() {
    mkdir -p "$STACK" || die "cannot create $STACK"
    exec {LOCK}>"$STACK/lock"
    flock -w 180 "$LOCK" || die "another scripts/stack has held the lock of $STACK for three minutes"
}
