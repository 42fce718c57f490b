# shellcheck shell=bash
# A CA of the stack's own, and certificates for its services and for the program. `other-ca.pem` issued none of them;
# tests expect it to be refused.

create_certificates() {
    local home=$STACK/tls
    mkdir -p "$home"
    # All certificates are replaced a day before they expire.
    if [[ -s $home/client.pem ]] && openssl x509 -checkend 86400 -noout -in "$home/client.pem" >/dev/null; then
        return
    fi
    (
        umask 077
        make_ca ca "Seckill stack"
        make_ca other-ca "Seckill, another CA"
        make_certificate server localhost serverAuth,clientAuth "subjectAltName=IP:127.0.0.1,DNS:localhost"
        make_certificate client seckill clientAuth "subjectAltName=DNS:seckill"
    ) >>"$STACK/log/openssl.log" 2>&1 || die "cannot make certificates; see $STACK/log/openssl.log"
}

NEW_KEY=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)

# make_ca NAME COMMON-NAME
make_ca() {
    openssl req -x509 "${NEW_KEY[@]}" -days 3650 -subj "/CN=$2" -keyout "$STACK/tls/$1.key" -out "$STACK/tls/$1.pem"
}

# make_certificate NAME COMMON-NAME USAGES NAMES
make_certificate() {
    local home=$STACK/tls
    openssl req -new "${NEW_KEY[@]}" -subj "/CN=$2" -keyout "$home/$1.key" -out "$home/$1.csr"
    printf 'basicConstraints=critical,CA:FALSE\nextendedKeyUsage=%s\n%s\n' "$3" "$4" >"$home/$1.ext"
    openssl x509 -req -days 3650 -in "$home/$1.csr" -CA "$home/ca.pem" -CAkey "$home/ca.key" -CAcreateserial \
        -extfile "$home/$1.ext" -out "$home/$1.pem"
    rm "$home/$1.csr" "$home/$1.ext"
}
