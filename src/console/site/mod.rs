pub mod shop_pages;
pub mod shop_pages_view;
