//! Strategies with the stock as a number in a row. The order is inserted in the same transaction; its key allows one
//! per user.

use std::collections::HashSet;

use async_trait::async_trait;
use sqlx::postgres::PgPool;
use sqlx::{Connection, PgConnection, Postgres, Transaction};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use crate::strategy::{Answer, StockStrategy};

pub async fn create(pool: &PgPool) -> anyhow::Result<()> {
    // Two processes may create them at once; the second waits for the lock and finds the tables.
    let tables = "
        BEGIN;
        SELECT pg_advisory_xact_lock(77001);
        CREATE TABLE IF NOT EXISTS strategies_sale (id BIGINT PRIMARY KEY, total BIGINT, stock BIGINT, version BIGINT);
        CREATE TABLE IF NOT EXISTS strategies_orders (user_id TEXT PRIMARY KEY);
        COMMIT";
    sqlx::raw_sql(tables).execute(pool).await?;
    Ok(())
}

pub async fn drop(pool: &PgPool) -> anyhow::Result<()> {
    sqlx::raw_sql("DROP TABLE strategies_sale, strategies_orders").execute(pool).await?;
    Ok(())
}

async fn open(pool: &PgPool, stock: u64) -> anyhow::Result<()> {
    sqlx::raw_sql("TRUNCATE strategies_sale, strategies_orders").execute(pool).await?;
    let sale = sqlx::query("INSERT INTO strategies_sale VALUES (1, $1, $1, 1)").bind(stock as i64);
    sale.execute(pool).await?;
    Ok(())
}

async fn deducted(pool: &PgPool) -> anyhow::Result<u64> {
    let gone: i64 = sqlx::query_scalar("SELECT total - stock FROM strategies_sale").fetch_one(pool).await?;
    Ok(gone.try_into()?)
}

pub async fn orders(pool: &PgPool) -> anyhow::Result<HashSet<Uuid>> {
    let users: Vec<String> = sqlx::query_scalar("SELECT user_id FROM strategies_orders").fetch_all(pool).await?;
    Ok(users.iter().map(|user| Uuid::try_parse(user)).collect::<Result<_, _>>()?)
}

/// Returns `false` when the user already has an order.
async fn insert(user: Uuid, at: &mut PgConnection) -> anyhow::Result<bool> {
    let insert = sqlx::query("INSERT INTO strategies_orders VALUES ($1) ON CONFLICT DO NOTHING").bind(user.to_string());
    Ok(insert.execute(at).await?.rows_affected() == 1)
}

async fn end(work: Transaction<'_, Postgres>, answer: Answer) -> anyhow::Result<Answer> {
    match answer {
        Answer::Granted => work.commit().await?,
        Answer::SoldOut | Answer::Repeated | Answer::GaveUp => work.rollback().await?,
    }
    Ok(answer)
}

/// Implements everything but the claim, which differs between the three strategies.
macro_rules! stock_strategy {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name(pub PgPool);

        #[async_trait]
        impl StockStrategy for $name {
            async fn open(&self, stock: u64) -> anyhow::Result<()> {
                open(&self.0, stock).await
            }

            async fn claim(&self, user: Uuid, until: Instant) -> anyhow::Result<Answer> {
                // Only waiting for a connection is cut off: an abandoned transaction would keep its locks for a while.
                match timeout_at(until, self.0.acquire()).await {
                    Ok(connection) => $name::claim(&mut *connection?, user, until).await,
                    Err(_) => Ok(Answer::GaveUp),
                }
            }

            async fn deducted(&self, _stock: u64) -> anyhow::Result<u64> {
                deducted(&self.0).await
            }

            async fn orders(&self) -> anyhow::Result<HashSet<Uuid>> {
                orders(&self.0).await
            }
        }
    };
}

stock_strategy!(/// Pessimistic: the row is locked before it is read.
    RowLock);
stock_strategy!(/// Optimistic: a change of the row since it was read causes a retry.
    Version);
stock_strategy!(/// `stock = stock - 1 WHERE stock >= 1`: the database checks and changes in one statement.
    Conditional);

impl RowLock {
    async fn claim(connection: &mut PgConnection, user: Uuid, _until: Instant) -> anyhow::Result<Answer> {
        let mut work = connection.begin().await?;
        let read = sqlx::query_scalar("SELECT stock FROM strategies_sale WHERE id = 1 FOR UPDATE");
        let stock: i64 = read.fetch_one(&mut *work).await?;
        let answer = if stock < 1 {
            Answer::SoldOut
        } else if !insert(user, &mut work).await? {
            Answer::Repeated
        } else {
            let deduct = sqlx::query("UPDATE strategies_sale SET stock = stock - 1 WHERE id = 1");
            deduct.execute(&mut *work).await?;
            Answer::Granted
        };
        end(work, answer).await
    }
}

impl Version {
    async fn claim(connection: &mut PgConnection, user: Uuid, until: Instant) -> anyhow::Result<Answer> {
        while Instant::now() < until {
            let read = sqlx::query_as("SELECT stock, version FROM strategies_sale WHERE id = 1");
            let (stock, version): (i64, i64) = read.fetch_one(&mut *connection).await?;
            if stock < 1 {
                return Ok(Answer::SoldOut);
            }
            let mut work = connection.begin().await?;
            let deduct =
                "UPDATE strategies_sale SET stock = stock - 1, version = version + 1 WHERE id = 1 AND version = $1";
            let deducted = sqlx::query(deduct).bind(version).execute(&mut *work).await?;
            if deducted.rows_affected() == 1 {
                let answer = if insert(user, &mut work).await? { Answer::Granted } else { Answer::Repeated };
                return end(work, answer).await;
            }
            work.rollback().await?;
        }
        Ok(Answer::GaveUp)
    }
}

impl Conditional {
    async fn claim(connection: &mut PgConnection, user: Uuid, _until: Instant) -> anyhow::Result<Answer> {
        let mut work = connection.begin().await?;
        if !insert(user, &mut work).await? {
            return end(work, Answer::Repeated).await;
        }
        // The row is updated last, so that it is locked for as short a time as possible.
        let deduct = sqlx::query("UPDATE strategies_sale SET stock = stock - 1 WHERE id = 1 AND stock >= 1");
        let deducted = deduct.execute(&mut *work).await?.rows_affected();
        end(work, if deducted == 1 { Answer::Granted } else { Answer::SoldOut }).await
    }
}
