texts! {
    /// The console: the list, form and calendar of sales.
    SalesText {
        list_title: "场次", "Sales";
        payments_sandbox: "支付方式：沙箱。付款和充值都不收钱，任何人都能免费拿货，请勿用于真实销售。",
            "Payments: sandbox. Orders and top-ups are paid without money, so anyone can take goods for free. Not for real sales.";
        payments_sandbox_short: "支付：沙箱", "Payments: sandbox";
        payments_on: "支付方式：{}。", "Payments: {}.";
        payments_on_short: "支付：{}", "Payments: {}";
        payments_none_short: "支付：无", "Payments: none";
        payments_none: "支付方式：无。订单只能用钱包余额付款，钱包不能充值。",
            "Payments: none. Orders are paid from wallets only, and wallets can’t be topped up.";
        calendar: "日历", "Calendar";
        filter: "筛选场次", "Filter sales";
        search: "按商品名称或场次编号搜索", "Search by product or sale number";
        tabs: "按状态", "By state";
        tab_current: "当前", "Current";
        all: "全部", "All";
        apply: "搜索", "Search";
        clear: "清除筛选", "Clear filter";
        group_live: "进行中", "Live";
        group_next: "即将开始", "Upcoming";
        group_drafts: "草稿", "Drafts";
        group_past: "已结束", "Past";
        nothing_found: "没有符合条件的场次。", "No matching sales.";
        nothing_here: "这里没有场次。", "No sales here.";
        nothing_past: "没有更早的场次了。", "No earlier sales.";
        empty_head: "还没有场次", "No sales yet";
        empty_text: "先建商品，再安排一场秒杀。", "Create a product first, then plan a sale.";
        earlier: "更早的场次", "Earlier sales";
        latest: "回到最近", "Back to latest";
        rehearsal: "演练", "Rehearsal";
        progress: "已锁定 {}%", "{}% reserved";
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
        form_what: "商品与价格", "Product and price";
        form_units: "数量", "Quantity";
        form_when: "时间", "Schedule";
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
