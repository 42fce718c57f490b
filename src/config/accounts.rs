//! Accounts and sessions of staff.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::{Source, duration};

/// The least idle time: processes store uses of sessions every half minute.
const MIN_STAFF_IDLE: Duration = Duration::from_secs(60);
const DEFAULT_STAFF_IDLE: Duration = Duration::from_secs(30 * 60);

pub(super) fn admin_password(source: &Source) -> anyhow::Result<Option<SecretString>> {
    let password = source.secret("admin-password");
    let long_enough = password.as_ref().is_none_or(|p| p.expose_secret().chars().count() >= 8);
    anyhow::ensure!(long_enough, "SECKILL_ADMIN_PASSWORD has a wrong value: it needs at least 8 characters");
    Ok(password)
}

/// How long staff may leave a session unused.
pub(super) fn staff_idle(source: &Source) -> anyhow::Result<Duration> {
    source.parse("staff-idle", DEFAULT_STAFF_IDLE, |text| {
        let idle = duration(text)?;
        anyhow::ensure!(idle >= MIN_STAFF_IDLE, "expected at least one minute");
        Ok(idle)
    })
}
