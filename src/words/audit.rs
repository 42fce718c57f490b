use crate::text_of;
use domain::{AuditAction, Locale, SecurityClass};

texts! {
    /// The audit log: what changed, in words. `{field}`, `{subject}`, `{old}` and `{new}` are replaced by values.
    AuditText {
        what: "内容", "What happened";
        raw: "原始字段", "Raw fields";
        one_change: "{subject}的“{field}”由 {old} 改为 {new}", "{field} of {subject} changed from {old} to {new}";
        one_set: "{subject}的“{field}”设为 {new}", "{field} of {subject} set to {new}";
        one_unset: "{subject}的“{field}”已清空，原为 {old}", "{field} of {subject} removed, was {old}";
        changed: "已更改", "changed";
        yes: "是", "yes";
        no: "否", "no";
        seconds: "{} 秒", "{} s";
        milliseconds: "{} 毫秒", "{} ms";
        all_staff: "员工规定", "The rules for staff";
        all_orders: "订单", "Orders";
        journal: "日记账", "The journal";
        sale_of: "“{}”（场次 {}）", "{} (sale {})";
        order: "订单 {}", "Order {}";
        deleted_user: "已注销的用户", "Deleted user";
        packet: "红包 {}", "Packet {}";
        payment: "付款", "Payment";
        letter: "异常消息 {}", "Dead letter {}";
        front: "场次 {} 的外部店铺设置", "the other shop of sale {}";
        endpoint: "事件接收地址 {}", "endpoint {}";
        goods: "商品 {}", "Product {}";
        category: "分类 {}", "Category {}";
        all_categories: "商品分类", "The categories";
        question: "提问", "Question";
        shipping: "运费", "Shipping";
        token: "令牌 {}", "Token {}";
        token_of: "令牌“{}”", "Token “{}”";
        f_scopes: "权限", "Scopes";
        f_networks: "允许的网络", "Networks";
        f_rate: "每秒请求数", "Requests a second";
        f_reference: "外部订单号", "Reference outside";
        f_rates: "运费", "Rates";
        f_mark: "标识", "Mark";
        f_logo: "标志图片", "Logo";
        f_colour: "颜色", "Colour";
        f_time_zone: "时区", "Time zone";
        f_languages: "语言", "Languages";
        f_currency: "默认币种", "Default currency";
        f_sender: "发件人", "Sender";
        f_tax_number: "店铺税号", "Tax number of the shop";
        f_ships_within: "几天内发货", "Days until an order is sent";
        page: "页面“{}”", "Page “{}”";
        f_goods: "商品", "Product";
        f_category: "分类", "Category";
        f_variant_of: "款式所属商品", "Variant of";
        f_variant_zh: "款式名（中文）", "Variant (Chinese)";
        f_variant_en: "款式名（英文）", "Variant (English)";
        f_order_of_all: "顺序", "Order";
        f_products: "商品数", "Products";
        f_price: "秒杀价", "Sale price";
        f_list_price: "原价", "List price";
        f_total: "总量", "Total units";
        f_limit: "每人限购", "Limit per person";
        f_opens: "开始时间", "Start";
        f_closes: "结束时间", "End";
        f_buckets: "分桶数", "Buckets";
        f_lot: "每次分配", "Lot size";
        f_spread: "打散时间", "Spread";
        f_mode: "销售方式", "How it is sold";
        f_prequeue: "提前开放", "Waiting room opens before the start";
        f_gather: "收拢时间", "Gathering after the start";
        f_seat: "购买时间", "Time to buy";
        f_draw_window: "付款时限", "Time to pay";
        f_draw_review: "审核时间", "Time to review";
        f_accounts_before: "最晚注册时间", "Accounts registered no later than";
        f_verified_contact: "须有已验证的邮箱", "Confirmed email address needed";
        f_one_per_contact: "同一邮箱限一个账号", "One account per mailbox";
        f_deposit: "可退保证金", "Refundable deposit";
        f_one_per_address: "同一地址限一个账号", "One account per address";
        f_invitation: "须有邀请码", "Invitation code needed";
        f_state: "状态", "State";
        f_name_zh: "中文名称", "Chinese name";
        f_name_en: "英文名称", "English name";
        f_text_zh: "中文正文", "Chinese text";
        f_text_en: "英文正文", "English text";
        f_pictures: "图片数", "Pictures";
        f_status: "状态", "Status";
        f_sale: "场次", "Sale";
        f_owner: "用户", "Customer";
        f_order: "订单", "Order";
        f_reason: "原因", "Reason";
        f_message: "给买家的留言", "Message to the buyer";
        f_amount: "金额", "Amount";
        f_expires: "有效期至", "Valid until";
        f_requested_by: "申请人", "Requested by";
        f_approval: "审批", "Approval";
        f_kind: "类型", "Kind";
        f_role: "角色", "Role";
        f_blocked: "已停用", "Blocked";
        f_second_factor: "两步验证", "Two-step verification";
        f_passkeys: "通行密钥", "Passkeys";
        f_address: "网络地址", "Network address";
        f_wrong: "失败原因", "What was wrong";
        f_batch: "批次", "Batch";
        f_codes: "邀请码数量", "Codes";
        f_round: "随机数轮次", "Round of the public randomness";
        f_entry: "报名", "Entry";
        f_held: "暂停叫号", "Calls on hold";
        f_per_minute: "每分钟叫号", "Calls a minute";
        f_count: "份数", "Shares";
        f_greeting: "祝福语", "Greeting";
        f_from: "从", "From";
        f_until: "到", "Until";
        f_masked: "收货信息已隐去", "Recipients masked";
        f_answer: "答复", "Answer";
        all_invoices: "发票", "The invoices";
        f_parcel: "包裹", "Parcel";
        f_carrier: "承运商", "Carrier";
        f_number: "运单号", "Tracking number";
        f_restocked: "库存退回场次", "Units back on sale";
        f_letter_reason: "成为异常消息的原因", "Why it was dead";
    }
}

/// An action in one language: its name in the filter, and a sentence with `{subject}`.
#[derive(Debug, Clone, Copy)]
pub struct ActionText {
    pub name: &'static str,
    pub sentence: &'static str,
}

type Row = (AuditAction, [&'static str; 2], [&'static str; 2]);

/// For each action, in the order of [`AuditAction::ALL`]: the name in Chinese and English, then the sentence in Chinese
/// and English.
#[rustfmt::skip]
static ACTIONS: [Row; AuditAction::ALL.len()] = [
    (AuditAction::Create, ["创建", "Create"], ["新建了{subject}", "{subject} was created"]),
    (AuditAction::Edit, ["编辑", "Edit"], ["修改了{subject}", "{subject} was edited"]),
    (AuditAction::Delete, ["删除", "Delete"], ["删除了{subject}", "{subject} was deleted"]),
    (AuditAction::Schedule, ["排期", "Schedule"], ["{subject}已排期，顾客可见", "{subject} was scheduled, so that shoppers see it"]),
    (AuditAction::Unschedule, ["撤回为草稿", "Return to draft"], ["{subject}撤回为草稿", "{subject} became a draft again"]),
    (AuditAction::Start, ["立即开始", "Start now"], ["{subject}开始抢购", "{subject} was started"]),
    (AuditAction::Pause, ["暂停", "Pause"], ["暂停了{subject}", "{subject} was paused"]),
    (AuditAction::Resume, ["恢复", "Resume"], ["恢复了{subject}", "{subject} was resumed"]),
    (AuditAction::Stop, ["终止", "Stop"], ["终止了{subject}", "{subject} was stopped"]),
    (AuditAction::TopUp, ["加库存", "Add stock"], ["为{subject}增加了库存", "Stock was added to {subject}"]),
    (AuditAction::Pace, ["更改叫号速度", "Change the pace"], ["更改了{subject}的叫号速度", "The pace of calls of {subject} was changed"]),
    (AuditAction::Exclude, ["排除报名", "Exclude an entry"], ["从{subject}的抽签中排除了一份报名", "An entry was excluded from the draw of {subject}"]),
    (AuditAction::Draw, ["提供抽签随机数", "Give the draw’s randomness"], ["为{subject}的抽签提供了公开随机数", "The public randomness was given to the draw of {subject}"]),
    (AuditAction::CallOffDraw, ["取消抽签", "Call off a draw"], ["取消了{subject}的抽签", "The draw of {subject} was called off"]),
    (AuditAction::ChangeRound, ["改用下一轮随机数", "Await a later round"], ["{subject}的抽签改用之后的一轮公开随机数", "The draw of {subject} awaits a later public round"]),
    (AuditAction::MakeInvitations, ["生成邀请码", "Make invitation codes"], ["为{subject}生成了邀请码", "Invitation codes were made for {subject}"]),
    (AuditAction::RevokeInvitations, ["作废邀请码", "Revoke invitation codes"], ["作废了{subject}的邀请码", "Invitation codes of {subject} were revoked"]),
    (AuditAction::Archive, ["归档", "Archive"], ["归档了{subject}", "{subject} was archived"]),
    (AuditAction::Unarchive, ["恢复", "Restore"], ["恢复了归档的{subject}", "{subject} was taken out of the archive"]),
    (AuditAction::Cancel, ["取消订单", "Cancel order"], ["取消了{subject}", "{subject} was cancelled"]),
    (AuditAction::Refund, ["退款", "Refund order"], ["为{subject}全额退款", "{subject} was refunded in full"]),
    (AuditAction::RefundPart, ["部分退款", "Refund part of it"], ["为{subject}退了一部分款", "A part of {subject} was refunded"]),
    (AuditAction::RetryRefund, ["重试退款", "Retry the refund"], ["重试了{subject}的退款", "The refund of {subject} was tried again"]),
    (AuditAction::SettlePayment, ["标记为已处理", "Mark as settled"], ["将{subject}标记为已处理", "{subject} was settled"]),
    (AuditAction::RequestRefund, ["申请退款", "Ask for a refund"], ["为{subject}申请了退款", "A refund of {subject} was asked for"]),
    (AuditAction::ApproveRefund, ["批准退款", "Approve a refund"], ["批准了{subject}的退款", "The refund of {subject} was approved"]),
    (AuditAction::DeclineRefund, ["拒绝退款", "Decline a refund"], ["拒绝了{subject}的退款", "The refund of {subject} was declined"]),
    (AuditAction::VoidRefund, ["退款申请失效", "Void a refund request"], ["{subject}的退款申请失效", "The request to refund {subject} became void"]),
    (AuditAction::Hold, ["暂缓发货", "Hold"], ["{subject}暂缓发货", "{subject} was held"]),
    (AuditAction::ReleaseHold, ["放行", "Release"], ["放行了{subject}", "{subject} was released"]),
    (AuditAction::UpholdHold, ["维持审核", "Uphold the hold"], ["{subject}的申诉未获支持，继续审核", "The appeal about {subject} was turned down; it stays held"]),
    (AuditAction::IssueInvoice, ["标记已开票", "Mark an invoice as issued"], ["{subject}的发票已开具", "The invoice of {subject} was issued"]),
    (AuditAction::ExportInvoices, ["导出发票", "Export invoices"], ["导出了{subject}", "{subject} were exported"]),
    (AuditAction::MoveParcel, ["更新包裹", "Move a parcel"], ["更新了{subject}的包裹", "The parcel of {subject} was moved on"]),
    (AuditAction::CorrectParcel, ["更正运单", "Correct a parcel"], ["更正了{subject}的运单", "Carrier or number of {subject} were corrected"]),
    (AuditAction::AcceptReturn, ["同意退货", "Accept a return"], ["同意了{subject}的退货", "The return of {subject} was accepted"]),
    (AuditAction::RefuseReturn, ["拒绝退货", "Refuse a return"], ["拒绝了{subject}的退货", "The return of {subject} was refused"]),
    (AuditAction::ReceiveReturn, ["收到退货", "Receive a return"], ["收到{subject}的退货，开始退款", "The goods of {subject} came back and are refunded"]),
    (AuditAction::Answer, ["答复提问", "Answer a question"], ["答复了{subject}", "{subject} was answered"]),
    (AuditAction::HideQuestion, ["隐藏提问", "Hide a question"], ["隐藏了{subject}", "{subject} was hidden"]),
    (AuditAction::UnhideQuestion, ["恢复提问", "Show a question again"], ["恢复了隐藏的{subject}", "{subject} is shown again"]),
    (AuditAction::RevealRecipient, ["查看完整收货信息", "Show full recipient"], ["查看了{subject}的完整收货信息", "The full recipient of {subject} was read"]),
    (AuditAction::Give, ["发红包", "Give a packet"], ["发出了{subject}", "{subject} was given"]),
    (AuditAction::RequestPacket, ["申请发红包", "Ask for a packet"], ["申请发出{subject}", "{subject} was asked for"]),
    (AuditAction::ApprovePacket, ["批准红包", "Approve a packet"], ["批准了{subject}", "{subject} was approved"]),
    (AuditAction::DeclinePacket, ["拒绝红包", "Decline a packet"], ["拒绝了{subject}", "{subject} was declined"]),
    (AuditAction::VoidPacket, ["红包申请失效", "Void a packet request"], ["{subject}的申请失效", "The request for {subject} became void"]),
    (AuditAction::Replay, ["重新投递", "Replay"], ["重新投递了{subject}", "{subject} was replayed"]),
    (AuditAction::Discard, ["丢弃", "Discard"], ["丢弃了{subject}", "{subject} was discarded"]),
    (AuditAction::ExportOrders, ["导出订单", "Export orders"], ["导出了{subject}", "{subject} were exported"]),
    (AuditAction::ExportBooks, ["导出日记账", "Export the journal"], ["导出了{subject}", "{subject} was exported"]),
    (AuditAction::Block, ["停用", "Block"], ["停用了{subject}", "{subject} was blocked"]),
    (AuditAction::Unblock, ["恢复", "Unblock"], ["恢复了{subject}", "{subject} was unblocked"]),
    (AuditAction::EndSessions, ["退出所有设备", "Log out of all devices"], ["让{subject}退出所有设备", "{subject} was logged out of all devices"]),
    (AuditAction::StartRecovery, ["发起找回密码", "Start password recovery"], ["为{subject}发起了找回密码", "Password recovery was started for {subject}"]),
    (AuditAction::AddStaff, ["新建员工", "Create staff account"], ["新建了员工账号{subject}", "The staff account of {subject} was created"]),
    (AuditAction::SetRole, ["更改角色", "Change role"], ["更改了{subject}的角色", "The role of {subject} was changed"]),
    (AuditAction::Dismiss, ["撤销员工身份", "Remove from staff"], ["撤销了{subject}的员工身份", "{subject} was removed from staff"]),
    (AuditAction::ResetPassword, ["重置密码", "Reset password"], ["重置了{subject}的密码", "The password of {subject} was reset"]),
    (AuditAction::ResetSecondFactor, ["重置两步验证", "Reset two-step verification"], ["重置了{subject}的两步验证", "Two-step verification of {subject} was reset"]),
    (AuditAction::StaffPolicy, ["更改员工规定", "Change staff policy"], ["更改了{subject}", "{subject} were changed"]),
    (AuditAction::LogIn, ["登录", "Log in"], ["{subject}登录", "{subject} logged in"]),
    (AuditAction::LogInFailed, ["登录失败", "Login failed"], ["{subject}登录失败", "A login of {subject} failed"]),
    (AuditAction::ChangePassword, ["修改密码", "Change password"], ["{subject}修改了密码", "{subject} changed the password"]),
    (AuditAction::RecoverPassword, ["找回密码", "Recover password"], ["{subject}用邮件链接设置了新密码", "{subject} set a new password by a link"]),
    (AuditAction::SetSecondFactor, ["开启两步验证", "Turn on two-step verification"], ["{subject}开启或更换了两步验证", "{subject} set up two-step verification"]),
    (AuditAction::RemoveSecondFactor, ["关闭两步验证", "Turn off two-step verification"], ["{subject}关闭了两步验证", "{subject} turned off two-step verification"]),
    (AuditAction::AddPasskey, ["添加通行密钥", "Add a passkey"], ["{subject}添加了通行密钥", "{subject} added a passkey"]),
    (AuditAction::RemovePasskey, ["移除通行密钥", "Remove a passkey"], ["{subject}移除了通行密钥", "{subject} removed a passkey"]),
    (AuditAction::VerifyMail, ["验证邮箱", "Confirm email address"], ["{subject}验证了邮箱", "{subject} confirmed an email address"]),
    (AuditAction::RemoveMail, ["移除邮箱", "Remove email address"], ["{subject}移除了邮箱", "{subject} removed the email address"]),
    (AuditAction::CreateToken, ["新建访问令牌", "Create token"], ["新建了{subject}", "{subject} was created"]),
    (AuditAction::RevokeToken, ["撤销访问令牌", "Revoke token"], ["撤销了{subject}", "{subject} was revoked"]),
    (AuditAction::ConfirmReservation, ["确认预留", "Confirm reservation"], ["{subject}已在外部商店付款", "{subject} was paid in the other shop"]),
    (AuditAction::ReleaseReservation, ["释放预留", "Release reservation"], ["外部商店释放了{subject}", "The other shop released {subject}"]),
    (AuditAction::ExtendReservation, ["延长预留", "Extend reservation"], ["外部商店延长了{subject}", "The other shop extended {subject}"]),
    (AuditAction::AddEndpoint, ["添加事件接收地址", "Add an endpoint"], ["添加了{subject}", "{subject} was added"]),
    (AuditAction::EditEndpoint, ["更改事件接收地址", "Change an endpoint"], ["更改了{subject}", "{subject} was changed"]),
    (AuditAction::DeleteEndpoint, ["删除事件接收地址", "Delete an endpoint"], ["删除了{subject}", "{subject} was deleted"]),
    (AuditAction::RotateSecret, ["更换签名密钥", "Replace a signing secret"], ["更换了{subject}的签名密钥", "The signing secret of {subject} was replaced"]),
    (AuditAction::RevealSecret, ["查看签名密钥", "Show a signing secret"], ["查看了{subject}的签名密钥", "The signing secret of {subject} was read"]),
    (AuditAction::ReplayEvents, ["重发事件", "Send events again"], ["向{subject}重发了事件", "Events were sent again to {subject}"]),
];

/// The words of an action.
pub fn audit_action(locale: Locale, action: AuditAction) -> ActionText {
    let at = usize::from(locale == Locale::En);
    let row = ACTIONS.iter().find(|row| row.0 == action);
    row.map_or(ActionText { name: "", sentence: "" }, |row| ActionText { name: row.1[at], sentence: row.2[at] })
}

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
        any_class: "全部类别", "All kinds";
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
    (SecurityClass::TokenRefused, "拒绝访问令牌", "Access token refused"),
];

/// The details that the program records. Roles and codes of problems are not here: they have texts elsewhere or are
/// clear as they are.
#[rustfmt::skip]
static DETAILS: &[(&str, &str, &str)] = &[
    ("unknown_account", "没有这个用户名", "No such username"),
    ("password", "密码错误", "Wrong password"),
    ("mailed_code", "邮件验证码错误", "Wrong code by email"),
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
    ("token_unknown", "未知或已撤销的令牌", "Unknown or revoked token"),
    ("token_expired", "令牌已过期", "Expired token"),
    ("token_orphaned", "创建令牌的员工已离职或停用", "Its maker left the staff or is blocked"),
    ("token_network", "来自不允许的网络", "From a network that isn’t allowed"),
    ("token_in_address", "令牌写在了网址中", "A token in an address"),
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
    fn every_action_has_a_name_and_a_sentence_in_both_languages() {
        for action in AuditAction::ALL {
            let texts = Locale::ALL.map(|locale| audit_action(locale, action));
            for text in texts {
                assert!(!text.name.is_empty(), "{action}");
                assert_eq!(text.sentence.matches("{subject}").count(), 1, "{action}: {}", text.sentence);
            }
            assert_ne!(texts[0].sentence, texts[1].sentence, "{action}");
        }
    }

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
