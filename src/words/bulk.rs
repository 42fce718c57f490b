texts! {
    /// Actions of the console on several orders, accounts or sales.
    BulkText {
        pick: "选择", "Pick";
        all: "全选", "Pick all";
        selected: "对所选项：", "With those picked:";
        title: "{} · {} 项", "{} · {} picked";
        none: "没有选择任何项。请返回列表勾选。", "Nothing is picked. Go back and tick some rows.";
        too_many: "单次最多处理 100 项。", "At most 100 at a time.";
        will_act: "将处理 {} 项，跳过 {} 项。", "Acts on {}, leaves out {}.";
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
        entries: "抽签登记 {} 人", "Entries in the draw: {}.";
        entries_void: "抽签登记 {} 人，全部作废", "Entries in the draw, which become void: {}.";
        reminders: "设置提醒 {} 人", "People who asked for a reminder: {}.";
        orders_cancel: "取消未付款的订单，库存退回场次。不可撤销。", "Cancels unpaid orders. Their units go back on sale. This can’t be undone.";
        orders_refund: "全额退款，库存退回场次。大额退款须另一位员工批准。不可撤销。",
            "Refunds paid orders in full. Their units go back on sale, and large sums wait for a second person. This can’t be undone.";
        orders_hold: "订单暂缓发货，买家会收到原因，并可以申诉。", "Nothing is shipped until they are released. Buyers are told why and can appeal.";
        orders_release: "订单照常发货，申诉一并答复。", "The orders ship as usual. This answers any appeal.";
        users_block: "立即退出所有设备，不能再登录和购买。已有订单不受影响。", "Logs them out of all devices. They can no longer log in or buy. Existing orders aren’t affected.";
        users_unblock: "恢复后可重新登录和购买。", "They can log in and buy again.";
    }
}
