texts! {
    /// Messages by mail.
    MailText {
        hello: "{}，你好：", "Hello {},";
        hello_visitor: "你好：", "Hello,";
        at: "时间：{} UTC", "{} UTC";
        link_until: "链接有效期至 {} UTC，仅可使用一次。", "The link works once, until {} UTC.";
        link_hidden: "（链接只有收件人可见）", "(Only the recipient sees the link.)";
        ignore: "如果不是你本人操作，请忽略本邮件。", "If this wasn’t you, you can ignore this email.";
        ignore_recovery: "如果不是你本人操作，请忽略本邮件，密码不会改变。请勿将链接转发给任何人，包括本店员工。",
            "If this wasn’t you, ignore this email and your password stays as it is. Don’t share the link with anyone, including our staff.";
        react: "如果不是你本人操作，请立即修改密码并退出所有设备。",
            "If this wasn’t you, change your password and log out of all devices right away.";
        verification_subject: "{}：请验证邮箱", "{}: confirm your email address";
        verification: "点击下面的链接，将 {} 设为你账号的邮箱：", "Open this link to use {} for your account:";
        in_use_subject: "{}：你的邮箱被填写", "{}: your address was entered again";
        in_use: "有人在另一个账号中填写了这个邮箱。它已是你账号的邮箱，一个邮箱只能用于一个账号，因此没有任何改变。",
            "Someone entered this address for another account. It belongs to yours, and an address serves one account only, so nothing has changed.";
        registration_subject: "{}：继续注册", "{}: continue creating your account";
        registration: "点击下面的链接，确认用 {} 注册新账号：", "Open this link to confirm that you’re creating an account with {}:";
        recovery_subject: "{}：重设密码", "{}: set a new password";
        recovery: "点击下面的链接，为你的账号设置新密码：", "Open this link to set a new password for your account:";
        address_subject: "{}：邮箱已更换", "{}: your email address was changed";
        address: "你账号的邮箱已更换或移除。今后的邮件不再发送到这里。",
            "The email address of your account was changed or removed. This address gets no more email about it.";
        password_subject: "{}：密码已修改", "{}: your password was changed";
        password: "你账号的密码已修改，其他设备已退出登录。", "The password of your account was changed, and other devices were logged out.";
        device_subject: "{}：新设备登录", "{}: login from a new device";
        device: "你的账号在新的设备或网络上登录：", "Your account was used to log in from a new device or network:";
        factor_on_subject: "{}：两步验证已开启", "{}: two-step verification is on";
        factor_on: "你的账号已开启两步验证。", "Two-step verification was turned on for your account.";
        factor_replaced_subject: "{}：两步验证已更换", "{}: two-step verification was replaced";
        factor_replaced: "你账号的验证器已更换，旧的恢复码不再有效。",
            "The authenticator of your account was replaced. Earlier recovery codes no longer work.";
        factor_off_subject: "{}：两步验证已关闭", "{}: two-step verification is off";
        factor_off: "你账号的两步验证已关闭，只凭密码即可登录。",
            "Two-step verification was turned off for your account. The password alone is enough to log in.";
        offer_subject: "{}：候补成功，请尽快付款", "{}: your turn has come";
        offer: "你在候补的商品有货了，订单已为你保留到 {} UTC。请在此之前付款：",
            "A unit you waited for came back. It is yours until {} UTC. Please pay before then:";
        offer_advice: "逾期未付款，将顺延给下一位候补。不想要了可以直接取消订单。",
            "If you don’t pay in time, it goes to the next person waiting. If you no longer want it, just cancel the order.";
        code_subject: "{}：恢复码已使用", "{}: a recovery code was used";
        draw_won_subject: "{}：你中签了", "{}: you won in a draw";
        draw_won: "你中签了，「{}」已为你保留。", "You won in a draw, and {} is held for you.";
        draw_called_off_subject: "{}：抽签已取消", "{}: a draw was called off";
        draw_called_off: "你报名的「{}」抽签已取消，没有人中签。如有押金，将全额退回钱包。", "The draw for {} that you entered was called off, and nobody wins. If you paid a deposit, all of it goes back to your wallet.";
        reason: "原因：“{}”", "The reason: “{}”";
        pay_by: "请在 {} UTC 前付款：", "Pay before {} UTC:";
        order_line: "订单：{}", "Order: {}";
        held_subject: "{}：订单正在审核", "{}: your order is held for review";
        held: "我们的员工正在审核你的一笔订单，审核结束前不会发货。原因：“{}”", "Our staff are looking at one of your orders, and it won’t ship until they’re done. The reason: “{}”";
        held_advice: "如有误会，请在订单页提交申诉，我们的员工会答复。", "If this is a mistake, write to us on the order page. Our staff answer every appeal.";
        released_subject: "{}：订单已放行", "{}: your order has been released";
        released: "你的订单审核完毕，将照常处理。说明：“{}”", "The review of your order is over, and it goes on as usual. The reason: “{}”";
        upheld_subject: "{}：申诉答复", "{}: the answer to your appeal";
        upheld: "我们的员工看过你的申诉，订单继续审核。答复：“{}”", "Our staff read your appeal, and the order stays held. Their answer: “{}”";
        review_refund_subject: "{}：订单已退款", "{}: your order is being refunded";
        review_refund: "审核后，你的订单正在全额退款。原因：“{}”", "After the review your order is being refunded in full. The reason: “{}”";
        review_cancel_subject: "{}：订单已取消", "{}: your order was cancelled";
        review_cancel: "审核后，你的订单已取消，未产生扣款。原因：“{}”", "After the review your order was cancelled, and you weren’t charged. The reason: “{}”";
        question_subject: "{}：你的提问有答复了", "{}: your question was answered";
        question: "你关于「{}」的提问已有答复：", "Your question about {} was answered:";
        until: "时间：{} UTC", "Time: {} UTC";
        sale_starts_subject: "{}：即将开始", "{}: a sale starts soon";
        sale_starts: "你设置了提醒：「{}」即将开始。", "You wanted to be reminded: {} starts soon.";
        turn_called_subject: "{}：轮到你了", "{}: it’s your turn";
        turn_called: "等候室叫到你了，请在下面的时间前购买：{}", "The waiting room called you. Please buy before the time below: {}";
        payment_ends_subject: "{}：付款时间快到了", "{}: your time to pay ends soon";
        payment_ends: "你的订单将于 {} UTC 取消，请在此之前付款：", "Your order will be cancelled at {} UTC. Please pay before then:";
        code: "你账号的一个恢复码刚刚被使用。", "A recovery code of your account was just used.";
    }
}
