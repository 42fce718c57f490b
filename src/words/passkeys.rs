texts! {
    /// Passkeys: the account page, the log-in, and the page that asks staff for their password again.
    PasskeysText {
        head: "通行密钥", "Passkeys";
        lead: "用指纹、面容或设备密码登录，无需输入密码和验证码，也不会被钓鱼网站骗走。",
            "Log in with your fingerprint, face or device PIN: no password, no code, and nothing a fake site could steal.";
        unavailable: "本站当前地址不支持通行密钥：浏览器要求 https 加域名，或者 localhost。",
            "Passkeys aren’t available at this address: browsers require https with a domain name, or localhost.";
        created: "添加于 {}", "added {}";
        used: "最近使用 {}", "last used {}";
        never_used: "尚未使用", "never used";
        remove: "移除", "Remove";
        remove_label: "移除：{}", "Remove: {}";
        remove_text: "移除后，不能再用它登录。设备上保存的通行密钥需在设备设置中另行删除。",
            "You won’t be able to log in with it anymore. Your device keeps its copy until you delete it there.";
        add: "添加通行密钥", "Add a passkey";
        name: "名称", "Name";
        name_help: "便于辨认，例如“我的手机”", "To tell it apart, such as “My phone”";
        done_added: "通行密钥已添加。", "Passkey added.";
        done_removed: "通行密钥已移除。", "Passkey removed.";
        log_in: "使用通行密钥登录", "Log in with a passkey";
        step_up: "使用通行密钥验证", "Use a passkey";
        cancelled: "没有完成，请重试。", "That didn’t work out. Please try again.";
        failed: "出了点问题，请稍后再试。", "Something went wrong. Please try again in a moment.";
    }
}
