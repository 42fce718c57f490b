texts! {
    /// Messages to browsers, and the switch for them.
    PushText {
        sale_starts: "「{}」5 分钟内开始", "{} starts within five minutes";
        turn_called: "轮到你了：{}", "It’s your turn: {}";
        draw_won: "中签了：{}，请尽快付款", "You won the draw: {}. Please pay soon";
        unit_offered: "候补到货，已为你保留，请尽快付款", "A unit came back and is held for you. Please pay soon";
        payment_ends: "付款时间还剩不到 5 分钟", "Less than five minutes left to pay";
        head: "推送通知", "Notifications";
        text: "开抢提醒、等候室叫号、候补到货、付款快超时：即使没有打开本店，也会通知到这台设备。",
            "Sales you set a reminder for, your turn in a waiting room, units that come back, time to pay running out: this device tells you even while the shop is closed.";
        on: "在这台设备上开启", "Turn on for this device";
        off: "在这台设备上关闭", "Turn off for this device";
        brief_on: "已开启", "On";
        brief_off: "未开启", "Off";
        is_on: "这台设备会收到通知。", "This device gets notifications.";
        is_off: "这台设备不会收到通知。", "This device gets no notifications.";
        denied: "浏览器禁止了本店的通知，请在浏览器的网站设置中允许。",
            "The browser blocks notifications of this shop. Allow them in its site settings.";
        failed: "浏览器无法连接它的推送服务，请稍后再试。", "The browser can’t reach its push service. Please try again later.";
        unsupported: "这个浏览器不支持推送通知。在 iPhone 和 iPad 上，请先将本店添加到主屏幕。",
            "This browser has no push notifications. On iPhone and iPad, add the shop to the home screen first.";
        no_script: "开启通知需要 JavaScript。填写并验证邮箱后，也会收到邮件。", "Turning them on needs JavaScript. With a confirmed email address you get emails as well.";
    }
}
