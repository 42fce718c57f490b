pub mod computing;
pub mod computing_view;
pub mod page;
pub mod view;
