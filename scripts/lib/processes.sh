# shellcheck shell=bash
# Starting, finding and stopping processes.
#
# A running process is recorded in run/NAME as its pid and start time. The pid alone is not enough, because after a
# crash or a reboot another process may have it.

log_of() { echo "$STACK/log/$1.log"; }

# home_of SERVICE: its working folder, with links resolved.
home_of() { realpath -m "$STACK/$1"; }

# start_time PID: in ticks since boot. Fails if the process is gone or a zombie.
start_time() {
    local stat fields
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    read -ra fields <<<"${stat##*) }"
    [[ ${fields[0]} != [ZX] ]] && echo "${fields[19]}"
}

# pid_of NAME: the pid, if the process that was started here still runs.
pid_of() {
    local pid started
    [[ -s $STACK/run/$1 ]] || return 1
    read -r pid started <"$STACK/run/$1"
    [[ $(start_time "$pid") == "$started" ]] && echo "$pid"
}

# launch NAME FOLDER COMMAND…: starts a daemon that outlives this script. It gets its own session and inherits no
# terminal, pipe or lock, because a test that reads this script's output to the end would otherwise hang.
launch() {
    local name=$1 folder=$2 self
    shift 2
    rm -f "$STACK/run/$name"
    (
        cd "$folder" || exit
        raise_file_limit
        exec </dev/null >>"$(log_of "$name")" 2>&1
        self=$BASHPID
        printf '%s %s\n' "$self" "$(start_time "$self")" >"$STACK/run/$name"
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

# Enough for nginx under load; without root, as many as allowed. Not unlimited, because Erlang iterates over all of
# them.
raise_file_limit() {
    local hard
    ulimit -n 65536 2>/dev/null && return
    hard=$(ulimit -Hn)
    ulimit -Sn "$hard"
}

# await_ready SERVICE SECONDS: waits until it answers. Fails at the deadline, or at once if its process has ended.
await_ready() {
    local deadline=$((SECONDS + $2))
    until "$1_ready"; do
        pid_of "$1" >/dev/null || return 1
        ((SECONDS < deadline)) || return 1
        sleep 0.1
    done
}

# end NAME SIGNAL: sends the signal, and kills the process if it still runs after 20 s.
end() {
    local pid
    pid=$(pid_of "$1") || return 0
    kill -s "$2" "$pid"
    await_end 20 "$pid" || kill_tree "$pid"
    rm -f "$STACK/run/$1"
}

# await_end SECONDS PID…: waits until all of them have ended.
await_end() {
    local deadline=$((SECONDS + $1)) pid
    shift
    for pid in "$@"; do
        while start_time "$pid" >/dev/null; do
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

# tree_of PID: the process and all its descendants. Each is stopped first, so that it cannot start new ones. One `ps` for a
# whole generation, because it reads all of /proc, and PostgreSQL has a hundred processes.
tree_of() {
    local pids=("$1")
    while ((${#pids[@]})); do
        kill -STOP "${pids[@]}" 2>/dev/null || true
        printf '%s\n' "${pids[@]}"
        mapfile -t pids < <(ps -o pid= --ppid "$(IFS=, && echo "${pids[*]}")" | tr -d ' ')
    done
}

# sweep SERVICE: kills processes that outlived their parent, such as nginx workers that still hold the port.
sweep() {
    local left
    mapfile -t left < <(leftovers "$1")
    ((${#left[@]})) || return 0
    kill -9 "${left[@]}" 2>/dev/null || true
    await_end 10 "${left[@]}"
}

# leftovers SERVICE: server processes whose working folder is the service's. Shells and clients in that folder do not
# count.
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

# connects PORT: whether the port accepts connections.
connects() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# http_status PORT PATH [USER:PASSWORD]: prints the status of a GET request; nothing without a response.
http_status() {
    (
        exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
        printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n%s\r\n' \
            "$2" "${3:+Authorization: Basic $(printf %s "$3" | base64 -w0)$'\r\n'}" >&3
        read -rt 5 -u 3 _ status _ && echo "$status"
    ) 2>/dev/null
}
