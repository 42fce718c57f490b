texts! {
    /// The console's search across pages, sales, orders and users.
    PaletteText {
        open: "查找", "Find";
        title: "查找", "Find anything";
        label: "页面、场次、订单号、用户名", "Page, sale, order number or username";
        search: "查找", "Search";
        none: "没有找到。", "Nothing found.";
        keys: "↑ ↓ 选择，回车打开。列表中：j、k 移动，x 勾选。", "↑ ↓ choose, Enter opens. In lists: j and k move, x ticks.";
        k_page: "页面", "Page";
        k_sale: "场次", "Sale";
        k_order: "订单", "Order";
        k_user: "用户", "User";
    }
}
