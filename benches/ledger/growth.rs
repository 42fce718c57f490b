//! Whether a claim costs the same however much is going on.

use crate::server::Server;
use crate::work::{Shape, Work};
use crate::{Plan, Seen, median};

/// Claims of one call.
const BATCH: usize = 100;

/// A row: what it is called, and what it does.
type Rows = Vec<(&'static str, Shape)>;

pub async fn measure(server: &Server, plan: &Plan) -> anyhow::Result<()> {
    for (what, rows) in [
        ("units sold in a sale", units_sold(plan.claims)),
        ("sales at once", sales_at_once(plan.claims)),
        ("users per unit", users_per_unit(plan.claims)),
    ] {
        let mut seen = vec![Vec::new(); rows.len()];
        for _ in 0..plan.rounds {
            for (seen, (_, shape)) in seen.iter_mut().zip(&rows) {
                seen.push(server.sell(Work::new(*shape, BATCH)).await?);
            }
        }
        print(what, &rows, &seen);
    }
    Ok(())
}

fn units_sold(claims: u64) -> Rows {
    const MILLION: u64 = 1_000_000;
    let small = Shape { sales: claims.div_ceil(1000), ..Shape::one(1000) };
    vec![("1,000", small), ("100,000", Shape::one(100_000)), ("1,000,000", Shape::one(MILLION))]
}

fn sales_at_once(claims: u64) -> Rows {
    let sales = |sales| Shape { sales, at_once: true, ..Shape::one(claims / sales) };
    vec![("1", sales(1)), ("1,000", sales(1000))]
}

fn users_per_unit(claims: u64) -> Rows {
    let users = |users| Shape { units_per_sale: claims / users, ..Shape::one(claims) };
    vec![("1", users(1)), ("100", users(100)), ("10,000", users(10_000))]
}

/// Each row against the first.
fn print(what: &str, rows: &Rows, seen: &[Vec<Seen>]) {
    let cpu = |seen: &[Seen]| median(seen.iter().map(Seen::cpu_us));
    let wall = |seen: &[Seen]| median(seen.iter().map(Seen::wall_us));
    for ((name, _), row) in rows.iter().zip(seen) {
        println!(
            "{what}: {name}: master {:.2} us a claim, {:.2} of the first; elapsed {:.2} us a claim, {:.2} of the first",
            cpu(row),
            cpu(row) / cpu(&seen[0]),
            wall(row),
            wall(row) / wall(&seen[0])
        );
    }
}
