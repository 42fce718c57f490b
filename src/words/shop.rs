use domain::staff::ShopPageName;
use domain::{Locale, ModeName};

texts! {
    /// Words that stand on pages of several subjects.
    CommonText {
        account: "账号", "Account";
        account_help: "用户名或用户编号", "Username or user ID";
        all: "全部", "All";
        all_orders: "全部订单", "All orders";
        amount: "金额", "Amount";
        cancel: "取消", "Cancel";
        check: "请检查：", "Please check:";
        close: "关闭", "Close";
        delete: "删除", "Delete";
        events: "事件", "Events";
        expired: "已过期", "Expired";
        filter: "筛选", "Filter";
        find: "查找", "Find";
        line: "行", "Line";
        look_up: "查找", "Search";
        name: "名称", "Name";
        newest: "回到最新", "Back to newest";
        next_page: "下一页", "Next page";
        no_orders: "没有符合条件的订单。", "No matching orders.";
        no_sales: "没有符合条件的场次。", "No matching sales.";
        older: "更早的", "Older";
        order: "订单", "Order";
        partial_refund: "部分退款", "Partial refund";
        payment_id: "付款单号", "Payment ID";
        preview: "预览", "Preview";
        provider_number: "平台单号", "Provider’s number";
        quantity: "数量", "Quantity";
        read_only: "你的角色只能查看。", "Your role is read-only.";
        reason: "原因", "Reason";
        refund: "退款", "Refund";
        remove: "移除", "Remove";
        rename: "改名", "Rename";
        save: "保存", "Save";
        search: "搜索", "Search";
        see_order: "查看订单", "View order";
        send_link: "发送链接", "Send link";
        state: "状态", "State";
        status: "状态", "Status";
        time: "时间", "Time";
        to_sale: "返回商品页", "Back to the sale";
        two_steps: "两步验证", "Two-step verification";
        under_way: "处理中", "under way";
        undo: "撤销", "Undo";
        units: "件数", "Units";
    }
}

texts! {
    /// The frame of every page, the list of sales, the page of one sale.
    ShopText {
        tagline: "准点开抢，售完即止", "Limited stock, right on time";
        skip: "跳到正文", "Skip to content";
        nav: "主导航", "Main";
        dock: "常用页面", "Main pages";
        dock_sales: "秒杀", "Sales";
        dock_account: "我的", "Account";
        nav_orders: "我的订单", "Orders";
        nav_login: "登录", "Log in";
        nav_logout: "退出", "Log out";
        nav_admin: "管理后台", "Admin";
        other_language: "English", "中文";
        footer: "按实际库存销售，绝不超卖。", "Every sale sells exactly what’s in stock, never more.";
        times_of: "时间按 {} 时区显示。", "Times are in the zone {}.";
        list_title: "限时秒杀", "Flash sales";
        list_lead: "限量好物，准点开抢。开抢时间以服务器时间为准。", "Limited stock at one exact moment. Start times follow our server clock.";
        list_live: "正在抢购", "On now";
        list_next: "即将开抢", "Coming up";
        list_past: "往期秒杀", "Past sales";
        list_empty: "暂无秒杀活动，敬请期待。", "No sales right now. Please check back soon.";
        opens: "开抢时间", "Starts";
        closes: "结束时间", "Ends";
        opens_unknown: "开抢时间待公布", "Start time to be announced";
        sale_price: "秒杀价", "Sale price";
        list_price: "原价", "List price";
        discount: "{} 折", "−{}%";
        total: "限量", "Total quantity";
        units: "{} 件", "{}";
        limit: "每人限购", "Limit per person";
        back_to_list: "全部秒杀", "All sales";
        variant: "款式", "Variant";
        buy: "立即抢购", "Buy now";
        before_script: "开抢后点击按钮即可抢购。", "Press the button when the sale starts.";
        open_before_script: "正在抢购，点一次按钮即可。", "The sale is open. Press the button once to buy.";
        paused_before_script: "活动暂停中，恢复后即可抢购。", "This sale is paused. You can buy again when it resumes.";
        no_script: "浏览器未启用 JavaScript：页面不会自动更新，但可以正常购买。",
            "JavaScript is off. This page won’t update by itself, but you can still buy.";
        ready_title: "开抢前准备好", "Ready before the rush";
        remind_failed: "没有设置成功，请重试。", "That didn’t work. Please try again.";
        remind_reach: "添加邮箱或开启通知，关闭本页也能收到提醒", "Add an email address or turn on notifications to be told without this tab";
        ready_start: "开始前准备好", "Ready before the start";
        ready_address: "填写收货地址", "Add an address";
        ready_payment: "充值余额，一键付款（可选）", "Top up to pay in one tap (optional)";
        remind_calendar: "加入日历", "Add to calendar";
        remind_tab: "提醒我", "Remind me";
        state: "秒杀状态", "Sale status";
        calendar_summary: "秒杀开抢：{}", "Flash sale starts: {}";
        calendar_draw: "抽签报名：{}", "Entries open: {}";
        calendar_waiting_room: "开始排队：{}", "Waiting room opens: {}";
        calendar_price: "秒杀价 {}，请提前登录。", "Sale price {}. Log in early to be ready.";
        calendar_text: "秒杀价 {}，准点开抢，请提前登录。", "Only {} while stock lasts. Log in early to be ready.";
        try_again: "再试一次", "Try again";
        own_moment: "你的时刻：", "Your moment:";
        spread_title: "公平开抢", "A fair start";
        spread_text: "开抢后的 {} 秒内，每个账号各有一个随机时刻，到时才能购买。手速、网速、多开页面都不占便宜。",
            "Each account gets a random moment of its own within {} s of the start and can buy from then on. Speed, bandwidth or more tabs win nothing.";
        spread_proof: "时刻由种子算出，开抢前先公布种子的 SHA-256，结束打散后公布种子，人人可验算：", "Moments follow from a seed. Its SHA-256 is public beforehand and the seed afterwards, so anybody can check:";
        spread_check: "查看与验算", "Details for checking";
        promise_exact: "绝不超卖", "Never oversold";
        promise_exact_text: "抢到即锁定库存，件件有货。", "When you get one, it’s reserved for you.";
        promise_fair: "公平开抢", "Fair and on time";
        promise_fair_text: "以服务器时间为准，提前点击无效。", "Our server clock decides. Clicking early won’t help.";
        promise_calm: "不必狂点", "Press once";
        promise_calm_text: "点一次即可，页面自动为你重试。", "We keep retrying for you while the shop is busy.";
        what_next: "抢购须知", "How it works";
        step_login: "提前登录，开抢更快。", "Log in early so you’re ready when it starts.";
        step_press: "开抢后点一次按钮，排队时页面会自动重试。", "Press the button once. If the shop is busy, we keep retrying for you.";
        step_pay: "抢到后库存为你保留，请在订单显示的时间前付款。", "Your items are held for you. Pay before the time shown on your order.";
        about: "商品详情", "About this product";
        rehearsal: "这是演练场次：订单不会发货，稍后会被删除。",
            "This is a rehearsal. Nothing bought here is delivered, and its orders will be deleted soon.";
        progress: "抢购进度", "Claimed so far";
    }
}

texts! {
    /// Sessions of the list, and the page with all sales.
    ArchiveText {
        sessions: "按场次", "By session";
        now: "正在抢", "Now";
        later: "更晚", "Later";
        while_stocks_last: "抢完即止", "While stocks last";
        past: "含往期", "With past sales";
        one_more: "以上商品还有 1 场", "One more sale of these products";
        more: "以上商品还有 {} 场", "{} more sales of these products";
        see_past: "查看全部往期", "See all past sales";
        title: "全部场次", "All sales";
        lead: "按商品名搜索，也可以翻看往期。", "Search by product name, or look through past sales.";
        field: "商品名", "Product name";
        show: "显示", "Show";
        found: "{} 场", "Sales found: {}";
        none_text: "换个词，或查看全部场次。", "Try another word, or look at all sales.";
        clear: "查看全部场次", "See all sales";
        share: "分享", "Share";
        copied: "链接已复制", "Link copied";
        poster: "海报", "Poster";
        poster_save: "保存图片", "Save picture";
        poster_share: "分享图片", "Share picture";
        poster_scan: "扫码准点抢", "Scan to be there on time";
        older: "更早的场次", "Older sales";
    }
}

texts! {
    /// The shop's own pages, and the console's form of them.
    AboutText {
        title: "关于本店", "About this shop";
        lead: "配送与退换、联系方式、条款与隐私。", "Delivery and returns, contact, terms and privacy.";
        returns: "配送与退换", "Delivery and returns";
        contact: "联系我们", "Contact";
        terms: "服务条款", "Terms of service";
        privacy: "隐私政策", "Privacy policy";
        licence: "证照与许可", "Licences";
        seller_page: "经营者", "Seller";
        seller: "由{}销售", "Sold by {}";
        none: "本店还没有填写这些页面。", "This shop has not written these pages yet.";
        updated: "更新于", "Updated";
        console: "店铺页面", "Shop pages";
        console_lead: "条款、隐私、退换、联系方式、经营者、证照。经营者的名称和税号印在收据上。填写后出现在每页底部的“关于本店”里；支持 Markdown。",
            "Terms, privacy, returns, contact, seller, licences. Receipts begin with the seller: name and tax number. What is written appears under “About this shop” at the foot of every page. Markdown works.";
        text_zh: "中文", "Chinese";
        text_en: "英文", "English";
        unwritten: "未填写", "Not written";
        saved: "页面已保存。", "Page saved.";
        changed: "这个页面刚刚在别处被修改，你填写的还在下面，再次保存会覆盖它。",
            "This page was just changed elsewhere. What you entered is still below; saving again replaces it.";
        too_long: "最多 10000 个字符。", "At most 10,000 characters.";
    }
}

impl AboutText {
    /// The title of a page.
    pub fn title_of(&self, page: ShopPageName) -> &'static str {
        match page {
            ShopPageName::Returns => self.returns,
            ShopPageName::Contact => self.contact,
            ShopPageName::Terms => self.terms,
            ShopPageName::Privacy => self.privacy,
            ShopPageName::Seller => self.seller_page,
            ShopPageName::Licence => self.licence,
        }
    }
}

texts! {
    /// The page of the shop's own name, looks and habits.
    BrandText {
        title: "外观与设置", "Shop settings";
        lead: "店铺的名称、标识、颜色、语言、时区与币种。保存后，所有页面、邮件、海报随之更新。",
            "The shop’s name, mark, colour, languages, time zone and currency. Saved changes appear on every page, in mail and on posters.";
        name_zh: "中文名称", "Chinese name";
        name_en: "英文名称", "English name";
        mark: "标识（可不填）", "Mark (optional)";
        mark_help: "一两个字，显示在名称前的方块里。", "One or two letters, in the square before the name.";
        colour: "颜色", "Colour";
        colour_help: "用于按钮、链接和价格。", "For buttons, links and prices.";
        low_contrast: "这个颜色太浅，白字看不清：对比度 {}，至少要 4.5。", "White text on this colour is hard to read: its contrast is {}, and 4.5 is needed.";
        mend: "改用 {} 并保存", "Use {} instead and save";
        time_zone: "时区", "Time zone";
        time_zone_help: "邮件和无脚本页面中的时间，以及每天从何时开始。", "For times in mail and on pages without scripts, and where a day begins.";
        currency: "默认币种", "Default currency";
        currency_help: "新建场次时使用。", "What a new sale begins with.";
        languages: "语言", "Languages";
        languages_help: "第一种语言用于浏览器语言不在其中的访客。", "The first one is for visitors whose browser speaks neither.";
        zh_en: "中文、英文", "Chinese, English";
        en_zh: "英文、中文", "English, Chinese";
        only_zh: "仅中文", "Chinese only";
        only_en: "仅英文", "English only";
        ships_within: "几天内发货", "Days until an order is sent";
        ships_within_help: "从付款算起，付款前后都会告诉买家。填 0 则不承诺。", "Counted from the payment. Buyers are told before and after they pay. 0: no promise.";
        tax_number: "店铺税号（可不填）", "The shop’s tax number (optional)";
        tax_number_help: "印在收据上，在店铺名称下方。", "Receipts say it below the shop’s name.";
        sender: "邮件发件人（可不填）", "Sender of mail (optional)";
        sender_help: "不填则用店铺名称。", "Empty: the shop’s name.";
        preview_text: "顾客看到的样子。", "This is how shoppers see it.";
        logo: "标志图片", "Logo";
        logo_help: "方形的 PNG、JPEG 或 WebP，最大 5 MB。代替方块标识。", "A square PNG, JPEG or WebP of up to 5 MB. It takes the place of the mark.";
        logo_set: "上传标志", "Upload logo";
        logo_remove: "移除标志", "Remove logo";
        saved: "已保存，页面正在更新。", "Saved. Pages are being updated.";
        wrong: "请检查标出的内容，尚未保存。", "Please check what is marked. Nothing was saved yet.";
        changed: "设置刚被其他人修改。以下是你填写的内容，再次保存将覆盖对方的修改。", "Someone else changed the settings just now. This is what you entered; saving again replaces their change.";
    }
}

texts! {
    /// What a visitor without a connection reads.
    OfflineText {
        title: "现在没有网络", "You are offline";
        lead: "这个页面需要联网。恢复连接后会自动打开。", "This page needs a connection. It opens by itself once you are back online.";
        saved: "看过的商品", "What you looked at before";
        saved_hint: "可以离线查看，购买需要联网。", "These can be read offline. Buying needs a connection.";
        kept: "无法连接商店，这是 {} 的页面。", "The shop cannot be reached. This page is as of {}.";
        button: "连不上商店，暂时不能购买", "Shop not reachable";
    }
}

texts! {
    /// Messages to browsers, and the switch for them.
    PushText {
        sale_starts: "「{}」5 分钟内开始", "{} starts within five minutes";
        turn_called: "轮到你了：{}", "It’s your turn: {}";
        draw_won: "中签了：{}，请尽快付款", "You won the draw: {}. Please pay soon";
        draw_result: "抽签结果已公布：{}", "The result of the draw is there: {}";
        unit_offered: "候补到货，已为你保留，请尽快付款", "A unit came back and is held for you. Please pay soon";
        payment_ends: "付款时间还剩不到 5 分钟", "Less than five minutes left to pay";
        parcel_shipped: "你的订单已发货", "Your order is on its way";
        parcel_delivered: "你的订单已送达", "Your order was delivered";
        parcel_assumed: "你的包裹视为已送达，没收到请告诉商家", "Your parcel counts as delivered. Tell the shop if it didn’t come";
        return_accepted: "你的退货申请已通过", "Your return was accepted";
        return_refused: "你的退货申请未通过", "Your return was refused";
        return_refunded: "商家已收到退货，正在退款", "Your return arrived and is being refunded";
        head: "推送通知", "Notifications";
        text: "开抢提醒、排队叫号、抽签结果、候补到货、付款快超时、包裹和退货动态：即使没有打开本店，也会通知到这台设备。",
            "Sales you set a reminder for, your turn in a waiting room, results of draws, units that come back, time to pay running out, where your parcel is, news of a return: this device tells you, even when the shop isn’t open on it.";
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

texts! {
    /// What a shopper reads after getting a unit or none, and where to go from there.
    OutcomeText {
        won: "抢到了！", "You got it!";
        won_draw: "中签了！", "You won the draw!";
        won_waiting_room: "轮到你了，买到了！", "Your turn, and it’s yours!";
        paid: "到手了！", "It’s yours!";
        show_off: "晒一晒", "Share";
        show_off_picture: "一张庆祝的图片", "A picture of your win";
        invoice: "开发票", "Invoice";
        number: "第 {} 位抢到", "No. {}";
        number_of: "共 {} 件", "of {}";
        units: "{} 件", "{} units";
        keep_until: "付款前为你保留", "Yours until you pay";
        onward: "还有机会", "More chances";
        current: "更多秒杀", "More sales";
        next_again: "去同款的下一场", "Go to the next sale of this product";
        other_variant: "另一款式", "Another variant";
        again: "同款另一场", "Same product again";
        mode_draw: "抽签", "Draw";
        mode_rush: "秒杀", "Flash sale";
        mode_waiting_room: "排队", "Waiting room";
        again_short: "同款还有一场，去看看", "There is another sale of this product";
        others_short: "看看还有哪些机会", "See where you still have a chance";
        lost: "接下来可以", "What you can do now";
        close: "没抢到，差一点", "So close";
        close_text: "你按下时，其他人快了一步。", "Others were a moment ahead when you pressed.";
        close_units: "件，全部抢完", "units, all gone";
        close_asked: "次抢购请求（至少）", "attempts, at least";
        close_wait: "还有机会：候补", "One more chance: the waitlist";
        close_wait_text: "没按时付款的商品会退回，按候补顺序依次保留。", "Units that aren’t paid for in time come back and go down the waitlist.";
        close_wait_note: "轮到你时先为你保留，并通知你。随时可以退出。", "When it’s your turn, one is held for you and we tell you. Leave any time.";
        close_back: "又有货了", "Units are back";
        close_back_text: "有人没有付款，退回的商品正在开抢。", "Someone didn’t pay, and what came back is on sale now.";
        close_thanks: "谢谢你来。", "Thank you for coming.";
        close_leave: "看商品和抢购规则", "See the product and the rules";
        see_sale: "再去抢", "Try this sale again";
        wait: "加入本场候补", "Join this sale’s waitlist";
        paid_elsewhere: "这笔订单由你来时的商店收款，请回到那里付款。", "The shop that you came from takes the payment for this order: pay there.";
    }
}

impl OutcomeText {
    /// How a sale is sold, in a word or two.
    pub fn mode(&self, mode: ModeName) -> &'static str {
        match mode {
            ModeName::Rush => self.mode_rush,
            ModeName::WaitingRoom => self.mode_waiting_room,
            ModeName::Draw => self.mode_draw,
        }
    }
}

texts! {
    /// Texts for the scripts; pages carry them in a `<template>`.
    ScriptText {
        phase_upcoming: "即将开始", "Upcoming";
        phase_open: "抢购中", "Open";
        phase_joining: "排队开放中", "Waiting room open";
        phase_sold_out: "已售罄", "Sold out";
        phase_paused: "已暂停", "Paused";
        phase_ended: "已结束", "Ended";
        draw_open: "抽签报名中", "Draw: entries open";
        draw_ended: "报名已截止", "Entries closed";
        draw_drawn: "已抽签", "Drawn";
        draw_opens: "距开放报名", "Opens in";
        draw_closes: "距报名截止", "Closes in";
        draw_opens_at: "{} 开放报名", "Opens {}";
        draw_closes_at: "{} 截止", "Closes {}";
        go_buy: "立即抢购", "Buy now";
        go_remind: "提醒我", "Remind me";
        go_join: "去排队", "Join the line";
        go_enter: "报名抽签", "Enter the draw";
        go_result: "查看结果", "See the result";
        go_wait: "去候补", "Join the waitlist";
        go_gone: "已抢光", "All gone";
        go_paused: "暂停中", "Paused";
        go_over: "已结束", "Ended";
        hot: "快抢光了", "Almost gone";
        head_upcoming: "距开抢", "Starts in";
        head_upcoming_at: "{} 开抢", "Starts {}";
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
        lost_when: "你在开抢后 {}按下，最后一件在 {}内被抢走。", "You pressed {} after the opening. The last one was gone within {}.";
        lost_pressed: "你在开抢后 {}按下，其他人快了一步。", "You pressed {} after the opening. Others were a moment ahead.";
        lost_units: "件，{}内抢完", "units, gone within {}";
        lost_place: "加入候补 · 约第 {} 位", "Join the waitlist · about no. {}";
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

// Names of the countries and regions that the shop delivers to.

#[rustfmt::skip]
static NAMES: &[(&str, &str, &str)] = &[
    ("CN", "中国大陆", "Mainland China"), ("HK", "中国香港", "Hong Kong SAR, China"), ("MO", "中国澳门", "Macao SAR, China"),
    ("TW", "中国台湾", "Taiwan, China"), ("SG", "新加坡", "Singapore"), ("MY", "马来西亚", "Malaysia"), ("JP", "日本", "Japan"),
    ("KR", "韩国", "South Korea"), ("TH", "泰国", "Thailand"), ("VN", "越南", "Vietnam"), ("PH", "菲律宾", "Philippines"),
    ("ID", "印度尼西亚", "Indonesia"), ("IN", "印度", "India"), ("AE", "阿联酋", "United Arab Emirates"),
    ("SA", "沙特阿拉伯", "Saudi Arabia"), ("IL", "以色列", "Israel"), ("TR", "土耳其", "Türkiye"), ("AU", "澳大利亚", "Australia"),
    ("NZ", "新西兰", "New Zealand"), ("US", "美国", "United States"), ("CA", "加拿大", "Canada"), ("MX", "墨西哥", "Mexico"),
    ("BR", "巴西", "Brazil"), ("AR", "阿根廷", "Argentina"), ("CL", "智利", "Chile"), ("GB", "英国", "United Kingdom"),
    ("IE", "爱尔兰", "Ireland"), ("DE", "德国", "Germany"), ("AT", "奥地利", "Austria"), ("CH", "瑞士", "Switzerland"),
    ("FR", "法国", "France"), ("BE", "比利时", "Belgium"), ("NL", "荷兰", "Netherlands"), ("LU", "卢森堡", "Luxembourg"),
    ("ES", "西班牙", "Spain"), ("PT", "葡萄牙", "Portugal"), ("IT", "意大利", "Italy"), ("GR", "希腊", "Greece"),
    ("PL", "波兰", "Poland"), ("CZ", "捷克", "Czechia"), ("HU", "匈牙利", "Hungary"), ("RO", "罗马尼亚", "Romania"),
    ("SE", "瑞典", "Sweden"), ("NO", "挪威", "Norway"), ("DK", "丹麦", "Denmark"), ("FI", "芬兰", "Finland"),
    ("ZA", "南非", "South Africa"), ("EG", "埃及", "Egypt"), ("NG", "尼日利亚", "Nigeria"), ("KE", "肯尼亚", "Kenya"),
];

/// The name of a country or region, or its code if it has no name here.
pub fn country(locale: Locale, code: &str) -> &str {
    super::text_of(NAMES, locale, code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::address::COUNTRIES;

    #[test]
    fn every_country_has_a_name_in_both_languages() {
        assert_eq!(COUNTRIES.len(), NAMES.len());
        for code in COUNTRIES {
            assert!(country(Locale::Zh, code) != *code && country(Locale::En, code) != *code, "{code}");
        }
        assert_eq!(country(Locale::En, "XX"), "XX");
    }
}
