//! Revocations in memory: the sessions that were ended before their cookies expire.
//!
//! The database numbers revocations in the order in which they become visible, so a process that polls for newer
//! numbers misses none. A process applies its own revocations at once. While the database is unavailable, the last
//! known state stays in use.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use uuid::Uuid;

use super::session::{SESSION_LIFETIME, Session};
use store::{Revocation, Store, StoreError};

/// A change copies one shard, which keeps additions cheap when there are many revocations.
const SHARDS: usize = 64;
/// Revocations per query.
const PAGE: i64 = 5_000;

type Shard = HashMap<Uuid, Timestamp>;

pub struct Revocations {
    shards: [ArcSwap<Shard>; SHARDS],
    /// The highest number that was read from the database.
    read_up_to: AtomicI64,
}

impl Revocations {
    pub fn new() -> Revocations {
        Revocations { shards: std::array::from_fn(|_| ArcSwap::default()), read_up_to: AtomicI64::new(0) }
    }

    /// Whether the session was revoked. Two look-ups in memory, without a lock.
    pub fn has_ended(&self, session: &Session) -> bool {
        let subjects = [session.id, session.user_id.0];
        subjects.into_iter().filter_map(|id| self.revoked_until(id)).any(|until| session.issued_at <= until)
    }

    /// The time up to which issued cookies of this user or session are revoked.
    pub fn revoked_until(&self, subject: Uuid) -> Option<Timestamp> {
        self.shard(subject).load().get(&subject).copied()
    }

    fn shard(&self, subject: Uuid) -> &ArcSwap<Shard> {
        // The last byte of a UUID of version 7 is random.
        &self.shards[usize::from(subject.as_bytes()[15]) % SHARDS]
    }

    /// Adds revocations. For one subject the latest time counts.
    pub fn add(&self, new: &[Revocation]) {
        let mut by_shard: HashMap<usize, Vec<&Revocation>> = HashMap::new();
        for revocation in new {
            by_shard.entry(usize::from(revocation.subject.as_bytes()[15]) % SHARDS).or_default().push(revocation);
        }
        for (shard, new) in by_shard {
            self.shards[shard].rcu(|known| {
                let mut known = Shard::clone(known);
                for revocation in &new {
                    let until = known.entry(revocation.subject).or_insert(revocation.revoked_until);
                    *until = revocation.revoked_until.max(*until);
                }
                Arc::new(known)
            });
        }
    }

    /// Reads new revocations from the database.
    pub async fn refresh(&self, store: &Store) -> Result<(), StoreError> {
        loop {
            let page = store.sessions().revocations(self.read_up_to.load(Ordering::Relaxed), PAGE).await?;
            self.add(&page);
            if let Some(last) = page.last() {
                self.read_up_to.fetch_max(last.number, Ordering::Relaxed);
            }
            if (page.len() as i64) < PAGE {
                return Ok(());
            }
        }
    }

    /// Drops revocations whose cookies have all expired.
    pub fn remove_expired(&self, now: Timestamp) {
        let past = now.saturating_sub(SESSION_LIFETIME).unwrap_or(Timestamp::MIN);
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
    use domain::Role;
    use domain::UserId;
    use store::User;

    #[test]
    fn latest_revocation_counts_until_its_cookies_expire() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let user = User::new(UserId(Uuid::now_v7()), "mei", String::new(), Role::User, at(0));
        let session = Session::of(&user, at(1_000));
        let revocations = Revocations::new();
        let revoke = |subject, until, number| {
            revocations.add(&[Revocation { subject, revoked_until: at(until), number }]);
            revocations.has_ended(&session)
        };
        assert!(!revoke(Uuid::now_v7(), 5_000, 1), "another user");
        assert!(!revoke(user.id.0, 999, 2), "a session issued later stays valid");
        assert!(revoke(user.id.0, 1_000, 4));
        assert!(revoke(user.id.0, 500, 3), "an older revocation changes nothing");
        assert!(revoke(session.id, 1_000, 5));
        revocations.remove_expired(at(1_000) + SESSION_LIFETIME);
        assert!(revocations.has_ended(&session));
        revocations.remove_expired(at(5_001) + SESSION_LIFETIME);
        assert!(revocations.shards.iter().all(|shard| shard.load().is_empty()));
    }
}
