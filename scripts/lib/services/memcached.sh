# shellcheck shell=bash
# memcached, used only by the benchmark of strategies, not by the shop. Not part of `up`.

memcached_start() {
    install_missing memcached=memcached
    local user=()
    ((EUID != 0)) || user=(-u root) # it refuses to run as root without this
    launch memcached "$(home_of memcached)" memcached "${user[@]}" -l 127.0.0.1 -p "${PORT[memcached]}" -U 0 -c 2048 -m 256
}

memcached_ready() {
    local answered
    answered=$(memcached_pid) && [[ $answered == "$(pid_of memcached)" ]]
}

# The pid of the memcached that answers on the port.
memcached_pid() {
    (
        exec 3<>"/dev/tcp/127.0.0.1/${PORT[memcached]}" || exit 1
        printf 'stats\r\n' >&3
        while read -rt 3 -u 3 _ name value && [[ $name != pid ]]; do :; done
        echo "${value%$'\r'}"
    ) 2>/dev/null
}

memcached_stop() { end memcached TERM; }
