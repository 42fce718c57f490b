texts! {
    /// Galleries, and the console's pages about goods.
    GoodsText {
        gallery: "商品图片，共 {} 张", "Pictures, {} in all";
        gallery_nav: "选择图片", "Choose a picture";
        gallery_show: "查看第 {} 张", "Show picture {}";
        gallery_item: "（第 {} 张，共 {} 张）", " (picture {} of {})";
        title: "商品", "Products";
        search: "搜索商品", "Search products";
        search_button: "搜索", "Search";
        show_archived: "显示已归档（{}）", "Show archived ({})";
        hide_archived: "隐藏已归档", "Hide archived";
        none_yet: "还没有商品。", "No products yet.";
        none_yet_text: "先建一件商品，再为它安排场次。", "Create a product first, then plan a sale of it.";
        none_found: "没有符合条件的商品。", "No product matches.";
        clear_search: "查看全部商品", "Show all products";
        more_than_shown: "只显示前 {} 件，请用搜索缩小范围。", "Only the first {} are shown. Search to narrow it down.";
        archived: "已归档", "Archived";
        number: "商品 {}", "Product {}";
        picture_count: "图片：{}", "Pictures: {}";
        archive: "归档", "Archive";
        archive_text: "归档后不能再用于新场次，已有订单和已结束的场次不受影响。可随时恢复。", "An archived product is offered for no new sale. Orders and past sales stay as they are. You can bring it back at any time.";
        unarchive: "恢复", "Bring back";
        unarchive_text: "恢复后可再次用于新场次。", "It can be used for new sales again.";
        done_created: "已创建“{}”。", "“{}” was created.";
        done_saved: "已保存“{}”。", "“{}” was saved.";
        done_archived: "已归档“{}”。", "“{}” was archived.";
        done_unarchived: "已恢复“{}”。", "“{}” was brought back.";
        back: "全部商品", "All products";
        archived_note: "该商品已归档，恢复后才能用于新场次。", "This product is archived. Bring it back to use it for a new sale.";
        pictures: "图片", "Pictures";
        pictures_help: "PNG、JPEG 或 WebP，每张最多 5 MB，可一次选多张。位置信息等元数据会被清除。", "PNG, JPEG or WebP, at most 5 MB each; choose several at once. Location and other hidden data are removed.";
        pictures_add: "添加图片", "Add pictures";
        pictures_none: "还没有图片，将显示占位图。", "No pictures yet. A drawing stands in.";
        pictures_order: "按“位置”排列，第 1 张是封面。", "Ordered by place. The first one is the cover.";
        place: "位置", "Place";
        place_of: "第 {} 张图片的位置", "Place of picture {}";
        remove: "移除", "Remove";
        remove_of: "移除第 {} 张图片", "Remove picture {}";
        cover: "封面", "Cover";
        make_cover: "设为封面", "Make cover";
        earlier: "前移", "Earlier";
        later: "后移", "Later";
        moved: "图片已移到第 {} 位，保存后生效。", "Moved to place {}. Save to keep it.";
        preview: "预览", "Preview";
        preview_title: "顾客看到的样子", "As shoppers will see it";
        preview_note: "尚未保存。", "Not saved yet.";
        preview_card: "在列表中", "In the list";
        preview_page: "在商品页", "On its page";
        no_description: "（没有介绍）", "(no description)";
    }
}
