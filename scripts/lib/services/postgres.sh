# shellcheck shell=bash
# PostgreSQL. It refuses to run as root, so under root it runs as the user postgres.

# postgres_bin: the folder of the newest version, or of the version that created the data.
postgres_bin() {
    local version='*'
    [[ ! -s $(home_of postgres)/data/PG_VERSION ]] || version=$(<"$(home_of postgres)/data/PG_VERSION")
    compgen -G "/usr/lib/postgresql/$version/bin" | sort -V | tail -n 1
}

postgres_start() {
    local home bin
    prepare_postgres_home
    home=$(home_of postgres)
    bin=$(postgres_bin)
    [[ -n $bin ]] || die "the data in $home was created by a PostgreSQL version that is not installed"
    [[ -d $home/data ]] || create_postgres_data "$bin" "$home" || return 1
    remove_stale_lock "$home/data"
    copy_postgres_certificates "$home"
    # With TLS only, a client that does not ask for it is refused.
    local kind=host
    ! is_tls_only || kind=hostssl
    echo "$kind all all 127.0.0.1/32 scram-sha-256" >"$home/pg_hba.conf"
    launch postgres "$home" "${AS_POSTGRES[@]}" "$bin/postgres" -D "$home/data" \
        -c listen_addresses=127.0.0.1 -c "port=${PORT[postgres]}" -c unix_socket_directories= \
        -c max_connections=600 -c shared_buffers=256MB -c log_timezone=UTC -c timezone=UTC \
        -c hba_file="$home/pg_hba.conf" -c ssl=on -c ssl_cert_file="$home/server.pem" -c ssl_key_file="$home/server.key" -c ssl_ca_file="$home/ca.pem"
}

# PostgreSQL refuses a key that belongs to another user.
copy_postgres_certificates() {
    local file
    for file in server.pem server.key ca.pem; do
        install -m 600 "$STACK/tls/$file" "$1/$file"
        ((EUID != 0)) || chown postgres: "$1/$file"
    done
}

# The user postgres must be able to enter every folder above its data. Where it cannot, as in a checkout under /root,
# the data is in /var/tmp behind a link.
prepare_postgres_home() {
    AS_POSTGRES=() # a prefix that becomes the command, without a process in between
    ((EUID == 0)) || return 0
    AS_POSTGRES=(setpriv --reuid=postgres --regid=postgres --init-groups)
    chown postgres: "$(home_of postgres)"
    if ! "${AS_POSTGRES[@]}" test -w "$(home_of postgres)"; then
        rmdir "$STACK/postgres" || die "the user postgres cannot enter $STACK/postgres"
        ln -s "$(mktemp -d /var/tmp/seckill-postgres-XXXXXX)" "$STACK/postgres"
        chown postgres: "$(home_of postgres)"
    fi
}

# Created under another name first, so that an interrupted initdb does not look like a database.
create_postgres_data() {
    local bin=$1 home=$2
    rm -rf "$home/data.new"
    (umask 077 && password >"$home/password")
    ((EUID != 0)) || chown postgres: "$home/password"
    "${AS_POSTGRES[@]}" "$bin/initdb" -D "$home/data.new" -U seckill --auth=scram-sha-256 \
        --pwfile="$home/password" --encoding=UTF8 --locale=C.UTF-8 --lc-collate=C --no-sync </dev/null >>"$(log_of postgres)" 2>&1 &&
        mv "$home/data.new" "$home/data" && rm "$home/password"
}

# After kill -9 the file postmaster.pid is left. PostgreSQL refuses to start if another process has that pid by now.
remove_stale_lock() {
    local pid
    [[ -s $1/postmaster.pid ]] || return 0
    read -r pid <"$1/postmaster.pid"
    [[ $(readlink "/proc/$pid/cwd") == "$1" ]] || rm -f "$1/postmaster.pid"
}

# Ready includes that the database exists; the first call after initdb creates it.
postgres_ready() {
    local found
    found=$(postgres_sql "SELECT count(*) FROM pg_database WHERE datname = 'seckill'") || return 1
    [[ $found == 1 ]] || postgres_sql 'CREATE DATABASE seckill' >/dev/null
}

postgres_sql() {
    # A server with TLS only refuses plain connections; then its certificate is checked too.
    PGSSLMODE=$(is_tls_only && echo verify-full || echo disable) PGSSLROOTCERT=$STACK/tls/ca.pem \
        PGPASSWORD=$(password) timeout 5 "$(postgres_bin)/psql" -XqAt -h 127.0.0.1 -p "${PORT[postgres]}" \
        -U seckill -d postgres -c "$1" 2>/dev/null
}

# INT is PostgreSQL's "fast" shutdown, which does not wait for clients to disconnect.
postgres_stop() { end postgres INT; }
