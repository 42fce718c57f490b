pub mod api;
pub mod journal_csv;
pub mod page;
pub mod query;
pub mod settlements;
pub mod view;
