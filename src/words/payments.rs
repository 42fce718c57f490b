//! Money: payments and what needs attention about them, refunds that wait for approval, books, wallets, red packets.

use crate::Text;
use domain::settlement::{BillProblem, MovementKind};
use domain::{ApprovalStatus, CaseKind, DisputeState, PaymentStatus, RefundKind};

texts! {
    /// The console's page of payments that need attention.
    CasesText {
        title: "待处理付款", "Payments that need attention";
        tab: "付款异常", "Payments to check";
        lead: "支付平台上报、系统无法自动处理的情况。", "What the payment provider reported and the shop can’t settle by itself.";
        tab_open: "待处理", "Open";
        tab_settled: "已处理", "Settled";
        empty_settled: "还没有已处理的付款。", "No case has been settled yet.";
        settled_at: "处理时间", "Settled at";
        settled_by: "处理人", "Settled by";
        by_refund: "退款完成后自动结案", "the refund itself";
        by_win: "争议胜诉后自动结案", "winning the dispute";
        dispute: "争议", "Dispute";
        dispute_won: "胜诉，款项留在本店", "won: the money stays with the shop";
        dispute_lost: "败诉，款项已退给付款人", "lost: the money went back to the payer";
        respond_by: "最晚答复", "Answer by";
        note: "处理说明", "Reason";
        empty: "没有待处理的付款。", "No payment needs attention.";
        kind_mismatched: "到账金额不符", "Wrong amount captured";
        kind_refund_failed: "退款失败", "Refund failed";
        kind_refund_delayed: "退款受阻", "Refund is delayed";
        kind_unexpected_refund: "未申请的退款", "Refund that wasn’t requested";
        kind_disputed: "付款争议", "Payment disputed";
        kind_unknown_payment: "未知付款", "Unknown payment";
        kind_unknown_event: "未知通知", "Unknown notification";
        kind_bill_differs: "对账不符", "Bill and books differ";
        means_mismatched: "到账金额或币种与应付不符，订单未因此变为已付款。请退款，或在核实后处理。",
            "The amount or currency isn’t what was asked for, so this payment paid for nothing. Refund it, or look into it and settle it.";
        means_refund_failed: "支付平台未能退款，或退款在完成后又被退回。在你重新退款之前不再尝试。",
            "The provider couldn’t return the money, or it came back after it was sent. No further attempts are made until you retry.";
        means_refund_delayed: "多次退款未成功，系统仍在重试。", "Several attempts failed. The shop keeps trying.";
        means_unexpected_refund: "支付平台退了款，但本店没有申请。订单状态未变。", "The provider returned money although the shop didn’t ask for it. The order is unchanged.";
        means_disputed: "付款人或其银行要求退回款项。订单状态未变，请在支付平台答复。",
            "The payer or their bank wants the money back. The order is unchanged. Answer it at the provider.";
        means_unknown_payment: "通知中的付款单号不属于本店。", "The shop never started a payment with this ID.";
        means_unknown_event: "系统不认识这种通知。", "The shop doesn’t know this kind of notification.";
        means_bill_differs: "支付平台的账单与本店账目不一致。重新对账后若已一致，会自动结案。",
            "The provider’s bill and the shop’s books don’t have the same. The case closes itself once they do, when the day is compared again.";
        state: "付款状态", "Payment status";
        top_up: "钱包充值", "Wallet top-up";
        asked: "应付", "Asked for";
        reported: "上报金额", "Reported";
        details: "平台说明", "Provider’s details";
        at: "时间", "Reported at";
        unknown: "无此付款", "no such payment";
        refund: "退款", "Refund";
        refund_text: "向支付平台申请退回这笔付款的全部到账金额，完成后自动结案。",
            "Asks the provider to return everything it captured for this payment. The case closes itself once that is done.";
        settle: "标记为已处理", "Mark as settled";
        settle_text: "仅结案，不移动款项。", "Closes the case. No money is moved.";
        settle_failed_text: "确认款项已通过其他方式退还，付款和订单将记为已退款。",
            "Confirms that the money went back in another way. The payment and its order count as refunded.";
        why: "原因（记入操作日志）", "Reason (kept in the audit log)";
        done_refund: "已重新申请退款。", "Refund requested.";
        done_settle: "已标记为已处理。", "Marked as settled.";
        incomplete: "请填写原因（最多 500 字）。", "Enter a reason of at most 500 characters.";
        changed: "这笔付款的状态刚刚发生变化，操作未执行。", "This payment changed in the meantime, so nothing was done.";
    }
}

impl Text {
    pub fn payment_status(&self, status: &PaymentStatus) -> &'static str {
        match status {
            PaymentStatus::Created => self.support.payment_created,
            PaymentStatus::Captured => self.support.payment_captured,
            PaymentStatus::RefundPending => self.account.status_refund_pending,
            PaymentStatus::Refunded => self.account.status_refunded,
            PaymentStatus::Closed => self.support.payment_closed,
            PaymentStatus::Mismatched => self.support.payment_mismatched,
        }
    }

    /// The name of a kind of payments that need attention, and what it means.
    pub fn case_kind(&self, kind: &CaseKind) -> (&'static str, &'static str) {
        let t = &self.cases;
        match kind {
            CaseKind::Mismatched => (t.kind_mismatched, t.means_mismatched),
            CaseKind::RefundFailed => (t.kind_refund_failed, t.means_refund_failed),
            CaseKind::RefundDelayed => (t.kind_refund_delayed, t.means_refund_delayed),
            CaseKind::UnexpectedRefund => (t.kind_unexpected_refund, t.means_unexpected_refund),
            CaseKind::Disputed => (t.kind_disputed, t.means_disputed),
            CaseKind::UnknownPayment => (t.kind_unknown_payment, t.means_unknown_payment),
            CaseKind::UnknownEvent => (t.kind_unknown_event, t.means_unknown_event),
            CaseKind::BillDiffers => (t.kind_bill_differs, t.means_bill_differs),
        }
    }

    /// How far a dispute is.
    pub fn dispute_state(&self, state: &DisputeState) -> &'static str {
        match state {
            DisputeState::Open => self.common.under_way,
            DisputeState::Won => self.cases.dispute_won,
            DisputeState::Lost => self.cases.dispute_lost,
        }
    }

    /// How a bill and the books differ.
    pub fn bill_problem(&self, problem: &BillProblem) -> &'static str {
        match problem {
            BillProblem::MissingHere => self.settlements.missing_here,
            BillProblem::MissingThere => self.settlements.missing_there,
            BillProblem::AmountDiffers => self.settlements.amount_differs,
        }
    }

    pub fn movement_kind(&self, kind: &MovementKind) -> &'static str {
        match kind {
            MovementKind::Charge => self.settlements.charge,
            MovementKind::Refund => self.common.refund,
        }
    }

    /// What a member of the staff asked to be refunded.
    pub fn refund_kind(&self, kind: &RefundKind) -> &'static str {
        match kind {
            RefundKind::Order => self.approvals.kind_order,
            RefundKind::Part => self.common.partial_refund,
            RefundKind::Case => self.approvals.kind_case,
            RefundKind::Packet => self.approvals.kind_packet,
        }
    }

    pub fn approval_status(&self, status: &ApprovalStatus) -> &'static str {
        match status {
            ApprovalStatus::Pending => self.approvals.status_pending,
            ApprovalStatus::Approved => self.approvals.status_approved,
            ApprovalStatus::Declined => self.approvals.status_declined,
            ApprovalStatus::Expired => self.common.expired,
            ApprovalStatus::Void => self.approvals.status_void,
        }
    }
}

texts! {
    /// Refunds that wait for a second person.
    ApprovalsText {
        title: "待复核", "Approvals";
        lead: "超出单人额度的退款和商家红包须由另一位员工批准。", "Refunds and red packets beyond what one person may decide alone. Another staff member approves them.";
        tab_open: "待复核", "Waiting";
        tab_decided: "已结束", "Decided";
        empty: "没有待复核的申请。", "Nothing waits for a second person.";
        empty_decided: "还没有已结束的申请。", "No request has been decided yet.";
        kind_order: "全额退款", "Refund of an order";
        kind_case: "待处理付款的退款", "Refund of a payment that needs attention";
        kind_packet: "商家红包", "Red packet from the shop";
        shares: "{} 份", "{} shares";
        status_pending: "待另一位员工复核", "Waits for a second person";
        status_approved: "已批准", "Approved";
        status_declined: "已拒绝", "Declined";
        status_void: "已失效", "Void";
        means_void: "情况已变化，无法再执行。", "Things had changed, so this was no longer possible.";
        means_expired: "72 小时内无人处理，款项未动。", "Nobody decided within 72 hours. No money moved.";
        asked_by: "申请人", "Asked for by";
        expires: "有效期至", "Expires";
        decided_by: "处理人", "Decided by";
        why_declined: "拒绝原因", "Why it was declined";
        approve: "批准", "Approve";
        approve_text: "退款将立即开始，不可撤销。", "The refund begins at once. This can’t be undone.";
        approve_packet_text: "红包将立即发出。批准人不能领取。", "The packet is given at once. You can’t claim a share of it.";
        decline: "拒绝", "Decline";
        decline_text: "款项不动。申请人会看到原因。", "No money moves. The person who asked sees your reason.";
        withdraw: "撤回申请", "Withdraw";
        withdraw_text: "撤回你自己的申请，款项不动。", "Takes your own request back. No money moves.";
        own_request: "这是你的申请，须由另一位员工批准。", "You asked for this. Another staff member has to approve it.";
        why: "原因（员工可见）", "Reason (staff only)";
        asked: "此退款超出单人 24 小时额度，已提交，待另一位员工批准。",
            "This refund is beyond what one person may decide alone within 24 hours. It now waits for a second person.";
        done_approve: "已批准。", "Approved.";
        done_decline: "已拒绝，款项未动。", "Declined. No money moved.";
        closed: "这项申请已处理或已过期，操作未执行。", "This request was decided or has expired, so nothing was done.";
        disputed: "付款有争议，钱可能已被收回，因此没有退款。核实后仍要退，请在订单页退款并勾选确认（有待复核的申请先拒绝）。",
            "The payment is disputed and the money may be back already, so nothing was refunded. To refund it all the same, decline any waiting request, then refund on the order’s page and tick the box.";
        void: "情况已变化，无法再执行，申请已失效。", "Things have changed, so this is no longer possible. The request is void.";
        asked_packet: "此红包超出单人 24 小时额度，已提交，待另一位员工批准。",
            "This packet is beyond what one person may give alone within 24 hours. It now waits for a second person.";
    }
}

texts! {
    /// The console's page of the books.
    BooksText {
        title: "账目", "Books";
        tab: "科目余额", "Balances";
        lead: "各类账户在一段时间内的期初、借方、贷方与期末。同一币种各账户之和恒为零。",
            "Opening balance, debits, credits and closing balance of each kind of account. All accounts of a currency sum to zero.";
        from: "起始日（{}）", "From ({})";
        to: "截止（不含，{}）", "Before ({})";
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

texts! {
    /// The console's page where bills of providers are compared with the books.
    SettlementsText {
        title: "对账", "Settlements";
        lead: "每天将支付平台的账单与本店账目逐笔核对。日期以支付平台为准。",
            "Each day the provider’s bill is compared with the books, line by line. Days are the provider’s.";
        empty: "还没有对账记录。", "No day has been compared yet.";
        none_so: "没有符合条件的对账记录。", "No matching days.";
        empty_text: "使用有账单的支付平台收款后，系统每天自动对账。", "Once a provider with bills takes money, this happens by itself every day.";
        provider: "支付平台", "Provider";
        day: "日期", "Day";
        state: "结果", "Result";
        agreed: "一致", "Agreed";
        differs: "{} 笔不符", "{} differences";
        open: "待对账", "Not compared yet";
        failed: "未完成", "Could not be compared";
        charges: "收款（账单）", "Charged (bill)";
        refunds: "退款（账单）", "Refunded (bill)";
        fees: "手续费", "Fees";
        lines: "{} 笔", "{} lines";
        again: "重新对账", "Compare again";
        asked: "即将重新对账，结果会显示在这里。", "The day will be compared again in a moment. The result will be here.";
        settled_at: "对账时间", "Compared at";
        problem: "不符", "Difference";
        kind: "类型", "Kind";
        charge: "收款", "Charge";
        here: "本店", "In the books";
        there: "账单", "On the bill";
        missing_here: "账单有，本店无", "Missing here";
        missing_there: "本店有，账单无", "Missing there";
        amount_differs: "金额不符", "Amount differs";
        none: "账单与账目一致。", "Bill and books agree.";
        cases: "每笔不符都会列入待处理付款。", "Each difference is a payment that needs attention.";
        older: "更早的日期", "Earlier days";
    }
}

texts! {
    /// The wallet: balance, activity, top-ups, payments.
    WalletText {
        title: "钱包", "Wallet";
        lead: "用于付款和发红包，收到的红包也会存入这里。", "Pay for orders and send red packets. Red packets you receive are added here.";
        balance: "余额", "Balance";
        top_up: "充值", "Top up";
        top_up_amount: "充值金额（元）", "Amount (CNY)";
        top_up_help: "单笔 1 到 50,000 元，下一步前往支付。", "From ¥1 to ¥50,000. You’ll pay on the next page.";
        top_up_go: "去充值", "Top up";
        entries: "收支明细", "Activity";
        empty: "暂无收支记录。", "No activity yet.";
        empty_text: "充值，或者去抢一个红包吧。", "Top up or claim a red packet.";
        empty_page: "没有更早的记录。", "No older activity.";
        older: "更早的记录", "Older activity";
        kind_topup: "充值", "Top-up";
        kind_pay: "支付订单", "Order payment";
        kind_refund: "订单退款", "Order refund";
        kind_fund: "发红包", "Red packet sent";
        kind_claim: "抢到红包", "Red packet received";
        kind_return: "红包退回", "Red packet returned";
        kind_giveup: "放弃余额", "Balance given up";
        kind_deposit: "保证金暂存", "Deposit set aside";
        kind_deposit_return: "保证金退回", "Deposit returned";
        deposits: "暂存中", "Set aside";
        deposits_text: "参与活动的保证金，会全额退回余额。", "Deposits of sales you take part in. They come back in full.";
        deposit_since: "始于", "Since";
        for_sale: "充值后返回场次。", "After paying you return to the sale.";
        see_sale: "查看场次", "View sale";
        see_packet: "查看红包", "View red packet";
        pay: "用钱包支付 · {}", "Pay with wallet · {}";
        pay_holds: "钱包余额 {}。", "Wallet balance: {}.";
        pay_deposit: "其中 {} 为将退回的保证金。", "That includes the deposit of {}, which comes back.";
        pay_short: "钱包余额 {}，不足以支付此订单。", "Your wallet balance of {} doesn’t cover this order.";
        prove_why: "为什么要再验证一次", "Why we ask again";
        prove_yours: "钱只由你本人动用", "Only you spend your money";
        prove_yours_text: "即使有人用了你没有关闭的浏览器。", "Even if someone else uses a browser that you left open.";
        prove_nothing: "还没有扣款", "Nothing has been paid yet";
        prove_nothing_text: "取消不会改变任何内容。", "Cancelling changes nothing.";
        prove_once: "12 小时内不再询问", "Not again for 12 hours";
        prove_once_text: "在这台设备上验证一次即可。", "Once on this device is enough.";
        filled_in: "你填写的内容", "What you filled in";
        prove_lead: "距上次验证身份已超过 12 小时，使用钱包前请再次输入密码。刚才填写的内容会保留。",
            "It’s been more than 12 hours since you logged in. Enter your password to use your wallet. What you’ve filled in is kept.";
        no_provider: "本店目前没有开通在线支付，只能用钱包余额付款。",
            "The shop takes no online payments at the moment. Orders can be paid from the wallet.";
        no_top_up: "本店目前没有开通在线支付，无法充值。", "The shop takes no online payments at the moment, so you can’t top up.";
        give_up: "我放弃钱包、保证金和未领完红包中的 {}，归商店所有。", "I give up the {} in my wallet, deposits and open red packets. It goes to the shop.";
        give_up_text: "钱包、保证金和未领完的红包里还有 {}，删除前可以先花掉。", "You still have {} in your wallet, deposits and open red packets. You may want to spend it first.";
    }
}

texts! {
    /// Red packets: giving, claiming, results, and the console's pages.
    PacketsText {
        default_greeting: "恭喜发财，大吉大利", "Good fortune to you";
        from: "{} 的红包", "Red packet from {}";
        from_shop: "商家红包雨", "Red packets from the shop";
        from_gone: "一位朋友的红包", "Red packet from a friend";
        open_it: "拆红包", "Open the red packet";
        glyph: "開", "开";
        opens_at: "开抢时间", "Opens";
        until: "截止时间", "Expires";
        wait: "距开抢", "Opens in";
        opening: "正在拆…", "Opening…";
        try_again: "人太多了，正在重试…", "High demand. Retrying…";
        not_open: "还没到开抢时间。", "Not open yet.";
        lost: "网络不通，请再点一次，不会重复领取。", "Connection problem. You can safely try again.";
        see_all: "看看大家的手气", "See who got what";
        noscript_wait: "到点后请刷新页面，再点“拆红包”。", "Reload this page when it opens, then press the button.";
        got: "你抢到了", "You got";
        got_where: "已存入你的", "Added to your";
        got_wallet: "钱包", "wallet";
        state_upcoming: "还没开抢", "Not open yet";
        state_upcoming_text: "到点再来，先到先得。", "Come back when it opens. First come, first served.";
        state_open: "还有红包没拆", "Shares still available";
        state_open_text: "点开看看手气。", "Open it and try your luck.";
        state_empty: "手慢了，红包派完了", "All gone";
        state_empty_text: "下次早点来。", "Come a little earlier next time.";
        state_expired: "红包已过期", "This red packet has expired";
        state_expired_text: "未领取的金额已退回。", "Unclaimed money went back to the sender.";
        state_own: "这是你发的红包", "This is your own red packet";
        state_own_text: "你选择了自己不参与。", "You chose not to take part.";
        claimed_of: "已领取 {} / {} 个", "{} of {} claimed";
        sums: "共 {}", "{} in total";
        returned: "已退回 {}", "{} returned";
        list: "大家的手气", "Who got what";
        list_none: "还没有人领取。", "No claims yet.";
        luckiest: "手气最佳", "Luckiest";
        deleted_user: "已注销用户", "Deleted user";
        me: "我", "You";
        mine_title: "我的红包", "Your red packets";
        mine_lead: "发出和收到的红包都在这里。", "Red packets you’ve sent and received.";
        tab: "发出或收到", "Sent or received";
        given: "发出的", "Sent";
        received: "收到的", "Received";
        none_given: "你还没有发过红包。", "You haven’t sent any yet.";
        none_received: "你还没有收到过红包。", "You haven’t received any yet.";
        give_first: "发一个给朋友吧。", "Send one to your friends.";
        how_fill: "选好总额和个数，从钱包扣款", "Choose an amount and how many share it. It’s paid from your wallet.";
        how_share: "把链接发给朋友，金额随机", "Send the link to friends. Each gets a random share.";
        how_back: "没领完的自动退回钱包", "What nobody claims comes back to your wallet.";
        give: "发红包", "Send a red packet";
        older: "更早的红包", "Older red packets";
        phase_upcoming: "未开抢", "Upcoming";
        phase_open: "进行中", "Open";
        phase_empty: "已抢光", "All claimed";
        give_lead: "从钱包扣款，未领完的会退回钱包。", "Paid from your wallet. Unclaimed money comes back to you.";
        holds: "钱包余额 {}", "Wallet balance: {}";
        total: "总金额（元）", "Total (CNY)";
        count: "红包个数", "Number of shares";
        count_help: "最多 1,000 个，每人限领一个。", "Up to 1,000. One per person.";
        count_help_shop: "最多 1,000,000 个，每人限领一个。", "Up to 1,000,000. One per person.";
        split: "分配方式", "How to split it";
        split_bounded: "拼手气", "Random";
        split_bounded_text: "多数接近平均值", "most shares are near the average";
        split_equal: "普通红包", "Equal";
        split_equal_text: "每个一样多", "everyone gets the same";
        split_double_average: "拼大手气", "Random, big swings";
        split_double_average_text: "最高可达剩余均值的两倍", "up to twice the average of what’s left";
        bounds: "单个红包上下限", "Smallest and largest share";
        min: "最少（元）", "Smallest (CNY)";
        max: "最多（元）", "Largest (CNY)";
        bounds_help: "选填：默认最少 0.01 元，最多约为平均值的两倍。", "Optional. By default from ¥0.01 to about twice the average.";
        greeting: "祝福语", "Greeting";
        greeting_help: "最多 100 个字。", "Up to 100 characters.";
        opens: "开抢时间（选填）", "Opens at (optional)";
        opens_local: "留空则立即开抢。按你的时区填写", "Leave empty to open now. In your time zone";
        opens_utc: "留空则立即开抢。按 UTC 时间填写。", "Leave empty to open now. In UTC.";
        own: "我也可以抢", "I can claim a share too";
        preview: "预览分配效果", "Preview the split";
        preview_title: "可能的分配", "Example split";
        preview_text: "仅为示例，实际结果会不同。", "Just an example; the real split will differ.";
        preview_range: "最少 {}，最多 {}", "Smallest {}, largest {}";
        preview_more: "还有 {} 个", "and {} more";
        give_go: "塞钱进红包", "Create red packet";
        not_enough: "钱包余额不足。", "Your wallet balance is too low.";
        given_title: "红包准备好了", "Your red packet is ready";
        given_text: "把链接发给朋友。未领完的将退回，时间：", "Share the link with your friends. Unclaimed money comes back at";
        link: "红包链接", "Link to share";
        copy: "复制链接", "Copy link";
        copied: "已复制", "Copied";
        qr: "红包链接二维码", "QR code of the link";
        nav: "红包", "Red packets";
        admin_lead: "红包雨由商店出资，停止后剩余金额退回商店。",
            "Red packet drops are paid for by the shop. When one stops, what is left goes back to the shop.";
        rain: "新建红包雨", "New red packet drop";
        rain_lead: "由商店出资，最多 1,000,000 个。", "Paid for by the shop, up to 1,000,000 shares.";
        rain_go: "开始发放", "Start the drop";
        admin_none: "还没有红包。", "No red packets yet.";
        col_packet: "红包", "Red packet";
        col_giver: "发放人", "From";
        col_phase: "状态", "State";
        col_claimed: "已领取", "Claimed";
        col_total: "金额", "Amount";
        col_opens: "开抢时间", "Opens";
        shop: "商店", "The shop";
        stop: "停止", "Stop";
        stop_text: "立即结束，未领取的金额退回发放人，已领取的不受影响。",
            "Ends the red packet now. Unclaimed money is returned; claimed shares aren’t affected.";
        done_stop: "已停止，剩余金额正在退回。", "Stopped. The remaining money is being returned.";
        done_fund: "红包雨已开始发放。", "The red packet drop has started.";
        watch: "实时领取", "Live claims";
        watch_shares: "已领取的红包", "Shares claimed";
        watch_money: "已领取的金额", "Amount claimed";
        watch_rate: "每秒领取", "Claims per second";
        watch_ago: "{} 秒前", "{} s ago";
        watch_now: "现在", "now";
        watch_away: "暂时无法连接，正在重试。", "Can’t connect. Retrying.";
        all: "全部红包", "All red packets";
        share_link: "领取链接", "Claim link";
    }
}
