//! Dead letters: messages and outbox entries that could not be parsed. RabbitMQ stores messages in `seckill.orders.dead`,
//! Redis stores entries in `goods{bucket}:outbox:dead`. Operators list, replay or discard them.
//!
//! No step loses a letter: a message is published and confirmed before it leaves the queue, and recorded in the audit log
//! before it is discarded. A crash in between leaves a duplicate, which the consumer ignores.

mod letter;
mod queue;
mod stream;

use std::sync::Arc;

use tokio::sync::Mutex;

pub use letter::{DeadLetter, DeadLetterSource};

use crate::redis::connection::RedisConnection;
use base::clock::Clock;
use base::config::ServiceAddress;
use domain::wire::wire_enum;
use domain::{AuditAction, Bucket};
use store::{Store, StoreError};

/// Letters per list and place.
pub const MAX_LETTERS: usize = 100;

/// Why dead letters could not be settled.
#[derive(Debug, thiserror::Error)]
pub enum DeadLetterError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("dead letters are unavailable: {0:#}")]
    Unavailable(#[from] anyhow::Error),
}

/// The dead letters of each place; `None` where it is not configured.
#[derive(Debug, Default)]
pub struct DeadLetterList {
    pub queue: Option<anyhow::Result<Vec<DeadLetter>>>,
    pub outboxes: Option<anyhow::Result<Vec<DeadLetter>>>,
}

wire_enum! {
    /// How a dead letter is settled.
    pub enum Settlement {
        /// Moves the letter back to the queue or outbox that it came from. If it still cannot be parsed, it becomes a
        /// dead letter again.
        Replay = "replay",
        Discard = "discard",
    }
}

/// Access to the dead letters of all places. Clones exclude each other.
#[derive(Clone)]
pub struct DeadLetters {
    amqp_url: Option<ServiceAddress>,
    master: Option<RedisConnection>,
    store: Store,
    clock: Clock,
    /// A list takes the messages out of the queue for a moment; a concurrent one would find it empty.
    exclusive: Arc<Mutex<()>>,
}

impl DeadLetters {
    pub fn new(
        amqp_url: Option<ServiceAddress>,
        master: Option<RedisConnection>,
        store: Store,
        clock: Clock,
    ) -> DeadLetters {
        DeadLetters { amqp_url, master, store, clock, exclusive: Arc::default() }
    }

    /// The first [`MAX_LETTERS`] letters of RabbitMQ and of the outboxes.
    pub async fn list(&self) -> Result<DeadLetterList, StoreError> {
        let _guard = self.exclusive.lock().await;
        let buckets = if self.master.is_some() { self.buckets().await? } else { vec![] };
        let queue = futures::future::OptionFuture::from(self.amqp_url.as_ref().map(queue::list));
        let outboxes = self.master.as_ref().map(|master| stream::list(master, &buckets));
        let outboxes = futures::future::OptionFuture::from(outboxes);
        let (queue, outboxes) = tokio::join!(queue, outboxes);
        Ok(DeadLetterList { queue, outboxes })
    }

    /// Replays or discards the letter with the id `only`, or all present letters. Returns how many were settled.
    pub async fn settle(
        &self,
        only: Option<&str>,
        settlement: Settlement,
        actor: &str,
    ) -> Result<usize, DeadLetterError> {
        let _guard = self.exclusive.lock().await;
        let mut settled = 0;
        if let Some(url) = &self.amqp_url {
            settled += self.settle_queue(url, only, settlement, actor).await?;
        }
        // An id names one letter; once it is settled, there is no other.
        if let Some(master) = self.master.as_ref().filter(|_| only.is_none() || settled == 0) {
            settled += self.settle_outboxes(&mut master.clone(), only, settlement, actor).await?;
        }
        Ok(settled)
    }

    async fn settle_queue(
        &self,
        url: &ServiceAddress,
        only: Option<&str>,
        settlement: Settlement,
        actor: &str,
    ) -> Result<usize, DeadLetterError> {
        let mut reader = queue::DeadLetterReader::open(url).await?;
        let mut settled = 0;
        // Bounded by the present length, so that a replayed message that is dead-lettered again is not replayed in a
        // loop.
        for _ in 0..reader.waiting().await? {
            let Some(message) = reader.take().await? else { break };
            let letter = queue::letter(&message);
            if only.is_some_and(|id| id != letter.id) {
                continue;
            }
            self.record(&letter, settlement, actor).await?;
            if settlement == Settlement::Replay {
                reader.replay(&message).await?;
            }
            reader.finish(&message).await?;
            settled += 1;
            if only.is_some() {
                break;
            }
        }
        reader.close().await?;
        Ok(settled)
    }

    async fn settle_outboxes(
        &self,
        master: &mut RedisConnection,
        only: Option<&str>,
        settlement: Settlement,
        actor: &str,
    ) -> Result<usize, DeadLetterError> {
        let buckets = self.buckets().await?;
        let mut letters = stream::list(master, &buckets).await?;
        letters.retain(|letter| only.is_none_or(|id| id == letter.id));
        for letter in &letters {
            self.record(letter, settlement, actor).await?;
            stream::settle(master, letter, settlement).await?;
        }
        Ok(letters.len())
    }

    /// All buckets that may have dead letters.
    async fn buckets(&self) -> Result<Vec<Bucket>, StoreError> {
        let mut buckets: Vec<Bucket> = self.store.sales().list().await?.iter().flat_map(Bucket::of_sale).collect();
        let packets = self.store.packets().open().await?;
        buckets.extend(packets.iter().flat_map(|packet| Bucket::all(packet.id, packet.buckets)));
        Ok(buckets)
    }

    /// Records the letter in the audit log, before it is settled.
    async fn record(&self, letter: &DeadLetter, settlement: Settlement, actor: &str) -> Result<(), StoreError> {
        let subject = format!("dead-letter {}", letter.id);
        let action = match settlement {
            Settlement::Replay => AuditAction::Replay,
            Settlement::Discard => AuditAction::Discard,
        };
        self.store.audit_log().log_removal(actor, action, &subject, letter, self.clock.now()).await
    }
}
