//! Which sessions were ended before their cookies expire, known to every process from memory.
//!
//! The database numbers revocations in the order in which they become visible, so a process that asks each second for
//! what is newer misses nothing. What this process ends itself it knows at once. While the database is away the last
//! known state stays in use.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use uuid::Uuid;

use super::session::{LASTS, Session};
use crate::store::{Revocation, Store, StoreError};

/// A change copies one shard, so that many revocations stay cheap to add to.
const SHARDS: usize = 64;
/// Revocations that are read at once.
const PAGE: i64 = 5_000;

type Shard = HashMap<Uuid, Timestamp>;

pub struct Revocations {
    shards: [ArcSwap<Shard>; SHARDS],
    /// The last number that was read from the database.
    read_up_to: AtomicI64,
}

impl Revocations {
    pub fn new() -> Revocations {
        Revocations { shards: std::array::from_fn(|_| ArcSwap::default()), read_up_to: AtomicI64::new(0) }
    }

    /// Two look-ups in memory, without a lock.
    pub fn has_ended(&self, session: &Session) -> bool {
        let dead = |subject| self.dead_until(subject).is_some_and(|until| session.issued_at <= until);
        dead(session.id) || dead(session.user_id.0)
    }

    /// Up to when cookies of this user or session are dead.
    pub fn dead_until(&self, subject: Uuid) -> Option<Timestamp> {
        self.shard(subject).load().get(&subject).copied()
    }

    fn shard(&self, subject: Uuid) -> &ArcSwap<Shard> {
        // The last byte of a UUID of version 7 is random.
        &self.shards[usize::from(subject.as_bytes()[15]) % SHARDS]
    }

    pub fn learn(&self, new: &[Revocation]) {
        let mut by_shard: HashMap<usize, Vec<&Revocation>> = HashMap::new();
        for revocation in new {
            by_shard.entry(usize::from(revocation.subject.as_bytes()[15]) % SHARDS).or_default().push(revocation);
        }
        for (shard, new) in by_shard {
            self.shards[shard].rcu(|known| {
                let mut known = Shard::clone(known);
                for revocation in &new {
                    let until = known.entry(revocation.subject).or_insert(revocation.dead_until);
                    *until = revocation.dead_until.max(*until);
                }
                Arc::new(known)
            });
        }
    }

    /// Reads what is new in the database.
    pub async fn refresh(&self, store: &Store) -> Result<(), StoreError> {
        loop {
            let page = store.revocations(self.read_up_to.load(Ordering::Relaxed), PAGE).await?;
            self.learn(&page);
            if let Some(last) = page.last() {
                self.read_up_to.fetch_max(last.number, Ordering::Relaxed);
            }
            if (page.len() as i64) < PAGE {
                return Ok(());
            }
        }
    }

    /// Drops what no cookie can be old enough for.
    pub fn forget(&self, now: Timestamp) {
        let past = now.saturating_sub(LASTS).unwrap_or(Timestamp::MIN);
        for shard in &self.shards {
            if shard.load().values().any(|until| *until < past) {
                shard.rcu(|known| {
                    Arc::new(
                        known.iter().filter(|(_, until)| **until >= past).map(|(k, v)| (*k, *v)).collect::<Shard>(),
                    )
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::UserId;
    use crate::store::{Role, User};

    #[test]
    fn the_latest_moment_counts_and_old_ones_are_forgotten() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let user = User::new(UserId(Uuid::now_v7()), "mei", String::new(), Role::User, at(0));
        let session = Session::of(&user, at(1_000));
        let revocations = Revocations::new();
        let revoke = |subject, until, number| {
            revocations.learn(&[Revocation { subject, dead_until: at(until), number }]);
            revocations.has_ended(&session)
        };
        assert!(!revoke(Uuid::now_v7(), 5_000, 1), "somebody else");
        assert!(!revoke(user.id.0, 999, 2), "what was issued later goes on");
        assert!(revoke(user.id.0, 1_000, 4));
        assert!(revoke(user.id.0, 500, 3), "an older one changes nothing");
        assert!(revoke(session.id, 1_000, 5));
        revocations.forget(at(1_000) + LASTS);
        assert!(revocations.has_ended(&session));
        revocations.forget(at(5_001) + LASTS);
        assert!(revocations.shards.iter().all(|shard| shard.load().is_empty()));
    }
}
