texts! {
    /// Texts for the scripts; pages carry them in a `<template>`.
    ScriptText {
        phase_upcoming: "即将开始", "Upcoming";
        phase_open: "抢购中", "Open";
        phase_joining: "等候室已开放", "Waiting room open";
        phase_sold_out: "已售罄", "Sold out";
        phase_paused: "已暂停", "Paused";
        phase_ended: "已结束", "Ended";
        draw_open: "抽签报名中", "Draw: entries open";
        draw_ended: "报名已截止", "Entries closed";
        draw_drawn: "已抽签", "Drawn";
        draw_opens: "距开放报名", "Entries open in";
        draw_closes: "距报名截止", "Entries close in";
        go_buy: "立即抢购", "Buy now";
        go_remind: "提醒我", "Remind me";
        go_join: "进入等候室", "Join the line";
        go_enter: "报名抽签", "Enter the draw";
        go_result: "查看结果", "See the result";
        go_wait: "去候补", "Join the waitlist";
        go_gone: "已抢光", "All gone";
        go_paused: "暂停中", "Paused";
        go_over: "已结束", "Ended";
        hot: "快抢光了", "Almost gone";
        head_upcoming: "距开抢", "Starts in";
        head_open: "距结束", "Ends in";
        head_open_endless: "抢购进行中", "Open now";
        head_unknown: "敬请期待", "Coming soon";
        button_upcoming: "尚未开始", "Not open yet";
        button_starts: "{} 后开抢", "Opens in {}";
        button_final: "{} 秒后开抢", "Opens in {} s";
        button_opening: "马上开抢…", "Opening…";
        button_login: "登录后抢购", "Log in to buy";
        button_open: "立即抢购", "Buy now";
        button_sold_out: "已售罄", "Sold out";
        button_paused: "已暂停", "Paused";
        button_ended: "已结束", "Ended";
        button_holding: "正在为你抢…", "Securing your order…";
        button_held: "抢到了！正在生成订单…", "You got it! Creating your order…";
        button_order: "查看订单", "View order";
        hint_upcoming: "开抢后按钮自动亮起，无需刷新。", "The button turns on at the start. No need to reload.";
        hint_open: "点一次即可，抢到后库存为你保留，请按时付款。", "Press once. If you get it, it’s held for you until you pay.";
        hint_sold_out: "退回的商品先给候补的人；无人候补时重新开抢，本页自动更新。",
            "Items that come back go to the waitlist first. If it is empty, they are sold here, and this page updates by itself.";
        hint_paused: "活动暂停中，恢复后本页自动更新。", "This sale is paused. This page updates when it resumes.";
        hint_ended: "本场已结束，看看其他秒杀吧。", "This sale has ended. Take a look at the others.";
        hint_holding: "请不要关闭页面，无需重复点击。", "Keep this page open. No need to press again.";
        hint_resumed: "正在继续刚才的抢购…", "Picking up where you left off…";
        hint_retrying: "抢购火爆，正在自动重试", "High demand. Retrying for you";
        hint_unanswered: "暂未收到响应，正在重试", "No response yet. Retrying";
        hint_moment: "你的时刻还有 {} 秒：每个账号随机一个，快慢都公平。现在点一下，到时自动为你抢。",
            "Your moment comes in {} s: each account has a random one, so speed wins nothing. Press now and we’ll buy then.";
        hint_awaiting: "还有 {} 秒到你的时刻，到时自动为你抢，请不要关闭页面。", "Your moment comes in {} s. We’ll buy for you then, so keep this page open.";
        button_awaiting: "已排好，等你的时刻…", "Set for your moment…";
        hint_offline: "网络已断开，恢复后自动继续，不会重复下单。",
            "You’re offline. We’ll continue when you’re back, and you won’t get a duplicate order.";
        hint_progress: "第 {} 次", "attempt {}";
        hint_elapsed: "已等待 {} 秒", "{} s";
        hint_gave_up: "暂时无法连接，请稍后再试。", "We can’t reach the shop right now. Please try again in a moment.";
        hint_login: "提前登录，开抢更快。", "Log in now so you’re ready when it starts.";
        hint_have_order: "你在本场已有订单。", "You already have an order in this sale.";
        hint_reconnecting: "连接中断，正在重连…", "Connection lost. Reconnecting…";
        ready_user: "已登录", "Logged in";
        ready_eligible: "满足参与条件", "You can take part";
        ready_address: "地址已填好", "Address set";
        ready_payment: "余额够付，一键付款", "Balance covers it: one tap to pay";
        left: "剩余 {} 件", "{} left";
        taken: "已抢 {}%", "{}% claimed";
        claimed_of: "抢到 {} / {} 件", "{} of {} claimed";
        hours: "时", "hours";
        minutes: "分", "min";
        seconds: "秒", "sec";
        starts_in_minute: "还有 1 分钟开抢", "Starts in one minute";
        starts_in_ten: "还有 10 秒开抢", "Starts in ten seconds";
        now_open: "已开抢！", "The sale is open!";
        back_again: "又有货了，快来抢！", "Back in stock. You can buy now.";
        remind_off: "提醒我", "Remind me";
        remind_on: "已设置提醒", "Reminder set";
        remind_set: "开始前 1 分钟提醒你，请保持本页打开。", "We’ll remind you one minute before the start. Keep this tab open.";
        remind_quiet: "浏览器未允许通知，届时将通过本页和标签页标题提醒你。",
            "Notifications are off, so we’ll remind you on this page and in the tab title.";
        remind_push: "开始前 5 分钟推送通知到你的设备，可以关闭本页。", "A notification comes to your devices five minutes before the start. You can close this tab.";
        remind_mail: "开始前 5 分钟发邮件到 {}，可以关闭本页。", "An email goes to {} five minutes before the start. You can close this tab.";
        remind_both: "开始前 5 分钟推送通知，并发邮件到 {}，可以关闭本页。",
            "Five minutes before the start a notification comes to your devices, and an email to {}. You can close this tab.";
        remind_people: "{} 人已设提醒", "{} set a reminder";
        remind_unset: "已取消提醒。", "Reminder off.";
        remind_soon: "即将开始，不到 1 分钟", "Starts in less than a minute";
        time_over: "付款已超时", "Payment time has expired";
        data_old: "数据已有 {} 秒未更新", "Last updated {} s ago";
        data_live: "实时", "Live";
        queue_ready: "队列中 {} 条消息", "messages in queue: {}";
    }
}
