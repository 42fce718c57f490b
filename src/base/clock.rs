//! The clock: the system's, or a manual one that tests advance.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

/// A source of the current time. Cheap to clone; clones of a manual clock advance together.
#[derive(Clone, Debug)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    pub fn system() -> Clock {
        Clock(None)
    }

    /// A clock that stands still until it is advanced.
    pub fn manual(start: Timestamp) -> Clock {
        Clock(Some(Arc::new(AtomicI64::new(start.as_millisecond()))))
    }

    /// The current time in whole milliseconds, the precision of the database.
    pub fn now(&self) -> Timestamp {
        let ms = match &self.0 {
            Some(manual) => manual.load(Ordering::Relaxed),
            None => system_ms(),
        };
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
    }

    /// Advances a manual clock. Has no effect on the system clock.
    pub fn advance(&self, by: Duration) {
        if let Some(manual) = &self.0 {
            manual.fetch_add(by.as_millis() as i64, Ordering::Relaxed);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
fn system_ms() -> i64 {
    Timestamp::now().as_millisecond()
}
