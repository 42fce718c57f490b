# shellcheck shell=bash
# A shop on rung 1 for one script, and Python tools in an environment of their own. Needs packages.sh, $REPO and $TARGET.

# install_python FOLDER REQUIREMENTS: an environment with what the file lists; made again when the file has changed.
install_python() {
    local folder=$1 requirements=$2
    cmp --silent "$requirements" "$folder/requirements.txt" && return
    python3 -c 'import ensurepip' 2>/dev/null || install_missing "/no/such/path=python3-venv"
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" --quiet --disable-pip-version-check install --requirement "$requirements"
    cp "$requirements" "$folder/requirements.txt"
}

# start_program FOLDER [NAME=VALUE…]: a shop with demo goods and these settings at $URL. Its process is $PROGRAM, its log
# FOLDER/program.log.
start_program() {
    local folder=$1 port
    shift
    install_missing curl=curl
    # Built together with a test, so that this build and the build of the tests share dependencies, which have more
    # features for tests.
    cargo build --workspace --locked --bin seckill --test counts
    rm -rf "$folder/data"
    mkdir -p "$folder"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    URL=http://127.0.0.1:$port
    env SECKILL_LISTEN=127.0.0.1:"$port" SECKILL_OPS_LISTEN=127.0.0.1:0 SECKILL_PUBLIC_URL="$URL" \
        SECKILL_DATA_DIR="$folder/data" SECKILL_DEMO=true "$@" "$TARGET/debug/seckill" >"$folder/program.log" 2>&1 &
    # shellcheck disable=SC2034
    PROGRAM=$!
    curl --silent --fail --output /dev/null --retry 100 --retry-delay 1 --retry-connrefused "$URL/api/ping" ||
        die "the program does not start; see $folder/program.log"
}
