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
        hint_upcoming: "到点后按钮会自动变为可用，无需刷新。", "The button wakes up by itself at the start. No need to reload.";
        hint_open: "点一次即可，抢到后为你保留，再去付款。", "Press once. We hold the pieces for you, then you pay.";
        hint_sold_out: "未付款的订单会退回库存，有货时本页会自动开放。",
            "Unpaid orders go back on sale; this page opens again if that happens.";
        hint_paused: "本场已暂停，恢复后本页会自动开放。", "The shop has paused this sale. This page goes on by itself.";
        hint_ended: "本场已结束，看看其他秒杀吧。", "This sale is over. Have a look at the others.";
        hint_holding: "请不要关闭页面，无需重复点击。", "Please keep this page open. Pressing again is not needed.";
        hint_retrying: "抢购人数较多，正在自动重试（第 {} 次）…", "Very busy. Trying again for you (attempt {})…";
        hint_unanswered: "没有收到答复，正在再次确认（第 {} 次）…", "No answer yet. Asking again (attempt {})…";
        hint_gave_up: "暂时无法连接，请稍后再点一次按钮。", "The shop cannot be reached right now. Please press the button again.";
        hint_login: "登录后开抢更快。", "Log in now to be ready at the start.";
        hint_have_order: "你已有本场订单。", "You already have an order in this sale.";
        hint_reconnecting: "连接中断，正在重连…", "Connection lost. Reconnecting…";
        link_login: "去登录", "Log in";
        link_order: "查看订单", "See your order";
        left: "剩余 {} 件", "{} left";
        taken: "已抢 {}%", "{}% taken";
        days: "天", "days";
        hours: "时", "hours";
        minutes: "分", "min";
        seconds: "秒", "sec";
        starts_in_minute: "还有一分钟开始", "One minute until the start";
        starts_in_ten: "还有十秒开始", "Ten seconds until the start";
        now_open: "开始了，可以抢购", "The sale is open";
        time_over: "付款时间已过", "The time to pay is over";
        data_old: "数据已有 {} 秒未更新", "These numbers are {} seconds old";
        data_live: "实时", "Live";
        queue_ready: "队列积压 {}", "{} waiting in the queue";
    }
}
