pub mod api;
pub mod page;
pub mod proof_view;
pub mod view;
