//! The shop's terms and rules as pure types: no I/O, no clock, no source of randomness of their own.

pub(crate) mod wire;

pub(crate) mod hex;

pub mod ids;
pub mod locale;
pub mod money;

pub mod address;
pub mod books;
pub mod bucket;
pub mod calendar;
pub mod claim;
pub mod draw;
pub mod draw_sale;
pub mod eligibility;
pub mod evenness;
pub mod goods;
pub mod invitation;
pub mod mail;
pub mod network;
pub mod order;
pub mod outbox_item;
pub mod packet;
pub mod page;
pub mod payment;
pub mod picture;
pub mod proof_of_work;
pub mod queue;
pub mod refusal;
pub mod sale;
pub mod sale_digest;
pub mod sale_mode;
pub mod secret;
pub mod security_class;
pub mod shop_page;
pub mod spread;
pub mod waitlist;
pub mod wallet;

pub use address::Address;
pub use bucket::Bucket;
pub use draw_sale::{DrawEntry, DrawPlan, DrawStage, DrawState, EntryState};
pub use eligibility::{EligibilityChange, EligibilityRule, EligibilityRules, GroupKind, Ineligible};
pub use goods::{Bilingual, Goods};
pub use ids::{AddressId, GoodsId, OrderId, PacketId, PaymentId, RefundId, SaleId, UserId};
pub use invitation::InvitationCode;
pub use locale::Locale;
pub use mail::{MailAddress, MailKind, MailState};
pub use money::{Currency, Money};
pub use network::Network;
pub use order::{Order, OrderStatus, Reservation};
pub use outbox_item::OutboxItem;
pub use page::Page;
pub use payment::{ApprovalStatus, CaseKind, RefundKind, RefundTarget};
pub use picture::{GalleryChange, GalleryRefusal, Picture};
pub use queue::{Line, Place, QueuePlace, QueuePlan, QueueSeed, Segment, TurnState};
pub use refusal::Refusal;
pub use sale::{Phase, Rush, Sale, SaleState, Window};
pub use sale_digest::SaleDigest;
pub use sale_mode::{ModeChange, ModeName, SaleMode};
pub use security_class::SecurityClass;
pub use spread::{Spread, SpreadSeed};
pub use waitlist::{Waiter, WaiterState, WaitlistSeed};
