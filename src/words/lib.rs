//! All texts of the user interface, in Chinese and English.
//!
//! A text is a struct field, and its two translations stand side by side. So a missing translation does not compile,
//! and neither does a template with an unknown key. `{}` is replaced by a value.

/// Declares a table: a struct with a field for each key, and one value of it per language.
macro_rules! texts {
    ($(#[$doc:meta])* $name:ident { $($key:ident: $zh:literal, $en:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name { $(pub $key: &'static str,)+ }

        impl $name {
            pub const ZH: $name = $name { $($key: $zh,)+ };
            pub const EN: $name = $name { $($key: $en,)+ };

            /// All texts with their keys, for templates that pass them to scripts.
            pub fn entries(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
                [$((stringify!($key), self.$key),)+].into_iter()
            }
        }
    };
}

mod account;
mod admin;
mod audit;
mod cockpit;
pub mod dates;
mod draws;
mod goods;
mod orders;
mod problems;
mod sales;
mod shop;
mod waiting_rooms;

pub use account::{AccountText, ContactText, MailText, MemberText, PasskeysText, RecoveryText};
pub use admin::{
    AdminText, BulkText, ComputingText, OverviewText, PaletteText, PeopleText, TablesText, TokensText, WebhooksText,
    scope,
};
pub use audit::{ActionText, AuditText, SecurityText, audit_action, security_class, security_detail};
pub use cockpit::CockpitText;
pub use dates::Present;
pub use draws::{DrawCheckText, DrawConsoleText, DrawProofText, DrawStageText, DrawText};
pub use goods::{CategoriesText, GoodsImportText, GoodsText, QuestionsText};
pub use orders::{HoldsText, InvoicesText, OrdersText, ParcelsText, ReturnsText, ShippingText, SupportText};
pub use payments::{ApprovalsText, BooksText, CasesText, PacketsText, SettlementsText, WalletText};
pub use problems::{Problem, field_error, problem, refusal_reasons, refusals};
pub use sales::{ChecklistText, ReportText, SalesText};
pub use shop::{
    AboutText, ArchiveText, BrandText, CommonText, OfflineText, OutcomeText, PushText, ScriptText, ShopText, country,
};
pub use waiting_rooms::{
    DecisionsText, EligibilityConsoleText, EligibilityText, FrontText, MomentText, WaitingRoomConsoleText,
    WaitingRoomText, WaitlistText,
};

use domain::ledger::TransferKind;
use domain::packet::PacketPhase;
use domain::sale::SaleMove;
use domain::{Alarm, Locale, OrderStatus, ParcelState, Phase, ReturnReason, ReturnState, Role, SaleState};

/// Declares [`Text`] from one list of tables, with its value in each language.
macro_rules! tables {
    ($($field:ident: $table:ident,)+) => {
        /// The texts of one language.
        #[derive(Debug)]
        pub struct Text { $(pub $field: $table,)+ }

        static ZH: Text = Text { $($field: $table::ZH,)+ };
        static EN: Text = Text { $($field: $table::EN,)+ };

        #[cfg(test)]
        impl Text {
            fn entries(&self) -> Vec<(&'static str, &'static str)> {
                [$(self.$field.entries().collect::<Vec<_>>(),)+].concat()
            }
        }
    };
}

tables! {
    common: CommonText,
    shop: ShopText,
    archive: ArchiveText,
    about: AboutText,
    brand: BrandText,
    offline: OfflineText,
    push: PushText,
    account: AccountText,
    admin: AdminText,
    audit: AuditText,
    draws: DrawText,
    draw_stages: DrawStageText,
    draw_proof: DrawProofText,
    draw_check: DrawCheckText,
    draw_console: DrawConsoleText,
    questions: QuestionsText,
    waiting_room: WaitingRoomText,
    waiting_room_console: WaitingRoomConsoleText,
    waitlist: WaitlistText,
    eligibility: EligibilityText,
    eligibility_console: EligibilityConsoleText,
    sales: SalesText,
    checklist: ChecklistText,
    goods: GoodsText,
    goods_import: GoodsImportText,
    categories: CategoriesText,
    member: MemberText,
    palette: PaletteText,
    passkeys: PasskeysText,
    wallet: WalletText,
    packets: PacketsText,
    people: PeopleText,
    script: ScriptText,
    cockpit: CockpitText,
    computing: ComputingText,
    orders: OrdersText,
    parcels: ParcelsText,
    returns: ReturnsText,
    invoices: InvoicesText,
    front: FrontText,
    moment: MomentText,
    decisions: DecisionsText,
    shipping: ShippingText,
    outcome: OutcomeText,
    support: SupportText,
    tables: TablesText,
    tokens: TokensText,
    webhooks: WebhooksText,
    cases: CasesText,
    approvals: ApprovalsText,
    books: BooksText,
    settlements: SettlementsText,
    bulk: BulkText,
    security: SecurityText,
    mail: MailText,
    recovery: RecoveryText,
    contact: ContactText,
    report: ReportText,
    overview: OverviewText,
    holds: HoldsText,
}

/// The texts of a language.
pub fn text(locale: Locale) -> &'static Text {
    match locale {
        Locale::Zh => &ZH,
        Locale::En => &EN,
    }
}

/// Looks up a code in a table of codes with their Chinese and English texts. Returns the code itself if it is missing.
fn text_of<'a>(table: &'static [(&'static str, &'static str, &'static str)], locale: Locale, code: &'a str) -> &'a str {
    match (table.iter().find(|entry| entry.0 == code), locale) {
        (Some((_, zh, _)), Locale::Zh) => zh,
        (Some((_, _, en)), Locale::En) => en,
        (None, _) => code,
    }
}

/// Replaces the first `{}` of a text by a value.
pub fn fill(text: &str, value: impl std::fmt::Display) -> String {
    text.replacen("{}", &value.to_string(), 1)
}

/// Texts of domain values. Arguments are references because templates pass references.
impl Text {
    /// The way to pay at a provider.
    pub fn pay_with(&self, provider: &str) -> &'static str {
        match provider {
            "sandbox" => self.account.pay_sandbox,
            "stripe" => self.account.pay_stripe,
            "wechatpay" => self.account.pay_wechatpay,
            "alipay" => self.account.pay_alipay,
            _ => self.account.pay,
        }
    }

    pub fn status(&self, status: &OrderStatus) -> &'static str {
        match status {
            OrderStatus::Reserved => self.account.status_reserved,
            OrderStatus::Unpaid => self.account.status_unpaid,
            OrderStatus::Paid => self.account.status_paid,
            OrderStatus::Cancelled => self.account.status_cancelled,
            OrderStatus::Rejected => self.account.status_rejected,
            OrderStatus::RefundPending => self.account.status_refund_pending,
            OrderStatus::Refunded => self.account.status_refunded,
        }
    }

    /// One sentence that explains a status to the owner of the order.
    pub fn status_means(&self, status: &OrderStatus) -> &'static str {
        match status {
            OrderStatus::Reserved => self.account.means_reserved,
            OrderStatus::Unpaid => self.account.means_unpaid,
            OrderStatus::Paid => self.account.means_paid,
            OrderStatus::Cancelled => self.account.means_cancelled,
            OrderStatus::Rejected => self.account.means_rejected,
            OrderStatus::RefundPending => self.account.means_refund_pending,
            OrderStatus::Refunded => self.account.means_refunded,
        }
    }

    /// As [`Text::status_means`], for an order that the shop ended.
    pub fn status_means_by_shop(&self, status: &OrderStatus) -> &'static str {
        match status {
            OrderStatus::Cancelled => self.orders.means_cancelled_by_shop,
            OrderStatus::RefundPending => self.orders.means_refunding_by_shop,
            OrderStatus::Refunded => self.orders.means_refunded_by_shop,
            other => self.status_means(other),
        }
    }

    /// Where the parcel of a paid order is.
    pub fn parcel(&self, state: &ParcelState) -> &'static str {
        match state {
            ParcelState::Packed => self.parcels.packed,
            ParcelState::Shipped => self.parcels.shipped,
            ParcelState::Delivered => self.parcels.delivered,
            ParcelState::Lost => self.parcels.lost,
            ParcelState::Returned => self.parcels.returned,
        }
    }

    /// The same for the owner of the order, in one sentence.
    pub fn parcel_means(&self, state: &ParcelState) -> &'static str {
        match state {
            ParcelState::Packed => self.parcels.means_packed,
            ParcelState::Shipped => self.parcels.means_shipped,
            ParcelState::Delivered => self.parcels.means_delivered,
            ParcelState::Lost => self.parcels.means_lost,
            ParcelState::Returned => self.parcels.means_returned,
        }
    }

    /// How far a return is.
    pub fn return_state(&self, state: &ReturnState) -> &'static str {
        match state {
            ReturnState::Asked => self.returns.asked,
            ReturnState::Accepted => self.returns.accepted,
            ReturnState::Refused => self.returns.refused,
            ReturnState::Withdrawn => self.returns.withdrawn,
            ReturnState::Received => self.returns.received,
        }
    }

    pub fn return_reason(&self, reason: &ReturnReason) -> &'static str {
        match reason {
            ReturnReason::ChangedMind => self.returns.changed_mind,
            ReturnReason::Damaged => self.returns.damaged,
            ReturnReason::WrongGoods => self.returns.wrong_goods,
            ReturnReason::NotAsDescribed => self.returns.not_as_described,
            ReturnReason::Other => self.returns.other,
        }
    }

    /// What staff press to move a parcel there.
    pub fn parcel_verb(&self, to: &ParcelState) -> &'static str {
        match to {
            ParcelState::Packed => self.parcels.pack,
            ParcelState::Shipped => self.parcels.ship,
            ParcelState::Delivered => self.parcels.deliver,
            ParcelState::Lost => self.parcels.lose,
            ParcelState::Returned => self.parcels.take_back,
        }
    }

    pub fn alarm(&self, alarm: &Alarm) -> &'static str {
        match alarm {
            Alarm::Slow => self.cockpit.alarm_slow,
            Alarm::Errors => self.cockpit.alarm_errors,
            Alarm::Drift => self.cockpit.alarm_drift,
            Alarm::NearlySold => self.cockpit.alarm_nearly_sold,
        }
    }

    /// Why an order was cancelled or rejected; `None` for a reason that is not shown to its owner.
    pub fn reason(&self, reason: &str) -> Option<&'static str> {
        match reason {
            "sold_out" => Some(self.account.reason_sold_out),
            "repeated" => Some(self.account.reason_repeated),
            "unpaid" => Some(self.account.reason_unpaid),
            "by_owner" => Some(self.account.reason_by_owner),
            _ => None,
        }
    }

    /// A headline and a sentence about a packet, for a user without a share of it.
    pub fn packet_state(&self, phase: &PacketPhase) -> (&'static str, &'static str) {
        let t = &self.packets;
        match phase {
            PacketPhase::Upcoming => (t.state_upcoming, t.state_upcoming_text),
            PacketPhase::Open => (t.state_open, t.state_open_text),
            PacketPhase::Empty => (t.state_empty, t.state_empty_text),
            PacketPhase::Expired => (t.state_expired, t.state_expired_text),
        }
    }

    pub fn packet_phase(&self, phase: &PacketPhase) -> &'static str {
        match phase {
            PacketPhase::Upcoming => self.packets.phase_upcoming,
            PacketPhase::Open => self.packets.phase_open,
            PacketPhase::Empty => self.packets.phase_empty,
            PacketPhase::Expired => self.common.expired,
        }
    }

    /// The name of a wallet entry's kind.
    pub fn entry_kind(&self, kind: &TransferKind) -> &'static str {
        match kind {
            TransferKind::TopUp => self.wallet.kind_topup,
            TransferKind::Pay => self.wallet.kind_pay,
            TransferKind::Refund => self.wallet.kind_refund,
            TransferKind::Fund => self.wallet.kind_fund,
            TransferKind::Claim => self.wallet.kind_claim,
            TransferKind::Return => self.wallet.kind_return,
            TransferKind::GiveUp => self.wallet.kind_giveup,
            TransferKind::Deposit => self.wallet.kind_deposit,
            TransferKind::DepositReturn => self.wallet.kind_deposit_return,
        }
    }

    pub fn role(&self, role: &Role) -> &'static str {
        match role {
            Role::User => self.people.role_user,
            Role::Admin => self.people.role_admin,
            Role::Operator => self.people.role_operator,
            Role::Support => self.people.role_support,
            Role::Viewer => self.people.role_viewer,
        }
    }

    pub fn state(&self, state: &SaleState) -> &'static str {
        match state {
            SaleState::Draft => self.admin.state_draft,
            SaleState::Scheduled => self.admin.state_scheduled,
            SaleState::Live => self.admin.state_live,
            SaleState::Paused => self.admin.state_paused,
            SaleState::Ended => self.admin.state_ended,
        }
    }

    /// The name of an action on a sale.
    pub fn verb(&self, action: &SaleMove) -> &'static str {
        match action {
            SaleMove::Schedule => self.sales.schedule,
            SaleMove::Unschedule => self.sales.unschedule,
            SaleMove::Start => self.admin.start,
            SaleMove::Pause => self.admin.pause,
            SaleMove::Resume => self.admin.resume,
            SaleMove::Stop => self.admin.stop,
        }
    }

    /// What the action does.
    pub fn consequence(&self, action: &SaleMove) -> &'static str {
        match action {
            SaleMove::Schedule => self.sales.schedule_text,
            SaleMove::Unschedule => self.sales.unschedule_text,
            SaleMove::Start => self.admin.start_text,
            SaleMove::Pause => self.admin.pause_text,
            SaleMove::Resume => self.admin.resume_text,
            SaleMove::Stop => self.admin.stop_text,
        }
    }

    pub fn phase(&self, phase: &Phase) -> &'static str {
        match phase {
            Phase::Upcoming => self.script.phase_upcoming,
            Phase::Open => self.script.phase_open,
            Phase::SoldOut => self.script.phase_sold_out,
            Phase::Paused => self.script.phase_paused,
            Phase::Ended => self.script.phase_ended,
        }
    }
}

mod payments;

#[cfg(test)]
mod tests;
