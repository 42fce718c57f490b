//! The pages that are rendered per request: each template has a struct with the same fields. Handlers fill the struct and
//! call `render()` of [`askama::Template`].

mod about;
mod account;
mod addresses;
mod admin;
mod archive;
mod cashier;
mod draw_proof;
mod draws;
mod eligibility;
mod message;
mod offline;
mod orders;
mod packets;
mod passkeys;
mod poster;
mod questions;
mod queues;
mod recovery;
mod review;
mod sign_in;
mod step_up;
mod waitlist;
mod wallet;

pub use about::{AboutPage, ShopPageNotice, ShopPagesPage};
pub use account::{AccountPage, DeletedPage, RecoveryPage, SecondFactorPage};
pub use addresses::{
    AddressAlert, AddressCard, AddressForm, AddressPage, AddressView, AddressesPage, EditedAddress, OrderAddressPage,
};
pub use admin::{AdminDrawPage, AdminInvitationsPage, InvitationsFormState, RoundFormState};
pub use admin::{
    AdminGoodsForm, AdminGoodsList, AdminLogPage, AdminSale, AdminSaleForm, AdminSaleLocked, AdminSalesPage,
    CalendarCell, CalendarDay, CalendarPage, CalendarSale, CalendarWeek, CheckList, CockpitPage, DeadLettersPage,
    LogNames, LogWords, OtherChanges, SaleGroup, SaleScope, SaleTabCounts, StaffPage, TemporaryPassword, UploadError,
    UserPage, UsersPage, admin_notice,
};
pub use admin::{AdminOrderPage, AdminOrdersPage, ApprovalsPage, BooksPage, PaymentCasesPage};
pub use admin::{
    AdminPacketForm, AdminPacketPage, AdminPacketsPage, AdminStepUpPage, SecurityPage, SecurityPlot, SteppedUpPage,
};
pub use admin::{AdminQuestionsPage, AnswerFormState, QuestionNotice};
pub use admin::{
    BulkFields, BulkItem, BulkOrderAction, BulkPage, BulkSaleAction, BulkUserAction, BulkVerdict, ListBar,
};
pub use admin::{CategoriesPage, CategoryForm, CategoryRow};
pub use admin::{ClusterPage, ClustersPage, MAX_REVIEWED_ORDERS, ReviewForm, ReviewFormState, ReviewNotice};
pub use admin::{ComputingPage, MailPage, ReportPage, ShownMail};
pub use admin::{HitKind, SearchHit, SearchPage};
pub use admin::{PartialRefundFormState, RevealFormState, StaffActionFormState};
pub use archive::{ArchivePage, shown_states};
pub use askama::Template;
pub use cashier::{CashierPage, CashierState};
pub use draw_proof::DrawPage;
pub use draws::EntryPage;
pub use eligibility::EligibilityPage;
pub use message::MessagePage;
pub use offline::OfflinePage;
pub use orders::{AppealFormState, OrderCard, OrderPage, OrderView, OrdersPage, SaleOfOrder};
pub use packets::{
    OwnPackets, PacketFields, PacketGivePage, PacketGivenPage, PacketPage, PacketResultPage, PacketsPage, VisitorShare,
};
pub use poster::Poster;
pub use questions::{AskPage, OwnQuestion, OwnQuestionsPage};
pub use queues::{LinePage, Turn};
pub use recovery::{NewPasswordPage, RecoveryRequestPage, VerifyAddressPage};
pub use sign_in::{Beside, CodePage, ContactPage, ContactStep, PriceField, SaleBeside, SignInPage};
pub use step_up::{StepUpForm, StepUpPage};
pub use waitlist::WaitlistPage;
pub use wallet::{HeldDeposit, WalletPage};

use crate::shared::FieldError;
use pages::Chrome;
use words::field_error;

/// The text of a field's error, if it has one.
fn error_text(chrome: &Chrome, errors: &[FieldError], field: &str) -> Option<&'static str> {
    let error = errors.iter().find(|error| error.field == field)?;
    Some(field_error(chrome.locale, error.code))
}

/// The chrome of a page for a signed-in shopper.
#[cfg(test)]
fn test_chrome(locale: domain::Locale, path: &str) -> Chrome {
    Chrome { locale, path: path.into(), username: Some("mei".into()), role: domain::Role::User, is_compact: false }
}
