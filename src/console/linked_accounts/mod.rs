pub mod api;
pub mod page;
pub mod review;
pub mod review_view;
pub mod view;
