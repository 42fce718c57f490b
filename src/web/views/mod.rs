//! The pages that are made for one visitor: fill the struct, call `render()` of [`askama::Template`].

mod account;
mod addresses;
mod admin;
mod message;
mod orders;
mod packets;
mod wallet;

pub use account::{AccountPage, CodePage, DeletedPage, RecoveryPage, SecondFactorPage};
pub use addresses::{AddressCard, AddressForm, AddressPage, AddressView, AddressesPage, OrderAddressPage};
pub use admin::{
    AdminGoodsForm, AdminGoodsList, AdminLogPage, AdminSale, AdminSaleForm, AdminSaleLocked, AdminSalesPage,
    CalendarDay, CalendarPage, CalendarSale, CheckList, CockpitPage, DeadLettersPage, GalleryRow, SaleGroup, StaffPage,
    UploadComplaint, UserPage, UsersPage, admin_notice,
};
pub use admin::{AdminOrderPage, AdminOrdersPage, Asking, OrderFilter, OrderRow, PaymentLine};
pub use admin::{AdminPacketForm, AdminPacketPage, AdminPacketsPage};
pub use askama::Template;
pub use message::MessagePage;
pub use orders::{CashierPage, OrderCard, OrderPage, OrderView, OrdersPage, SignInPage};
pub use packets::{
    Mine, OwnPackets, PacketFields, PacketForm, PacketGivePage, PacketGivenPage, PacketPage, PacketResultPage,
    PacketsPage, Preview,
};
pub use wallet::WalletPage;

use crate::pages::Chrome;
