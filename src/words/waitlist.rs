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
        how_many: "{} 人", "{}";
        quantity: "最多要几件", "Up to how many";
        joined_at: "加入时间", "Joined";
        pay_by: "付款截止", "Pay by";
        order: "查看订单并付款", "View order and pay";
        view_order: "查看订单", "View order";
        refresh: "刷新", "Refresh";
        how: "候补怎么排", "How the waitlist works";
        how_order: "同一批（15 秒内）加入的人随机排序，快慢无差别。", "People who join within the same 15 seconds are shuffled, so speed makes no difference.";
        how_offer: "有退回时为排在最前的人保留订单，付款时限与普通订单相同。", "When a unit comes back, an order is reserved for the first in line, with the usual time to pay.";
        how_promise: "候补不收费。是否会有退回，无法保证。", "Waiting costs nothing. There is no promise that a unit comes back.";
        mail_hint: "填写并验证邮箱后，轮到你时会收到邮件。", "With a confirmed email address, you get an email when it’s your turn.";
        to_sale: "返回商品页", "Back to the sale";
        others: "看看其他秒杀", "See other sales";
        waiters: "候补人数", "On the waitlist";
        open_offers: "待付款的候补订单", "Waitlist orders to be paid";
    }
}
