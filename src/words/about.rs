use domain::shop_page::ShopPageName;

texts! {
    /// The shop's own pages, and the console's form of them.
    AboutText {
        title: "关于本店", "About this shop";
        lead: "配送与退换、联系方式、条款与隐私。", "Delivery and returns, contact, terms and privacy.";
        returns: "配送与退换", "Delivery and returns";
        contact: "联系我们", "Contact";
        terms: "服务条款", "Terms of service";
        privacy: "隐私政策", "Privacy policy";
        licence: "证照与许可", "Licences";
        seller: "由{}销售", "Sold by {}";
        none: "本店还没有填写这些页面。", "This shop has not written these pages yet.";
        updated: "更新于", "Updated";
        console: "店铺页面", "Shop pages";
        console_lead: "条款、隐私、退换、联系方式、证照。填写后出现在每页底部的“关于本店”里；支持 Markdown。",
            "Terms, privacy, returns, contact, licences. What is written appears under “About this shop” at the foot of every page. Markdown works.";
        text_zh: "中文", "Chinese";
        text_en: "英文", "English";
        unwritten: "未填写", "Not written";
        saved: "页面已保存。", "Page saved.";
        changed: "这个页面刚刚在别处被修改，你填写的还在下面，再次保存会覆盖它。",
            "This page was just changed elsewhere. What you entered is still below; saving again replaces it.";
        too_long: "最多 10000 个字符。", "At most 10,000 characters.";
    }
}

impl AboutText {
    /// The title of a page.
    pub fn title_of(&self, page: ShopPageName) -> &'static str {
        match page {
            ShopPageName::Returns => self.returns,
            ShopPageName::Contact => self.contact,
            ShopPageName::Terms => self.terms,
            ShopPageName::Privacy => self.privacy,
            ShopPageName::Licence => self.licence,
        }
    }
}
