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
