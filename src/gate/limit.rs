//! How often one user may ask to buy. Nobody's limit depends on what others do.

use std::num::NonZeroU32;

use foldhash::fast::RandomState;
use governor::clock::DefaultClock;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::domain::UserId;

/// Tries that a user may make at once before the rate counts: a double click, a reload and a second tab.
const BURST: NonZeroU32 = NonZeroU32::new(10).expect("ten is not zero");

pub(crate) struct UserLimit {
    users: RateLimiter<UserId, DashMapStateStore<UserId, RandomState>, DefaultClock>,
}

impl UserLimit {
    pub(crate) fn new(per_second: u32) -> UserLimit {
        let rate = NonZeroU32::new(per_second).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(rate).allow_burst(BURST.max(rate));
        let (clock, hasher) = (DefaultClock::default(), RandomState::default());
        UserLimit { users: RateLimiter::dashmap_with_clock_and_hasher(quota, clock, hasher) }
    }

    pub(crate) fn allows(&self, user: UserId) -> bool {
        self.users.check_key(&user).is_ok()
    }

    /// Forgets users who have not asked for a while.
    pub(crate) fn forget_idle(&self) {
        self.users.retain_recent();
    }
}
