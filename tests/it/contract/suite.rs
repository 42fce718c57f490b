//! Promises that share a shop.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use domain::UserId;
use futures::future::FutureExt;

use crate::support::{Plan, Shop, Shopper, user_id};

/// Shoppers of one promise.
const SHOPPERS: u64 = 1_000_000;

/// The shop as one promise sees it. Each promise has other shoppers; its sales are its own anyway.
pub struct Scene<'a> {
    shop: &'a Shop,
    first_shopper: u64,
}

impl Scene<'_> {
    /// The promise's n-th shopper, signed in.
    pub fn shopper(&self, n: u64) -> Shopper {
        self.shop.shopper(self.first_shopper + n)
    }

    /// The account of [`Scene::shopper`].
    pub fn user_id(&self, n: u64) -> UserId {
        user_id(self.first_shopper + n)
    }
}

impl Deref for Scene<'_> {
    type Target = Shop;

    fn deref(&self) -> &Shop {
        self.shop
    }
}

/// A shop, and which promises it broke.
pub struct Suite {
    shop: Shop,
    scenes: Cell<u64>,
    broken: RefCell<Vec<String>>,
    /// Only promises whose names contain this.
    only: String,
}

impl Suite {
    pub async fn start(plan: Plan) -> Suite {
        let only = std::env::var("SECKILL_TEST_PROMISE").unwrap_or_default();
        Suite { shop: plan.start().await, scenes: Cell::new(1), broken: RefCell::default(), only }
    }

    /// Whether the shop keeps a promise; others may be under way.
    pub async fn keeps(&self, name: &str, promise: impl AsyncFnOnce(&Scene<'_>)) {
        if name.contains(&self.only) {
            let number = self.scenes.replace(self.scenes.get() + 1);
            let scene = Scene { shop: &self.shop, first_shopper: SHOPPERS * number };
            let began = Instant::now();
            let kept = AssertUnwindSafe(promise(&scene)).catch_unwind().await.is_ok();
            self.note(name, kept, began);
        }
    }

    /// The same for a promise that stops processes, while no other is under way.
    pub async fn alone(&mut self, name: &str, promise: impl AsyncFnOnce(&mut Shop)) {
        if name.contains(&self.only) {
            let began = Instant::now();
            let kept = AssertUnwindSafe(promise(&mut self.shop)).catch_unwind().await.is_ok();
            self.note(name, kept, began);
        }
    }

    fn note(&self, name: &str, kept: bool, began: Instant) {
        let verdict = if kept { "kept" } else { "BROKEN" };
        println!("{verdict:>6}  {name}  ({:.1} s)", began.elapsed().as_secs_f64());
        if !kept {
            self.broken.borrow_mut().push(name.to_owned());
        }
    }

    /// Fails if a promise was broken, or the audit finds a violation.
    pub async fn end(self) {
        let broken = self.broken.borrow().join(", ");
        assert!(broken.is_empty(), "broken: {broken}");
        self.shop.audit_is_clean().await;
    }
}

/// Promises that mostly wait.
macro_rules! side_by_side {
    ($suite:expr, $($part:ident::$promise:ident,)+) => {
        tokio::join!($(
            Box::pin($suite.keeps(concat!(stringify!($part), "::", stringify!($promise)), $part::$promise))
        ),+)
    };
}

macro_rules! one_by_one {
    ($suite:expr, $($part:ident::$promise:ident,)+) => {
        $(
            Box::pin($suite.keeps(concat!(stringify!($part), "::", stringify!($promise)), $part::$promise)).await;
        )+
    };
}

/// A promise that stops processes.
macro_rules! alone {
    ($suite:expr, $part:ident::$promise:ident) => {
        $suite.alone(concat!(stringify!($part), "::", stringify!($promise)), $part::$promise).await
    };
}

pub(super) use {alone, one_by_one, side_by_side};
