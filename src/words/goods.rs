texts! {
    /// Galleries, and the console's product pages.
    GoodsText {
        markdown_help: "介绍支持 Markdown：# 小标题、- 列表、**加粗**，规格用表格（| 重量 | 168 克 |）。HTML 和图片会被去掉。",
            "Descriptions may use Markdown: # headings, - lists, **bold**, and tables for specifications (| Weight | 168 g |). HTML and pictures are removed.";
        gallery: "商品图片，共 {} 张", "Pictures: {}";
        gallery_nav: "选择图片", "Choose a picture";
        gallery_show: "查看第 {} 张", "Show picture {}";
        gallery_item: "（第 {} 张，共 {} 张）", " (picture {} of {})";
        title: "商品", "Products";
        search: "搜索商品", "Search products";
        search_button: "搜索", "Search";
        show_archived: "显示已归档（{}）", "Show archived ({})";
        hide_archived: "隐藏已归档", "Hide archived";
        none_yet: "还没有商品。", "No products yet.";
        none_yet_text: "先建商品，再安排场次。", "Create a product first, then plan a sale of it.";
        none_found: "没有符合条件的商品。", "No matching products.";
        clear_search: "查看全部商品", "View all products";
        more_than_shown: "只显示前 {} 件，请搜索以缩小范围。", "Showing the first {}. Search to narrow the results.";
        archived: "已归档", "Archived";
        number: "商品 {}", "Product {}";
        picture_count: "图片：{}", "Pictures: {}";
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
        remove: "移除", "Remove";
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
        preview: "预览", "Preview";
        preview_title: "顾客看到的样子", "What shoppers will see";
        preview_note: "尚未保存。", "Not saved yet.";
        preview_card: "在列表中", "In the list";
        preview_page: "在商品页", "On its page";
        no_description: "（暂无介绍）", "(no description)";
    }
}
