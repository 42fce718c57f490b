# shellcheck shell=bash
# RabbitMQ with its management and prometheus plugins, and its own epmd (Erlang's name service, which would otherwise be
# shared by the whole machine and outlive the stack).

# The server's own script, because the wrapper in PATH requires root and the system's folders.
RABBITMQ_SERVER=/usr/lib/rabbitmq/bin/rabbitmq-server

rabbitmq_start() {
    write_rabbitmq_config
    set_rabbitmq_env
    start_epmd
    local home
    home=$(home_of rabbitmq)
    launch rabbitmq "$home" env -i PATH="$PATH" LC_ALL="$LC_ALL" "${RABBITMQ_ENV[@]}" "$RABBITMQ_SERVER"
}

start_epmd() {
    pid_of epmd >/dev/null ||
        launch epmd "$(home_of rabbitmq)" epmd -address 127.0.0.1 -port "${PORT[rabbitmq_epmd]}"
    local deadline=$((SECONDS + 10))
    until connects "${PORT[rabbitmq_epmd]}"; do
        ((SECONDS < deadline)) || die "epmd does not answer; see $(log_of epmd)"
        sleep 0.05
    done
}

write_rabbitmq_config() {
    local home
    home=$(home_of rabbitmq)
    echo '[rabbitmq_management,rabbitmq_prometheus].' >"$home/enabled_plugins"
    (umask 077 && cat "$REPO/docker/rabbitmq.conf" - >"$home/rabbitmq.conf") <<END
$(is_tls_only && echo "listeners.tcp = none" || echo "listeners.tcp.1 = 127.0.0.1:${PORT[rabbitmq]}")
listeners.ssl.1 = 127.0.0.1:${PORT[rabbitmq_tls]}
ssl_options.cacertfile = $STACK/tls/ca.pem
ssl_options.certfile = $STACK/tls/server.pem
ssl_options.keyfile = $STACK/tls/server.key
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
management.tcp.ip = 127.0.0.1
management.tcp.port = ${PORT[rabbitmq_management]}
prometheus.tcp.ip = 127.0.0.1
prometheus.tcp.port = ${PORT[rabbitmq_prometheus]}
default_pass = $(password)
END
}

# The environment of the server and its tools.
set_rabbitmq_env() {
    local home
    home=$(home_of rabbitmq)
    # RUNNING_UNDER_SYSTEMD makes the start script exec the server instead of supervising it, so that the recorded pid
    # is the server's and no script cleans up after a kill -9.
    RABBITMQ_ENV=(
        HOME="$home"
        RUNNING_UNDER_SYSTEMD=true
        RABBITMQ_NODENAME=seckill@localhost
        RABBITMQ_CONF_ENV_FILE="$home/none"
        RABBITMQ_CONFIG_FILE="$home/rabbitmq.conf"
        RABBITMQ_CONFIG_FILES="$home/none"
        RABBITMQ_ADVANCED_CONFIG_FILE="$home/none.config"
        RABBITMQ_ENABLED_PLUGINS_FILE="$home/enabled_plugins"
        RABBITMQ_MNESIA_BASE="$home/mnesia"
        RABBITMQ_LOG_BASE="$STACK/log"
        RABBITMQ_PID_FILE="$home/pid"
        RABBITMQ_DIST_PORT="${PORT[rabbitmq_dist]}"
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"
        ERL_EPMD_PORT="${PORT[rabbitmq_epmd]}"
        ERL_EPMD_ADDRESS=127.0.0.1
    )
}

# RabbitMQ's own tool, for this stack's broker.
rabbitmqctl() {
    set_rabbitmq_env
    env -i PATH="$PATH" LC_ALL="$LC_ALL" "${RABBITMQ_ENV[@]}" "${RABBITMQ_SERVER%-server}ctl" "$@"
}

rabbitmq_ready() {
    local check
    for check in "port-listener/$(port_of rabbitmq)" virtual-hosts; do
        [[ $(rabbitmq_status "/api/health/checks/$check") == 200 ]] || return 1
    done
}

rabbitmq_status() {
    http_status "${PORT[rabbitmq_management]}" "$1" "seckill:$(password)"
}

rabbitmq_stop() {
    end rabbitmq TERM
    end epmd TERM
}
