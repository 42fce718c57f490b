texts! {
    /// Signing in, orders, paying, refusals.
    AccountText {
        login_title: "登录", "Log in";
        login_lead: "登录后即可抢购和查看订单。", "Log in to buy and to see your orders.";
        register_title: "注册", "Create an account";
        register_lead: "只需用户名和密码。", "A user name and a password are all it takes.";
        username: "用户名", "User name";
        password: "密码", "Password";
        login_button: "登录", "Log in";
        register_button: "注册并登录", "Create account";
        username_help: "3 到 32 个字母、数字或 _ - . 字符", "3 to 32 letters, digits, dots, hyphens or underscores";
        password_help: "至少 8 个字符", "At least 8 characters";
        to_register: "还没有账号？注册一个", "New here? Create an account";
        to_login: "已有账号？去登录", "Already have an account? Log in";
        orders_title: "我的订单", "Your orders";
        orders_empty: "还没有订单。", "No orders yet.";
        orders_empty_text: "看看正在进行和即将开始的秒杀。", "See what is on sale now and what opens next.";
        orders_older: "更早的订单", "Older orders";
        to_sales: "去看秒杀", "See the sales";
        quantity: "共 {} 件", "Quantity {}";
        order_title: "订单", "Order";
        order_number: "订单号", "Order number";
        amount: "金额", "Amount";
        pieces: "数量", "Quantity";
        pay_by: "请在此时间前付款", "Pay before";
        time_left: "剩余时间", "Time left";
        pay: "去付款", "Pay now";
        cancel: "取消订单", "Cancel order";
        cancel_question: "确定要取消订单吗？", "Cancel this order?";
        cancel_text: "取消后商品将重新开放抢购，你可能抢不回来。",
            "The pieces go back on sale at once, and you may not get them again.";
        cancel_yes: "确认取消", "Yes, cancel it";
        cancel_no: "保留订单", "Keep it";
        history: "订单进度", "What happened so far";
        status_reserved: "已占位", "Held";
        status_unpaid: "待付款", "Waiting for payment";
        status_paid: "已付款", "Paid";
        status_cancelled: "已取消", "Cancelled";
        status_rejected: "未成功", "Not successful";
        status_refund_pending: "退款中", "Refund under way";
        status_refunded: "已退款", "Refunded";
        means_reserved: "库存已为你保留，正在生成订单，请稍候，本页会自动更新。",
            "The pieces are held for you. Your order is being written; this page updates by itself.";
        means_unpaid: "库存已为你保留，请按时付款。", "The pieces are held for you until the payment is due.";
        means_paid: "付款成功，感谢购买！", "Thank you. The pieces are yours.";
        means_cancelled: "订单已取消，没有产生扣款。", "The order was cancelled. Nothing was charged.";
        means_rejected: "很抱歉，库存已不足，没有产生扣款。", "Sorry, there were no pieces left for it. Nothing was charged.";
        means_refund_pending: "订单取消后收到了付款，正在原路退回。",
            "Your payment came after the order was cancelled. It is on its way back to you.";
        means_refunded: "款项已原路退回。", "Your money was returned.";
        reason_sold_out: "原因：库存已不足。", "Reason: there were no pieces left.";
        reason_repeated: "原因：你在本场已有订单。", "Reason: you already have an order in this sale.";
        reason_unpaid: "原因：未在规定时间内付款。", "Reason: it was not paid in time.";
        reason_by_owner: "原因：你取消了订单。", "Reason: you cancelled it.";
        cashier_title: "测试收银台", "Test cashier";
        cashier_mark: "测试环境：不会产生真实扣款", "This is a test. No real money moves.";
        cashier_text: "这里代替真实的支付平台。选择付款成功或失败，看看商店如何处理。",
            "This page stands in for a payment provider. Choose how the payment ends.";
        cashier_number: "支付单号", "Payment number";
        cashier_pay: "模拟付款成功", "Pay";
        cashier_decline: "模拟付款失败", "Decline";
        cashier_settled: "付款成功", "The payment went through";
        cashier_declined: "付款失败", "The payment was declined";
        cashier_back: "返回订单", "Back to the order";
        error_label: "错误 {}", "Error {}";
        go_back: "返回", "Go back";
    }
}
