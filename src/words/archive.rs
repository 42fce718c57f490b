texts! {
    /// Sessions of the list, and the page with all sales.
    ArchiveText {
        sessions: "按场次", "By session";
        now: "正在抢", "Now";
        later: "更晚", "Later";
        all: "全部", "All";
        while_stocks_last: "抢完即止", "While stocks last";
        past: "含往期", "With past sales";
        one_more: "以上商品还有 1 场", "One more sale of products above";
        more: "以上商品还有 {} 场", "{} more sales of products above";
        see_past: "查看全部往期", "See all past sales";
        title: "全部场次", "All sales";
        lead: "按商品名搜索，也可以翻看往期。", "Search by product name, or look through past sales.";
        field: "商品名", "Product name";
        submit: "搜索", "Search";
        show: "显示", "Show";
        show_all: "全部", "All";
        show_now: "正在抢购", "On now";
        show_next: "即将开抢", "Coming up";
        show_ended: "已结束", "Ended";
        found: "{} 场", "Sales found: {}";
        none: "没有符合条件的场次。", "No matching sales.";
        none_text: "换个词，或查看全部场次。", "Try another word, or look at all sales.";
        clear: "查看全部场次", "See all sales";
        share: "分享", "Share";
        copied: "链接已复制", "Link copied";
        poster: "海报", "Poster";
        poster_save: "保存图片", "Save picture";
        poster_close: "关闭", "Close";
        poster_scan: "扫码准点抢", "Scan to be there on time";
        older: "更早的场次", "Older sales";
        newest: "回到最新", "Back to newest";
    }
}
