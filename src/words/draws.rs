use domain::draw::Exclusion;

texts! {
    /// Sales by draw: the page of a sale, a shopper's entry, and the console's form.
    DrawText {
        how_title: "本场如何决定", "How buyers are chosen";
        how_rush: "先到先得，售完即止。", "First come, first served, while stock lasts.";
        how_spread: "每个账号各有一个随机时刻，从那时起先到先得。", "From each account’s own random moment on, first come, first served.";
        how_draw: "抽签：开放期间报名，先后不影响结果；每个账号一个报名，结束后抽签排序。",
            "By draw: enter while it is open. When you enter makes no difference; each account has one entry, and all are ranked afterwards.";
        tag: "抽签", "Draw";
        opens: "报名开放", "Entries open";
        closes: "报名截止", "Entries close";
        proof_link: "规则、名单与证明", "Rules, list and proof";
        open: "报名进行中", "Entries are open";
        ended: "报名已截止", "Entries are closed";
        enter: "立即报名", "Enter now";
        withdraw: "撤回报名", "Take my entry back";
        mine: "查看我的报名", "See my entry";
        step_enter: "登录后报名一次即可，任何设备都行。", "Log in and enter once, on any device.";
        step_draw: "截止后锁定名单并抽签，结果公开可验证。", "After the closing the list is locked and drawn. Anyone can check the result.";
        step_pay: "抽中后订单为你保留，请在订单显示的时间前付款；逾期则顺延给下一位。",
            "If you win, an order waits for you. Pay before the time shown on it, or it goes to the next in order.";
        title: "我的报名", "My entry";
        head_in: "报名成功", "You’re in the draw";
        head_out: "等你报名", "Take part in this draw";
        head_not_open: "还不能报名", "Not open for entries";
        head_missed: "错过了这次报名", "Entries have closed";
        head_waiting: "等待递补", "Next in order";
        head_over: "这次没有中签", "Not this time";
        head_passed: "名额已顺延", "Your turn has passed";
        head_excluded: "报名未通过", "Your entry takes no part";
        head_called_off: "本次抽签取消", "No draw this time";
        result: "查看抽签结果与证明", "See the result and its proof";
        not_entered: "你还没有报名。", "You have not entered.";
        entered: "已报名。截止前可以撤回。", "You have entered. You can take it back until entries close.";
        withdrawn: "已撤回报名。截止前可以再次报名。", "You took your entry back. You can enter again until entries close.";
        excluded: "你的报名已被排除：{}", "Your entry was excluded: {}";
        closed: "报名已截止，等待抽签。", "Entries are closed. The draw is still to come.";
        not_open: "报名尚未开放或已暂停。", "Entries are not open yet, or are paused.";
        missed: "报名已截止，你没有报名。", "Entries are closed, and you have not entered.";
        called_off: "抽签已取消，没有人中签。", "The draw was called off. Nobody wins.";
        won: "恭喜中签！请到订单页付款。", "You have won! Please pay on the page of your order.";
        won_paid: "恭喜中签！订单已付款。", "You have won, and your order is paid for.";
        won_lapsed: "你曾中签，但订单已取消或退款，商品已顺延给下一位。", "You had won, but the order was cancelled or refunded. The unit goes to the next in order.";
        waiting: "暂未轮到你。若有人未付款，将按顺序顺延。", "Not your turn so far. What others leave goes to the next in order.";
        over: "抽签已结束，未轮到你。", "The draw is over, and your turn did not come.";
        skipped: "轮到你时账号不可用，已顺延给下一位。", "Your account could not buy when its turn came, so it went to the next.";
        rank: "名次", "Rank";
        of_entries: "第 {} 名", "{}";
        entry: "报名编号", "Entry";
        entered_at: "报名时间", "Entered";
        receipt: "凭证", "Receipt";
        order: "查看订单", "View order";
        to_sale: "返回商品页", "Back to the sale";
        reason_duplicate: "同一人重复报名", "the same person has another entry";
        reason_automated: "程序报名", "a program entered";
        reason_ineligible: "不符合参与条件", "the conditions of the sale are not met";
        reason_account_closed: "账号已停用", "the account is closed";
        reason_other: "其他原因", "another reason";
        mode: "销售方式", "How it is sold";
        mode_rush: "抢购：先到先得", "Rush: first come, first served";
        mode_draw: "抽签：先报名，后抽签", "Draw: people enter, then a draw";
        mode_help: "抽签须设开始和结束时间，且每人限购 1 件；开始后不能更改。",
            "A draw needs both times and a limit of one per person. It can’t be changed after the start.";
        window: "中签后的付款时限（秒）", "Time for winners to pay (seconds)";
    }
}

impl DrawText {
    /// Why an entry takes no part.
    pub fn reason(&self, reason: &Exclusion) -> &'static str {
        match reason {
            Exclusion::Duplicate => self.reason_duplicate,
            Exclusion::Automated => self.reason_automated,
            Exclusion::Ineligible => self.reason_ineligible,
            Exclusion::AccountClosed => self.reason_account_closed,
            Exclusion::Other => self.reason_other,
        }
    }
}
