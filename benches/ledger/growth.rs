//! The cost of a claim against units sold, concurrent sales, and users per unit.

use crate::server::Server;
use crate::work::{Shape, Work};
use crate::{Measured, Plan, median};

/// Claims per call.
const BATCH: usize = 100;

/// The name and the work of each row.
type Rows = Vec<(&'static str, Shape)>;

pub async fn measure(server: &Server, plan: &Plan) -> anyhow::Result<()> {
    for (what, rows) in [
        ("units sold in a sale", units_sold(plan.claims)),
        ("sales at once", sales_at_once(plan.claims)),
        ("users per unit", users_per_unit(plan.claims)),
    ] {
        let mut measured = vec![Vec::new(); rows.len()];
        for _ in 0..plan.rounds {
            for (measured, (_, shape)) in measured.iter_mut().zip(&rows) {
                measured.push(server.sell(Work::new(*shape, BATCH)).await?);
            }
        }
        print(what, &rows, &measured);
    }
    Ok(())
}

fn units_sold(claims: u64) -> Rows {
    const MILLION: u64 = 1_000_000;
    let small = Shape { sales: claims.div_ceil(1000), ..Shape::one(1000) };
    vec![("1,000", small), ("100,000", Shape::one(100_000)), ("1,000,000", Shape::one(MILLION))]
}

fn sales_at_once(claims: u64) -> Rows {
    let sales = |sales| Shape { sales, concurrent: true, ..Shape::one(claims / sales) };
    vec![("1", sales(1)), ("1,000", sales(1000))]
}

fn users_per_unit(claims: u64) -> Rows {
    let users = |users| Shape { units_per_sale: claims / users, ..Shape::one(claims) };
    vec![("1", users(1)), ("100", users(100)), ("10,000", users(10_000))]
}

/// Prints each row, relative to the first.
fn print(what: &str, rows: &Rows, measured: &[Vec<Measured>]) {
    let cpu = |measured: &[Measured]| median(measured.iter().map(Measured::cpu_us));
    let wall = |measured: &[Measured]| median(measured.iter().map(Measured::wall_us));
    for ((name, _), row) in rows.iter().zip(measured) {
        println!(
            "{what}: {name}: master {:.2} us a claim, {:.2} of the first; elapsed {:.2} us a claim, {:.2} of the first",
            cpu(row),
            cpu(row) / cpu(&measured[0]),
            wall(row),
            wall(row) / wall(&measured[0])
        );
    }
}
