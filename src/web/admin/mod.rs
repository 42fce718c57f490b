//! The console: pages for the shop's staff. Each handler names the permission that it needs
//! ([`Permission`](crate::web::extract::session::Permission)).

pub mod goods_upload;
pub mod sale_input;
pub mod sales;

pub mod calendar;
pub mod cockpit;
pub mod dead_letters;
pub mod goods;
pub mod log;
pub mod orders;
pub mod orders_csv;
pub mod packets;
pub mod sale_form;
pub mod staff;
pub mod users;

use serde::Deserialize;

/// The form of an action that only has to be confirmed.
#[derive(Deserialize)]
pub struct ConfirmForm {
    #[serde(default)]
    confirm: String,
}

impl ConfirmForm {
    fn is_confirmed(&self) -> bool {
        self.confirm == "yes"
    }
}
