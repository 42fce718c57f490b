use domain::QuestionStatus;

texts! {
    /// The page that imports goods and drafts of sales.
    GoodsImportText {
        title: "导入商品和场次", "Import products and sales";
        lead: "从 CSV 或每行一个 JSON 导入。先检查，再导入；只要有一行不能导入，就全部不导入。场次导入为草稿，买家看不到。",
            "From CSV, or JSON with one object per line. Check first, then import. If one line can’t be imported, none is. Sales become drafts, which shoppers don’t see.";
        text: "粘贴内容", "Paste the lines";
        text_help: "CSV 的第一行是列名。最多 {} 行。", "The first line of CSV has the names of the columns. At most {} lines.";
        file: "或选择文件", "Or choose a file";
        file_help: "选择文件后以文件为准。", "A file counts instead of what is pasted.";
        check: "检查", "Check";
        import: "导入", "Import";
        line_goods: "新增商品", "A new product";
        line_sale: "新增商品和场次草稿", "A new product and the draft of a sale";
        ready: "可以导入：{} 个商品，{} 场草稿。尚未导入。", "Ready: {} products, {} drafts of sales. Nothing is imported yet.";
        refused: "有 {} 行不能导入，因此未导入任何一行。请改正后重新检查。", "Lines that can’t be imported: {}. So none was. Correct them and check again.";
        done: "已导入 {} 个商品、{} 场草稿。", "Imported: {} products, {} drafts of sales.";
        see_drafts: "查看草稿", "See the drafts";
        columns: "列名和示例", "Columns and an example";
        columns_help: "名称必填，其余可以留空或省略。填了价格的行会同时建立场次。", "Names are required, all others may be empty or left out. A line with a price also becomes a sale.";
    }
}

texts! {
    /// Galleries, and the console's product pages.
    GoodsText {
        markdown_help: "介绍支持 Markdown：# 小标题、- 列表、**加粗**，规格用表格（| 重量 | 168 克 |）。HTML 和图片会被去掉。",
            "Descriptions may use Markdown: # headings, - lists, **bold**, and tables for specifications (| Weight | 168 g |). HTML and pictures are removed.";
        gallery: "商品图片，共 {} 张", "Pictures: {}";
        zoom_close: "关闭大图", "Close";
        gallery_nav: "选择图片", "Choose a picture";
        gallery_show: "查看第 {} 张", "Show picture {}";
        gallery_item: "（第 {} 张，共 {} 张）", " (picture {} of {})";
        search: "搜索商品", "Search products";
        show_archived: "显示已归档（{}）", "Show archived ({})";
        hide_archived: "隐藏已归档", "Hide archived";
        none_yet: "还没有商品。", "No products yet.";
        none_yet_text: "先建商品，再安排场次。", "Create a product first, then plan a sale of it.";
        none_found: "没有符合条件的商品。", "No matching products.";
        clear_search: "查看全部商品", "View all products";
        more_than_shown: "只显示前 {} 件，请搜索以缩小范围。", "Showing the first {}. Search to narrow the results.";
        archived: "已归档", "Archived";
        number: "商品 {}", "Product {}";
        archive: "归档", "Archive";
        archive_text: "归档后不能用于新场次，已有订单和往期场次不受影响。可随时恢复。",
            "Archived products can’t be used in new sales. Existing orders and past sales aren’t affected. You can restore it at any time.";
        unarchive: "恢复", "Restore";
        unarchive_text: "恢复后可再次用于新场次。", "It can be used for new sales again.";
        done_created: "已创建“{}”。", "“{}” created.";
        done_saved: "已保存“{}”。", "“{}” saved.";
        done_archived: "已归档“{}”。", "“{}” archived.";
        done_unarchived: "已恢复“{}”。", "“{}” restored.";
        changed_by: "这件商品刚被 {} 修改。", "Just changed by {}.";
        changed_fields: "改动：{}。你填写的内容仍在下方，请核对后再保存。", "Changed: {}. What you entered is still below. Check it and save again.";
        changed_unknown: "这件商品刚被他人修改。你填写的内容仍在下方，请核对后再保存。",
            "This product was just changed. What you entered is still below. Check it and save again.";
        back: "全部商品", "All products";
        archived_note: "该商品已归档，恢复后才能用于新场次。", "This product is archived. Restore it to use it in a new sale.";
        pictures: "图片", "Pictures";
        pictures_help: "PNG、JPEG 或 WebP，每张最多 5 MB，可一次选多张。位置信息等元数据会被清除。",
            "PNG, JPEG or WebP, up to 5 MB each. You can select several at once. Location and other metadata are removed.";
        pictures_add: "添加图片", "Add pictures";
        pictures_none: "还没有图片，将显示占位图。", "No pictures yet. A placeholder is shown.";
        pictures_order: "按“顺序”排列，第 1 张是封面。", "Sorted by position. The first one is the cover.";
        place: "顺序", "Position";
        place_of: "第 {} 张图片的顺序", "Position of picture {}";
        remove_of: "移除第 {} 张图片", "Remove picture {}";
        cover: "封面", "Cover";
        make_cover: "设为封面", "Set as cover";
        earlier: "前移", "Move earlier";
        later: "后移", "Move later";
        moved: "图片已移到第 {} 位，保存后生效。", "Moved to position {}. Save to apply.";
        variants: "款式", "Variants";
        variants_help: "颜色、尺寸等款式各是一件商品，各有场次和库存；商品页上可以互相切换。",
            "A variant, in another colour or size, is a product with sales and stock of its own. Their pages lead to each other.";
        variant_of: "属于哪件商品", "Variant of";
        variant_of_none: "不是其他商品的款式", "Not a variant of another product";
        variant_zh: "款式名（中文）", "Name of the variant (Chinese)";
        variant_en: "款式名（英文）", "Name of the variant (English)";
        variant_name_help: "例如“曜石黑”。留空则显示商品名。", "For example “Black”. Left empty, the product name is shown.";
        has_variants: "其他款式：", "Other variants:";
        variant_note: "商品 {} 的款式", "Variant of {}";
        preview_title: "顾客看到的样子", "What shoppers will see";
        preview_note: "尚未保存。", "Not saved yet.";
        preview_card: "在列表中", "In the list";
        preview_page: "在商品页", "On its page";
        no_description: "（暂无介绍）", "(no description)";
    }
}

texts! {
    /// Categories of goods, for shoppers and in the console.
    CategoriesText {
        title: "商品分类", "Categories";
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

texts! {
    /// Questions about goods and their answers: on pages, for their owners, and in the console.
    QuestionsText {
        title: "商品问答", "Questions and answers";
        none: "还没有已答复的提问，来问第一个吧。", "Nothing has been answered yet. Be the first to ask.";
        asked: "问", "Q";
        answered: "答", "A";
        show_more: "再显示 {} 个", "Show {} more";
        ask: "我要提问", "Ask a question";
        ask_label: "你的问题", "Your question";
        ask_help: "5 到 300 字。答复后公开显示在商品页，不显示你的名字；请勿填写个人信息。",
            "5 to 300 characters. Once answered it is shown here without your name, so leave out personal details.";
        ask_button: "提交问题", "Send question";
        ask_about: "提问：{}", "Ask about {}";
        log_in_first: "提交时需要登录，写好的内容会保留。", "You’ll be asked to log in when you send it. What you typed is kept.";
        kept: "你写的问题还在，请确认后提交。", "Here is what you typed. Please check it, then send.";
        back: "返回商品页", "Back to the product";
        mine: "我的提问", "My questions";
        mine_lead: "答复会显示在这里和商品页，也会发送到你验证过的邮箱。", "Answers appear here and on the product’s page, and go to your confirmed email address.";
        mine_none: "你还没有提问。", "You haven’t asked anything yet.";
        mine_none_text: "在商品页可以向我们提问。", "You can ask us on the page of a product.";
        status_open: "待答复", "Waiting for an answer";
        status_answered: "已答复", "Answered";
        status_hidden: "未公开", "Not shown";
        hidden_text: "我们没有公开这个提问。", "We don’t show this question.";
        our_answer: "我们的答复", "Our answer";
        withdraw: "撤回", "Withdraw";
        withdraw_text: "撤回后会删除这个提问。", "The question is deleted.";
        withdraw_label: "撤回提问：{}", "Withdraw the question: {}";
        withdraw_yes: "确认撤回", "Yes, withdraw";
        done_asked: "问题已提交，答复会显示在这里。", "Your question was sent. The answer will appear here.";
        done_known: "这个问题你已经问过了，正在等待答复。", "You have asked this already, and it waits for its answer.";
        done_withdrawn: "提问已撤回。", "The question was withdrawn.";
        older: "更早的提问", "Older questions";
        newest: "最新的提问", "Newest questions";
        longest: "等待最久的提问", "Longest waiting questions";
        later: "后面的提问", "Later questions";
        console: "提问", "Questions";
        console_lead: "顾客对商品的提问。答复会公开显示在商品页，只显示在提问的语言中，请用同一种语言答复。",
            "What shoppers ask about products. Answers are public, on the pages in the language of the question: answer in that language.";
        tab_open: "待答复", "To answer";
        tab_hidden: "已隐藏", "Hidden";
        empty_open: "没有待答复的提问。", "No questions to answer.";
        empty_answered: "还没有答复过提问。", "No questions have been answered yet.";
        empty_hidden: "没有隐藏的提问。", "No hidden questions.";
        in_zh: "中文", "Chinese";
        in_en: "英文", "English";
        no_account: "无账号", "no account";
        answer_label: "答复（公开）", "Answer (public)";
        answer_help: "纯文本，最多 1000 字，链接不可点击。", "Plain text, up to 1,000 characters. Links can’t be clicked.";
        publish: "发布答复", "Publish answer";
        edit: "修改答复", "Edit answer";
        save: "保存答复", "Save answer";
        hide: "隐藏", "Hide";
        unhide: "恢复", "Show again";
        done_answer: "答复已发布到商品页。", "Answer published on the product’s pages.";
        done_hide: "提问已隐藏。", "Question hidden.";
        done_unhide: "提问已恢复。", "Question shown again.";
        changed: "有人刚刚处理了这个提问，现在的内容见下。你填写的答复还在，请核对后再操作。",
            "Someone just changed this question, and it is shown as it is now. What you entered is still there: check it, then try again.";
        is_hidden: "这个提问已被隐藏，恢复后才能答复。", "The question is hidden. Show it again before you answer it.";
    }
}

impl QuestionsText {
    /// A status as staff read it.
    pub fn status(&self, status: QuestionStatus) -> &'static str {
        match status {
            QuestionStatus::Open => self.tab_open,
            QuestionStatus::Answered => self.status_answered,
            QuestionStatus::Hidden => self.tab_hidden,
        }
    }
}
