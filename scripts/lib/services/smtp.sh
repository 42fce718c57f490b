# shellcheck shell=bash
# A mail server that stores every message as a file in smtp/mail and sends none.

smtp_start() {
    install_missing python3=python3
    local tls=()
    ! is_tls_only || tls=("$STACK/tls/server.pem" "$STACK/tls/server.key")
    launch smtp "$(home_of smtp)" python3 "$REPO/scripts/lib/smtp_sink.py" "${PORT[smtp]}" "$(home_of smtp)/mail" "${tls[@]}"
}

smtp_ready() {
    local answered
    answered=$(smtp_pid) && [[ $answered == "$(pid_of smtp)" ]]
}

# The pid of the sink that answers on the port.
smtp_pid() {
    if is_tls_only; then
        printf 'HELP\r\nQUIT\r\n' |
            timeout 3 openssl s_client -quiet -connect "127.0.0.1:${PORT[smtp]}" -CAfile "$STACK/tls/ca.pem" 2>/dev/null |
            sed -n 's/^214 \([0-9]*\).*/\1/p'
        return
    fi
    (
        exec 3<>"/dev/tcp/127.0.0.1/${PORT[smtp]}" || exit 1
        read -rt 3 -u 3 _
        printf 'HELP\r\n' >&3
        read -rt 3 -u 3 _ pid
        echo "${pid%$'\r'}"
    ) 2>/dev/null
}

smtp_stop() { end smtp TERM; }
