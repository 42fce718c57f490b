texts! {
    /// The report of a sale.
    ReportText {
        title: "售后报告", "Report";
        back: "← 实时看板", "← Dashboard";
        csv: "下载 CSV", "Download CSV";
        so_far: "截至目前", "So far";
        so_far_text: "场次或其订单尚未结束，数字还会变化。", "The sale, or an order of it, is still open. The figures will change.";
        is_final: "已定稿", "Final";
        as_of: "数据截至", "As of";
        outcome_not_begun: "尚未开始。", "The sale has not begun.";
        outcome_sold_out: "全部 {} 件在开售 {} 后抢完。", "All {} units were taken within {} of the opening.";
        outcome_drawn: "全部 {} 件都有了中签人的订单。", "All {} units have an order of a winner.";
        outcome_partly: "卖出 {} 件，占总量的 {}%。", "{} sold, {}% of the stock.";
        outcome_nothing: "没有卖出。", "Nothing was sold.";
        verdict_paid: "{} 的订单已付款。", "{} of the orders are paid.";
        verdict_returned: "退回 {} 件，其中 {} 件再次售出。", "Units that came back: {}, sold again: {}.";
        verdict_unpaid: "还有 {} 笔订单待付款。", "Orders that still wait for payment: {}.";
        verdict_errors: "{} 次请求因系统繁忙未能处理。", "Requests that were turned away because the shop was overloaded: {}.";
        figures: "数字与对比", "Figures";
        figure: "指标", "Figure";
        this_sale: "本场", "This sale";
        before_goods: "上一场同款", "Last sale of this product";
        before_any: "上一场", "Previous sale";
        difference: "差异", "Difference";
        none_before: "之前没有场次可供对比。", "There is no earlier sale to compare with.";
        f_total: "总量（件）", "Stock (units)";
        f_sold: "售出（件）", "Sold (units)";
        f_revenue: "收入", "Revenue";
        f_refunded_in_parts: "其中部分退款", "Less partial refunds";
        f_sold_out: "抢完用时", "Time to sell out";
        f_orders: "订单", "Orders";
        f_paid_share: "付款率", "Paid";
        f_unpaid: "待付款", "Unpaid";
        f_expired: "超时未付", "Expired unpaid";
        f_cancelled_by_owner: "顾客取消", "Cancelled by shoppers";
        f_cancelled_by_shop: "商家取消或退款", "Ended by the shop";
        f_refunded: "退款订单", "Refunded orders";
        f_returned_units: "退回（件）", "Returned (units)";
        f_sold_again: "再次售出（件）", "Sold again (units)";
        f_waitlist: "候补人数", "On the waitlist";
        f_offers: "候补得到名额", "Offers from the waitlist";
        f_joined: "进入等候室", "Joined the waiting room";
        f_called: "已叫号", "Called";
        f_missed_turn: "叫到未下单", "Called, no order";
        f_entries: "报名", "Entries";
        f_offered: "中签或递补", "Offered a unit";
        f_asked: "抢购请求", "Attempts";
        f_refused: "被拒请求", "Refused attempts";
        f_p99: "抢到用时 P99", "Latency p99";
        plot_units: "件数随时间（累计）", "Units over time (cumulative)";
        reserved: "抢到", "Reserved";
        paid: "付款", "Paid";
        plot_opening: "开售最初几秒（每 {} 毫秒）", "The opening (per {} ms)";
        asked: "请求", "Attempts";
        accepted: "抢到", "Successful";
        no_opening: "开售最初几秒没有记录到请求。", "No request was counted in the first seconds.";
        table: "以表格显示", "As a table";
        from: "开售后", "After the opening";
        units_second: "秒", "s";
        units_minute: "分", "min";
        units_hour: "小时", "h";
        units_day: "天", "d";
        units_ms: "毫秒", "ms";
        refusals: "拒绝原因", "Refusals by reason";
        reason: "原因", "Reason";
        count: "次数", "Count";
        share: "占比", "Share";
        no_refusals: "没有请求被拒绝。", "No request was refused.";
        fairness: "公平", "Fairness";
        unknown_bots: "店铺不知道哪个账号是脚本，因此无法给出脚本与真人的机会之比。下面是可以测量的部分。",
            "The shop does not know which account is a script, so the chance of scripts against people cannot be given. This is what can be measured.";
        arrival: "按到达先后", "By order of arrival";
        arrival_rush: "把最初 5 秒的请求按到达先后分组（每组至多十分之一）。先到先得的场次，先到的组抢到的更多；组间差异越小，速度越不重要。成功按判定时刻减去用时中位数归入各组。",
            "The requests of the first five seconds, grouped in the order of their arrival. In a rush the first groups win more; the more even the groups, the less speed decides. A success counts when it was decided, less the median time of a decision.";
        arrival_waiting_room: "把锁定前进入等候室的人按先后分成十组。顺序由种子打乱，各组被叫到的机会应当相同。",
            "Those who joined before the list was locked, in tenths by the order of joining. The seed shuffles them, so every tenth should be called as often.";
        arrival_draw: "把报名按先后分成十组。名次由种子决定，各组中签的机会应当相同。",
            "The entries in tenths by the order of entering. The seed ranks them, so every tenth should win as often.";
        group: "组", "Group";
        until: "截至", "Up to";
        tenth: "第 {} 组", "Tenth {}";
        took_part: "人数", "Accounts";
        requests: "请求数", "Requests";
        won: "得到", "Won";
        expected: "期望", "Expected";
        chance: "机会", "Chance";
        average: "平均 {}", "average {}";
        test_even: "各组差异可以由偶然解释（χ² = {}，自由度 {}，p = {}）：没有迹象表明先后影响结果。",
            "Chance alone explains the differences (χ² = {}, {} degrees of freedom, p = {}): no sign that the order mattered.";
        test_doubtful: "这样的差异偶然出现的机会不到二十分之一（χ² = {}，自由度 {}，p = {}）：请与其他场次一起看。",
            "Chance alone would differ as much less than once in twenty times (χ² = {}, {} degrees of freedom, p = {}): look at other sales too.";
        test_uneven: "这样的差异不是偶然（χ² = {}，自由度 {}，p = {}）：先后影响了结果。",
            "Chance does not explain the differences (χ² = {}, {} degrees of freedom, p = {}): the order mattered.";
        test_none: "数据太少或人人都得到了，无法判断先后是否影响结果。",
            "Too few, or all or none of them won: whether the order mattered cannot be told.";
        first_share: "最先的 {} 请求得到了 {} 的成功。", "The first {} of the requests got {} of the successes.";
        ages: "按账号年龄", "By age of the account";
        ages_rush: "抢到者的账号在开售时的年龄。没有抢到的账号没有逐个记录，因此不知道各年龄的机会；与上一场相比，新账号突然增多值得留意。",
            "How old the winners’ accounts were at the opening. Accounts that did not win are not recorded one by one, so the chance of each age is unknown. Many more new accounts than in the last sale deserve a look.";
        ages_all: "参与者的账号在开售时的年龄，以及得到的机会。", "How old the accounts of those who took part were at the opening, and their chance.";
        age_hour: "不到 1 小时", "under 1 hour";
        age_day: "不到 1 天", "under 1 day";
        age_week: "不到 7 天", "under 7 days";
        age_month: "不到 30 天", "under 30 days";
        age_older: "30 天以上", "30 days or more";
        before_share: "上一场占比", "Share before";
        many: "请求次数", "Many requests";
        many_text: "店铺不记录每个账号的请求次数。全场共 {} 次请求，其中 {} 次重复、{} 次因过于频繁被拒。",
            "Requests are not counted per account. Of {} attempts, {} were duplicates and {} were refused as too frequent.";
        print: "打印时本页按 A4 排版。", "Printed, or saved as PDF, this page fits A4.";
    }
}
