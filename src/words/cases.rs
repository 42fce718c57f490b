//! Payments: their states, what needs attention about them, and refunds that wait for approval.

use super::Text;
use domain::PaymentStatus;
use domain::{ApprovalStatus, CaseKind, RefundKind};

texts! {
    /// The console's page of payments that need attention.
    CasesText {
        title: "待处理付款", "Payments that need attention";
        lead: "支付平台上报、系统无法自动处理的情况。", "What the payment provider reported and the shop can’t settle by itself.";
        tab_open: "待处理", "Open";
        tab_settled: "已处理", "Settled";
        empty_settled: "还没有已处理的付款。", "No case has been settled yet.";
        settled_at: "处理时间", "Settled at";
        settled_by: "处理人", "Settled by";
        by_refund: "退款完成后自动结案", "the refund itself";
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
        means_mismatched: "到账金额或币种与应付不符，订单未因此变为已付款。请退款，或在核实后处理。",
            "The amount or currency isn’t what was asked for, so this payment paid for nothing. Refund it, or look into it and settle it.";
        means_refund_failed: "支付平台无法退款，已停止重试。", "The provider couldn’t return the money. No further attempts are made until you retry.";
        means_refund_delayed: "多次退款未成功，系统仍在重试。", "Several attempts failed. The shop keeps trying.";
        means_unexpected_refund: "支付平台退了款，但本店没有申请。订单状态未变。", "The provider returned money although the shop didn’t ask for it. The order is unchanged.";
        means_disputed: "付款人或其银行要求退回款项。订单状态未变。", "The payer or their bank wants the money back. The order is unchanged.";
        means_unknown_payment: "通知中的付款单号不属于本店。", "The shop never started a payment with this ID.";
        means_unknown_event: "系统不认识这种通知。", "The shop doesn’t know this kind of notification.";
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
