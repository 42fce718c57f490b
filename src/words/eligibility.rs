use domain::EligibilityRule;

texts! {
    /// Who may take part in a sale.
    EligibilityText {
        title: "参与条件", "Who may take part";
        accounts_before: "账号注册时间不晚于", "Your account was registered no later than";
        verified_contact: "账号有已验证的邮箱。", "Your account has a confirmed email address.";
        one_per_contact: "同一邮箱只限一个账号参与。", "One account per mailbox.";
        one_per_address: "同一收货地址只限一个账号参与，订单寄到参与时的默认地址。",
            "One account per delivery address. The order goes to the address that was your default when you took part.";
        invitation: "有本场的邀请码（F 码），一个账号用一个。", "You have an invitation code for this sale. One code per account.";
        deposit: "参与时从钱包暂存保证金（全额退回）", "When you take part, a refundable deposit is set aside from your wallet:";
        deposit_help: "付款、撤回报名后立即退回；其余在活动结束后退回，没有付款的也一样。这不是费用。",
            "It comes back in full: at once when you pay for your order or take your entry back, otherwise once the sale is over, also if you let a unit go unpaid. It isn’t a fee.";
        add_money: "充值", "Top up your wallet";
        check: "看看我能否参与", "Check whether you can take part";
        met: "✓ 已满足", "✓ Done";
        all_met: "你满足全部条件，可以参与。", "You meet every condition and can take part.";
        some_lack: "你还不满足全部条件。", "You don’t meet every condition yet.";
        no_rules: "本场没有参与条件，登录即可参与。", "This sale has no conditions: everyone with an account can take part.";
        add_address: "添加收货地址", "Add a delivery address";
        add_contact: "填写并验证邮箱", "Add and confirm an email address";
        code: "邀请码", "Invitation code";
        code_help: "26 个字母和数字，不分大小写，连字符可省略。", "26 letters and digits. Case and hyphens don’t matter.";
        redeem: "使用邀请码", "Use this code";
        privacy: "邮箱和地址只以加密摘要参与比对，活动结束 30 天后删除；注销账号时一并删除。",
            "Mailboxes and addresses are compared as keyed digests only. These are deleted 30 days after the sale, and with your account.";
        to_sale: "返回商品页", "Back to the sale";
    }
}

texts! {
    /// The rules in the form of a sale, and the console's page of invitation codes.
    EligibilityConsoleText {
        legend: "参与条件（可选）", "Who may take part (optional)";
        help: "条件在商品页公布，买家在抢购、排队、报名或候补时核对；开始后不能修改。",
            "The sale’s page tells them. They are checked when someone presses buy, joins, enters or waits, and are fixed once that has begun.";
        old_accounts: "仅限较早注册的账号", "Only accounts registered early enough";
        accounts_before: "最晚注册时间", "Registered no later than";
        accounts_before_empty: "留空表示保存的时刻", "Empty means the moment of saving";
        verified_contact: "须有已验证的邮箱", "A confirmed email address";
        one_per_contact: "同一邮箱限一个账号", "One account per mailbox";
        one_per_address: "同一收货地址限一个账号", "One account per delivery address";
        invitation: "须有邀请码（F 码）", "An invitation code";
        deposit: "可退保证金（元）", "Refundable deposit (CNY)";
        deposit_help: "留空表示不收。参与时从买家钱包暂存，付款或活动结束后全额退回，1 到 10000 元。",
            "Empty means none. Set aside from the wallet of everyone who takes part, and returned in full when they pay or the sale is over. ¥1 to ¥10,000.";
        price: "一个人有多个邮箱和地址：这些条件提高囤号的成本，但认不出是不是同一个人。",
            "One person can have many mailboxes and addresses: these conditions make accounts dearer, and don’t recognise people.";
        link: "邀请码", "Invitation codes";
        title: "邀请码", "Invitation codes";
        not_asked: "本场没有要求邀请码；在表单中选择后才会核对。", "This sale asks for no code. Choose that in its form first.";
        made: "已生成", "Made";
        used: "已使用", "Used";
        unused: "未使用", "Unused";
        revoked: "已作废", "Revoked";
        batches: "批次", "Batches";
        batch: "批次", "Batch";
        made_by: "生成者", "Made by";
        made_at: "时间", "When";
        empty: "还没有邀请码。", "No codes yet.";
        make: "生成并下载", "Make and download";
        make_title: "生成邀请码", "Make invitation codes";
        make_text: "邀请码只在下载的文件中出现一次，商店只保存摘要。丢失后只能作废重做。",
            "The codes are in the downloaded file only, once. The shop keeps hashes. If the file is lost, revoke them and make new ones.";
        count: "数量（1 到 10000）", "How many (1 to 10,000)";
        revoke_one: "作废一个邀请码", "Revoke a code";
        revoke_text: "已使用的码也可作废：该账号不能再参与，已有的订单不变。",
            "A used code can be revoked too: its account can’t take part any more. Orders that exist stay.";
        revoke: "作废", "Revoke";
        revoke_unused: "作废未使用的", "Revoke unused";
        revoke_unused_text: "这一批中还没有人使用的邀请码将全部失效。", "Every code of this batch that was not used stops working.";
        done_revoked: "邀请码已作废。", "Revoked.";
        not_found: "没有这个有效的邀请码。", "There is no such code in force.";
    }
}

impl EligibilityText {
    pub fn rule(&self, rule: &EligibilityRule) -> &'static str {
        match rule {
            EligibilityRule::AccountsBefore => self.accounts_before,
            EligibilityRule::VerifiedContact => self.verified_contact,
            EligibilityRule::OnePerContact => self.one_per_contact,
            EligibilityRule::OnePerAddress => self.one_per_address,
            EligibilityRule::Invitation => self.invitation,
            EligibilityRule::Deposit => self.deposit,
        }
    }
}
