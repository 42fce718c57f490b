//! Sales and the claims on them, created before the clock starts.

use domain::Bucket;
use domain::claim::Claim;
use domain::{OrderId, Sale, UserId};
use uuid::Uuid;

use crate::master;

/// Calls in flight, so that the master always has the next one while a client packs another.
pub const CLIENTS: usize = 3;

/// The distribution of claims over sales. Every user claims one unit once.
#[derive(Clone, Copy)]
pub struct Shape {
    pub sales: u64,
    pub users_per_sale: u64,
    pub units_per_sale: u64,
    /// Whether all sales run at the same time or one after the other.
    pub concurrent: bool,
}

impl Shape {
    /// One sale with a unit for every user.
    pub const fn one(users: u64) -> Shape {
        Shape { sales: 1, users_per_sale: users, units_per_sale: users, concurrent: false }
    }

    pub fn claims(&self) -> u64 {
        self.sales * self.users_per_sale
    }
}

/// The calls of one client, in order.
pub type Calls = Vec<(Bucket, Vec<Claim>)>;

pub struct Work {
    pub shape: Shape,
    pub calls: Vec<Calls>,
}

impl Work {
    /// The claims of a shape, in calls of at most `batch`.
    pub fn new(shape: Shape, batch: usize) -> Work {
        let mut calls = Vec::new();
        for sale in 0..shape.sales {
            let mut left = shape.users_per_sale;
            for round in 0.. {
                let size = left.min(batch as u64);
                if size == 0 {
                    break;
                }
                left -= size;
                calls.push((if shape.concurrent { round } else { 0 }, sale, size));
            }
        }
        // A stable sort interleaves concurrent sales.
        calls.sort_by_key(|&(round, ..)| round);
        let mut by_client = vec![Calls::new(); CLIENTS];
        for (n, (_, sale, size)) in calls.into_iter().enumerate() {
            let bucket = Bucket::whole(master::sale(sale as i64, 1).id);
            by_client[n % CLIENTS].push((bucket, (0..size).map(|_| claim()).collect()));
        }
        Work { shape, calls: by_client }
    }

    pub fn sales(&self) -> impl Iterator<Item = Sale> + use<> {
        let units = self.shape.units_per_sale;
        (0..self.shape.sales).map(move |n| master::sale(n as i64, units))
    }
}

fn claim() -> Claim {
    Claim { user_id: UserId(Uuid::now_v7()), order_id: OrderId(Uuid::now_v7()), quantity: 1 }
}
