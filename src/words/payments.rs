//! Money: payments, their states and what needs attention about them, refunds that wait for approval, books and wallets.

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
        dispute_open: "处理中", "under way";
        dispute_won: "胜诉，款项留在本店", "won: the money stays with the shop";
        dispute_lost: "败诉，款项已退给付款人", "lost: the money went back to the payer";
        respond_by: "最晚答复", "Answer by";
        note: "处理说明", "Reason";
        empty: "没有待处理的付款。", "No payment needs attention.";
        back: "全部订单", "All orders";
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
        payment: "付款单号", "Payment ID";
        state: "付款状态", "Payment status";
        order: "订单", "Order";
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
        incomplete: "请填写原因（最多 500 字）并勾选确认。", "Enter a reason of at most 500 characters and tick the box.";
        changed: "这笔付款的状态刚刚发生变化，操作未执行。", "This payment changed in the meantime, so nothing was done.";
    }
}

impl Text {
    pub fn payment_status(&self, status: &PaymentStatus) -> &'static str {
        match status {
            PaymentStatus::Created => self.support.payment_created,
            PaymentStatus::Captured => self.support.payment_captured,
            PaymentStatus::RefundPending => self.support.payment_refund_pending,
            PaymentStatus::Refunded => self.support.payment_refunded,
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
            DisputeState::Open => self.cases.dispute_open,
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
            MovementKind::Refund => self.settlements.refund,
        }
    }

    /// What a member of the staff asked to be refunded.
    pub fn refund_kind(&self, kind: &RefundKind) -> &'static str {
        match kind {
            RefundKind::Order => self.approvals.kind_order,
            RefundKind::Part => self.approvals.kind_part,
            RefundKind::Case => self.approvals.kind_case,
            RefundKind::Packet => self.approvals.kind_packet,
        }
    }

    pub fn approval_status(&self, status: &ApprovalStatus) -> &'static str {
        match status {
            ApprovalStatus::Pending => self.approvals.status_pending,
            ApprovalStatus::Approved => self.approvals.status_approved,
            ApprovalStatus::Declined => self.approvals.status_declined,
            ApprovalStatus::Expired => self.approvals.status_expired,
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
        kind_part: "部分退款", "Partial refund";
        kind_case: "待处理付款的退款", "Refund of a payment that needs attention";
        kind_packet: "商家红包", "Red packet from the shop";
        shares: "{} 份", "{} shares";
        greeting: "祝福语", "Greeting";
        status_pending: "待另一位员工复核", "Waits for a second person";
        status_approved: "已批准", "Approved";
        status_declined: "已拒绝", "Declined";
        status_expired: "已过期", "Expired";
        status_void: "已失效", "Void";
        means_void: "情况已变化，无法再执行。", "Things had changed, so this was no longer possible.";
        means_expired: "72 小时内无人处理，款项未动。", "Nobody decided within 72 hours. No money moved.";
        order: "订单", "Order";
        status: "状态", "Status";
        amount: "金额", "Amount";
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
        empty_text: "使用有账单的支付平台收款后，系统每天自动对账。", "Once a provider with bills takes money, this happens by itself every day.";
        provider: "支付平台", "Provider";
        every: "全部", "All";
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
        refund: "退款", "Refund";
        here: "本店", "In the books";
        there: "账单", "On the bill";
        payment: "付款单号", "Payment ID";
        line: "平台单号", "Provider’s number";
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
        newest: "回到最新", "Back to newest";
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
        for_sale: "充值后返回活动。", "After paying you return to the sale.";
        see_sale: "查看活动", "View sale";
        see_order: "查看订单", "View order";
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
