texts! {
    /// The console: the list, form and calendar of sales.
    SalesText {
        payments_sandbox: "支付方式：沙箱。付款和充值都不收钱，任何人都能免费拿货，请勿用于真实销售。",
            "Payments: sandbox. Orders and top-ups are paid without money, so anyone can take goods for free. Not for real sales.";
        payments_on: "支付方式：{}。", "Payments: {}.";
        payments_none: "支付方式：无。订单只能用钱包余额付款，钱包不能充值。",
            "Payments: none. Orders are paid from wallets only, and wallets can’t be topped up.";
        calendar: "日历", "Calendar";
        send_crowd: "模拟人群来抢", "Send a simulated crowd";
        send_crowd_note: "600 位模拟买家来抢一场隐藏的秒杀，五分钟后自动清除。", "600 simulated shoppers rush at a hidden sale, which goes by itself after five minutes.";
        filter: "筛选场次", "Filter sales";
        search: "商品名称或场次编号", "Product or sale number";
        tab_current: "当前", "Current";
        all: "全部", "All";
        clear: "清除筛选", "Clear filter";
        group_drafts: "草稿", "Drafts";
        group_past: "已结束", "Past";
        nothing_here: "这里没有场次。", "No sales here.";
        nothing_past: "没有更早的场次了。", "No earlier sales.";
        empty_head: "还没有场次", "No sales yet";
        empty_text: "先建商品，再安排一场秒杀。", "Create a product first, then plan a sale.";
        earlier: "更早的场次", "Earlier sales";
        latest: "回到最近", "Back to latest";
        rehearsal: "演练", "Rehearsal";
        settings: "设置", "Settings";
        clone: "复制", "Duplicate";
        page: "商店页面", "Shop page";
        checklist_link: "开始前检查", "Checklist";
        schedule: "排期", "Schedule";
        unschedule: "撤回为草稿", "Return to draft";
        delete: "删除草稿", "Delete draft";
        schedule_text: "顾客将看到本场次，到点自动开始；未设开始时间则需手动开始。",
            "Shoppers will see the sale. It starts automatically at its start time, or manually if none is set.";
        unschedule_text: "顾客将不再看到本场次，也不会自动开始。", "Shoppers will no longer see the sale, and it won’t start automatically.";
        delete_text: "草稿删除后无法恢复。", "A deleted draft can’t be restored.";
        overlap_see: "查看场次 {}", "View sale {}";
        done_created: "场次 {} 已创建并排期。", "Sale {} created and scheduled.";
        done_drafted: "场次 {} 已存为草稿，顾客看不到。", "Sale {} saved as a draft. Shoppers can’t see it.";
        done_saved: "场次 {} 的修改已保存。", "Changes to sale {} saved.";
        done_scheduled: "场次 {} 已排期，顾客可见。", "Sale {} scheduled. Shoppers can see it now.";
        done_unscheduled: "场次 {} 已撤回为草稿。", "Sale {} is a draft again.";
        done_deleted: "草稿 {} 已删除。", "Draft {} deleted.";
        done_started: "场次 {} 已开始。", "Sale {} started.";
        done_paused: "场次 {} 已暂停。", "Sale {} paused.";
        done_resumed: "场次 {} 已恢复。", "Sale {} resumed.";
        done_stopped: "场次 {} 已终止。", "Sale {} stopped.";
        done_topped_up: "场次 {} 已增加库存。", "Stock added to sale {}.";
        done_partly: "已应用到 {} 个分桶（共 {} 个），其余部分正在自动重试。", "Applied to {} of {} parts; the rest is retried.";
        form_edit: "编辑场次 {}", "Edit sale {}";
        form_what: "卖什么", "What";
        form_when: "什么时候", "When";
        form_how: "怎么卖", "How";
        card_empty: "选好商品、填好价格后，这里是本场在列表里的样子。", "Choose a product and a price: its card in the list appears here.";
        form_steps: "步骤", "Steps";
        rush_for: "一秒内见分晓，热闹、快。", "Decided within a second, and lively.";
        rush_against: "脚本快过人；填写预计人数后自动打散，脚本至多 1.2 倍机会。", "Scripts are faster than people. Enter the expected accounts, and the spread keeps them at 1.2 times the chance.";
        queue_for: "手速、网速、开多少窗口都没用，几分钟内卖完。", "Speed, connection and number of windows don’t matter. Sold within minutes.";
        queue_against: "要提前开放排队。", "The waiting room has to open before the start.";
        draw_for: "最公平，结果人人可验算；可以要求保证金。", "Fairest: anyone can verify the result, and a deposit may be asked for.";
        draw_against: "报名结束后才有结果，每人 1 件。", "The result comes after entries close. One unit per person.";
        no_rules: "没有条件", "No conditions";
        by_default: "自动", "Automatic";
        time_units: "例如 10 分钟、2 小时、1 天。", "For example 10 min, 2 h or 1 d.";
        form_rush: "大流量设置", "High-traffic settings";
        buckets_help: "1 到 64，留空为 1（不分桶）。分桶后，各桶可分布在 Redis Cluster 的不同节点上。场次载入后不能更改。",
            "1 to 64; empty means 1 (no split). Buckets can live on different nodes of a Redis Cluster. Can’t be changed once the sale is loaded.";
        lot_help: "每次分配给一个桶的件数；0 或留空表示一次全部分完。",
            "Units handed to a bucket at a time. 0 or empty hands out everything at once.";
        expected_accounts_help: "填写后自动计算打散时间，使脚本的机会至多是真人的 1.2 倍；超过两分钟时，排队等候更合适。",
            "Sets the spread with which a script has at most 1.2 times a person’s chance. Beyond two minutes, a waiting room would suit the demand better.";
        spread_help: "开抢后每个账号在这段时间内各有一个随机时刻，不到时刻不能买。低于 1000 时只让页面随机错开请求。留空为 600，最多 600000。",
            "After the start each account has a random moment within this time and cannot buy earlier. Below 1000, only pages spread their requests. Empty means 600, at most 600000.";
        cloned: "已从场次 {} 复制。时间已顺延到未来，请核对。", "Copied from sale {}. Its dates were moved into the future; please check them.";
        cloned_plain: "已从场次 {} 复制，请填写时间。", "Copied from sale {}. Please set the dates.";
        create_schedule: "创建并排期", "Create and schedule";
        save_draft: "存为草稿", "Save as draft";
        save_scheduled: "保存并排期", "Save and schedule";
        draft_help: "草稿仅员工可见。", "Only staff can see drafts.";
        price_ok: "我确认使用这个价格", "Yes, use this price";
        danger: "其他操作", "More actions";
        back: "返回场次列表", "Back to sales";
        locked: "场次 {} 已开始", "Sale {} has started";
        until: "{}后", "in {}";
        ago: "{}前", "{} ago";
        unit_second: "{} 秒", "{} s";
        unit_day: "{} 天", "{} d";
        unit_hour: "{} 小时", "{} h";
        unit_minute: "{} 分钟", "{} min";
        unit_soon: "不到一分钟", "less than a minute";
        cal_title: "场次日历", "Sales calendar";
        cal_zone: "时区：{}", "Time zone: {}";
        cal_previous: "上个月", "Previous month";
        cal_next: "下个月", "Next month";
        cal_today: "今天", "Today";
        cal_new: "新建场次：{}", "New sale on {}";
        cal_running: "进行中", "ongoing";
        cal_several: "跨多天的场次", "Over several days";
        cal_empty: "本月没有排期的场次，点击日期旁的加号新建。", "No sales this month. Press the plus next to a day to add one.";
        cal_loose: "未设开始时间的草稿和场次请见场次列表。", "Drafts and sales without a start time are in the sales list.";
        monday: "一", "Mon";
        tuesday: "二", "Tue";
        wednesday: "三", "Wed";
        thursday: "四", "Thu";
        friday: "五", "Fri";
        saturday: "六", "Sat";
        sunday: "日", "Sun";
    }
}

texts! {
    /// The checklist before a sale: names of the checks, verdicts, and a sentence for each finding by its code.
    ChecklistText {
        title: "开始前检查", "Pre-sale checklist";
        ready: "一切就绪。", "Everything is ready.";
        almost: "{} 项需要留意。", "Needs attention: {}.";
        not_ready: "{} 项未就绪。", "Not ready: {}.";
        anyway: "仍可手动开始，请先确认以下问题：", "You can still start it. Review these issues first:";
        loading: "正在检查…", "Checking…";
        failed: "暂时无法检查，请稍后再试。", "The checks could not run. Please try again.";
        see: "查看完整检查清单", "View the full checklist";
        state_ok: "正常", "OK";
        state_warning: "注意", "Warning";
        state_not_ok: "未就绪", "Not ready";
        goods_text: "商品文字", "Product text";
        picture: "图片", "Picture";
        price: "价格", "Price";
        limits: "限购", "Limit";
        spread: "公平", "Fairness";
        window: "时间", "Window";
        page: "商店页面", "Shop page";
        stock: "库存预热", "Stock preload";
        replica: "只读副本", "Replica";
        clock: "时钟", "Clock";
        services: "服务", "Services";
        outbox: "订单通道", "Order outbox";
        control: "控制进程", "Control process";
        consumer: "订单消费", "Order consumer";
        text_given: "中英文名称和介绍齐全。", "Name and description are complete in both languages.";
        text_missing: "有一种语言缺少名称或介绍，请在商品页补全。", "A name or description is missing in one language. Add it on the product page.";
        goods_gone: "商品不存在，请改选商品。", "The product does not exist. Choose another one.";
        picture_given: "已有图片。", "The product has a picture.";
        picture_missing: "还没有图片，请在商品页上传。", "No picture yet. Upload one on the product page.";
        price_good: "秒杀价低于原价。", "The sale price is below the list price.";
        price_alone: "未填写原价，页面不显示折扣。", "No list price, so no discount is shown.";
        price_not_lower: "秒杀价不低于原价，请核对。", "The sale price is not below the list price. Please check both.";
        price_zero: "价格为 0，请核对。", "The price is zero. Please check it.";
        limits_good: "每人限购合理。", "The limit per person is reasonable.";
        limits_wide: "三个人就能买光，请核对每人限购。", "Three people could buy everything. Please check the limit per person.";
        spread_off: "没有强制打散，网速最快的先得。要让脚本不占便宜，请在大流量设置中填写预计参与账号数。",
            "No enforced spread: the fastest connection wins. To keep scripts from gaining, enter the expected accounts under high-traffic settings.";
        spread_fair: "打散到个人时刻：参与账号不超过 {} 个时，脚本的机会至多是真人的 1.2 倍。",
            "Each account has its own moment. Up to {} accounts, a script has at most 1.2 times a person’s chance.";
        spread_long: "打散超过两分钟（适合至多 {} 个账号），多数人要久等，请考虑增加库存或减少参与者。排队等候更合适。",
            "The spread exceeds two minutes (for up to {} accounts), so many people wait long. A waiting room would suit this demand better.";
        window_good: "已设置开始和结束时间。", "Start and end times are set.";
        window_begun: "已开始。", "The sale has started.";
        window_endless: "未设结束时间，需要手动终止。", "No end time: you will have to stop it manually.";
        window_by_hand: "未设开始时间，需要手动开始。", "No start time: you will have to start it manually.";
        window_past: "开始或结束时间已过，请修改时间。", "The start or end time has passed. Please change it.";
        window_draft: "仍是草稿，不会自动开始，请先排期。", "Still a draft, so it won’t start by itself. Schedule it.";
        page_current: "页面已是最新。", "The page is up to date.";
        page_old: "页面未生成或不是最新，请几秒后再看；若仍如此，请检查数据目录所在的磁盘。",
            "The page is missing or out of date. Check again in a few seconds; if this persists, check the disk of the data directory.";
        page_draft: "草稿没有页面，排期后自动生成。", "A draft has no page. It’s created when the sale is scheduled.";
        stock_not_needed: "库存由数据库管理，无需预热。", "The database manages the stock; nothing to preload.";
        stock_loaded: "已载入 Redis。", "Loaded into Redis.";
        stock_behind: "Redis 正在更新到最新设置，请几秒后再看。", "Redis is being updated. Check again in a few seconds.";
        stock_not_loaded: "尚未载入 Redis，请确认控制进程正在运行。", "Not loaded into Redis. Make sure the control process is running.";
        stock_unknown: "Redis 主库无响应，请先恢复。", "The Redis master isn’t responding. Restore it first.";
        replica_none: "未配置只读副本，由主库处理读取。", "No replica configured; reads go to the master.";
        replica_in_step: "{} 个副本与主库同步。", "Replicas in sync: {}.";
        replica_behind: "{} 个副本落后或无响应，请检查复制。", "Replicas lagging or not responding: {}. Check the replication.";
        clock_true: "与 Redis 主库相差 {} 毫秒。", "{} ms off the Redis master.";
        clock_odd: "与 Redis 主库相差 {} 毫秒，请检查时间同步。", "{} ms off the Redis master. Check the time synchronization.";
        clock_wrong: "与 Redis 主库相差 {} 毫秒，开始时刻会不准，请先校时。",
            "{} ms off the Redis master: the sale would start at the wrong moment. Fix the clocks first.";
        services_well: "所有服务正常。", "All services are responding.";
        services_away: "无响应：{}。请先恢复。", "Not responding: {}. Restore it first.";
        outbox_quiet: "{} 条订单正在入库。", "Orders being saved: {}.";
        outbox_busy: "{} 条订单仍在入库，请等待完成。", "Orders still being saved: {}. Wait until they are done.";
        control_works: "控制进程正在运行。", "The control process is running.";
        control_missing: "没有控制进程，场次不会自动开始。请启动 seckill control。",
            "No control process is running, so the sale won’t start by itself. Start seckill control.";
        consumer_present: "{} 个消费进程在线。", "Consumers running: {}.";
        consumer_missing: "没有消费进程，订单无法入库。请启动 seckill consume。",
            "No consumer is running, so orders can’t be saved. Start seckill consume.";
    }
}

texts! {
    /// The report of a sale.
    ReportText {
        title: "本场报告", "Report";
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
        f_joined: "开始排队", "Joined the waiting room";
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
        fairness_more: "依据", "What this rests on";
        chance_title: "机会", "Chances";
        chance_even: "人人机会相同：先来后来，结果没有差别。", "Everyone had the same chance: early or late made no difference.";
        chance_doubtful: "机会大致相同：差异很小，请与其他场次对照。", "Nearly the same chance: a small difference, to be compared with other sales.";
        chance_first: "先到者占先。{}", "Speed decided. {}";
        chance_uneven: "机会不同：先来的人和后来的人结果不一样。", "Not the same chance: those who came early and late fared differently.";
        chance_unknown: "数据太少或人人都得到了，无法判断机会是否相同。", "Too few took part, or all won: whether chances were the same cannot be told.";
        scripts_title: "脚本", "Scripts";
        scripts_young: "无法直接识别。注册不到 1 天的账号占得到者的 {}。", "Cannot be seen as such. Accounts under a day old made up {} of those who won.";
        scripts_limited: "无法直接识别。注册不到 1 天的账号占得到者的 {}，{} 次请求因过于频繁被拒。",
            "Cannot be seen as such. Accounts under a day old made up {} of those who won, and {} requests were refused as too frequent.";
        waits_title: "等待", "Waiting";
        waits_rush: "抢到的人中，一半在 {} 内得知结果，99% 在 {} 内。", "Of those who won, half knew within {}, and 99% within {}.";
        waits_room: "{} 人排队，{} 人被叫到。", "{} waited in line, and {} were called.";
        waits_room_sold: "{} 人排队，{} 人被叫到，最后一件在开售 {} 后售出。", "{} waited in line, {} were called, and the last unit went {} after the opening.";
        waits_draw: "{} 人报名，{} 人得到名额，没有人需要拼速度。", "{} entered, {} were offered a unit, and nobody had to be fast.";
        waits_unknown: "没有测到等待时间。", "No wait was measured.";
        unknown_bots: "店铺不知道哪个账号是脚本，因此无法给出脚本与真人的机会之比。下面是可以测量的部分。",
            "The shop does not know which account is a script, so the chance of scripts against people cannot be given. This is what can be measured.";
        arrival: "按到达先后", "By order of arrival";
        arrival_rush: "把最初 5 秒的请求按到达先后分组（每组至多十分之一）。先到先得的场次，先到的组抢到的更多；组间差异越小，速度越不重要。成功按判定时刻减去用时中位数归入各组。",
            "The requests of the first five seconds, grouped in the order of their arrival. In a rush the first groups win more; the more even the groups, the less speed decides. A success counts when it was decided, less the median time of a decision.";
        arrival_waiting_room: "把锁定前开始排队的人按先后分成十组。顺序由种子打乱，各组被叫到的机会应当相同。",
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
