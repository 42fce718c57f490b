# shellcheck shell=bash
# Starting, finding and ending processes.
#
# A running process is recorded in run/NAME as its pid and the time it was born. The pid alone would not do: after a
# crash or a reboot another process may have it.

log_of() { echo "$STACK/log/$1.log"; }

# home_of SERVICE: its working folder, with links resolved.
home_of() { realpath -m "$STACK/$1"; }

# birth PID: when it started, in ticks since boot. Fails if it is gone or a zombie.
birth() {
    local stat fields
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    read -ra fields <<<"${stat##*) }"
    [[ ${fields[0]} != [ZX] ]] && echo "${fields[19]}"
}

# pid_of NAME: the pid, if it is alive and still the one that was started here.
pid_of() {
    local pid born
    [[ -s $STACK/run/$1 ]] || return 1
    read -r pid born <"$STACK/run/$1"
    [[ $(birth "$pid") == "$born" ]] && echo "$pid"
}

# launch NAME FOLDER COMMAND…: starts a daemon that outlives this script and holds nothing of its caller: a session of
# its own, no terminal, no pipe, no lock. A test that reads this script's output to the end would hang otherwise.
launch() {
    local name=$1 folder=$2 self
    shift 2
    rm -f "$STACK/run/$name"
    (
        cd "$folder" || exit
        raise_file_limit
        exec </dev/null >>"$(log_of "$name")" 2>&1
        self=$BASHPID
        printf '%s %s\n' "$self" "$(birth "$self")" >"$STACK/run/$name"
        close_inherited_files
        exec setsid "$@"
    ) &
    until [[ -s $STACK/run/$name ]]; do sleep 0.01; done
}

close_inherited_files() {
    local file
    for file in "/proc/$BASHPID/fd"/*; do
        file=${file##*/}
        ((file <= 2)) || eval "exec $file>&-"
    done
}

# Enough for nginx under load; who is not root gets what is allowed. Unlimited is worse: Erlang walks through them all.
raise_file_limit() {
    local hard
    ulimit -n 65536 2>/dev/null && return
    hard=$(ulimit -Hn)
    ulimit -Sn "$hard"
}

# await_ready SERVICE SECONDS: until it answers. Fails at the deadline, or at once if its process has ended.
await_ready() {
    local deadline=$((SECONDS + $2))
    until "$1_ready"; do
        pid_of "$1" >/dev/null || return 1
        ((SECONDS < deadline)) || return 1
        sleep 0.1
    done
}

# end NAME SIGNAL: asks for an orderly end, and after 20 s no longer asks.
end() {
    local pid
    pid=$(pid_of "$1") || return 0
    kill -s "$2" "$pid"
    await_end 20 "$pid" || kill_tree "$pid"
    rm -f "$STACK/run/$1"
}

# await_end SECONDS PID…
await_end() {
    local deadline=$((SECONDS + $1)) pid
    shift
    for pid in "$@"; do
        while birth "$pid" >/dev/null; do
            ((SECONDS < deadline)) || return 1
            sleep 0.05
        done
    done
}

kill_tree() {
    local pids
    mapfile -t pids < <(tree_of "$1")
    kill -9 "${pids[@]}" 2>/dev/null || true
    await_end 10 "${pids[@]}"
}

# tree_of PID: it and all its descendants, stopped first so that no new ones appear meanwhile.
tree_of() {
    local child
    kill -STOP "$1" 2>/dev/null || true
    echo "$1"
    for child in $(ps -o pid= --ppid "$1"); do
        tree_of "$child"
    done
}

# sweep SERVICE: kills what is left of it without its parent, such as nginx workers that still hold the port.
sweep() {
    local left
    mapfile -t left < <(leftovers "$1")
    ((${#left[@]})) || return 0
    kill -9 "${left[@]}" 2>/dev/null || true
    await_end 10 "${left[@]}"
}

# leftovers SERVICE: processes whose working folder is the service's and whose program is a server. A person's shell
# or client in that folder is neither.
leftovers() {
    local home pid folder
    home=$(home_of "$1")
    while read -r pid folder; do
        if [[ $folder == "$home" || $folder == "$home"[/\ ]* ]] && is_server "$pid"; then
            echo "$pid"
        fi
    done < <(find /proc -mindepth 2 -maxdepth 2 -path '/proc/[0-9]*/cwd' -printf '%P %l\n' 2>/dev/null | sed 's:/cwd::')
}

is_server() {
    local name
    { read -r name <"/proc/$1/comm"; } 2>/dev/null || return 1
    [[ $name =~ ^(redis-server|beam.smp|erl_child_setup|epmd|postgres|nginx|memcached)$ ]]
}

# connects PORT: somebody accepts connections there.
connects() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# http_status PORT PATH [USER:PASSWORD]: the status of a GET request, or nothing.
http_status() {
    (
        exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
        printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n%s\r\n' \
            "$2" "${3:+Authorization: Basic $(printf %s "$3" | base64 -w0)$'\r\n'}" >&3
        read -rt 5 -u 3 _ status _ && echo "$status"
    ) 2>/dev/null
}
