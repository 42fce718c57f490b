texts! {
    /// What the shop's scripts say; the page carries these to them.
    ScriptText {
        phase_upcoming: "即将开始", "Upcoming";
        phase_open: "抢购中", "Open";
        phase_sold_out: "已售罄", "Sold out";
        phase_paused: "已暂停", "Paused";
        phase_ended: "已结束", "Ended";
        head_upcoming: "距开始", "Opens in";
        head_open: "距结束", "Closes in";
        head_open_endless: "抢购进行中", "Open now";
        head_unknown: "等待开始", "Waiting for the start";
        button_upcoming: "尚未开始", "Not open yet";
        button_open: "立即抢购", "Buy now";
        button_sold_out: "已售罄", "Sold out";
        button_paused: "已暂停", "Paused";
        button_ended: "已结束", "Ended";
        button_holding: "正在为你占位…", "Holding your place…";
        button_held: "抢到了！正在生成订单…", "You got it! Writing your order…";
        button_order: "查看订单", "See your order";
        hint_upcoming: "到点后按钮会自动变为可用，无需刷新。", "The button wakes up by itself at the start. No need to reload.";
        hint_open: "点一次即可，抢到后为你保留，再去付款。", "Press once. We hold the pieces for you, then you pay.";
        hint_sold_out: "未付款的订单会退回库存，有货时本页会自动开放。",
            "Unpaid units may come back. This page watches for them and opens again by itself.";
        hint_paused: "本场已暂停，恢复后本页会自动开放。", "The shop has paused this sale. This page goes on by itself.";
        hint_ended: "本场已结束，看看其他秒杀吧。", "This sale is over. Have a look at the others.";
        hint_holding: "请不要关闭页面，无需重复点击。", "Please keep this page open. Pressing again is not needed.";
        hint_resumed: "正在继续刚才的抢购…", "Going on with your purchase…";
        hint_retrying: "抢购人数较多，正在自动重试", "Very busy. Trying again for you";
        hint_unanswered: "没有收到答复，正在再次确认", "No answer yet. Asking again";
        hint_offline: "网络已断开，恢复后自动继续，不会重复下单。",
            "You are offline. This goes on when you are back, and never orders twice.";
        hint_progress: "第 {} 次", "attempt {}";
        hint_elapsed: "已等待 {} 秒", "{} s";
        hint_gave_up: "暂时无法连接，请稍后再点一次按钮。", "The shop cannot be reached right now. Please press the button again.";
        hint_login: "登录后开抢更快。", "Log in now, so that you are ready when it opens.";
        hint_have_order: "你已有本场订单。", "You already have an order in this sale.";
        hint_reconnecting: "连接中断，正在重连…", "Connection lost. Reconnecting…";
        link_login: "去登录", "Log in";
        left: "剩余 {} 件", "{} left";
        taken: "已抢 {}%", "{}% taken";
        hours: "时", "hours";
        minutes: "分", "min";
        seconds: "秒", "sec";
        starts_in_minute: "还有一分钟开始", "One minute until the start";
        starts_in_ten: "还有十秒开始", "Ten seconds until the start";
        now_open: "开始了，可以抢购", "The sale is open";
        back_again: "有货了，可以抢购", "Units are back: you can buy now";
        remind_off: "开抢前提醒我", "Remind me";
        remind_on: "已设提醒", "Reminder set";
        remind_set: "开始前一分钟提醒你，请保持本页打开。", "You will be reminded one minute before. Keep this tab open.";
        remind_quiet: "浏览器不允许通知：届时本页和标签标题会提醒你。",
            "Your browser allows no notifications: this page and the tab's title will remind you.";
        remind_unset: "提醒已取消。", "The reminder is off.";
        remind_soon: "一分钟内开抢", "Opens within a minute";
        time_over: "付款时间已过", "The time to pay is over";
        data_old: "数据已有 {} 秒未更新", "These numbers are {} seconds old";
        data_live: "实时", "Live";
        queue_ready: "队列积压 {}", "{} waiting in the queue";
    }
}
