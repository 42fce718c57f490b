texts! {
    /// What the console's lists share: saved views, columns, order, totals.
    TablesText {
        views: "视图", "Views";
        all: "全部", "All";
        save: "保存此视图", "Save this view";
        save_text: "以名称保存当前的筛选、排序和列，仅自己可见。同名视图会被替换。",
            "Keeps the current filter, order and columns under a name, for you alone. A view of the same name is replaced.";
        name: "名称", "Name";
        manage: "管理", "Manage";
        rename: "改名", "Rename";
        delete: "删除", "Delete";
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
