# shellcheck shell=bash
# Messages, and Debian packages that are installed only when what they bring is missing.

say() { printf '%s\n' "$*"; }
complain() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
    complain "$@"
    exit 1
}

# present THING: a command of that name, or a path (a pattern is fine), exists.
present() {
    if [[ $1 == /* ]]; then
        compgen -G "$1" >/dev/null
    else
        type -P "$1" >/dev/null
    fi
}

# install_missing THING=PACKAGE…: installs the packages whose thing is not present.
install_missing() {
    local pair missing=()
    for pair in "$@"; do
        present "${pair%%=*}" || missing+=("${pair#*=}")
    done
    ((${#missing[@]})) || return 0
    say "installing ${missing[*]}"
    type -P apt-get >/dev/null || die "please install these yourself, this is not Debian: ${missing[*]}"
    as_root apt-get -qq update || complain "apt-get update failed; trying with the package lists at hand"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        install -y --no-install-recommends "${missing[@]}" </dev/null >/dev/null ||
        die "could not install: ${missing[*]}"
}

# as_root COMMAND…: directly as root, else through sudo, which asks for a password only on a terminal.
as_root() {
    if ((EUID == 0)); then
        "$@"
    elif ! type -P sudo >/dev/null; then
        die "neither root nor sudo here; as root: $*"
    elif [[ -t 0 ]]; then
        sudo "$@"
    else
        sudo -n "$@" || die "sudo wants a password and there is no terminal; as root: $*"
    fi
}
