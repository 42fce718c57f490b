texts! {
    /// The frame of every page, the list of sales and the page of one sale.
    ShopText {
        brand: "秒杀", "Seckill";
        tagline: "准点开抢，卖完即止", "Few pieces, one moment";
        skip: "跳到正文", "Skip to content";
        nav: "主导航", "Main";
        nav_orders: "我的订单", "Orders";
        nav_login: "登录", "Log in";
        nav_logout: "退出", "Log out";
        nav_admin: "管理", "Admin";
        other_language: "English", "中文";
        footer: "每一场都按实际库存销售，绝不超卖。", "Every sale sells exactly what it has, and not one piece more.";
        list_title: "限时秒杀", "Flash sales";
        list_lead: "库存有限，准点开抢。时间以本店服务器时钟为准。",
            "Limited pieces at one moment. The shop's own clock decides when a sale opens.";
        list_live: "正在进行", "On now";
        list_next: "即将开始", "Coming up";
        list_past: "往期", "Past sales";
        list_empty: "暂时没有秒杀活动，请稍后再来。", "There is no sale right now. Please come back soon.";
        see: "查看详情", "See the details";
        opens: "开始时间", "Start";
        closes: "结束时间", "End";
        opens_unknown: "开始时间待公布", "Opening time to be announced";
        sale_price: "秒杀价", "Sale price";
        list_price: "原价", "List price";
        discount: "−{}%", "−{}%";
        total: "总量", "Pieces in this sale";
        units: "{} 件", "{}";
        limit: "每人限购", "Limit per person";
        back_to_list: "全部秒杀", "All sales";
        quantity: "数量", "Quantity";
        buy: "立即抢购", "Buy now";
        before_script: "开始后点击按钮即可抢购。", "Press the button once the sale is open.";
        no_script: "浏览器未启用 JavaScript：页面不会自动更新，但仍可购买。",
            "JavaScript is off: this page does not update by itself, but buying works.";
        remind_calendar: "加入日历", "Add to calendar";
        remind_tab: "开抢前提醒我", "Remind me";
        state: "销售状态", "State of the sale";
        calendar_summary: "秒杀开抢：{}", "Flash sale opens: {}";
        calendar_text: "秒杀价 {}，准点开抢。请提前登录。", "{} while it lasts. Log in beforehand, so that you are ready.";
        try_again: "再试一次", "Try again";
        promise_exact: "绝不超卖", "Never oversold";
        promise_exact_text: "抢到即锁定库存，件件有货。", "Once it is yours, the piece is set aside for you.";
        promise_fair: "公平准点", "Fair and on time";
        promise_fair_text: "以服务器时间为准，提前点击无效。", "The shop's clock decides. Pressing early gains nothing.";
        promise_calm: "不必狂点", "Press once";
        promise_calm_text: "点一次即可，页面自动为你重试。", "This page keeps trying for you while the shop is busy.";
        what_next: "抢购须知", "How it works";
        step_login: "提前登录，开始时更快一步。", "Log in beforehand, so that you are ready when it opens.";
        step_press: "开始后点一次按钮即可，排队时页面会自动重试。",
            "Press the button once. While the shop is busy, this page keeps trying for you.";
        step_pay: "抢到后库存为你保留，请在订单显示的时间前付款。",
            "Your pieces are held for you. Pay before the time shown on your order.";
        about: "商品介绍", "About this product";
        rehearsal: "这是一次演练：这里买到的东西不会发货，订单很快会被删除。",
            "This is a rehearsal: nothing bought here is delivered, and its orders are deleted soon.";
        progress: "销售进度", "Share of pieces already taken";
    }
}
