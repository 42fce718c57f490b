//! Reservations by the token of another shop, measured against purchases by cookie of the same run.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use base::clock::Clock;
use domain::{SaleId, UserId};
use futures::stream::{self, StreamExt, TryStreamExt};
use store::ExternalAccount;
use uuid::Uuid;

use super::shop::Shop;
use super::wrk::{Load, write_requests, wrk};
use super::{CONNECTIONS, Plan, THIS_PROGRAM, print_ratio};

/// Customers of the other shop: as many as a process remembers, and more than reserve within two seconds.
const CUSTOMERS: usize = 100_000;
/// Customers named at the same time.
const CONCURRENT: usize = 64;

/// Both sides are one request: the purchase has its token, and the server has met the customer before, as it has when
/// the other shop names customers right before it reserves. A first run shows what meeting them costs.
pub async fn measure(shop: &Shop, dir: &Path, plan: &Plan) -> anyhow::Result<()> {
    name_customers(shop).await?;
    let (config, token) = (&shop.services.config, token()?);
    let (buy, reserve) = (dir.join("buy"), dir.join("reserve"));
    let first = shop.open_sale(CUSTOMERS as i64).await?;
    write_requests(&requests(shop, first, &token), &reserve)?;
    // Answers are 200 once each customer holds a unit.
    let met = wrk(config, Load { requests: &reserve, expected: None }, dir, CONNECTIONS[0], plan.seconds.max(20))?;
    println!("{} connections: reservations for customers who are met meanwhile {met:.0}/s", CONNECTIONS[0]);
    shop.stop_sale(first).await?;
    for connections in CONNECTIONS {
        let mut pairs = Vec::new();
        for round in 0..plan.rounds {
            let sales = shop.open_sales(2, CUSTOMERS as i64).await?;
            write_requests(&shop.purchases(sales[0], plan.shoppers())?, &buy)?;
            write_requests(&requests(shop, sales[1], &token), &reserve)?;
            let rate = |(requests, expected): (&Path, u16)| {
                wrk(config, Load { requests, expected: Some(expected) }, dir, connections, plan.seconds)
            };
            // Each side goes first in every second round.
            let mut sides = [(reserve.as_path(), 201), (buy.as_path(), 202)];
            sides.rotate_left(round as usize % 2);
            let mut rates = [rate(sides[0])?, rate(sides[1])?];
            rates.rotate_left(round as usize % 2);
            pairs.push((rates[0], rates[1]));
            for sale in sales {
                shop.stop_sale(sale).await?;
            }
        }
        print_ratio(connections, "reservations by token", "purchases by cookie", pairs);
    }
    Ok(())
}

async fn name_customers(shop: &Shop) -> anyhow::Result<()> {
    let since = Clock::system().now();
    let name = async |n: usize| {
        let account = ExternalAccount { id: UserId(Uuid::now_v7()), since, is_verified: false, is_closed: false };
        shop.services.store.accounts().put_external(&customer(n), &account).await
    };
    let named: Vec<bool> = stream::iter(0..CUSTOMERS).map(name).buffer_unordered(CONCURRENT).try_collect().await?;
    ensure!(named.len() == CUSTOMERS, "{} customers", named.len());
    Ok(())
}

fn customer(n: usize) -> String {
    format!("bench-{n}")
}

/// A new token, made on the command line.
fn token() -> anyhow::Result<String> {
    let name = format!("bench {}", Uuid::now_v7().simple());
    let made = Command::new(THIS_PROGRAM).args(["token", "create", &name, "reserve"]).output()?;
    ensure!(made.status.success(), "no token: {}", String::from_utf8_lossy(&made.stderr));
    Ok(String::from_utf8(made.stdout).context("a token is a text")?.trim().to_owned())
}

/// Complete requests, each for another customer.
fn requests(shop: &Shop, sale: SaleId, token: &str) -> Vec<Vec<u8>> {
    let host = shop.services.config.web.listen;
    let head = format!(
        "POST /api/v1/sales/{sale}/reservations HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\n"
    );
    let request = |n| {
        let body = format!("{{\"shopper\":\"{}\",\"quantity\":1}}", customer(n));
        format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    (0..CUSTOMERS).map(request).collect()
}
