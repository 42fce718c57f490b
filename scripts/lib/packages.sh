# shellcheck shell=bash
# Messages, and installation of missing Debian packages.

say() { printf '%s\n' "$*"; }
complain() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
    complain "$@"
    exit 1
}

# present THING: whether a command of that name, or a path (patterns are allowed), exists.
present() {
    if [[ $1 == /* ]]; then
        compgen -G "$1" >/dev/null
    else
        type -P "$1" >/dev/null
    fi
}

# install_missing THING=PACKAGE…: installs the package of every THING that is not present.
install_missing() {
    local pair missing=()
    for pair in "$@"; do
        present "${pair%%=*}" || missing+=("${pair#*=}")
    done
    ((${#missing[@]})) || return 0
    say "installing ${missing[*]}"
    type -P apt-get >/dev/null || die "this is not Debian; please install: ${missing[*]}"
    as_root apt-get -qq update || complain "apt-get update failed; trying with the package lists at hand"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        install -y --no-install-recommends "${missing[@]}" </dev/null >/dev/null ||
        die "could not install: ${missing[*]}"
}

# as_root COMMAND…: runs it directly as root, else through sudo, which asks for a password only on a terminal.
as_root() {
    if ((EUID == 0)); then
        "$@"
    elif ! type -P sudo >/dev/null; then
        die "neither root nor sudo; run as root: $*"
    elif [[ -t 0 ]]; then
        sudo "$@"
    else
        sudo -n "$@" || die "sudo needs a password and there is no terminal; run as root: $*"
    fi
}
