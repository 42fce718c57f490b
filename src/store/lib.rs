//! The database: all SQL of the shop, one module per aggregate. Its constraints and transactions have the last word
//! over Redis and RabbitMQ.
//!
//! **Portability.** Every statement runs unchanged on SQLite and PostgreSQL, through `sqlx::Any`: `$1` placeholders,
//! BIGINT and TEXT columns only, times as milliseconds since 1970, money as minor units, enums as their wire texts.
//! `row` knows how each type is stored. `query!` makes a statement with its values, and `read!` a struct of a row. Each
//! table has one column list (`column_list!`, which `select!` reads) and one function that maps its rows. Lists of ids and
//! rows of any number are written by `statements`.
//!
//! **Locking order.** Transactions take locks in this order, so that they cannot deadlock:
//! 0. the row of the request's idempotency key, which only attempts of this request lock;
//! 1. the count of revocations ([`accounts`]: sessions), which serializes changes of accounts;
//! 2. a refund that waits for approval, then the row of a user, then the row of a sale or packet;
//! 3. the catalogue's row ([`sales`]: revision), which serializes changes of goods, their categories and sales. After
//!    the sale's row, so that a change that waits for one sale does not keep the catalogue from all others;
//! 4. the list of a draw or a waiting room (`ListLock`), or the row of a waitlist, then entries, places or waiters;
//!    then rows of orders, payments and claims; an order before its payments and its holds; questions ([`questions`]);
//! 5. transfers by id, then balances of users, deposits and packets by account ([`wallet`]): money moves last. A
//!    transaction that takes a deposit locks the balances earlier ([`deposits`]);
//! 6. with the commit: the balances of the provider and the shop, then totals of orders by their key ([`orders`]:
//!    changes).
//!
//! The row of the feed of changed orders ([`orders`]: changes) is locked by transactions that lock nothing else.
//!
//! Every write may run twice: a caller repeats it after [`StoreError::Unavailable`].

/// Lists the columns of a table for `select!`: makes a macro with this name.
macro_rules! column_list {
    ($name:ident: $columns:expr) => {
        macro_rules! $name {
            () => {
                $columns
            };
        }
    };
}

/// Selects the columns that a macro lists.
macro_rules! select {
    ($($columns:ident)::+, $($rest:tt)+) => {
        concat!("SELECT ", $($columns)::+!(), " ", $($rest)+)
    };
}

#[macro_use]
mod row;
#[macro_use]
mod statements;

mod error;
mod migrations;
mod pool;
mod transaction;

mod categories;
mod goods;
mod sales;

mod draws;
mod orders;
mod payments;
mod processes;
mod waiting_rooms;

mod accounts;
mod api_tokens;
mod wallet;

mod packets;

mod waitlists;

mod deposits;
mod eligibility;

mod books;
mod events;

mod audit;
mod audit_log;
mod fronts;
mod idempotency;
mod linked_accounts;
mod mail;
mod questions;
mod reminders;
mod security_events;
mod staff;

use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use boxed::boxed;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::Semaphore;

use base::clock::Clock;
use pool::Pool;
use row::{Bound, Value, column, pair};
use statements::{
    AFTER_ALL, AnyQuery, MAX_ROWS, bound, conditions, escaped_pattern, for_ids, for_rows, list, next_attempt, padded,
    page_below, placeholders,
};
use transaction::{ListLock, Tx, expect_version, is_outdated, next_version};

pub use accounts::addresses::{AddressEdit, AddressRefusal, SavedAddress};
pub use accounts::changes::{
    AccountChange, AccountChangeRefusal, AccountEdit, Actor, COMMAND_LINE, StaffPolicy, first_valid_issue,
};
pub use accounts::contacts::{AccountMail, RegistrationContact, RegistrationDevice, StaffRecovery};
pub use accounts::credentials::{
    AnsweredChallenge, GuessCount, GuessLimitReached, MAX_PASSKEYS_PER_USER, Passkey, PasskeyAddition, PasskeyUse,
};
pub use accounts::export::DeletionOutcome;
pub use accounts::sessions::{NewSession, Revocation, SessionRow};
pub use accounts::{CountOutcome, ExternalAccount, RegisterOutcome, RegistrationCount, User, UserSearch};
pub use api_tokens::{LiveToken, NewTokenOutcome, TOKEN_USE_INTERVAL};
pub use audit::{CountedOrders, Recent, Snapshot};
pub use audit_log::{AuditFilter, AuditRow};
pub use books::{JournalCursor, JournalLine, JournalSource, Period};
pub use categories::{CategoryDraft, CategoryRefusal};
pub use deposits::{Deposit, DepositStanding};
pub use draws::Draw;
pub use draws::entries::{EnterOutcome, ExcludeOutcome, MAX_COUNTED_ENTRIES, StaffEntry, WithdrawOutcome};
pub use draws::steps::Offered;
pub use eligibility::{
    Applicant, Group, InvitationBatch, KEEP_GROUPS, MAX_INVITATIONS_PER_SALE, RedeemOutcome, Revocable,
};
pub use error::{StoreError, StoreResult};
pub use events::deliveries::{AttemptResult, Delivery, DueEvent, NextStep, Replay};
pub use events::{Endpoint, EndpointEdit, Followed, KEEP_EVENTS, MAX_ENDPOINTS};
pub use fronts::SavedFront;
pub use goods::{GoodsDraft, GoodsRefusal, ImportRefusal};
pub use idempotency::{Attempt, KeptAnswer, KeyedRequest, RequestId, RequestState};
pub use mail::{MAX_SUBSCRIPTIONS_PER_USER, Mail, PushSubscription};
pub use migrations::SchemaState;
pub use orders::HeldUnits;
pub use orders::changes::{ChangedOrders, OrderTotals, StatusCount, id_at};
pub use orders::holds::{AppealOutcome, HoldChange};
pub use orders::intake::{Demand, PersistedOrder};
pub use orders::invoices::{FoundInvoice, InvoiceOutcome};
pub use orders::parcels::{ParcelActor, ParcelOutcomes};
pub use orders::reservations::{ConfirmOutcome, ProgramActor};
pub use orders::returns::ReceivedReturn;
pub use orders::search::{FoundOrder, FoundTotals, LiveOrder, OrderSearch};
pub use orders::staff_actions::{AuditReason, StaffAction};
pub use packets::{
    GiveOutcome, PacketClaim, PersistedClaim, RequestedPacket, SHARES_PER_PART, SettleOutcome, ShareGrant, ShopSpender,
    StopOutcome,
};
pub use payments::approvals::{Approval, ApprovalDecision};
pub use payments::cases::{CaseAction, Dispute, NewCase, PaymentCase, Settlement};
pub use payments::records::{MAX_COUNTED_PENDING, OwnPayment, PaymentRecord, PendingCounts, WebhookRecord};
pub use payments::refunds::{FailedRefund, NewPartialRefund, PartialRefund, Refund, RefundRefusal};
pub use payments::sandbox::{SandboxPayment, SandboxWebhook};
pub use payments::settlements::DaySettlement;
pub use payments::staff_refunds::{ApprovalOutcome, IfDisputed, NewStaffRefund, StaffRefund, StaffRefundOutcome};
pub use payments::{CaptureOutcome, Checkout, NewPayment, Payment, PaymentPurpose, WALLET, WalletPaymentOutcome};
pub use processes::WATCHED_JOBS;
pub use questions::{AskOutcome, FoundQuestion, NewQuestion, QuestionRefusal, WithdrawQuestionOutcome};
pub use reminders::OwnReminder;
pub use sales::PendingChange;
pub use sales::buckets::{Allotment, Retarget, WaitingCounts};
pub use sales::changes::{
    Announce, MAX_SALE_UNITS, OverlapPolicy, Redefinition, SaleChange, SaleDraft, SaleRefusal, SaveOptions,
};
pub use sales::drafts::{MAX_COUNTED_PAST, PastPage, PreviewFacts, preview_deletion};
pub use sales::reports::OrderCounts;
pub use security_events::{SecurityEventFilter, SecurityEventRow, SecurityTotal};
pub use staff::{SaveViewOutcome, SavedShipping};
pub use transaction::LockPatience;
pub use waiting_rooms::WaitingRoom;
pub use waiting_rooms::calls::{Pace, PaceChange};
pub use waiting_rooms::places::{GatheredPlace, JoinOutcome, Joining};
pub use waitlists::{MAX_COUNTED_WAITERS, OffersMade, WaitOutcome};
pub use wallet::{EntryCursor, EntrySubject, WalletEntry};

/// A handle to the database. Clones share one pool.
#[derive(Clone)]
pub struct Store {
    pool: Pool,
    /// The process's own clock, for an SQLite file; `None` if the database has a clock.
    own_clock: Option<Clock>,
    /// The configured time zone: the shop's, until its settings are saved for the first time.
    default_zone: TimeZone,
    /// Numbers of orders that this process may give.
    numbers: Arc<Mutex<orders::intake::OwnNumbers>>,
    /// The database's last answer about its time, and when it came.
    told_time: Arc<Mutex<Option<(Instant, Timestamp)>>>,
    /// Limits writing transactions. SQLite has one writer at a time, and its busy loop is not fair. This semaphore is.
    writer: Arc<Semaphore>,
}

#[boxed]
impl Store {
    /// Opens a pool. Connections are opened on demand, so this succeeds while the database is down.
    ///
    /// # Errors
    /// The URL is not valid.
    pub fn open(url: &str) -> StoreResult<Store> {
        sqlx::any::install_default_drivers();
        let sqlite = url.starts_with("sqlite:");
        let url = if sqlite && !url.contains('?') { format!("{url}?mode=rwc") } else { url.to_owned() };
        let writers = if sqlite { 1 } else { 16 };
        Ok(Store {
            pool: Pool::open(&url, sqlite)?,
            own_clock: sqlite.then(Clock::system),
            default_zone: TimeZone::UTC,
            numbers: Arc::default(),
            told_time: Arc::default(),
            writer: Arc::new(Semaphore::new(writers)),
        })
    }

    /// The same database with this clock. Changes nothing if the database has a clock of its own.
    pub fn with_clock(mut self, clock: &Clock) -> Store {
        self.own_clock = self.own_clock.map(|_| clock.clone());
        self
    }

    /// The same database for a shop that is in this time zone until its settings say another.
    pub fn in_zone(mut self, zone: &TimeZone) -> Store {
        self.default_zone = zone.clone();
        self
    }

    /// Whether the connection to the database is encrypted; `None` for a file.
    pub async fn is_encrypted(&self) -> StoreResult<Option<bool>> {
        if self.own_clock.is_some() {
            return Ok(None);
        }
        let sql = "SELECT CASE WHEN ssl THEN 1 ELSE 0 END AS ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        self.one(query!(sql), column("ssl")).await.map(Some)
    }

    /// Names of PostgreSQL's settings that are off, and without which a crash loses what was committed.
    pub async fn unsafe_settings(&self) -> StoreResult<Vec<String>> {
        if self.own_clock.is_some() {
            return Ok(Vec::new());
        }
        let sql = "SELECT CAST(name AS TEXT) AS name FROM pg_settings
                   WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off' ORDER BY name";
        self.all(query!(sql), column("name")).await
    }

    /// Checks that the database answers.
    pub async fn ping(&self) -> StoreResult<()> {
        self.run(query!("SELECT 1")).await
    }

    /// Checks that the database accepts writes. Changes nothing.
    pub async fn check_writable(&self) -> StoreResult<()> {
        self.run(query!("UPDATE leases SET expires_at_ms = 0 WHERE 1 = 0")).await
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }
}

// A handle per aggregate, such as `store.orders()`. A handle borrows the store and is copied freely.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: $Handle:ident,)*) => {
        impl Store {
            $($(#[$doc])* pub fn $name(&self) -> $Handle<'_> {
                $Handle(self)
            })*
        }

        $($(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $Handle<'s>(&'s Store);

        /// Pool, transactions and the other aggregates.
        impl Deref for $Handle<'_> {
            type Target = Store;

            fn deref(&self) -> &Store {
                self.0
            }
        })*
    };
}

handles! {
    /// Categories of goods.
    categories: CategoryStore,
    /// Goods and their pictures.
    goods: GoodsStore,
    /// Sales with their buckets, counters, drafts and reports.
    sales: SaleStore,
    /// Draws and their entries.
    draws: DrawStore,
    /// Orders from intake to their end.
    orders: OrderStore,
    /// Payments, refunds and cases.
    payments: PaymentStore,
    /// What the sandbox provider of payments keeps.
    sandbox: SandboxStore,
    /// The processes that run.
    processes: ProcessStore,
    /// Waiting rooms: places, turns, pace.
    waiting_rooms: WaitingRoomStore,
    /// Accounts: names, roles, contacts, addresses, deletion, export.
    accounts: AccountStore,
    /// Sessions of signed-in accounts.
    sessions: SessionStore,
    /// What proves an account: passkeys, second factors, recovery, and the count of wrong guesses.
    credentials: CredentialStore,
    /// Tokens of programs.
    api_tokens: ApiTokenStore,
    /// Balances and their entries.
    wallet: WalletStore,
    /// Red packets and their claims.
    packets: PacketStore,
    /// Accounts that wait for units of a sold-out sale.
    waitlists: WaitlistStore,
    /// Deposits for taking part.
    deposits: DepositStore,
    /// Who may take part: groups and invitations.
    eligibility: EligibilityStore,
    /// Events for programs of the merchant, and the endpoints that get them.
    events: EventStore,
    /// Journal and trial balance.
    books: BookStore,
    /// What `seckill audit` reads.
    audit: AuditStore,
    /// What staff did and saw.
    audit_log: AuditLogStore,
    /// Answers to requests with an idempotency key.
    idempotency: IdempotencyStore,
    /// Which process may do what only one may do.
    leases: LeaseStore,
    /// Messages that wait to be sent.
    mail: MailStore,
    /// Browsers that subscribed to notices.
    push: PushStore,
    /// Questions about goods, and their answers.
    questions: QuestionStore,
    /// Notices before something begins or ends.
    reminders: ReminderStore,
    /// Staff's saved filters of lists.
    saved_views: SavedViewStore,
    /// Refused and suspicious requests.
    security_events: SecurityEventStore,
    /// Pages that staff write, such as terms.
    shop_pages: ShopPageStore,
    /// The merchant's own name, looks and habits.
    shop_settings: ShopSettingsStore,
    /// Sales in front of another shop, and passes.
    fronts: FrontStore,
    /// Decisions of another shop in shadow mode.
    decisions: DecisionStore,
    /// What shipping costs.
    shipping: ShippingStore,
    /// What accounts have in common.
    linked_accounts: LinkedAccountStore,
}

#[cfg(test)]
mod fixture {
    use super::*;

    /// A new database in a folder of its own, for a process with this clock.
    pub(super) async fn new_store(clock: &Clock) -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&base::config::sqlite_in(dir.path())).unwrap().with_clock(clock);
        store.migrate().await.unwrap();
        (dir, store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connection_whose_transaction_ended_by_itself_is_not_reused() {
        let (_dir, store) = fixture::new_store(&Clock::system()).await;
        for _ in 0..20 {
            let mut tx = store.begin().await.unwrap();
            // SQLite also rolls back by itself when the disk is full.
            tx.run(query!("ROLLBACK")).await.unwrap();
            drop(tx);
            store.begin().await.unwrap().commit().await.unwrap();
        }
    }
}
