texts! {
    /// The frame of every page, the list of sales, the page of one sale.
    ShopText {
        brand: "秒杀", "Seckill";
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
        list_title: "限时秒杀", "Flash sales";
        list_lead: "限量好物，准点开抢。开抢时间以服务器时间为准。", "Limited stock at one exact moment. Start times follow our server clock.";
        list_live: "正在抢购", "On now";
        list_next: "即将开抢", "Coming up";
        list_past: "往期秒杀", "Past sales";
        list_empty: "暂无秒杀活动，敬请期待。", "No sales right now. Please check back soon.";
        see: "查看详情", "View details";
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
        quantity: "数量", "Quantity";
        buy: "立即抢购", "Buy now";
        before_script: "开抢后点击按钮即可抢购。", "Press the button when the sale starts.";
        open_before_script: "正在抢购，点一次按钮即可。", "The sale is open. Press the button once to buy.";
        paused_before_script: "活动暂停中，恢复后即可抢购。", "This sale is paused. You can buy again when it resumes.";
        no_script: "浏览器未启用 JavaScript：页面不会自动更新，但可以正常购买。",
            "JavaScript is off. This page won’t update by itself, but you can still buy.";
        ready_title: "开抢前准备好", "Ready before the rush";
        remind_reach: "添加邮箱或开启通知，关闭本页也能收到提醒", "Add an email address or turn on notifications to be told without this tab";
        ready_start: "开始前准备好", "Ready before the start";
        ready_address: "填写收货地址", "Add an address";
        ready_payment: "充值余额，一键付款（可选）", "Top up to pay in one tap (optional)";
        remind_calendar: "加入日历", "Add to calendar";
        remind_tab: "提醒我", "Remind me";
        state: "秒杀状态", "Sale status";
        calendar_summary: "秒杀开抢：{}", "Flash sale starts: {}";
        calendar_draw: "抽签报名：{}", "Entries open: {}";
        calendar_waiting_room: "等候室开放：{}", "Waiting room opens: {}";
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
