//! What sells: a shop offers a few units of something many people want, at one instant. Nearly every request must lose, so
//! the design is: lose cheaply, win exactly once, and never lose a winner.
//!
//! # One purchase, start to finish
//!
//! 1. The page of a sale polls the button ([`gate`]), which is served from memory.
//! 2. Once the sale is open, a signed-in shopper gets a token ([`gate`]) and sends a buying request ([`purchase`]).
//! 3. The gate refuses most requests without I/O. The others become claims in a batch ([`batching`]), which Redis or the
//!    database decides as a whole ([`stock`]).
//! 4. The reserving script also appends the granted claims to the outbox. The relay publishes them to RabbitMQ, and the
//!    consumer persists them in the database ([`pipeline`]).
//! 5. A master that lost grants gets them again before it sells ([`redis::replay`], [`pipeline::recovery`]).
//!
//! A sale may ask more of its buyers: a rule that they fulfil ([`eligibility`]), a turn in a waiting room
//! ([`waiting_rooms`]), an entry in a draw ([`entries`]). When it is sold out, they wait for units that come back
//! ([`waitlist`]). Red packets take the same path: shares are claimed from [`packets`] as units are from [`stock`].
//!
//! HTML, words and routes are in the crates above.

/// Lets `?` turn errors and refusals of other modules into the variants of a refusal that hold them.
macro_rules! refusal_from {
    ($refusal:ident: $($variant:ident($inner:ty)),+) => {$(
        impl From<$inner> for $refusal {
            fn from(inner: $inner) -> Self {
                $refusal::$variant(inner)
            }
        }
    )+};
}

/// Declares the scripts of a backend: of each its kind, and its file beside the one that declares it.
macro_rules! scripts {
    ($vis:vis struct $name:ident { $($field_vis:vis $script:ident: $kind:ident = $file:literal,)+ }) => {
        $vis struct $name {
            $($field_vis $script: $kind,)+
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($script: $kind::new(include_str!($file)),)+ }
            }
        }
    };
}

// One purchase: admission, then stock.
pub mod purchase;

pub mod gate;

pub mod eligibility;
pub mod entries;
pub mod waiting_rooms;
pub mod waitlist;

pub mod packets;

// From a granted claim to a row in the database.
pub mod pipeline;

// Units, and the batches that claim them.
pub mod stock;

pub mod batching;
pub mod redis;

// What a process knows of sales and of its services.
pub mod catalogue;
pub mod health;

#[cfg(test)]
mod fixture {
    use base::clock::Clock;
    use base::config::sqlite_in;
    use domain::{Bilingual, Sale};
    use store::{GoodsDraft, SaleDraft, Store};
    use tempfile::TempDir;

    /// A store in a directory, and a sale of a phone in it.
    pub(crate) async fn store_with(draft: SaleDraft) -> (TempDir, Store, Sale) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&sqlite_in(dir.path())).unwrap();
        store.migrate().await.unwrap();
        let (now, text) = (Clock::system().now(), Bilingual::new("手机", "Phone"));
        let goods = GoodsDraft { name: Some(text.clone()), description: Some(text), ..GoodsDraft::default() };
        let goods_id = store.goods().put(None, goods, "test", now).await.unwrap().unwrap().id;
        let sale = store.sales().create(&SaleDraft { goods_id, ..draft }, "test", now).await.unwrap();
        (dir, store, sale)
    }
}
