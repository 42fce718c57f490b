texts! {
    /// What the console shows first.
    OverviewText {
        title: "概览", "At a glance";
        revenue: "今日净收入（{}）", "Net income today ({})";
        nothing_earned: "暂无", "none";
        unpaid: "待付款订单", "Unpaid orders";
        refunds: "退款中", "Refunds under way";
        approvals: "待复核退款", "Refunds to approve";
        cases: "异常付款", "Payments to check";
        questions: "待答复提问", "Questions to answer";
        dead: "异常消息", "Dead letters";
        next: "下一场", "Next sale";
        no_next: "没有已排期的场次。", "No sale is scheduled.";
        more: "{}+", "{}+";
        all_well: "没有需要处理的事项。", "Nothing needs a hand.";
        password_is_enough: "目前仅凭密码就能进入管理后台。", "For now a password alone opens this console.";
        require_factor: "要求所有员工开启两步验证", "Require two-step verification of all staff";
        needs: "需要处理：{}。", "Needs a hand: {}.";
    }
}
