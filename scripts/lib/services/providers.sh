# shellcheck shell=bash
# Stand-ins of Stripe, WeChat Pay and Alipay, which the shop is paid at with the settings that they print, and the page on which
# payers pay. Their balances are in providers/*.state.

providers_start() {
    install_missing node=nodejs npm=npm
    [[ -d $REPO/tests/providers/node_modules ]] || npm --prefix "$REPO/tests/providers" ci --silent --no-audit --no-fund
    rm -f "$(home_of providers)/settings"
    # shellcheck disable=SC2016 # the inner shell expands them
    launch providers "$(home_of providers)" bash -c 'exec node "$@" >settings' _ "$REPO/tests/providers/cashier.mjs" \
        "http://127.0.0.1:${PORT[nginx]}" "http://127.0.0.1:${PORT[providers]}" "$(home_of providers)"
}

providers_ready() { grep -qs '^# ready' "$(home_of providers)/settings"; }

providers_stop() { end providers TERM; }

# The settings of a shop that is paid there; nothing while they are down.
providers_env() {
    ! pid_of providers >/dev/null || grep -v -e '^#' -e SECKILL_PUBLIC_URL "$(home_of providers)/settings"
}
