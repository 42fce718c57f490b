use crate::fill;
use domain::{EligibilityRule, WaitingRoomPlan};

texts! {
    /// Sales with a waiting room: the page of the sale, and the page of a shopper's turn with its script.
    WaitingRoomText {
        how: "排队：同一批进入的人随机排序，按顺序叫号购买，早到晚到、手速和网速都不影响。",
            "Waiting room: everyone who came in time is shuffled, then called in order. Coming first or being fast makes no difference.";
        open: "排队开放中", "The waiting room is open";
        until_joining: "距开始排队", "Waiting room opens in";
        until_lock: "距开始叫号", "Line-up drawn in";
        calling: "叫号进行中", "Calling in order";
        joining_from: "开始排队", "Waiting room opens";
        locks_at: "开始叫号", "Line-up is drawn";
        seat: "轮到后的购买时间", "Time to buy on your turn";
        enter: "去排队", "Enter the waiting room";
        hint: "登录后进入一次即可。已在排队的，点此查看自己的位置。", "Log in and enter once. If you are in already, this shows your place.";
        result: "售出 {} / {} 件", "{} of {} sold";
        joined: "已有 {} 人进入", "{} have joined";
        counts: "{} 人等候，剩余 {} 件", "{} waiting, {} units left";
        step_join: "开抢前来排队，早到晚到机会相同，每个账号一个位置。",
            "Enter before the line-up is drawn. Early or late, your chance is the same. One place per account.";
        step_wait: "顺序随机抽出，之后来的排在后面。可以去忙别的，页面会提醒你。",
            "The line-up is drawn at random, and whoever comes later joins at its end. Feel free to do something else: this page calls you.";
        step_buy: "轮到你时，请在规定时间内下单。没有人能插队。", "On your turn, buy within the time shown. Nobody can jump the line.";
        title: "排队", "Waiting room";
        early: "还没有开始排队", "The waiting room isn’t open yet";
        early_text: "开放后进入即可，早到晚到不影响顺序。", "You can enter once it opens. Coming first makes no difference.";
        outside: "你还没有排队", "You are not in the waiting room yet";
        outside_text: "进入后会得到一个位置。顺序抽出之前进入的人机会相同。", "Enter to get a place. Everyone who enters before the line-up is drawn has the same chance.";
        outside_late: "顺序已抽出。现在进入会排在已到的人之后。", "The line-up is drawn already. If you enter now, you join at its end.";
        gathering: "你已在排队", "You’re in the waiting room";
        gathering_text: "早到晚到机会相同，到点随机排序，开始叫号。", "Coming earlier gives no advantage: the line-up is drawn at random.";
        drawing: "正在随机排序…", "Drawing the line-up…";
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
        called_to_shop: "请在倒计时结束前进入店铺下单，位置只为你保留。",
            "Go on to the shop before the time is up. Your place there is kept for you.";
        to_shop: "进入店铺", "Continue to the shop";
        left_to_buy: "剩余时间", "time left";
        buy: "立即购买", "Buy now";
        bought: "你已下单", "You have an order";
        bought_text: "请在订单显示的时间前付款。", "Pay before the time shown on your order.";
        missed: "错过了这一轮", "You missed your turn";
        missed_text: "购买时间已过，位置让给了后面的人。还想要，可以重新排到队尾。", "Your time to buy has passed, and your place went to the next. You can join again at the end.";
        join_again: "重新排到队尾", "Join again at the end";
        ended: "本场已结束", "This sale has ended";
        ended_text: "叫号已停止。看看其他秒杀吧。", "No one is called any more. Have a look at the other sales.";
        other_sales: "看看其他秒杀", "See other sales";
        to_sale: "返回商品页", "Back to the sale";
        to_order: "查看订单", "View order";
        paused: "活动暂停中，恢复后继续叫号，你的位置不变。", "This sale is paused. Calls go on when it resumes, and you keep your place.";
        held: "叫号暂停中，你的位置不变。", "Calls are on hold for now. You keep your place.";
        all_taken: "商品都在订单里，其中 {} 单尚未付款，可能退回。你的位置保留。",
            "All units are in orders, {} not paid yet. What isn’t paid comes back. You keep your place.";
        sold_out: "商品已全部售出。若有退回，会继续按顺序叫号。", "All units are sold. If some come back, calls go on in order.";
        offline: "网络已断开，正在重连。你的位置不变。", "You’re offline. Reconnecting; you keep your place.";
        wait: "预计等待", "Estimated wait";
        wait_unknown: "稍后估算", "Not known yet";
        wait_soon: "不到 1 分钟", "under a minute";
        wait_returns: "要等有人退回", "if units come back";
        wait_minutes: "约 {} 分钟", "about {} min";
        wait_hours: "约 {} 小时", "about {} h";
        left: "剩余件数", "Units left";
        unpaid: "等人付款", "Not paid yet";
        free_by: "最晚退回", "back by";
        seats: "正在购买", "Buying now";
        called_so_far: "已叫到", "Called so far";
        drawn_at: "抽取时间", "Drawn at";
        in_room: "排队人数", "In the room";
        sound: "轮到时响铃", "Sound on my turn";
        sound_hint: "点击一次页面，轮到时才会响铃。", "Tap the page once, so that it can ring.";
        keep: "轮到你后有 {} 的时间购买；错过则位置让给后面的人，可重新排到队尾。换设备登录，位置不变；关掉页面也保留，但请记得回来看。",
            "On your turn you have {} to buy. If you miss it, the next in line gets it, and you can join again at the end. Your place is the same on every device and stays if you close this page; just remember to look.";
        rules: "位置说明", "About your place";
        check: "查看与验算", "Details for checking";
        proof: "位置由种子与你的编号算出。种子的 SHA-256 事先公布，抽取后公布种子：",
            "Places follow from a seed and your entry. The seed’s SHA-256 is public beforehand, and the seed once the line-up is drawn:";
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
        mode_waiting_room: "排队：随机排序叫号", "Waiting room: random order";
        mode_queue_text: "需求远大于库存、几分钟内卖完时用：手速和先来后到都不起作用。",
            "For demand far above stock, sold within minutes: speed and arrival decide nothing.";
        mode_draw_text: "需求远大于库存、可以等几小时或几天时用：报名后抽签，结果可验证。",
            "For demand far above stock, over hours or days: people enter, and the draw can be checked.";
        fields: "排队设置", "Waiting room settings";
        queue_prequeue_s: "提前多久开放排队", "Opens before the start";
        prequeue_help: "开抢前多久可以进入，留空为 30 分钟。", "How long before the start people may enter. Empty means 30 min.";
        queue_gather_s: "开抢后多久开始叫号", "Gathering after the start";
        gather_help: "开抢后多久才开始叫号，此前到的人机会相同。留空为 10 秒。",
            "How long after the start the order is drawn; all who come before have the same chance. Empty means 10 s.";
        queue_seat_s: "轮到后多久内下单", "Time to buy";
        seat_help: "轮到后多久内须下单，留空为 3 分钟。", "How long someone may buy once called. Empty means 3 min.";
        advice_rush: "预计 {} 人抢 {} 件：脚本的机会最多是真人的 {} 倍；排队使两者相同。",
            "At {} accounts for {} units, a script’s chance in a rush is up to {} times a person’s. A waiting room evens it.";
        advice_enough: "预计 {} 人抢 {} 件：库存够每人一件，先到先得即可。", "At {} accounts for {} units, there is one for everyone: a rush will do.";
        title: "排队", "Waiting room";
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

texts! {
    /// The waitlist of a sold-out sale.
    WaitlistText {
        title: "候补", "Waitlist";
        head_sold_out: "已抢光，可以候补", "Sold out, but you can wait";
        head_waiting: "候补中", "You’re on the waitlist";
        head_offered: "轮到你了！", "It’s your turn!";
        head_paid: "候补成功", "It’s yours";
        head_bought: "你已有本场订单", "You have an order here";
        head_passed: "机会已顺延", "Your turn has passed";
        head_over: "候补已结束", "This waitlist is over";
        head_not_needed: "现在无需候补", "No need to wait";
        meanwhile: "不用守着：本页自动更新，有退回时为你保留订单。",
            "No need to watch: this page updates by itself, and an order is reserved for you when a unit comes back.";
        place: "当前排位", "your place";
        join: "加入候补", "Join the waitlist";
        leave_question: "要退出候补吗？", "Leave the waitlist?";
        leave_text: "你的排位不会保留，再次加入要重新排队。", "You lose your place. If you join again, you start over.";
        leave_no: "继续候补", "Stay";
        leave_yes: "确认退出", "Yes, leave";
        leave: "退出候补", "Leave the waitlist";
        offer_line: "抢光了？退回的商品按候补顺序分配，不再重新开抢。",
            "Sold out? Units that come back go down the waitlist, not to whoever is fastest.";
        not_joined: "商品已抢光。超时未付款或取消的订单会退回，按候补顺序依次保留给候补的人。",
            "Everything is taken. When an order is cancelled or not paid in time, its units go to the next person waiting.";
        not_needed: "可以直接购买，或等待开抢。", "Units are left, or the sale has not started: buy directly, or wait for the start.";
        waiting: "你在候补中，目前排第 {} 位。", "You are on the waitlist, currently number {}.";
        offered: "订单已为你保留，请在截止时间前付款。", "An order is reserved for you. Please pay before the time below.";
        paid: "你已通过候补购得商品。", "You got yours through the waitlist.";
        bought: "每个账号在本场最多一个订单，无需候补。", "Each account has at most one order in this sale, so there is nothing to wait for.";
        lapsed: "轮到你时的订单已取消或未按时付款，已顺延给下一位。还想要可以重新候补。",
            "Your order was cancelled or not paid in time, so it went to the next person. You can join again.";
        skipped: "轮到你时账号不可用，或你已有本场订单，已顺延给下一位。",
            "When your turn came, your account couldn’t buy or had an order already, so it went to the next person.";
        left: "你已退出候补。还想要可以重新加入。", "You left the waitlist. You can join again if you change your mind.";
        over: "本场已结束，候补也已结束。", "The sale has ended, and so has its waitlist.";
        yours: "你在候补：", "You are on the waitlist for:";
        people: "正在候补", "Waiting now";
        unpaid: "未付款的订单", "Orders not paid yet";
        free_by: "最晚退回", "Paid or back by";
        how_many: "{} 人", "{}";
        quantity: "最多要几件", "Up to how many";
        joined_at: "加入时间", "Joined";
        pay_by: "付款截止", "Pay by";
        order: "查看订单并付款", "View order and pay";
        refresh: "刷新", "Refresh";
        how: "候补怎么排", "How the waitlist works";
        how_order: "同一批（15 秒内）加入的人随机排序，快慢无差别。", "People who join within the same 15 seconds are shuffled, so speed makes no difference.";
        how_offer: "有退回时为排在最前的人保留订单，付款时限与普通订单相同。", "When a unit comes back, an order is reserved for the first in line, with the usual time to pay.";
        how_promise: "候补不收费，但不保证一定有退回。", "Waiting costs nothing, but no unit is certain to come back.";
        mail_hint: "填写并验证邮箱后，轮到你时会收到邮件。", "With a confirmed email address, you get an email when it’s your turn.";
        others: "看看其他秒杀", "See other sales";
        waiters: "候补人数", "On the waitlist";
        open_offers: "待付款的候补订单", "Waitlist orders to be paid";
    }
}

texts! {
    /// Who may take part in a sale.
    EligibilityText {
        title: "参与条件", "Who may take part";
        accounts_before: "账号注册时间不晚于", "Your account was registered no later than";
        verified_contact: "账号有已验证的邮箱。", "Your account has a confirmed email address.";
        one_per_contact: "同一邮箱只限一个账号参与。", "One account per mailbox.";
        one_per_address: "同一收货地址只限一个账号参与，订单寄到参与时的默认地址。",
            "One account per delivery address. The order goes to the address that was your default when you took part.";
        invitation: "有本场的邀请码（F 码），一个账号用一个。", "You have an invitation code for this sale. One code per account.";
        deposit: "参与时从钱包暂存保证金（全额退回）", "When you take part, a refundable deposit is set aside from your wallet:";
        deposit_help: "付款、撤回报名后立即退回；其余在活动结束后退回，没有付款的也一样。这不是费用。",
            "It comes back in full: at once when you pay for your order or withdraw your entry, otherwise once the sale is over, also if you let a unit go unpaid. It isn’t a fee.";
        add_money: "充值", "Top up your wallet";
        check: "看看我能否参与", "Check whether you can take part";
        met: "✓ 已满足", "✓ Done";
        all_met: "你满足全部条件，可以参与。", "You meet every condition and can take part.";
        some_lack: "你还不满足全部条件。", "You don’t meet every condition yet.";
        no_rules: "本场没有参与条件，登录即可参与。", "This sale has no conditions: everyone with an account can take part.";
        add_address: "添加收货地址", "Add a delivery address";
        add_contact: "填写并验证邮箱", "Add and confirm an email address";
        code: "邀请码", "Invitation code";
        code_help: "26 个字母和数字，不分大小写，连字符可省略。", "26 letters and digits. Case and hyphens don’t matter.";
        redeem: "使用邀请码", "Use this code";
        privacy: "邮箱和地址只以加密摘要参与比对，活动结束 30 天后删除；注销账号时一并删除。",
            "Mailboxes and addresses are compared as keyed digests only. These are deleted 30 days after the sale, and with your account.";
    }
}

texts! {
    /// The rules in the form of a sale, and the console's page of invitation codes.
    EligibilityConsoleText {
        legend: "参与条件（可选）", "Who may take part (optional)";
        help: "条件在商品页公布，买家在抢购、排队、报名或候补时核对；开始后不能修改。",
            "The sale’s page tells them. They are checked when someone presses buy, joins, enters or waits, and are fixed once that has begun.";
        old_accounts: "仅限较早注册的账号", "Only accounts registered early enough";
        accounts_before: "最晚注册时间", "Registered no later than";
        accounts_before_empty: "留空表示保存的时刻", "Empty means the moment of saving";
        verified_contact: "须有已验证的邮箱", "A confirmed email address";
        one_per_contact: "同一邮箱限一个账号", "One account per mailbox";
        one_per_address: "同一收货地址限一个账号", "One account per delivery address";
        invitation: "须有邀请码（F 码）", "An invitation code";
        deposit: "可退保证金（元）", "Refundable deposit (CNY)";
        deposit_help: "留空表示不收。参与时从买家钱包暂存，付款或活动结束后全额退回，1 到 10000 元。",
            "Empty means none. Set aside from the wallet of everyone who takes part, and returned in full when they pay or the sale is over. ¥1 to ¥10,000.";
        price: "一个人有多个邮箱和地址：这些条件提高囤号的成本，但认不出是不是同一个人。",
            "One person can have many mailboxes and addresses: these conditions make accounts dearer, and don’t recognise people.";
        link: "邀请码", "Invitation codes";
        not_asked: "本场没有要求邀请码；在表单中选择后才会核对。", "This sale asks for no code. Choose that in its form first.";
        made: "已生成", "Made";
        used: "已使用", "Used";
        unused: "未使用", "Unused";
        revoked: "已作废", "Revoked";
        batches: "批次", "Batches";
        batch: "批次", "Batch";
        made_by: "生成者", "Made by";
        made_at: "时间", "When";
        empty: "还没有邀请码。", "No codes yet.";
        make: "生成并下载", "Make and download";
        make_title: "生成邀请码", "Make invitation codes";
        make_text: "邀请码只在下载的文件中出现一次，商店只保存摘要。丢失后只能作废重做。",
            "The codes are in the downloaded file only, once. The shop keeps hashes. If the file is lost, revoke them and make new ones.";
        count: "数量（1 到 10000）", "How many (1 to 10,000)";
        revoke_one: "作废一个邀请码", "Revoke a code";
        revoke_text: "已使用的码也可作废：该账号不能再参与，已有的订单不变。",
            "A used code can be revoked too: its account can’t take part any more. Orders that exist stay.";
        revoke: "作废", "Revoke";
        revoke_unused: "作废未使用的", "Revoke unused";
        revoke_unused_text: "这一批中还没有人使用的邀请码将全部失效。", "Every code of this batch that was not used stops working.";
        done_revoked: "邀请码已作废。", "Revoked.";
        not_found: "没有这个有效的邀请码。", "There is no such code in force.";
    }
}

impl EligibilityText {
    pub fn rule(&self, rule: &EligibilityRule) -> &'static str {
        match rule {
            EligibilityRule::AccountsBefore => self.accounts_before,
            EligibilityRule::VerifiedContact => self.verified_contact,
            EligibilityRule::OnePerContact => self.one_per_contact,
            EligibilityRule::OnePerAddress => self.one_per_address,
            EligibilityRule::Invitation => self.invitation,
            EligibilityRule::Deposit => self.deposit,
        }
    }
}

texts! {
    /// The page of a shopper's own moment, in a sale in front of another shop.
    MomentText {
        early: "还没有开始", "Not open yet";
        early_spread: "开始后，每个账号会得到一个随机时刻；先来后到不影响。本页会自动更新。",
            "Once it opens, each account gets a random moment. Coming first makes no difference. This page updates by itself.";
        early_plain: "开始后即可进入店铺。本页会自动更新。", "Once it opens, you can go on to the shop. This page updates by itself.";
        ahead: "快到你的时刻了", "Your moment is coming";
        ahead_text: "这个时刻属于你的账号：多开页面、反复刷新都不会提前。到时本页会自动更新。",
            "It belongs to your account: neither more pages nor reloading bring it forward. This page updates by itself then.";
        now: "就是现在", "now";
        reached: "可以进入店铺了！", "You may go on!";
        reached_text: "请进入店铺下单。", "Go on to the shop, and buy there.";
        paused: "活动暂停中", "Paused";
        paused_text: "恢复后本页会自动更新，你的时刻不变。", "This page updates by itself when the sale resumes. Your moment stays.";
        sold_out: "商品都已被预留", "Everything is taken";
        sold_out_text: "若有退回，本页会自动更新。", "If units come back, this page updates by itself.";
        ended_text: "看看其他秒杀吧。", "Have a look at the other sales.";
        proof: "时刻由种子与账号算出。种子的 SHA-256 事先公布，所有时刻都过后公布种子：",
            "Moments follow from a seed and the account. The seed’s SHA-256 is public beforehand, and the seed once all moments have passed:";
    }
}

texts! {
    /// The page of a sale that stands in front of another shop.
    FrontText {
        link: "外部店铺", "Other shop";
        title: "为外部店铺排队", "In front of another shop";
        lead: "轮到的买家带着通行证回到你的店铺下单，本店只负责排队。",
            "When their turn comes, shoppers go back to your shop with a pass, and buy there. This shop keeps the line.";
        rush_text: "本场没有随机时刻，也不排队、不抽签：开始后所有人都能立即进入你的店铺。",
            "This sale has no spread, waiting room or draw: once it opens, everyone goes on at once.";
        draw_text: "中签者的商品由本店保留：请由你的店铺预留并确认，到期未确认则让给下一位。",
            "Units of winners are held here. Your shop reserves and confirms them; what is not confirmed in time goes to the next entry.";
        addresses: "返回地址，每行一个", "Return addresses, one per line";
        addresses_help: "买家只会回到以这些地址开头的页面。留空则在本店销售。",
            "Shoppers go back only to pages below these addresses. Leave it empty to sell in this shop.";
        anonymous: "允许未登录的访客排队", "Let visitors wait whom your shop does not name";
        anonymous_help: "未登录的访客无法与人对应：一个人可以用多个浏览器占多个位置，排队不再公平。",
            "Nobody knows who they are: one person can hold many places with many browsers, and the line is fair no longer.";
        reusable: "通行证到期前可以反复使用", "A pass may be used again until it expires";
        use_title: "接入方法", "How your shop uses it";
        use_line: "没有通行证的买家引导到这个地址，并附上返回地址：", "Send shoppers without a pass here, with the address to come back to:";
        use_pass: "你的店铺用公开的密钥离线核对通行证：", "Your shop checks passes offline with the published keys:";
        saved: "已保存。", "Saved.";
        wrong: "请检查标出的内容，尚未保存。", "Please check what is marked. Nothing was saved yet.";
        changed: "刚被其他人修改。以下是你填写的内容，再次保存将覆盖对方的修改。",
            "Someone else changed this just now. This is what you entered; saving again replaces their change.";
    }
}

texts! {
    /// The page on which decisions of another shop are compared.
    DecisionsText {
        title: "影子对照", "Shadow mode";
        lead: "外部店铺照常自己决定，事后告诉本店；这里对照本店会如何决定。不会卖出或预留任何库存。",
            "The other shop decides as always and tells this one afterwards. Here is what this shop would have decided. Nothing is sold or held.";
        empty_head: "还没有外部店铺的决定", "No decisions of another shop yet";
        empty_text: "场次可以保持草稿，买家看不到。让外部店铺的服务器把每次售出和拒绝发到：",
            "The sale may stay a draft, which shoppers don’t see. Have the other shop’s server send what it sold and refused to:";
        oversold: "外部店铺超卖 {} 件，库存为 {} 件。", "The other shop sold {} units more than it had. The stock is {}.";
        not_oversold: "没有超卖，库存为 {} 件。", "Nothing was sold beyond the stock of {}.";
        told: "收到的决定", "Decisions";
        units_sold: "对方已售 / 库存", "Sold there, of the stock";
        refused_here: "对方售出，本店会拒绝", "Sold there, refused here";
        refused_there: "对方拒绝，本店会售出", "Refused there, sold here";
        oversold_orders: "超卖的订单", "Orders beyond the stock";
        others: "其他不同的决定", "Other differences";
        no_differences: "所有决定都与本店一致。", "This shop would have decided the same each time.";
        more: "每个列表最多显示 {} 条，全部内容：", "Each list shows up to {}. All of them:";
        by_total: "按场次现在的库存、限购和时间对照。", "Compared by the stock, the limit and the times that the sale has now.";
        col_shopper: "顾客", "Customer";
        col_beyond: "超卖", "Beyond";
        col_there: "对方", "There";
        col_here: "本店", "Here";
        col_left: "当时剩余", "Left then";
        sold: "售出", "Sold";
        refused: "拒绝", "Refused";
        not_open: "拒绝：未开售", "Refused: not open";
        ended: "拒绝：已结束", "Refused: over";
        account_too_new: "拒绝：账号注册太晚", "Refused: account too new";
        contact_not_verified: "拒绝：联系方式未验证", "Refused: contact not verified";
        holds_units: "拒绝：已有本场商品", "Refused: has units already";
        over_limit: "拒绝：超过限购", "Refused: over the limit";
        sold_out: "拒绝：已售罄", "Refused: sold out";
    }
}
