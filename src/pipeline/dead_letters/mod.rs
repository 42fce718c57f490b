//! Dead letters: what nobody could read. RabbitMQ keeps messages in `seckill.orders.dead`, Redis keeps entries of the
//! outbox in `goods{bucket}:outbox:dead`. Operators look at them, send them on their way again, or throw them away.
//!
//! Nothing is ever lost on the way: a message is published again and confirmed before it is taken out, and written into
//! the audit log before it is thrown away. At worst it is there twice, which the consumer does not mind.

mod letter;
mod queue;
mod stream;

use std::sync::Arc;

use secrecy::SecretString;
use tokio::sync::Mutex;

pub use letter::{Letter, Place};

use crate::clock::Clock;
use crate::domain::Bucket;
use crate::redis::connection::RedisConnection;
use crate::store::{Store, StoreError};

/// Letters of one look.
pub const MOST: usize = 100;

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum LetterError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("dead letters cannot be reached: {0:#}")]
    Away(anyhow::Error),
}

impl From<anyhow::Error> for LetterError {
    fn from(error: anyhow::Error) -> LetterError {
        LetterError::Away(error)
    }
}

impl From<redis::RedisError> for LetterError {
    fn from(error: redis::RedisError) -> LetterError {
        LetterError::Away(error.into())
    }
}

/// What was found where; `None` where no such engine is configured.
#[derive(Debug, Default)]
pub struct Found {
    pub queue: Option<anyhow::Result<Vec<Letter>>>,
    pub outboxes: Option<anyhow::Result<Vec<Letter>>>,
}

/// What is to become of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Back to where orders come from. What still makes no sense comes back.
    Replay,
    Discard,
}

impl Settlement {
    pub fn as_str(self) -> &'static str {
        match self {
            Settlement::Replay => "replay",
            Settlement::Discard => "discard",
        }
    }
}

/// Dead letters wherever they lie; clones share one turn.
#[derive(Clone)]
pub struct DeadLetters {
    amqp_url: Option<SecretString>,
    master: Option<RedisConnection>,
    store: Store,
    clock: Clock,
    /// Whoever looks at the queue has its messages in hand; the next one waits, so as not to see an empty queue.
    turn: Arc<Mutex<()>>,
}

impl DeadLetters {
    pub fn new(
        amqp_url: Option<SecretString>,
        master: Option<RedisConnection>,
        store: Store,
        clock: Clock,
    ) -> DeadLetters {
        DeadLetters { amqp_url, master, store, clock, turn: Arc::default() }
    }

    /// The first [`MOST`] letters of each place.
    pub async fn list(&self) -> Result<Found, StoreError> {
        let _turn = self.turn.lock().await;
        let buckets = self.buckets().await?;
        let queue = futures::future::OptionFuture::from(self.amqp_url.as_ref().map(queue::list));
        let outboxes = futures::future::OptionFuture::from(
            self.master.as_ref().map(|master| async { Ok(stream::list(master, &buckets).await?) }),
        );
        let (queue, outboxes) = tokio::join!(queue, outboxes);
        Ok(Found { queue, outboxes })
    }

    /// Deals with the letters of that id, or with all that are there now. The answer is how many.
    pub async fn settle(&self, only: Option<&str>, fate: Settlement, actor: &str) -> Result<usize, LetterError> {
        let _turn = self.turn.lock().await;
        let mut settled = 0;
        if let Some(url) = &self.amqp_url {
            settled += self.settle_queue(url, only, fate, actor).await?;
        }
        // An id names one letter; there is no need to look on.
        if let Some(master) = self.master.as_ref().filter(|_| only.is_none() || settled == 0) {
            settled += self.settle_outboxes(&mut master.clone(), only, fate, actor).await?;
        }
        Ok(settled)
    }

    async fn settle_queue(
        &self,
        url: &SecretString,
        only: Option<&str>,
        fate: Settlement,
        actor: &str,
    ) -> Result<usize, LetterError> {
        let mut hand = queue::Hand::open(url).await?;
        let mut settled = 0;
        // Bounded by what is there now: what comes back must not go round in circles.
        for _ in 0..hand.waiting().await? {
            let Some(message) = hand.take().await? else { break };
            let letter = queue::letter(&message);
            if only.is_some_and(|id| id != letter.id) {
                continue;
            }
            self.write_down(&letter, fate, actor).await?;
            if fate == Settlement::Replay {
                hand.publish_again(&message).await?;
            }
            hand.finish(&message).await?;
            settled += 1;
            if only.is_some() {
                break;
            }
        }
        hand.give_back().await?;
        Ok(settled)
    }

    async fn settle_outboxes(
        &self,
        master: &mut RedisConnection,
        only: Option<&str>,
        fate: Settlement,
        actor: &str,
    ) -> Result<usize, LetterError> {
        let buckets = self.buckets().await?;
        let mut letters = stream::list(master, &buckets).await?;
        letters.retain(|letter| only.is_none_or(|id| id == letter.id));
        for letter in &letters {
            self.write_down(letter, fate, actor).await?;
            stream::settle(master, letter, fate).await?;
        }
        Ok(letters.len())
    }

    /// Wherever entries may have been set aside.
    async fn buckets(&self) -> Result<Vec<Bucket>, StoreError> {
        let mut buckets: Vec<Bucket> = self.store.all_sales().await?.iter().flat_map(Bucket::of_sale).collect();
        let packets = self.store.open_packets().await?;
        buckets.extend(packets.iter().flat_map(|packet| Bucket::all(packet.id, packet.buckets)));
        Ok(buckets)
    }

    /// First, because what was thrown away without a trace could not be asked about.
    async fn write_down(&self, letter: &Letter, fate: Settlement, actor: &str) -> Result<(), StoreError> {
        let subject = format!("dead-letter {}", letter.id);
        self.store.write_down(actor, fate.as_str(), &subject, letter, self.clock.now()).await
    }
}
