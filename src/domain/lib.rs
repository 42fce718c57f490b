//! The shop's terms and rules as pure types: no I/O, no clock, no source of randomness of their own.

pub mod text;
pub mod wire;

pub mod hex;

pub mod ids;
pub mod money;

pub mod address;
pub mod api_token;
pub mod bucket;
pub mod calendar;
pub mod claim;
pub mod draw;
pub mod eligibility;
pub mod event;
pub mod front;
pub mod goods;
pub mod invoice;
pub mod ledger;
pub mod linked_accounts;
pub mod mail;
pub mod network;
pub mod order;
pub mod packet;
pub mod parcel;
pub mod proof_of_work;
pub mod question;
pub mod returns;
pub mod sale;
pub mod sale_digest;
pub mod secret;
pub mod settlement;
pub mod shipping;
pub mod shop;
pub mod spread;
pub mod staff;
pub mod waiting_room;
pub mod waitlist;

pub use address::{Address, GivenAddress};
pub use api_token::{ApiToken, Scope};
pub use bucket::Bucket;
pub use claim::{Refusal, RefusalClass};
pub use draw::{DrawEntry, DrawPlan, DrawStage, DrawState, EntryState};
pub use eligibility::{EligibilityRule, EligibilityRules, GroupKind, Ineligible, InvitationCode};
pub use front::{ExternalReservation, ReservationStatus, SaleFront};
pub use goods::{
    Bilingual, BoundedBilingual, Category, GalleryChange, GalleryRefusal, Goods, MAX_CATEGORIES, Picture, category_of,
};
pub use ids::{
    AddressId, CategoryId, GoodsId, OrderId, PacketId, Page, PaymentId, QuestionId, RefundId, SaleId, UserId,
};
pub use linked_accounts::{AccountLink, LinkDigest, LinkKind, LinkReason, LinkedAccounts};
pub use mail::{MailAddress, MailKind, MailState};
pub use money::{Currency, Money};
pub use network::Network;
pub use order::{
    Appeal, AppealAnswer, HoldOutcome, Order, OrderHold, OrderNumber, OrderStatus, OutboxItem, Reservation,
};
pub use parcel::{Parcel, ParcelLabel, ParcelState};
pub use question::{Question, QuestionChange, QuestionStatus, ShownAnswer, ShownAnswers};
pub use returns::{GoodsReturn, ReturnPolicy, ReturnReason, ReturnState};
pub use sale::{Demand, ModeName, Phase, Rush, Sale, SaleMode, SalePatch, SaleState, Window};
pub use sale_digest::SaleDigest;
pub use settlement::{ApprovalStatus, CaseKind, DisputeState, PaymentStatus, RefundKind, RefundTarget};
pub use shipping::{ShippingRate, ShippingTable};
pub use shop::{Colour, Languages, ShopSettings};
pub use spread::{Spread, SpreadSeed};
pub use staff::{Alarm, AlarmEvent, AuditAction, ConsoleList, Role, SavedView, SecurityClass};
pub use text::Locale;
pub use waiting_room::{Line, Place, Segment, TurnState, WaitingRoomPlace, WaitingRoomPlan, WaitingRoomSeed};
pub use waitlist::{Waiter, WaiterState, WaitlistSeed};
