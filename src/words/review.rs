texts! {
    /// Linked accounts in a sale, holds of orders, and appeals: in the console and for the owners of orders.
    ReviewText {
        link: "关联账号", "Linked accounts";
        title: "关联账号", "Linked accounts";
        lead: "这些账号的订单看起来出自同一批人。家人、室友和代收点也可能如此：由你判断，系统不会自动处理。",
            "Orders whose accounts seem to belong together. So may a family, a shared flat or a parcel shop: you decide, nothing happens by itself.";
        empty: "没有关联账号。", "No linked accounts.";
        empty_text: "订单填写收货地址后才会比较。", "Orders are compared once they have a delivery address.";
        back: "返回场次", "Back to the sale";
        all: "全部关联账号", "All linked accounts";
        next: "下一页", "Next page";
        first: "回到第一页", "First page";
        accounts: "{} 个账号", "{} accounts";
        why: "关联原因", "Why they are linked";
        by_address: "收货地址相同：{} 个账号", "Same delivery address: {} accounts";
        by_contact: "邮箱相同：{} 个账号", "Same mailbox: {} accounts";
        by_instrument: "付款工具相同：{} 个账号", "Same payment instrument: {} accounts";
        by_registration: "几分钟内从同一网络注册，且收货街道相同：{} 个账号",
            "Registered from one network within minutes and delivered to one street: {} accounts";
        live_orders: "有效订单", "Live orders";
        units: "件数", "Units";
        paid: "已付金额", "Paid";
        several: "多种货币", "several currencies";
        held_orders: "审核中", "Held";
        appeals: "待答复申诉", "Appeals to answer";
        open: "查看", "Open";
        place: "收货地", "Delivered to";
        orders: "订单", "Orders";
        held: "审核中", "Held for review";
        hold: "暂缓发货", "Hold";
        hold_text: "订单不会发货，直到放行、退款或取消。买家会收到原因，并可以申诉。",
            "Nothing is shipped until the orders are released, refunded or cancelled. Buyers are told why and can appeal.";
        release: "放行", "Release";
        release_text: "订单照常发货，申诉一并答复。", "The orders ship as usual. This answers any appeal.";
        refund: "退款", "Refund";
        refund_text: "已付款的订单全额退款，未付款的取消，库存退回场次。此操作不可撤销。",
            "Paid orders are refunded in full and unpaid ones cancelled. Their units go back on sale. This can’t be undone.";
        uphold: "维持审核", "Uphold the hold";
        uphold_text: "答复申诉，订单继续暂缓发货。", "Answers the appeal. The order stays held.";
        summary_orders: "{} 笔订单", "{} orders";
        summary_units: "{} 件", "{} units";
        first_only: "前 {} 个账号的合计", "Sums of the first {} accounts";
        members_page: "每页 {} 个账号的订单；操作只针对本页。", "Orders of {} accounts on a page. Actions apply to this page.";
        compared: "账号比对时间", "Accounts compared at";
        reason: "原因（买家可见）", "Reason (the buyer reads it)";
        reason_help: "原样显示在买家的订单页和邮件中，请使用买家的语言。", "Shown as is on the order page and in the email, so use the buyer’s language.";
        sure: "我确定", "Yes, I’m sure";
        close: "返回", "Go back";
        not_yours: "你的角色只能查看。", "Your role is read-only.";
        none_apply: "没有可以处理的订单。", "No orders to act on.";
        done_hold: "已暂缓发货：{} 笔。", "Held: {}.";
        done_release: "已放行：{} 笔。", "Released: {}.";
        done_refund: "已退款或取消：{} 笔。", "Refunded or cancelled: {}.";
        done_one_hold: "订单已暂缓发货，买家已收到原因。", "Order held. The buyer was told why.";
        done_one_release: "订单已放行。", "Order released.";
        done_uphold: "已答复申诉，订单继续审核。", "Appeal answered. The order stays held.";
        count_unchanged: "之前已是如此：{} 笔。", "Already so before: {}.";
        count_ended: "订单已结束，未处理：{} 笔。", "Ended meanwhile, left alone: {}.";
        count_own: "你自己的订单，须由另一位员工处理：{} 笔。", "Your own, left to another staff member: {}.";
        count_waits: "等待另一位员工批准：{} 笔。", "Waiting for a second person: {}.";
        review: "审核", "Review";
        event_held: "暂缓发货", "Held";
        event_appeal: "买家申诉", "Appeal";
        event_upheld: "答复：维持审核", "Answer: the hold stays";
        event_released: "已放行", "Released";
        event_refunded: "退款", "Refunded";
        event_cancelled: "取消", "Cancelled";
        waiting: "申诉待答复", "Appeal to answer";
        search_held: "审核", "Review";
        search_any: "全部", "All orders";
        search_yes: "审核中", "Held only";
        search_no: "未在审核", "Not held";
        means_paid: "已付款。订单正在由我们的员工审核，审核结束前不会发货。", "Paid. Our staff are looking at this order, and it won’t ship until they’re done.";
        means_unpaid: "订单正在由我们的员工审核。你仍可付款或取消；逾期未付款会自动取消，付款后须审核结束才会发货。",
            "Our staff are looking at this order. You can still pay or cancel. If it isn’t paid in time it is cancelled, and once paid it ships after the review.";
        next_steps: "审核结束后，订单会放行发货，或全额退款。结果会显示在这里，并发送到你验证过的邮箱。",
            "Afterwards the order ships or is refunded in full. You’ll see the result here and get it by email if your address is confirmed.";
        shop_says: "原因", "Reason";
        appeal: "申诉", "Appeal";
        appeal_text: "有误会吗？请写给我们的员工，每次申诉都会得到答复。", "Is this a mistake? Write to our staff. They answer every appeal.";
        appeal_label: "你的说明", "Your message";
        appeal_help: "最多 1000 字。", "Up to 1,000 characters.";
        appeal_send: "提交申诉", "Send appeal";
        appeal_sent: "申诉已提交，员工会在这里答复。", "Your appeal was sent. Our staff will answer here.";
        you_wrote: "你的申诉", "Your appeal";
    }
}
