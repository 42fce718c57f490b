texts! {
    /// The console's page of the books.
    BooksText {
        title: "账目", "Books";
        lead: "各类账户在一段时间内的期初、借方、贷方与期末。同一币种各账户之和恒为零。",
            "Opening balance, debits, credits and closing balance of each kind of account. All accounts of a currency sum to zero.";
        from: "起始日（UTC）", "From (UTC)";
        to: "截止（不含，UTC）", "Before (UTC)";
        help: "例如 2026-11-01", "Such as 2026-11-01";
        help_to: "例如 2026-12-01，留空为现在", "Such as 2026-12-01. Empty: now";
        show: "查看", "Show";
        export: "导出日记账 CSV", "Export the journal (CSV)";
        empty: "这段时间以前和期间都没有资金变动。", "No money had moved by the end of this period.";
        account: "账户", "Account";
        opening: "期初余额", "Opening";
        debits: "借方（转出）", "Debits (out)";
        credits: "贷方（转入）", "Credits (in)";
        closing: "期末余额", "Closing";
        account_user: "用户钱包", "Users’ wallets";
        account_deposit: "活动保证金（暂存）", "Deposits of sales (set aside)";
        account_packet: "未领红包", "Unclaimed red packets";
        account_shop: "本店", "The shop";
        account_held: "金额不符的收款（待处理）", "Captures of a wrong amount (held)";
        account_provider: "支付平台（店外）", "Payment providers (outside)";
    }
}
