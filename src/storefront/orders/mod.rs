pub mod address_page;
pub mod api;
pub mod cashier;
pub mod cashier_view;
pub mod checkout;
pub mod page;
pub mod payments_api;
pub mod view;
