//! The wallet at the edge: many spend from it at once, and everything that can happen to an order happens together.

use futures::future::join_all;
use jiff::Timestamp;
use seckill::domain::wallet::{Account, money};
use seckill::domain::{OrderId, PaymentId, SaleId, UserId};
use seckill::store::{Captured, FromWallet, Purpose, Store};
use sqlx::{AnyConnection, Connection};
use uuid::Uuid;

const PRICE: i64 = 100;

struct Books {
    store: Store,
    user: UserId,
    url: String,
}

fn now() -> Timestamp {
    Timestamp::from_second(1_795_000_000).unwrap()
}

fn payment() -> PaymentId {
    PaymentId(Uuid::now_v7())
}

impl Books {
    async fn open(url: &str) -> Books {
        let store = Store::open(url).unwrap();
        store.migrate().await.unwrap();
        let user = UserId(Uuid::now_v7());
        let books = Books { store, user, url: url.to_owned() };
        books
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
        books
    }

    async fn execute(&self, statements: &[String]) {
        let mut connection = AnyConnection::connect(&self.url).await.unwrap();
        for sql in statements {
            sqlx::query(sqlx::AssertSqlSafe(sql.clone())).execute(&mut connection).await.unwrap();
        }
    }

    /// Unpaid orders of the user, each in a sale of its own.
    async fn orders(&self, count: i64) -> Vec<(SaleId, OrderId)> {
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
            orders.push((SaleId(sale), order));
        }
        self.execute(&statements).await;
        orders
    }

    async fn fill(&self, amount: i64) {
        let id = payment();
        self.store.add_payment(id, Purpose::TopUp(self.user), money(amount), "sandbox", now()).await.unwrap();
        // Reported by several at once, under two names: it counts once.
        let reports = (0..6).map(|n| self.store.captured(["msg_1", "msg_2"][n % 2], id, now()));
        let outcomes = join_all(reports).await;
        let filled = outcomes.iter().filter(|o| matches!(o, Ok(Captured::ToppedUp(user)) if *user == self.user));
        assert_eq!(filled.count(), 1, "{outcomes:?}");
        assert_eq!(self.balance().await, amount);
    }

    async fn balance(&self) -> i64 {
        self.store.wallet_balance(Account::User(self.user)).await.unwrap()
    }

    async fn are_right(&self) {
        assert_eq!(self.store.wallet_mismatches().await.unwrap(), Vec::<String>::new());
        assert_eq!(self.store.wallet_payment_mismatches().await.unwrap(), Vec::<String>::new());
        assert_eq!(self.store.money_mismatches().await.unwrap(), Vec::<String>::new());
        assert_eq!(self.store.miscounted_sales().await.unwrap(), []);
    }
}

async fn fifty_spend_what_is_enough_for_seven(url: &str) {
    let books = Books::open(url).await;
    let orders = books.orders(50).await;
    books.fill(7 * PRICE + 99).await;
    let spends = orders.iter().map(|(_, order)| books.store.pay_from_wallet(payment(), *order, now()));
    let outcomes: Vec<FromWallet> = join_all(spends).await.into_iter().map(Result::unwrap).collect();
    let count = |wanted: fn(&FromWallet) -> bool| outcomes.iter().filter(|o| wanted(o)).count();
    assert_eq!(count(|o| matches!(o, FromWallet::Paid(_))), 7, "{outcomes:?}");
    assert_eq!(count(|o| *o == FromWallet::NotEnough), 43, "{outcomes:?}");
    assert_eq!(books.balance().await, 99);
    books.are_right().await;
}

/// Pays from the wallet (twice), pays at the provider and cancels, all at once; then all refunds are made, twice.
async fn everything_at_once_has_one_winner(url: &str) {
    const RACES: i64 = 24;
    let books = Books::open(url).await;
    let orders = books.orders(RACES).await;
    books.fill(RACES * PRICE).await;
    let races = orders.iter().enumerate().map(|(n, (sale, order))| race(&books, n, *sale, *order));
    let from_wallet = join_all(races).await.into_iter().filter(|won| *won).count() as i64;
    for _ in 0..2 {
        let due = books.store.refunds_due(1000).await.unwrap();
        for payment in due.iter().chain(&due) {
            books.store.refunded(payment, now()).await.unwrap();
        }
        // What the provider would have been asked for: it is not part of this.
    }
    assert_eq!(books.balance().await, (RACES - from_wallet) * PRICE);
    println!("{from_wallet} of {RACES} were paid from the wallet");
    books.are_right().await;
}

/// Whether the wallet paid in the end.
async fn race(books: &Books, n: usize, sale: SaleId, order: OrderId) -> bool {
    let (store, outside) = (&books.store, payment());
    store.add_payment(outside, Purpose::Order(order), money(PRICE), "elsewhere", now()).await.unwrap();
    let (message, orders) = (format!("race_{n}"), [order]);
    let (first, second, captured, cancelled) = tokio::join!(
        store.pay_from_wallet(payment(), order, now()),
        store.pay_from_wallet(payment(), order, now()),
        store.captured(&message, outside, now()),
        store.cancel(sale, &orders, "by_owner", now()),
    );
    let spent = [first.unwrap(), second.unwrap()];
    let paid = spent.iter().filter(|o| matches!(o, FromWallet::Paid(_))).count();
    let winners = [paid == 1, captured.unwrap() == Captured::Paid(order), !cancelled.unwrap().is_empty()];
    assert!(paid <= 1 && winners.iter().filter(|won| **won).count() == 1, "{spent:?} {winners:?}");
    if let [FromWallet::Paid(id), FromWallet::Again(known)] | [FromWallet::Again(known), FromWallet::Paid(id)] = spent {
        assert_eq!(id, known);
    }
    paid == 1
}

async fn whoever_leaves_gives_up_knowingly(url: &str) {
    use seckill::store::Deletion;
    let books = Books::open(url).await;
    books.fill(500).await;
    let leave = async |give_up| books.store.delete_account(books.user, give_up, now()).await.unwrap();
    assert_eq!(leave(false).await, Deletion::WalletNotEmpty);
    let late = payment();
    books.store.add_payment(late, Purpose::TopUp(books.user), money(200), "elsewhere", now()).await.unwrap();
    assert!(matches!(leave(true).await, Deletion::Done(_)));
    assert_eq!(books.balance().await, 0);
    // Money for somebody who is gone goes back to where it came from.
    assert_eq!(books.store.captured("msg_late", late, now()).await.unwrap(), Captured::GoesBack);
    assert_eq!(books.store.refunds_due(10).await.unwrap()[0].id, late);
    assert_eq!((books.balance().await, books.store.wallet_balance(Account::Shop).await.unwrap()), (0, 500));
    books.are_right().await;
}

mod sqlite {
    use seckill::config::sqlite_in;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn fifty_spend_what_is_enough_for_seven() {
        let dir = tempfile::tempdir().unwrap();
        super::fifty_spend_what_is_enough_for_seven(&sqlite_in(dir.path())).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn everything_at_once_has_one_winner() {
        let dir = tempfile::tempdir().unwrap();
        super::everything_at_once_has_one_winner(&sqlite_in(dir.path())).await;
    }

    #[tokio::test]
    async fn whoever_leaves_gives_up_knowingly() {
        let dir = tempfile::tempdir().unwrap();
        super::whoever_leaves_gives_up_knowingly(&sqlite_in(dir.path())).await;
    }
}

mod stack {
    mod postgres {
        use crate::support::{Ground, Rung};

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn fifty_spend_what_is_enough_for_seven() {
            let ground = Ground::new(Rung::Postgres).await;
            super::super::fifty_spend_what_is_enough_for_seven(&ground.settings["SECKILL_DATABASE_URL"]).await;
        }

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn everything_at_once_has_one_winner() {
            let ground = Ground::new(Rung::Postgres).await;
            super::super::everything_at_once_has_one_winner(&ground.settings["SECKILL_DATABASE_URL"]).await;
        }

        #[tokio::test]
        async fn whoever_leaves_gives_up_knowingly() {
            let ground = Ground::new(Rung::Postgres).await;
            super::super::whoever_leaves_gives_up_knowingly(&ground.settings["SECKILL_DATABASE_URL"]).await;
        }
    }
}
