texts! {
    /// What a visitor without a connection reads.
    OfflineText {
        title: "现在没有网络", "You are offline";
        lead: "这个页面需要联网。恢复连接后会自动打开。", "This page needs a connection. It opens by itself once you are back online.";
        saved: "看过的商品", "What you looked at before";
        saved_hint: "可以离线查看，购买需要联网。", "These can be read offline. Buying needs a connection.";
        kept: "无法连接商店，这是 {} 的页面。", "The shop cannot be reached. This page is as of {}.";
        button: "连不上商店，暂时不能购买", "Shop not reachable";
    }
}
