pub mod live;
pub mod page;
pub mod view;
