use domain::{Locale, Scope};

texts! {
    /// Endpoints that get events of the shop.
    WebhooksText {
        title: "事件推送", "Webhooks";
        lead: "商店把订单、付款、退款、发货和场次的变化签名后发送给你的其他系统。", "The shop sends what happens to orders, payments, refunds, shipments and sales to your other systems, signed.";
        empty: "还没有接收地址。添加第一个后，此后发生的事件会发送到那里。", "No endpoints yet. Once you add the first one, it gets what happens from then on.";
        endpoint: "事件接收地址", "Endpoint";
        back: "返回事件推送", "Back to webhooks";
        url: "接收地址", "URL";
        single: "单个事件", "Single events";
        url_help: "公网上的 https 地址。", "An https address on the public internet.";
        added_at: "添加时间", "Added";
        added: "已添加。请把下面的密钥填入接收事件的系统。", "Added. Enter the secret below in the system that gets the events.";
        add: "添加接收地址", "Add endpoint";
        edit: "更改地址和事件", "Change URL and events";
        saved: "已保存。", "Saved.";
        deleted: "已删除接收地址。", "Endpoint deleted.";
        on: "启用", "On";
        off: "关闭", "Off";
        failing: "发送失败", "Failing";
        disabled: "已停用", "Disabled";
        failing_since: "所有发送均失败，始于", "Every attempt has failed since";
        turn_on: "启用", "Turn on";
        turn_off: "关闭", "Turn off";
        secret: "签名密钥", "Signing secret";
        secret_text: "用它检查事件确实来自本店。不要把它发给别人。", "Use it to check that events really come from this shop. Keep it to yourself.";
        secret_lost: "密钥无法解密，请更换密钥。", "The secret can’t be decrypted. Replace it.";
        show_secret: "查看密钥", "Show secret";
        rotate: "更换密钥", "Replace secret";
        rotate_text: "24 小时内事件同时用新旧两个密钥签名。", "For 24 hours events are signed with both the old and the new secret.";
        rotated: "密钥已更换。旧密钥在 24 小时内仍然有效。", "Secret replaced. The old one stays valid for 24 hours.";
        delete_text: "删除后不再向它发送事件，等待发送的事件也会丢弃。", "No more events go there, and those that wait to be sent are dropped.";
        test: "发送测试", "Send a test";
        tested: "测试事件已发出，稍后刷新本页查看结果。", "A test is on its way. Reload this page in a moment to see what came back.";
        replay: "重发", "Send again";
        replay_since: "重发一段时间的事件", "Send past events again";
        since: "从这时起", "Since";
        since_help: "事件保留 30 天。", "Events are kept for 30 days.";
        replayed: "正在重发 {} 个事件。", "Events being sent again: {}.";
        sent: "发送记录", "Sent events";
        sent_none: "还没有发送过事件。", "Nothing was sent yet.";
        waiting: "等待发送", "Waiting";
        delivered: "已送达", "Delivered";
        failed: "已放弃", "Given up";
        sequence: "第 {} 个", "no. {}";
        attempts: "尝试 {} 次", "Attempts: {}";
        next: "下次尝试", "Next attempt";
        no_answer: "没有响应", "no answer";
    }
}

texts! {
    /// The console: sections, sale actions, form fields, the audit log.
    AdminText {
        title: "管理后台", "Admin console";
        nav: "管理导航", "Admin";
        menu_places: "菜单", "Menu";
        group_sell: "卖", "Sell";
        group_serve: "服务", "Serve";
        group_watch: "看", "Watch";
        group_shop: "店铺", "Shop";
        nav_system: "系统", "System";
        waiting: "项待处理", "waiting";
        to_shop: "去店铺", "View shop";
        tabs: "分类", "Lists";
        nav_sales: "场次", "Sales";
        nav_goods: "商品", "Products";
        nav_orders: "订单", "Orders";
        nav_users: "顾客与员工", "People";
        nav_log: "操作日志", "Audit log";
        new_sale: "新建场次", "New sale";
        new_goods: "新建商品", "New product";
        edit: "编辑", "Edit";
        menu: "操作：{}", "Actions: {}";
        menu_of_row: "操作", "Actions";
        stale_note: "数据截至页面打开时。", "Numbers as of page load.";
        col_taken: "已抢 / 总量", "Taken / total";
        col_money: "已付款", "Paid";
        col_unpaid: "待付款", "Unpaid";
        window: "时间", "Window";
        by_hand: "手动", "manual";
        state_draft: "草稿", "Draft";
        state_scheduled: "已排期", "Scheduled";
        state_live: "进行中", "Live";
        state_paused: "已暂停", "Paused";
        state_ended: "已结束", "Ended";
        start: "立即开始", "Start now";
        pause: "暂停", "Pause";
        resume: "恢复", "Resume";
        stop: "终止", "Stop";
        top_up: "加库存", "Add stock";
        start_text: "立即开抢，不等计划时间。", "Starts the sale now, regardless of its schedule.";
        pause_text: "暂停期间不能抢购，已有订单不受影响。", "No one can buy while the sale is paused. Existing orders aren’t affected.";
        resume_text: "恢复抢购。", "Reopens the sale.";
        stop_text: "终止后不能重新开始，已有订单不受影响。", "A stopped sale can’t be restarted. Existing orders aren’t affected.";
        top_up_text: "增加本场库存，立即生效。", "Adds stock to the sale right away.";
        stop_type: "输入场次编号 {} 以确认", "Type sale number {} to confirm";
        units: "增加数量", "Units to add";
        sale_number: "场次 {}", "Sale {}";
        form_goods_edit: "编辑商品", "Edit product";
        name_zh: "名称（中文）", "Name (Chinese)";
        name_en: "名称（英文）", "Name (English)";
        description_zh: "介绍（中文）", "Description (Chinese)";
        description_en: "介绍（英文）", "Description (English)";
        goods_id: "商品", "Product";
        goods_choose: "请选择商品", "Choose a product";
        price: "秒杀价（{}）", "Sale price ({})";
        list_price: "原价（{}，选填）", "List price ({}, optional)";
        price_help: "例如 1999 或 19.90", "For example 1999 or 19.90";
        total: "总量（件）", "Total units";
        per_user_limit: "每人限购（件）", "Limit per person";
        buckets: "分桶数", "Buckets";
        lot: "每次分配（件）", "Lot size (units)";
        spread_ms: "打散时间（毫秒）", "Spread (ms)";
        expected_accounts: "预计参与账号数", "Expected accounts";
        opens_at: "开始时间", "Starts at";
        closes_at: "结束时间", "Ends at";
        time_by_hand: "留空则手动开始或终止", "Leave empty to start or stop it manually";
        create: "创建", "Create";
        errors_head: "请检查以下内容：", "Please check:";
        log_empty: "还没有操作记录。", "No activity yet.";
        log_at: "时间", "Time";
        log_actor: "操作人", "Actor";
        log_action: "操作", "Action";
        log_subject: "对象", "Target";
    }
}

texts! {
    /// What the console shows first.
    OverviewText {
        steps_title: "开店第一步", "First steps";
        step_password: "换掉初始密码", "Change the first password";
        step_factor: "开启两步验证", "Turn on two-step verification";
        step_name: "设置店铺名称和标志", "Give the shop its name and logo";
        step_mail: "连接邮件服务器（SECKILL_SMTP_URL）", "Connect a mail server (SECKILL_SMTP_URL)";
        step_payment: "连接支付平台（SECKILL_PAYMENTS）", "Connect a payment provider (SECKILL_PAYMENTS)";
        step_product: "添加第一件商品", "Add the first product";
        step_sale: "安排第一场秒杀", "Plan the first sale";
        step_rehearsal: "演练一次：seckill rehearse", "Rehearse it: seckill rehearse";
        step_done: "已完成", "Done";
        steps_dismiss: "不再显示", "Put this list away";
        title: "要处理", "To do";
        on_sale: "正在卖", "On sale now";
        sales: "{} 场", "{}";
        running: "一切正常", "running";
        paused: "{} 场已暂停", "{} paused";
        revenue: "今日净收入（{}）", "Net income today ({})";
        nothing_earned: "暂无", "none";
        unpaid_label: "待付款订单", "Unpaid orders";
        unpaid: "{} 单待付款", "{} unpaid";
        refunds: "{} 单退款中", "{} being refunded";
        to_pack: "{} 单待打包", "{} to pack";
        approvals: "{} 笔待复核", "{} to approve";
        cases: "{} 笔付款要查", "Payments to check: {}";
        returns: "{} 单退货待答复", "Returns to answer: {}";
        questions: "{} 条提问", "Questions: {}";
        dead: "{} 条异常消息", "Dead letters: {}";
        next: "下一场", "Next sale";
        no_next: "没有已排期的场次", "Nothing is scheduled";
        more: "{}+", "{}+";
        all_well: "无事待办", "All clear";
        password_is_enough: "目前仅凭密码就能进入管理后台。", "For now a password alone opens this console.";
        require_factor: "要求所有员工开启两步验证", "Require two-step verification of all staff";
    }
}

texts! {
    /// The console's search across pages, sales, orders, users and questions.
    PaletteText {
        title: "查找", "Find anything";
        label: "页面、场次、订单号、用户名、提问", "Page, sale, order number, username or question";
        none: "没有找到。", "Nothing found.";
        failed: "暂时无法查找，请重试。", "Can’t search right now. Please try again.";
        keys: "↑ ↓ 选择，回车打开。", "↑ ↓ choose, Enter opens.";
        shortcuts: "快捷键", "Keyboard shortcuts";
        key_find: "查找页面、场次、订单、用户、提问（苹果电脑：⌘ K）", "Find a page, sale, order, user or question (⌘ K on a Mac)";
        key_move: "列表中的下一行、上一行", "Next and previous row of a list";
        key_open: "打开所在的行", "Open the row";
        key_tick: "勾选或取消所在的行", "Tick the row, or untick it";
        key_pause: "暂停或恢复所在的场次（5 秒内可撤销）", "Pause the sale of the row, or resume it (undo within 5 s)";
        pause_left: "{} 秒后执行", "in {} s";
        key_close: "关闭对话框", "Close a dialog";
        key_help: "显示快捷键", "Show these shortcuts";
        k_page: "页面", "Page";
        k_sale: "场次", "Sale";
        k_order: "订单", "Order";
        k_user: "用户", "User";
        k_question: "提问", "Question";
    }
}

texts! {
    /// What the console's lists share: saved views, columns, order, totals.
    TablesText {
        views: "视图", "Views";
        all: "全部", "All";
        save: "保存此视图", "Save this view";
        save_text: "以名称保存当前的筛选、排序和列，仅自己可见。同名视图会被替换。",
            "Keeps the current filter, order and columns under a name, for you alone. A view of the same name is replaced.";
        manage: "管理", "Manage";
        done_saved: "视图已保存。", "View saved.";
        done_renamed: "视图已改名。", "View renamed.";
        done_deleted: "视图已删除。", "View deleted.";
        bad_name: "名称须为 1 到 40 个字。", "Enter a name of up to 40 characters.";
        bad_query: "当前的筛选条件有误，无法保存。", "The current filter can’t be read, so it wasn’t saved.";
        too_many: "每个列表最多保存 20 个视图，请先删除一个。", "A list keeps up to 20 views. Delete one first.";
        name_taken: "已有同名视图。", "Another view has this name.";
        columns: "列", "Columns";
        density: "行距", "Row spacing";
        comfortable: "宽松", "Comfortable";
        compact: "紧凑", "Compact";
        show: "显示“{}”", "Show {}";
        hide: "隐藏“{}”", "Hide {}";
        ascending: "按“{}”升序排列", "Sort by {}, ascending";
        descending: "按“{}”降序排列", "Sort by {}, descending";
        found: "{} 笔订单，{} 件，{}", "{} orders, {} units, {}";
        found_more: "超过 {} 笔订单。最近的这些：{} 件，{}", "More than {} orders. The first of them: {} units, {}";
        sort: "排序：", "Sort:";
        newest: "最新", "Newest first";
        oldest: "最早", "Oldest first";
        by_name: "名称", "Name";
    }
}

texts! {
    /// Actions of the console on several orders, accounts or sales.
    BulkText {
        pick: "选择", "Pick";
        all: "全选", "Pick all";
        selected: "所选项：", "Selected:";
        ticked: "已选 {} 项", "{} selected";
        title: "{} · {} 项", "{} · {} selected";
        none: "没有选择任何项。请返回列表勾选。", "Nothing is selected. Go back and tick some rows.";
        too_many: "单次最多处理 100 项。", "At most 100 at a time.";
        will_orders_pack: "将把 {} 单标记为已打包。", "{} orders will be marked as packed.";
        will_orders_ship: "将把 {} 单标记为已发货。", "{} orders will be marked as sent.";
        will_orders_deliver: "将把 {} 单标记为已送达。", "{} orders will be marked as delivered.";
        will_orders_cancel: "将取消 {} 单。", "{} orders will be cancelled.";
        will_orders_refund: "将退款 {} 单。", "{} orders will be refunded.";
        will_orders_hold: "将暂缓 {} 单。", "{} orders will be held.";
        will_orders_release: "将放行 {} 单。", "{} orders will be released.";
        will_users_block: "将停用 {} 个账号。", "{} accounts will be blocked.";
        will_users_unblock: "将恢复 {} 个账号。", "{} accounts will be unblocked.";
        will_sales_schedule: "将排期 {} 场。", "{} sales will be scheduled.";
        will_sales_unschedule: "将撤回 {} 场为草稿。", "{} sales will return to draft.";
        will_sales_pause: "将暂停 {} 场。", "{} sales will be paused.";
        will_sales_resume: "将恢复 {} 场。", "{} sales will be resumed.";
        will_sales_stop: "将终止 {} 场。", "{} sales will be stopped.";
        will_sales_delete: "将删除 {} 个草稿。", "{} drafts will be deleted.";
        left_out: "跳过 {} 项。", " Left out: {}.";
        acted: "已处理 {} 项，未处理 {} 项。", "Done: {}. Not done: {}.";
        col_item: "对象", "Item";
        col_what: "结果", "What happens";
        will: "将处理", "will be done";
        done: "已处理", "done";
        gone: "不存在", "no such item";
        own_order: "你自己的订单，须由另一位员工处理", "your own order: another staff member has to";
        is_status: "状态为“{}”", "its status is “{}”";
        is_held: "已在审核中", "is held already";
        not_held: "不在审核中", "is not held";
        held_needs_message: "审核中的订单须给买家留言", "is held: the buyer has to be told why";
        is_blocked: "已停用", "is blocked already";
        not_blocked: "未停用", "is not blocked";
        is_deleted: "账号已删除", "the account is deleted";
        waits: "等待另一位员工批准", "waits for a second person";
        other_waits: "另一笔退款申请在等待批准", "another refund waits for approval";
        changed: "已变化，未处理", "changed meanwhile, left alone";
        failed: "出错，未处理，请重试", "failed, nothing was done: try it again";
        confirm: "确认处理", "Go ahead";
        back: "返回列表", "Back to the list";
        undo: "撤销：{}", "Undo: {}";
        opens: "开始时间：", "Starts";
        type_count: "输入场次数量 {} 以确认", "Type the number of sales, {}, to confirm";
        overlaps: "同一商品在该时间段已有场次 {}", "the same product is on sale then in sale {}";
        has_closed: "结束时间已过，请先修改时间", "its end has passed: change it first";
        unsold: "未售出 {} 件", "Unsold units: {}.";
        unpaid: "未付款订单 {} 笔，仍可付款", "Unpaid orders, which can still be paid: {}.";
        in_line: "排队中 {} 人", "People in the waiting room: {}.";
        on_waitlist: "候补 {} 人", "People on the waitlist: {}.";
        entries: "抽签报名 {} 人", "Entries in the draw: {}.";
        entries_void: "抽签报名 {} 人，全部作废", "Entries in the draw, which become void: {}.";
        reminders: "设置提醒 {} 人", "People who asked for a reminder: {}.";
        orders_cancel: "取消未付款的订单，库存退回场次。不可撤销。", "Cancels unpaid orders. Their units go back on sale. This can’t be undone.";
        orders_refund: "全额退款，库存退回场次。大额退款须另一位员工批准。不可撤销。",
            "Refunds paid orders in full. Their units go back on sale, and large sums wait for a second person. This can’t be undone.";
        orders_hold: "订单暂缓发货，买家会收到原因，并可以申诉。", "Nothing is shipped until they are released. Buyers are told why and can appeal.";
        orders_pack: "标记为已打包。", "Marks them as packed.";
        orders_ship: "标记为已发货，不带运单号；买家会收到邮件和通知。要带运单号，请导入 CSV。", "Marks them as sent, without tracking numbers, and tells the customers. To add numbers, import a CSV file.";
        orders_deliver: "标记为已送达，买家会收到邮件和通知。", "Marks them as delivered and tells the customers.";
        is_so: "已是如此", "is so already";
        orders_release: "订单照常发货，申诉一并答复。", "The orders ship as usual. This answers any appeal.";
        users_block: "立即退出所有设备，不能再登录和购买。已有订单不受影响。", "Logs them out of all devices. They can no longer log in or buy. Existing orders aren’t affected.";
        users_unblock: "恢复后可重新登录和购买。", "They can log in and buy again.";
    }
}

texts! {
    /// Figures that take long to compute.
    ComputingText {
        title: "正在计算…", "Working it out…";
        text: "数据较多，需要几秒钟，完成后自动显示。", "There is a lot to read. The page appears by itself in a few seconds.";
        renewing: "正在更新，完成后自动显示。", "Newer figures are on their way and appear by themselves.";
    }
}

texts! {
    /// The console's pages about users and staff, and the filters of the audit log.
    PeopleText {
        role_user: "顾客", "Customer";
        role_admin: "店主", "Owner";
        role_operator: "运营", "Operator";
        role_support: "客服", "Support";
        role_viewer: "只读", "Viewer";
        about_admin: "拥有全部权限，可任命员工", "full access, including staff";
        about_operator: "管理场次和商品", "manages sales and products";
        about_support: "处理顾客的订单和账号", "helps customers with orders and accounts";
        about_viewer: "只能查看", "read-only";
        users_title: "顾客", "Customers";
        search: "用户名开头或用户编号", "Username or user ID";
        search_button: "查找", "Find";
        search_clear: "显示全部", "Show all";
        users_none: "还没有用户。", "No users yet.";
        users_none_found: "没有找到，请检查用户名或编号。", "No users found. Check the username or ID.";
        newest: "回到最新", "Newest";
        col_name: "用户名", "Username";
        col_role: "角色", "Role";
        col_state: "状态", "State";
        col_since: "注册时间", "Joined";
        col_seen: "最近登录", "Last login";
        col_device: "设备", "Device";
        col_address: "地址", "Address";
        state_active: "正常", "Active";
        state_blocked: "已停用", "Blocked";
        state_deleted: "已删除", "Deleted";
        state_new: "待改密码", "Password not set";
        never: "从未", "never";
        yes: "已开启", "on";
        no: "未开启", "off";
        id: "用户编号", "User ID";
        blocked_since: "停用时间", "Blocked since";
        reason: "停用原因", "Reason";
        reason_help: "供同事查看，也会包含在该用户导出的数据里。", "For your colleagues. It’s also part of the user’s data export.";
        orders_head: "最近的订单", "Recent orders";
        orders_none: "没有订单。", "No orders.";
        sessions_head: "登录设备", "Logged-in devices";
        sessions_none: "没有登录的设备。", "Not logged in anywhere.";
        block: "停用", "Block";
        block_head: "停用账号", "Block this account";
        block_text: "立即退出所有设备，不能再登录和购买。已有订单不受影响。",
            "Logs the user out of all devices. They can no longer log in or buy. Existing orders aren’t affected.";
        unblock: "恢复", "Unblock";
        unblock_text: "恢复后可重新登录和购买。", "The user can log in and buy again.";
        end_sessions_text: "该用户需要重新登录。", "The user will have to log in again.";
        done_block: "账号已停用，所有设备已退出。", "Account blocked and logged out of all devices.";
        done_unblock: "账号已恢复。", "Account unblocked.";
        done_end_sessions: "所有设备已退出。", "Logged out of all devices.";
        done_role: "角色已更改，对方需要重新登录。", "Role changed. The user has to log in again.";
        done_dismiss: "已撤销员工身份，对方现为普通顾客。", "Removed from staff. The user is now a customer.";
        done_reset: "两步验证已重置，对方可用密码登录。", "Two-step verification reset. The user can log in with the password alone.";
        done_appoint: "已设为员工，对方需要重新登录。", "Added to staff. The user has to log in again.";
        all_users: "所有用户", "All users";
        log_of: "操作记录", "Activity";
        staff_title: "员工", "Staff";
        set_role: "更改角色", "Change role";
        dismiss: "撤销员工身份", "Remove from staff";
        dismiss_text: "对方将变回普通顾客，并立即退出管理后台。", "The user becomes a customer and loses access to the console right away.";
        reset: "重置两步验证", "Reset two-step verification";
        reset_text: "用于手机和恢复码都丢失的情况，请先核实身份。其通行密钥也会移除。",
            "For users who lost both phone and recovery codes. Verify their identity first. Their passkeys are removed too.";
        reset_password: "重置密码", "Reset password";
        reset_password_text: "对方忘记密码时使用，请先核实身份。对方将退出所有设备，并得到一个 72 小时内有效的临时密码。",
            "For colleagues who lost their password. Verify their identity first. They are logged out everywhere and get a temporary password, valid for 72 hours.";
        reset_password_head: "“{}”的密码已重置", "Password of “{}” reset";
        role_choose: "请选择角色", "Choose a role";
        appoint_head: "将已有用户设为员工", "Add an existing user to staff";
        appoint: "设为员工", "Add to staff";
        create_head: "新建员工账号", "Create a staff account";
        create_text: "系统会生成临时密码，对方须在 72 小时内登录并自行设置密码。",
            "A temporary password is generated. The new colleague logs in within 72 hours and sets their own.";
        create: "新建账号", "Create account";
        created_head: "账号“{}”已创建", "Account “{}” created";
        created_text: "请将临时密码安全地交给对方，它只显示这一次，72 小时内有效。", "Share this temporary password securely. It’s shown only once and is valid for 72 hours.";
        created_password: "临时密码", "Temporary password";
        policy_head: "员工的两步验证", "Two-step verification of staff";
        policy_on: "所有员工都必须开启两步验证，未开启者无法使用管理后台。",
            "Required: colleagues without it can’t use the console until they set it up.";
        policy_off: "目前由员工自行决定是否开启。", "Optional: each colleague decides.";
        policy_without: "{} 名员工尚未开启。", "Colleagues without it: {}.";
        policy_turn_on: "要求所有员工开启", "Require it of all staff";
        policy_turn_off: "不再要求", "Make it optional";
        done_policy_on: "已要求所有员工开启两步验证。", "Two-step verification is now required of all staff.";
        done_policy_off: "不再要求员工开启两步验证。", "Two-step verification is now optional.";
        step_up_title: "验证身份", "Confirm it’s you";
        step_up_lead: "为安全起见，请再次输入密码。刚才填写的内容会保留。", "For security, please enter your password again. What you’ve filled in is kept.";
        step_up_button: "验证并继续", "Confirm and continue";
        stepped_up_title: "验证成功", "Confirmed";
        stepped_up_lead: "现在可以导出了。", "You can export now.";
        stepped_up_go: "导出", "Export";
        log_any_action: "全部操作", "All actions";
        log_subject_help: "例如 sale 7、goods 3、user 编号", "For example: sale 7, goods 3, user and an ID";
        log_from: "开始日期", "From";
        log_to: "结束日期（不含）", "Until (exclusive)";
        log_none_found: "没有符合条件的记录。", "No matching entries.";
    }
}

texts! {
    /// The console's page of tokens of programs.
    TokensText {
        title: "访问令牌", "Access tokens";
        lead: "让其他系统使用本店的接口。令牌只在新建时显示一次；员工离职或停用后，其令牌自动失效。",
            "They let other systems use this shop’s API. A token is shown once, when it is made. It ends with its maker’s place in the staff.";
        made_head: "令牌“{}”已新建", "Token “{}” is ready";
        made_text: "请立即复制保存，离开本页后无法再次查看。", "Copy it now. It can’t be shown again once you leave this page.";
        secret: "令牌", "Token";
        done_revoked: "令牌已撤销，一秒内全部失效。", "The token is revoked. It stops working everywhere within a second.";
        empty: "还没有访问令牌。", "No access tokens yet.";
        name_help: "操作记录会显示它，例如“官网商城”。", "The log shows it. For example “Vendure shop”.";
        scopes: "权限", "Scopes";
        used: "最近使用", "Last used";
        never: "从未使用", "Never used";
        expires: "有效期", "Expires";
        endless: "长期有效", "Never";
        live: "有效", "Active";
        expired: "已过期", "Expired";
        revoked: "已撤销", "Revoked";
        networks: "允许的网络", "Networks";
        networks_help: "例如 203.0.113.0/24，用空格分隔。留空则不限。", "For example 203.0.113.0/24, separated by spaces. Empty: anywhere.";
        rate: "每秒请求数上限", "Requests a second";
        rate_help: "按进程计算。留空则不限。", "For each process. Empty: no limit.";
        days: "有效天数", "Days until it expires";
        days_help: "留空则长期有效。", "Empty: it never expires.";
        make_head: "新建令牌", "New token";
        make: "新建令牌", "Create token";
        revoke: "撤销", "Revoke";
        revoke_text: "使用它的系统会立即无法访问，且不能恢复。", "Systems that use it lose access at once. This can’t be undone.";
        for_shops: "外部商店", "Other shops";
        for_staff: "后台权限", "As the staff";
    }
}

/// For each scope: its words in Chinese and English.
#[rustfmt::skip]
static SCOPES: [(Scope, &str, &str); Scope::ALL.len()] = [
    (Scope::ViewConsole, "查看后台的全部内容", "Read everything in the console"),
    (Scope::ManageSales, "管理商品和场次", "Manage products and sales"),
    (Scope::SupportShoppers, "处理订单、退款和账号", "Handle orders, refunds and accounts"),
    (Scope::AnswerQuestions, "回答提问", "Answer questions"),
    (Scope::ReadAddresses, "查看完整收货信息", "Read recipients in full"),
    (Scope::DecideApprovals, "审批", "Decide approvals"),
    (Scope::ViewBooks, "查看和导出账目", "Read and export the books"),
    (Scope::ViewSecurity, "查看安全事件", "Read security events"),
    (Scope::ReadMail, "查看邮件，含登录链接", "Read messages, with the links in them"),
    (Scope::ManageStaff, "管理员工：可新建店主", "Manage the staff: can create owners"),
    (Scope::ManageWebhooks, "管理事件接收地址", "Manage the endpoints of events"),
    (Scope::Reserve, "预留、确认和释放数量", "Reserve, confirm and release units"),
    (Scope::Shoppers, "登记顾客并签发入口链接", "Name customers and let them in"),
];

/// What a scope allows.
pub fn scope(locale: Locale, scope: Scope) -> &'static str {
    let row = SCOPES.iter().find(|row| row.0 == scope);
    row.map_or("", |row| if locale == Locale::Zh { row.1 } else { row.2 })
}
