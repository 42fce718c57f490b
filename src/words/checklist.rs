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
