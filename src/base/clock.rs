//! The clock: the system's, corrected where it is known to be wrong, or a manual one that tests advance.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

/// A source of the current time. Cheap to clone; clones advance together, and are corrected together.
#[derive(Clone, Debug)]
pub struct Clock {
    manual: Option<Arc<AtomicI64>>,
    /// How far this host's clock is ahead of the one that the process goes by.
    offset_ms: Arc<AtomicI64>,
}

impl Clock {
    pub fn system() -> Clock {
        Clock { manual: None, offset_ms: Arc::default() }
    }

    /// A clock that stands still until it is advanced.
    pub fn manual(start: Timestamp) -> Clock {
        let manual = Some(Arc::new(AtomicI64::new(start.as_millisecond())));
        Clock { manual, offset_ms: Arc::default() }
    }

    /// The current time in whole milliseconds, the precision of the database.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.host_ms() - self.offset_ms()).unwrap_or(Timestamp::MAX)
    }

    /// What this host's clock shows, in milliseconds since 1970, wrong or not.
    pub fn host_ms(&self) -> i64 {
        self.manual.as_ref().map_or_else(system_ms, |manual| manual.load(Ordering::Relaxed))
    }

    /// How many milliseconds this host's clock is known to be ahead.
    pub fn offset_ms(&self) -> i64 {
        self.offset_ms.load(Ordering::Relaxed)
    }

    /// From now on takes this host's clock to be ahead by so many milliseconds.
    pub fn set_offset_ms(&self, ahead: i64) {
        self.offset_ms.store(ahead, Ordering::Relaxed);
    }

    /// Advances a manual clock. Has no effect on the system clock.
    pub fn advance(&self, by: Duration) {
        if let Some(manual) = &self.manual {
            manual.fetch_add(by.as_millis() as i64, Ordering::Relaxed);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
fn system_ms() -> i64 {
    Timestamp::now().as_millisecond()
}
