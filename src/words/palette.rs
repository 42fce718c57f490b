texts! {
    /// The console's search across pages, sales, orders, users and questions.
    PaletteText {
        open: "查找", "Find";
        title: "查找", "Find anything";
        label: "页面、场次、订单号、用户名、提问", "Page, sale, order number, username or question";
        search: "查找", "Search";
        none: "没有找到。", "Nothing found.";
        keys: "↑ ↓ 选择，回车打开。", "↑ ↓ choose, Enter opens.";
        shortcuts: "快捷键", "Keyboard shortcuts";
        key_find: "查找页面、场次、订单、用户、提问（苹果电脑：⌘ K）", "Find a page, sale, order, user or question (⌘ K on a Mac)";
        key_move: "列表中的下一行、上一行", "Next and previous row of a list";
        key_open: "打开所在的行", "Open the row";
        key_tick: "勾选或取消所在的行", "Tick the row, or untick it";
        key_pause: "暂停或恢复所在的场次（5 秒内可撤销）", "Pause the sale of the row, or resume it (undo within 5 s)";
        pause_left: "{} 秒后执行", "in {} s";
        pause_undo: "撤销", "Undo";
        key_close: "关闭对话框", "Close a dialog";
        key_help: "显示快捷键", "Show these shortcuts";
        close: "关闭", "Close";
        k_page: "页面", "Page";
        k_sale: "场次", "Sale";
        k_order: "订单", "Order";
        k_user: "用户", "User";
        k_question: "提问", "Question";
    }
}
