use super::fill;
use domain::WaitingRoomPlan;

texts! {
    /// Sales with a waiting room: the page of the sale, and the page of a shopper's turn with its script.
    WaitingRoomText {
        how: "等候室：同一批进入的人随机排序，按顺序叫号购买，先来后到、手速和网速都不影响。",
            "Waiting room: everyone who came in time is shuffled, then called in order. Coming first or being fast makes no difference.";
        open: "等候室已开放", "The waiting room is open";
        until_joining: "距等候室开放", "Waiting room opens in";
        until_lock: "距抽取顺序", "Order drawn in";
        calling: "叫号进行中", "Calling in order";
        joining_from: "等候室开放", "Waiting room opens";
        locks_at: "抽取顺序", "Order is drawn";
        seat: "轮到后的购买时间", "Time to buy on your turn";
        enter: "进入等候室", "Enter the waiting room";
        hint: "登录后进入一次即可。已在等候室的，点此查看自己的位置。", "Log in and enter once. If you are in already, this shows your place.";
        result: "售出 {} / {} 件", "{} of {} sold";
        joined: "已有 {} 人进入", "{} have joined";
        counts: "{} 人等候，剩余 {} 件", "{} waiting, {} units left";
        step_join: "开抢前进入等候室，早到晚到机会相同，每个账号一个位置。",
            "Enter before the draw of the order. Early or late, the chance is the same. One place per account.";
        step_wait: "顺序随机抽出，之后来的排在后面。可以去忙别的，页面会提醒你。",
            "The order is drawn at random; later arrivals come after it. Do something else meanwhile, and this page calls you.";
        step_buy: "轮到你时，请在规定时间内下单。没有人能插队。", "On your turn, buy within the time shown. There is no jumping the queue.";
        title: "等候室", "Waiting room";
        your_place: "我的位置", "Your place";
        early: "等候室尚未开放", "The waiting room isn’t open yet";
        early_text: "开放后进入即可，先来后到不影响顺序。", "You can enter once it opens. Coming first makes no difference.";
        outside: "你还没有进入等候室", "You are not in the waiting room yet";
        outside_text: "进入后会得到一个位置。顺序抽出之前进入的人机会相同。", "Enter to get a place. Everyone who enters before the order is drawn has the same chance.";
        outside_late: "顺序已抽出。现在进入会排在已到的人之后。", "The order is drawn already. If you enter now, you come after those who are in.";
        gathering: "你已在等候室", "You’re in the waiting room";
        gathering_text: "早到晚到机会相同，到点随机抽取顺序。", "Coming earlier gives no advantage: the order is drawn at random.";
        drawing: "正在抽取顺序…", "Drawing the order…";
        drawing_text: "马上就好，请稍候。", "This takes a moment.";
        ahead_before: "你前面还有", "Ahead of you";
        ahead_after: "人", "people";
        next: "你是下一位", "You’re next";
        next_text: "请不要离开，一有空位就轮到你。", "Stay here: it’s your turn as soon as a unit is free.";
        late: "位置马上揭晓", "Your place is being drawn";
        late_text: "你在顺序抽出后进入，同一时段来的人正在排序，几秒后就好。",
            "You came after the order was drawn. Those who came in the same ten seconds are being shuffled.";
        called: "轮到你了！", "It’s your turn!";
        called_text: "请在倒计时结束前下单，商品已为你留出。", "Buy before the time is up. Units are set aside for you.";
        left_to_buy: "剩余时间", "time left";
        buy: "立即购买", "Buy now";
        bought: "你已下单", "You have an order";
        bought_text: "请在订单显示的时间前付款。", "Pay before the time shown on your order.";
        missed: "购买时间已过", "Your time to buy has passed";
        missed_text: "位置已让给后面的人。可以重新进入，排在队尾。", "Your place went to those after you. You can join again at the end.";
        join_again: "重新排到队尾", "Join again at the end";
        ended: "本场已结束", "This sale has ended";
        ended_text: "叫号已停止。看看其他秒杀吧。", "No one is called any more. Have a look at the other sales.";
        other_sales: "看看其他秒杀", "See other sales";
        to_sale: "返回商品页", "Back to the sale";
        to_order: "查看订单", "View order";
        paused: "活动暂停中，恢复后继续叫号，你的位置不变。", "This sale is paused. Calls go on when it resumes, and you keep your place.";
        held: "叫号暂停中，你的位置不变。", "Calls are on hold for now. You keep your place.";
        all_taken: "商品都在订单里，其中 {} 单尚未付款，可能退回。你的位置保留。",
            "All units are in orders. {} of them are not paid yet and may come back. You keep your place.";
        sold_out: "商品已全部售出。若有退回，会继续按顺序叫号。", "All units are sold. If some come back, calls go on in order.";
        offline: "网络已断开，正在重连。你的位置不变。", "You’re offline. Reconnecting; you keep your place.";
        wait: "预计等待", "Estimated wait";
        wait_unknown: "稍后估算", "Not known yet";
        wait_soon: "不到 1 分钟", "under a minute";
        wait_minutes: "约 {} 分钟", "about {} min";
        wait_hours: "约 {} 小时", "about {} h";
        left: "剩余件数", "Units left";
        seats: "正在购买", "Buying now";
        called_so_far: "已叫到", "Called so far";
        of_joined: "{} / {} 人", "{} of {}";
        drawn_at: "抽取时间", "Drawn at";
        in_room: "等候室人数", "In the room";
        sound: "轮到时响铃", "Sound on my turn";
        sound_hint: "点击一次页面，轮到时才会响铃。", "Tap the page once, so that it can ring.";
        keep: "轮到你后有 {} 的时间购买；错过则位置让给后面的人，可重新排到队尾。换设备登录，位置不变；关掉页面也保留，但请记得回来看。",
            "On your turn you have {} to buy. If you miss it, your place goes on to the next, and you can join again at the end. Your place is the same on every device and stays if you close this page; just remember to look.";
        rules: "位置说明", "About your place";
        check: "查看与验算", "Details for checking";
        proof: "位置由种子与你的编号算出。种子的 SHA-256 事先公布，抽取后公布种子：",
            "Places follow from a seed and your entry. The seed’s SHA-256 is public beforehand, and the seed once the order is drawn:";
        entry: "编号", "Entry";
        commitment: "种子的 SHA-256", "SHA-256 of the seed";
        refreshes: "浏览器未启用 JavaScript：本页会自动刷新。", "JavaScript is off. This page reloads by itself.";
        minutes: "{} 分钟", "{} minutes";
        seconds: "{} 秒", "{} seconds";
    }
}

texts! {
    /// Waiting rooms in the console: the form of a sale, and its cockpit.
    WaitingRoomConsoleText {
        mode_rush_text: "库存充足，或就是要拼手速时用。", "For plenty of stock, or where a race is wanted.";
        mode_waiting_room: "等候室：随机排序叫号", "Waiting room: random order";
        mode_queue_text: "需求远大于库存、几分钟内卖完时用：手速和先来后到都不起作用。",
            "For demand far above stock, sold within minutes: speed and arrival decide nothing.";
        mode_draw_text: "需求远大于库存、可以等几小时或几天时用：报名后抽签，结果可验证。",
            "For demand far above stock, over hours or days: people enter, and the draw can be checked.";
        fields: "等候室设置", "Waiting room settings";
        queue_prequeue_s: "提前开放（秒）", "Opens before the start (seconds)";
        prequeue_help: "开抢前多久可以进入，留空为 1800。", "How long before the start people may enter. Empty means 1800.";
        queue_gather_s: "收拢时间（秒）", "Gathering after the start (seconds)";
        gather_help: "开抢后多久才抽取顺序，此前到的人机会相同。留空为 10。",
            "How long after the start the order is drawn; all who come before have the same chance. Empty means 10.";
        queue_seat_s: "购买时间（秒）", "Time to buy (seconds)";
        seat_help: "轮到后多久内须下单，留空为 180。", "How long someone may buy once called. Empty means 180.";
        advice_rush: "预计 {} 人抢 {} 件：脚本的机会最多是真人的 {} 倍；等候室使两者相同。",
            "At {} accounts for {} units, a script’s chance in a rush is up to {} times a person’s. A waiting room evens it.";
        advice_enough: "预计 {} 人抢 {} 件：库存够每人一件，先到先得即可。", "At {} accounts for {} units, there is one for everyone: a rush will do.";
        title: "等候室", "Waiting room";
        waiting: "等候中", "Waiting";
        called: "已叫号", "Called";
        seats: "正在购买", "Buying now";
        bought: "已下单", "Have an order";
        missed: "已错过", "Missed their turn";
        per_minute: "每分钟叫号", "Calls a minute";
        held: "叫号已暂停", "Calls are on hold";
        limited: "每分钟至多 {} 人", "At most {} a minute";
        unlimited: "有货即叫", "As units allow";
        hold: "暂停叫号", "Hold calls";
        resume: "恢复叫号", "Resume calls";
        hold_text: "不再叫新的人；已叫到的人照常购买，位置不变。", "Nobody new is called. Those who were called go on buying, and places stay.";
        resume_text: "继续按顺序叫号。", "Calls go on in order.";
        pace: "调整速度", "Change pace";
        pace_label: "每分钟至多叫多少人", "Most calls a minute";
        pace_help: "1 到 100000；留空表示有货即叫。", "1 to 100,000. Empty calls as units allow.";
        done_held: "场次 {} 已暂停叫号。", "Calls of sale {} are on hold.";
        done_resumed: "场次 {} 已恢复叫号。", "Calls of sale {} go on.";
        done_pace: "场次 {} 的叫号速度已保存。", "Pace of sale {} saved.";
    }
}

impl WaitingRoomText {
    /// How long a shopper who is called may buy.
    pub fn seat_time(&self, plan: &WaitingRoomPlan) -> String {
        match plan.seat_s % 60 {
            0 => fill(self.minutes, plan.seat_s / 60),
            _ => fill(self.seconds, plan.seat_s),
        }
    }
}
