//! A handle per aggregate, such as `store.orders()`. A handle borrows the store and is copied freely.

use std::ops::Deref;

use crate::Store;

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
