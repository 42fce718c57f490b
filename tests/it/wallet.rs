//! The wallet under concurrency: many payments spend from it at once, and everything that can happen to an order
//! happens together.

use base::clock::Clock;
use domain::ledger::{LedgerAccount, money};
use domain::packet::{Giver, Packet, PacketState, Split};
use domain::{OrderId, PacketId, PaymentId, SaleId, UserId};
use futures::future::join_all;
use jiff::Timestamp;
use sqlx::AnyPool;
use sqlx::any::AnyPoolOptions;
use store::{
    AuditReason, CaptureOutcome, DeletionOutcome, GiveOutcome, LockPatience, NewPayment, PaymentPurpose, SettleOutcome,
    Snapshot, StaffAction, Store, WalletPaymentOutcome,
};
use uuid::Uuid;

const PRICE: i64 = 100;

pub struct WalletStore {
    pub store: Store,
    user: UserId,
    /// Runs statements that the store does not have.
    pool: AnyPool,
}

fn now() -> Timestamp {
    Clock::system().now()
}

fn payment() -> PaymentId {
    PaymentId(Uuid::now_v7())
}

async fn add(store: &Store, id: PaymentId, purpose: PaymentPurpose, amount: i64) {
    let payment = NewPayment { id, purpose, amount: money(amount), provider: "elsewhere" };
    store.payments().add(&payment, now(), now()).await.unwrap();
}

impl WalletStore {
    pub async fn open(url: &str) -> WalletStore {
        let store = Store::open(url).unwrap();
        store.migrate().await.unwrap();
        let user = UserId(Uuid::now_v7());
        let pool = AnyPoolOptions::new().max_connections(4).connect_lazy(url).unwrap();
        let wallet = WalletStore { store, user, pool };
        wallet
            .execute(&[
                format!(
                    "INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms)
                     VALUES ('{user}', 'mei', 'mei', '', 'user', 1)"
                ),
                "INSERT INTO goods (id, name_zh, name_en, description_zh, description_en, updated_at_ms)
                 VALUES (1, '手机', 'Phone', '', '', 1)"
                    .to_owned(),
            ])
            .await;
        wallet
    }

    pub fn pool(&self) -> &AnyPool {
        &self.pool
    }

    pub async fn execute(&self, statements: &[String]) {
        for sql in statements {
            sqlx::query(sqlx::AssertSqlSafe(sql.clone())).execute(&self.pool).await.unwrap();
        }
    }

    /// Unpaid orders of the user, each in its own sale.
    pub async fn orders(&self, count: i64) -> Vec<(SaleId, OrderId)> {
        let (mut statements, mut orders) = (Vec::new(), Vec::new());
        let pay_by = now().as_millisecond() + 60_000;
        for sale in 1..=count {
            let order = OrderId(Uuid::now_v7());
            statements.push(format!(
                "INSERT INTO sales (id, goods_id, price, currency, total, sold, per_user_limit, state, version,
                 created_at_ms) VALUES ({sale}, 1, {PRICE}, 'CNY', 10, 1, 1, 'live', 1, 1)"
            ));
            statements.push(format!(
                "INSERT INTO orders (id, sale_id, user_id, quantity, amount, currency, status, reserved_at_ms,
                 created_at_ms, pay_by_ms)
                 VALUES ('{order}', {sale}, '{}', 1, {PRICE}, 'CNY', 'unpaid', 1, 1, {pay_by})",
                self.user
            ));
            statements.push(format!("INSERT INTO order_totals VALUES ({sale}, 'unpaid', 0, 1, 1)"));
            orders.push((SaleId(sale), order));
        }
        self.execute(&statements).await;
        orders
    }

    async fn fill(&self, amount: i64) {
        let id = payment();
        add(&self.store, id, PaymentPurpose::TopUp(self.user), amount).await;
        // One capture, reported concurrently under two message ids, counts once.
        let reports =
            (0..6).map(|n| self.store.payments().apply_capture(["msg_1", "msg_2"][n % 2], id, money(amount), now()));
        let outcomes = join_all(reports).await;
        let filled = outcomes.iter().filter(|o| matches!(o, Ok(CaptureOutcome::ToppedUp(user)) if *user == self.user));
        assert_eq!(filled.count(), 1, "{outcomes:?}");
        assert_eq!(self.balance().await, amount);
    }

    async fn balance(&self) -> i64 {
        self.store.wallet().balance(LedgerAccount::User(self.user)).await.unwrap()
    }

    async fn snapshot(&self) -> Snapshot {
        self.store.audit().snapshot(Default::default()).await.unwrap()
    }

    pub async fn assert_consistent(&self) {
        assert_eq!(self.snapshot().await.wallet_mismatches().await.unwrap(), Vec::<String>::new());
        assert_eq!(self.snapshot().await.wallet_payment_mismatches().await.unwrap(), Vec::<String>::new());
        assert_eq!(self.snapshot().await.money_mismatches().await.unwrap(), Vec::<String>::new());
        let counted = self.snapshot().await.count_orders().await.unwrap();
        assert_eq!((counted.miscounted_sales, counted.wrong_totals), (vec![], vec![]));
    }
}

async fn fifty_payments_spend_a_balance_for_seven(url: &str) {
    let wallet = WalletStore::open(url).await;
    let orders = wallet.orders(50).await;
    wallet.fill(7 * PRICE + 99).await;
    let spends = orders.iter().map(|(_, order)| wallet.store.payments().pay_from_wallet(payment(), *order));
    let outcomes: Vec<WalletPaymentOutcome> = join_all(spends).await.into_iter().map(Result::unwrap).collect();
    let count = |wanted: fn(&WalletPaymentOutcome) -> bool| outcomes.iter().filter(|o| wanted(o)).count();
    assert_eq!(count(|o| matches!(o, WalletPaymentOutcome::Paid(_))), 7, "{outcomes:?}");
    assert_eq!(count(|o| *o == WalletPaymentOutcome::NotEnough), 43, "{outcomes:?}");
    assert_eq!(wallet.balance().await, 99);
    wallet.assert_consistent().await;
}

/// Pays from the wallet (twice), pays at the provider and cancels, all at once; then makes every refund twice.
async fn concurrent_payments_and_cancellation_have_one_winner(url: &str) {
    const RACES: i64 = 24;
    let wallet = WalletStore::open(url).await;
    let orders = wallet.orders(RACES).await;
    wallet.fill(RACES * PRICE).await;
    let races = orders.iter().enumerate().map(|(n, (sale, order))| race(&wallet, n, *sale, *order));
    let from_wallet = join_all(races).await.into_iter().filter(|won| *won).count() as i64;
    for _ in 0..2 {
        let due = wallet.store.payments().refunds_due(1000).await.unwrap();
        for payment in due.iter().chain(&due) {
            wallet.store.payments().apply_refund(payment, now()).await.unwrap();
        }
    }
    assert_eq!(wallet.balance().await, (RACES - from_wallet) * PRICE);
    println!("{from_wallet} of {RACES} were paid from the wallet");
    wallet.assert_consistent().await;
}

/// Returns whether the wallet paid.
async fn race(wallet: &WalletStore, n: usize, sale: SaleId, order: OrderId) -> bool {
    let (store, outside) = (&wallet.store, payment());
    add(store, outside, PaymentPurpose::Order(order), PRICE).await;
    let (message, orders) = (format!("race_{n}"), [order]);
    let (first, second, captured, cancelled) = tokio::join!(
        store.payments().pay_from_wallet(payment(), order),
        store.payments().pay_from_wallet(payment(), order),
        store.payments().apply_capture(&message, outside, money(PRICE), now()),
        store.orders().cancel(sale, &orders, "by_owner", LockPatience::Long),
    );
    let spent = [first.unwrap(), second.unwrap()];
    let paid = spent.iter().filter(|o| matches!(o, WalletPaymentOutcome::Paid(_))).count();
    let winners = [paid == 1, captured.unwrap() == CaptureOutcome::Paid(order), !cancelled.unwrap().is_empty()];
    assert!(paid <= 1 && winners.iter().filter(|won| **won).count() == 1, "{spent:?} {winners:?}");
    if let [WalletPaymentOutcome::Paid(id), WalletPaymentOutcome::AlreadyPaid(known)]
    | [WalletPaymentOutcome::AlreadyPaid(known), WalletPaymentOutcome::Paid(id)] = spent
    {
        assert_eq!(id, known);
    }
    paid == 1
}

async fn account_deletion_needs_consent_to_lose_the_balance(url: &str) {
    let wallet = WalletStore::open(url).await;
    wallet.fill(500).await;
    let delete = async |give_up| wallet.store.accounts().delete_account(wallet.user, give_up, now()).await.unwrap();
    assert_eq!(delete(false).await, DeletionOutcome::WalletNotEmpty);
    let late = payment();
    add(&wallet.store, late, PaymentPurpose::TopUp(wallet.user), 200).await;
    assert!(matches!(delete(true).await, DeletionOutcome::Done(_)));
    assert_eq!(wallet.balance().await, 0);
    // A top-up of a deleted account is refunded to its source.
    let captured = wallet.store.payments().apply_capture("msg_late", late, money(200), now()).await;
    assert_eq!(captured.unwrap(), CaptureOutcome::Refunding);
    assert_eq!(wallet.store.payments().refunds_due(10).await.unwrap()[0].of.id, late);
    assert_eq!((wallet.balance().await, wallet.store.wallet().balance(LedgerAccount::Shop).await.unwrap()), (0, 500));
    wallet.assert_consistent().await;
}

impl WalletStore {
    /// A packet of two shares of 50 each, none of them claimed.
    async fn packet(&self, number: i64) -> PacketId {
        let packet = Packet {
            id: PacketId(number),
            giver: Giver::User(self.user),
            total: 100,
            count: 2,
            min: 1,
            max: 99,
            split: Split::Equal,
            greeting: "x".to_owned(),
            own: true,
            opens_at: now(),
            expires_at: now(),
            buckets: 1,
            state: PacketState::Open,
            claimed: 0,
            claimed_amount: 0,
            epoch: 0,
            created_at: now(),
            settled_at: None,
            best: None,
        };
        let given = self.store.packets().give(&packet, &[50, 50], None, None, 100).await.unwrap();
        assert!(matches!(given, GiveOutcome::Created(_)), "{given:?}");
        packet.id
    }

    async fn assert_nothing_is_stranded(&self) {
        assert_eq!(self.balance().await, 0);
        assert_eq!(self.snapshot().await.stranded_money().await.unwrap(), Vec::<String>::new());
        self.assert_consistent().await;
    }
}

async fn money_that_reaches_a_deleted_account_goes_to_the_shop(url: &str) {
    let wallet = WalletStore::open(url).await;
    wallet.fill(100 + PRICE).await;
    let (sale, order) = wallet.orders(1).await[0];
    wallet.store.payments().pay_from_wallet(payment(), order).await.unwrap();
    let packet = wallet.packet(7).await;
    assert_eq!(wallet.balance().await, 0);
    let delete = async |give_up| wallet.store.accounts().delete_account(wallet.user, give_up, now()).await.unwrap();
    assert_eq!(delete(false).await, DeletionOutcome::WalletNotEmpty, "the packet's rest would come back");
    assert!(matches!(delete(true).await, DeletionOutcome::Done(_)));
    assert_eq!(wallet.store.packets().settle(packet, 0).await.unwrap(), SettleOutcome::Done { returned: 100 });
    let reason = AuditReason { actor: "admin", note: "x", message: None };
    wallet.store.orders().apply_staff_action((sale, order), StaffAction::Refund, reason, now()).await.unwrap().unwrap();
    for refund in wallet.store.payments().refunds_due(10).await.unwrap() {
        wallet.store.payments().apply_refund(&refund, now()).await.unwrap();
    }
    wallet.assert_nothing_is_stranded().await;
    assert_eq!(wallet.store.wallet().balance(LedgerAccount::Shop).await.unwrap(), 100 + PRICE);
    // Money that was there before is found and named.
    wallet.execute(&["UPDATE wallet_balances SET balance = 5 WHERE account LIKE 'user:%'".to_owned()]).await;
    let stranded = wallet.snapshot().await.stranded_money().await.unwrap();
    assert_eq!(stranded, [format!("account {} is deleted and has 5 in its wallet", wallet.user)]);
}

async fn money_that_returns_during_deletion_is_not_stranded(url: &str) {
    let mut wallet = WalletStore::open(url).await;
    for round in 1..=20 {
        wallet.user = UserId(Uuid::now_v7());
        wallet
            .execute(&[format!(
                "INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms)
                 VALUES ('{}', 'm{round}', 'm{round}', '', 'user', 1)",
                wallet.user
            )])
            .await;
        let id = payment();
        let top_up = PaymentPurpose::TopUp(wallet.user);
        add(&wallet.store, id, top_up, 100).await;
        wallet.store.payments().apply_capture(&format!("msg_{round}"), id, money(100), now()).await.unwrap();
        let packet = wallet.packet(round).await;
        let (settled, deleted) = tokio::join!(
            wallet.store.packets().settle(packet, 0),
            wallet.store.accounts().delete_account(wallet.user, true, now())
        );
        assert_eq!(settled.unwrap(), SettleOutcome::Done { returned: 100 });
        assert!(matches!(deleted.unwrap(), DeletionOutcome::Done(_)));
        assert_eq!(wallet.balance().await, 0, "round {round}");
    }
    wallet.assert_nothing_is_stranded().await;
}

mod sqlite {
    database_tests! {
        sqlite, wallet:
        fifty_payments_spend_a_balance_for_seven,
        concurrent_payments_and_cancellation_have_one_winner,
        account_deletion_needs_consent_to_lose_the_balance,
        money_that_reaches_a_deleted_account_goes_to_the_shop,
        money_that_returns_during_deletion_is_not_stranded,
    }
}

mod stack {
    mod postgres {
        database_tests! {
            postgres, wallet:
            fifty_payments_spend_a_balance_for_seven,
            concurrent_payments_and_cancellation_have_one_winner,
            account_deletion_needs_consent_to_lose_the_balance,
            money_that_reaches_a_deleted_account_goes_to_the_shop,
            money_that_returns_during_deletion_is_not_stranded,
        }
    }
}
