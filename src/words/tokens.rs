use domain::{Locale, Scope};

texts! {
    /// The console's page of tokens of programs.
    TokensText {
        title: "访问令牌", "Access tokens";
        lead: "让其他系统使用本店的接口。令牌只在新建时显示一次；员工离职或停用后，其令牌自动失效。",
            "They let other systems use this shop’s API. A token is shown once, when it is made. It ends with its maker’s place in the staff.";
        made_head: "令牌“{}”已新建", "Token “{}” is ready";
        made_text: "请立即复制保存，离开本页后无法再次查看。", "Copy it now. It can’t be shown again once you leave this page.";
        secret: "令牌", "Token";
        done_revoked: "令牌已撤销，一秒内全部失效。", "The token is revoked. It stops working everywhere within a second.";
        empty: "还没有访问令牌。", "No access tokens yet.";
        name: "名称", "Name";
        name_help: "操作记录会显示它，例如“官网商城”。", "The log shows it. For example “Vendure shop”.";
        scopes: "权限", "Scopes";
        used: "最近使用", "Last used";
        never: "从未使用", "Never used";
        expires: "有效期", "Expires";
        endless: "长期有效", "Never";
        state: "状态", "State";
        live: "有效", "Active";
        expired: "已过期", "Expired";
        revoked: "已撤销", "Revoked";
        networks: "允许的网络", "Networks";
        networks_help: "例如 203.0.113.0/24，用空格分隔。留空则不限。", "For example 203.0.113.0/24, separated by spaces. Empty: anywhere.";
        rate: "每秒请求数上限", "Requests a second";
        rate_help: "按进程计算。留空则不限。", "For each process. Empty: no limit.";
        days: "有效天数", "Days until it expires";
        days_help: "留空则长期有效。", "Empty: it never expires.";
        make_head: "新建令牌", "New token";
        make: "新建令牌", "Create token";
        revoke: "撤销", "Revoke";
        revoke_text: "使用它的系统会立即无法访问，且不能恢复。", "Systems that use it lose access at once. This can’t be undone.";
        for_shops: "外部商店", "Other shops";
        for_staff: "后台权限", "As the staff";
    }
}

/// For each scope: its words in Chinese and English.
#[rustfmt::skip]
static SCOPES: [(Scope, &str, &str); Scope::ALL.len()] = [
    (Scope::ViewConsole, "查看后台的全部内容", "Read everything in the console"),
    (Scope::ManageSales, "管理商品和场次", "Manage products and sales"),
    (Scope::SupportShoppers, "处理订单、退款和账号", "Handle orders, refunds and accounts"),
    (Scope::AnswerQuestions, "回答提问", "Answer questions"),
    (Scope::ReadAddresses, "查看完整收货信息", "Read recipients in full"),
    (Scope::DecideApprovals, "审批", "Decide approvals"),
    (Scope::ViewBooks, "查看和导出账目", "Read and export the books"),
    (Scope::ViewSecurity, "查看安全事件", "Read security events"),
    (Scope::ReadMail, "查看邮件，含登录链接", "Read messages, with the links in them"),
    (Scope::ManageStaff, "管理员工：可新建店主", "Manage the staff: can create owners"),
    (Scope::ManageWebhooks, "管理事件接收地址", "Manage the endpoints of events"),
    (Scope::Reserve, "预留、确认和释放数量", "Reserve, confirm and release units"),
    (Scope::Shoppers, "登记顾客并签发入口链接", "Name customers and let them in"),
];

/// What a scope allows.
pub fn scope(locale: Locale, scope: Scope) -> &'static str {
    let row = SCOPES.iter().find(|row| row.0 == scope);
    row.map_or("", |row| if locale == Locale::Zh { row.1 } else { row.2 })
}
