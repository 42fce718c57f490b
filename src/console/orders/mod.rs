pub mod api;
pub mod changes_api;
pub mod csv;
pub mod page;
pub mod parcels;
pub mod reveal;
pub mod search;
pub mod view;
