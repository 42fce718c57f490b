use super::text_of;
use domain::{Locale, SecurityClass};

texts! {
    /// The console's page of security events.
    SecurityText {
        title: "安全", "Security";
        lead: "登录失败、被拒绝的请求和账号变动，几秒内更新，保留 90 天。网络地址已截短，不记录输入的用户名。",
            "Failed logins, refused requests and changes of accounts, seconds after they happen and for 90 days. Network addresses are shortened, and typed names aren’t kept.";
        day: "最近 24 小时", "Last 24 hours";
        day_none: "最近 24 小时没有安全事件。", "No security events in the last 24 hours.";
        plot_of: "每小时次数，峰值 {}", "Events per hour, {} at the peak";
        kind: "类别", "Kind";
        total: "次数", "Events";
        by_hour: "每小时", "By hour";
        events: "事件", "Events";
        any_class: "全部类别", "All kinds";
        account: "账号", "Account";
        account_help: "用户名或用户编号", "Username or user ID";
        network: "网络", "Network";
        network_help: "例如 192.0.2.0/24 或一个地址", "For example 192.0.2.0/24, or an address";
        detail: "说明", "Detail";
        none: "还没有安全事件。", "No security events yet.";
        none_found: "没有符合条件的事件。", "No matching events.";
        unknown: "未知", "unknown";
    }
}

/// The names of the classes, in the order of [`SecurityClass::ALL`].
#[rustfmt::skip]
static CLASSES: [(SecurityClass, &str, &str); SecurityClass::ALL.len()] = [
    (SecurityClass::LogIn, "登录成功", "Login"),
    (SecurityClass::LogInFailed, "登录失败", "Login failed"),
    (SecurityClass::LogInThrottled, "登录过于频繁，已限制", "Login throttled"),
    (SecurityClass::SecondFactorFailed, "验证码错误", "Wrong code"),
    (SecurityClass::SecondFactorSet, "开启或更换两步验证", "Two-step verification set up"),
    (SecurityClass::SecondFactorRemoved, "关闭两步验证", "Two-step verification removed"),
    (SecurityClass::StepUp, "再次验证身份", "Identity confirmed"),
    (SecurityClass::PasswordChanged, "修改密码", "Password changed"),
    (SecurityClass::SessionsEnded, "被员工退出登录", "Logged out by staff"),
    (SecurityClass::RegistrationRefused, "注册被拒绝", "Registration refused"),
    (SecurityClass::RegistrationThrottled, "注册过于频繁，已限制", "Registration throttled"),
    (SecurityClass::RoleChanged, "角色变更", "Role changed"),
    (SecurityClass::AccountBlocked, "账号停用", "Account blocked"),
    (SecurityClass::AccountUnblocked, "账号恢复", "Account unblocked"),
    (SecurityClass::TokenCreated, "新建访问令牌", "Access token created"),
    (SecurityClass::TokenRevoked, "撤销访问令牌", "Access token revoked"),
    (SecurityClass::CrossSiteRefused, "拒绝跨站请求", "Cross-site request refused"),
    (SecurityClass::WebhookRefused, "拒绝支付通知", "Webhook refused"),
    (SecurityClass::StaffAccessRefused, "拒绝访问后台", "Console access refused"),
    (SecurityClass::Exported, "导出数据", "Data exported"),
    (SecurityClass::RecipientRevealed, "查看收货信息", "Recipient revealed"),
    (SecurityClass::SecretRotated, "更换密钥", "Secret rotated"),
    (SecurityClass::ConnectionLimited, "连接数达到上限", "Connection limit reached"),
    (SecurityClass::StreamLimited, "实时推送达到上限", "Event stream limit reached"),
    (SecurityClass::PasskeyAdded, "添加通行密钥", "Passkey added"),
    (SecurityClass::PasskeyRemoved, "移除通行密钥", "Passkey removed"),
    (SecurityClass::MailAddressChanged, "更换邮箱", "Email address changed"),
    (SecurityClass::RecoveryStarted, "发起找回密码", "Password recovery started"),
];

/// The details that the program records. Roles and codes of problems are not here: they have texts elsewhere or are
/// clear as they are.
#[rustfmt::skip]
static DETAILS: &[(&str, &str, &str)] = &[
    ("unknown_account", "没有这个用户名", "No such username"),
    ("password", "密码错误", "Wrong password"),
    ("blocked", "账号已停用", "Blocked account"),
    ("passkey", "通行密钥", "Passkey"),
    ("passkey_copied", "通行密钥计数倒退，可能被复制", "Passkey’s counter went back: copied?"),
    ("passkey_needed", "须用通行密钥登录", "Passkey needed"),
    ("expired", "临时密码已过期", "Temporary password expired"),
    ("confirmation", "确认身份时", "While confirming a change"),
    ("log_in", "登录时", "While logging in"),
    ("on", "首次开启", "Turned on"),
    ("replaced", "更换", "Replaced"),
    ("owner", "本人操作", "By its owner"),
    ("staff", "员工操作", "By staff"),
    ("verified", "已验证", "Verified"),
    ("removed", "已移除", "Removed"),
    ("recovery", "找回密码", "By recovery"),
    ("visitor", "未登录", "Not logged in"),
    ("not_staff", "不是员工", "Not staff"),
    ("admin", "店主", "Owner"),
    ("operator", "运营", "Operator"),
    ("support", "客服", "Support"),
    ("viewer", "只读", "Viewer"),
    ("user", "顾客", "Customer"),
    ("orders", "订单", "Orders"),
    ("books", "日记账", "Journal"),
    ("own_data", "本人数据", "Own data"),
    ("previous_secret", "旧密钥仍可验证", "The previous secret still verifies"),
    ("second_factors_encrypted", "两步验证已用新密钥加密", "Two-step verification encrypted with the new secret"),
    ("address", "同一地址", "One address"),
    ("process", "整个进程", "The whole process"),
    ("username_taken", "用户名已被占用", "Username taken"),
    ("bad_username", "用户名不合规则", "Username not allowed"),
    ("weak_password", "密码太弱", "Weak password"),
    ("bad_signature", "签名无效", "Invalid signature"),
    ("bad_json", "内容无法识别", "Unreadable content"),
    ("too_large", "内容太大", "Too large"),
];

/// The name of a class; the text itself for a class of another version.
pub fn security_class(locale: Locale, class: &str) -> &str {
    let known = CLASSES.iter().find(|(known, ..)| known.as_str() == class);
    match (known, locale) {
        (Some((_, zh, _)), Locale::Zh) => zh,
        (Some((_, _, en)), Locale::En) => en,
        (None, _) => class,
    }
}

/// What a detail means; the detail itself if it has no text.
pub fn security_detail(locale: Locale, detail: &str) -> &str {
    text_of(DETAILS, locale, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_details_have_names_in_both_languages() {
        for class in SecurityClass::ALL {
            let names = Locale::ALL.map(|locale| security_class(locale, class.as_str()));
            assert_ne!(names[0], names[1]);
            assert!(!names.contains(&class.as_str()), "{class}");
        }
        for (detail, ..) in DETAILS {
            assert_ne!(security_detail(Locale::Zh, detail), security_detail(Locale::En, detail));
        }
        assert_eq!(security_class(Locale::En, "of_tomorrow"), "of_tomorrow");
        assert_eq!(security_detail(Locale::En, "of_tomorrow"), "of_tomorrow");
    }
}
