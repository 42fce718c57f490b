texts! {
    /// Login, orders, the test checkout, error pages.
    AccountText {
        login_title: "登录", "Log in";
        login_lead: "登录后即可抢购和查看订单。", "Log in to buy and view your orders.";
        register_title: "注册", "Create an account";
        register_lead: "只需用户名和密码。", "All you need is a username and a password.";
        username: "用户名", "Username";
        password: "密码", "Password";
        login_button: "登录", "Log in";
        register_agree: "注册即同意本店的购买条款和隐私说明", "By creating an account you agree to the shop’s terms and privacy notice";
        register_button: "注册并登录", "Create account";
        username_help: "3 到 32 个字母、数字或 _ - . 字符", "3 to 32 letters, digits, dots, hyphens or underscores";
        price_wait: "你的网络最近注册了很多账号，请填好表单，在此时间之后提交：",
            "Many accounts were just created from your network. Fill in the form now, and send it after";
        price_computing: "正在核验浏览器，只需几秒…", "Checking your browser. This takes a few seconds…";
        show_password: "显示密码", "Show password";
        rule_length: "至少 12 个字符", "At least 12 characters";
        rule_varied: "不是重复的字符、连续的按键或用户名", "Not a repetition, a row of keys or your username";
        strength: "强度", "Strength";
        strengths: "太弱|一般|良好|很强", "too weak|fair|good|strong";
        rule_common: "不是常见或泄露过的密码（提交时核对）", "Not a common or leaked password (checked when you send it)";
        to_register: "还没有账号？注册一个", "New here? Create an account";
        to_login: "已有账号？去登录", "Already have an account? Log in";
        beside: "为什么在这里买", "What you get here";
        beside_destination: "登录后前往", "You’re heading to";
        beside_next: "下一场", "Next sale";
        beside_starts_in: "距开抢", "Starts in";
        beside_pay: "保留 {} 分钟", "Held for {} minutes";
        beside_pay_text: "抢到后等你付款，超时未付才放回。", "Pay any time before then. Unpaid orders go back on sale.";
        orders_title: "我的订单", "Your orders";
        orders_empty: "还没有订单。", "No orders yet.";
        orders_empty_text: "去看看正在抢购和即将开抢的秒杀吧。", "See what’s on now and what’s coming up.";
        orders_older: "更早的订单", "Older orders";
        to_sales: "去逛秒杀", "Browse sales";
        quantity: "共 {} 件", "Qty {}";
        order_title: "订单", "Order";
        order_number: "订单号", "Order number";
        amount: "金额", "Amount";
        pieces: "数量", "Quantity";
        pay_by: "请在此时间前付款", "Pay by";
        time_left: "剩余付款时间", "Time left to pay";
        pay: "去付款", "Pay now";
        cancel: "取消订单", "Cancel order";
        cancel_question: "确定取消订单吗？", "Cancel this order?";
        cancel_text: "取消后商品会重新开抢，可能抢不回来。", "Your items go back on sale right away, and you may not get them again.";
        cancel_yes: "确认取消", "Yes, cancel order";
        cancel_no: "再想想", "Keep order";
        history: "订单进度", "Timeline";
        status_reserved: "已锁定", "Reserved";
        status_unpaid: "待付款", "Awaiting payment";
        status_paid: "已付款", "Paid";
        status_cancelled: "已取消", "Cancelled";
        status_rejected: "下单失败", "Unsuccessful";
        status_refund_pending: "退款中", "Refund pending";
        status_refunded: "已退款", "Refunded";
        means_reserved: "库存已为你保留，正在生成订单，本页会自动更新。",
            "Your items are reserved. We’re creating your order; this page updates by itself.";
        means_unpaid: "库存已为你保留，请按时付款。", "Your items are reserved until the payment deadline.";
        means_paid: "付款成功，感谢购买！", "Payment received. Thank you for your order!";
        means_cancelled: "订单已取消，未产生扣款。", "Your order was cancelled. You weren’t charged.";
        means_rejected: "很抱歉，下单未成功，未产生扣款。", "Sorry, we couldn’t complete your order. You weren’t charged.";
        means_refund_pending: "付款到账时订单已取消，款项正在原路退回。",
            "Your payment arrived after the order was cancelled. Your refund is on its way.";
        means_refunded: "款项已原路退回。", "Your payment has been refunded.";
        reason_sold_out: "原因：库存不足。", "Reason: sold out.";
        reason_repeated: "原因：你在本场已有订单。", "Reason: you already have an order in this sale.";
        reason_unpaid: "原因：超时未付款。", "Reason: not paid in time.";
        reason_by_owner: "原因：你取消了订单。", "Reason: you cancelled it.";
        test_cashier: "测试模式：付款不会扣款。", "Test mode: no money is taken.";
        test_console: "测试模式：支付渠道使用测试密钥，订单付款不会真正收钱。",
            "Test mode: the payment provider has test keys, so orders are paid without money.";
        pay_stripe: "银行卡等（Stripe）", "Card and more, by Stripe";
        pay_sandbox: "测试付款", "Test payment";
        payment_title: "去付款", "Payment";
        payment_going: "正在前往付款页面：{}", "Taking you to the payment page: {}";
        payment_go: "继续付款", "Continue";
        payment_scan: "请扫码付款：{}", "Scan the code to pay: {}";
        payment_code: "付款二维码", "QR code of the payment";
        payment_done: "我已付款，查看结果", "I have paid – show the result";
        cashier_title: "测试收银台", "Test checkout";
        cashier_mark: "测试环境：不会产生真实扣款", "Test mode: no real charge";
        cashier_text: "本页模拟支付平台，请选择支付结果。", "This page stands in for a payment provider. Choose the payment result.";
        cashier_number: "支付单号", "Payment ID";
        cashier_pay: "模拟付款成功", "Pay";
        cashier_cards: "或指定一张测试卡，商店会记下卡的指纹：", "Or name a test card, whose fingerprint the shop gets:";
        cashier_card: "用尾号 {} 的卡付款", "Pay with card ending {}";
        cashier_decline: "模拟付款失败", "Decline";
        cashier_settled: "付款成功", "Payment successful";
        cashier_declined: "付款失败", "Payment declined";
        cashier_closed: "这笔付款已关闭：已过付款期限，或订单已取消、已付款，或已发起新的付款。未产生扣款，请返回查看。",
            "This payment is closed: its time is up, the order was cancelled or paid, or a newer payment was started. You weren’t charged. Go back to see where things stand.";
        cashier_back: "返回订单", "Back to the order";
        error_label: "错误 {}", "Error {}";
        go_back: "返回", "Go back";
    }
}
