texts! {
    /// Categories of goods, for shoppers and in the console.
    CategoriesText {
        title: "商品分类", "Categories";
        all: "全部", "All";
        nothing: "这个分类暂时没有在售的商品。", "Nothing in this category is on sale right now.";
        nothing_text: "看看其他分类，或全部秒杀。", "Look at another category, or at all sales.";
        field: "分类", "Category";
        none: "无分类", "None";
        any: "全部分类", "All categories";
        lead: "顾客可在首页和场次列表按分类筛选，顺序如下。首页只显示有在售或即将开抢商品的分类。",
            "Shoppers filter the list of sales by category, in this order. The home page shows a category while something in it is on or coming up.";
        none_yet: "还没有分类。", "No categories yet.";
        none_yet_text: "建好分类，再在商品里选择。", "Create one, then choose it in the form of a product.";
        new_title: "新建分类", "New category";
        products: "商品：{}", "Products: {}";
        see_in_shop: "在商店中查看", "View in the shop";
        earlier: "前移", "Move up";
        later: "后移", "Move down";
        rename: "改名", "Rename";
        delete: "删除", "Delete";
        delete_unused: "没有商品使用这个分类。", "No product uses this category.";
        delete_used: "有 {} 件商品使用这个分类。商品会保留，不再有分类。", "Products that use this category: {}. They are kept, without a category.";
        done_created: "已创建分类“{}”。", "Category “{}” created.";
        done_saved: "已保存分类“{}”。", "Category “{}” saved.";
        done_moved: "已移动分类“{}”。", "Category “{}” moved.";
        done_deleted: "已删除分类。", "Category deleted.";
        changed: "这个分类刚被改名为“{}”。你填写的内容仍在下方，再次保存即可覆盖。",
            "This category was just renamed to “{}”. What you entered is still below; save it again to replace that.";
    }
}
