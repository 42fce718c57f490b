//! Accounts and sessions of staff.

use std::time::Duration;

use anyhow::Context;
use secrecy::{ExposeSecret, SecretString};

use super::{Source, duration};

const DEFAULT_STAFF_IDLE: Duration = Duration::from_secs(30 * 60);
const DEFAULT_STAFF_STEP_UP: Duration = Duration::from_secs(15 * 60);
/// Whole units of a currency: two of the demo's phones, and not three.
const DEFAULT_SECOND_PERSON_ABOVE: i64 = 5_000;
const MAX_SECOND_PERSON_ABOVE: i64 = 1_000_000_000;
const DEFAULT_FREE_REGISTRATIONS: u32 = 10;
/// Upper limit of the setting: more accounts than a network registers in an hour.
const MAX_FREE_REGISTRATIONS: u32 = 1_000_000;
/// The minimum of both settings: processes store uses of sessions every half minute, and filling in a form takes less
/// than this.
const MIN: Duration = Duration::from_secs(60);

pub(super) fn admin_password(source: &Source) -> anyhow::Result<Option<SecretString>> {
    let password = source.secret("admin-password");
    let long_enough = password.as_ref().is_none_or(|p| p.expose_secret().chars().count() >= 8);
    anyhow::ensure!(long_enough, "SECKILL_ADMIN_PASSWORD has a wrong value: it needs at least 8 characters");
    Ok(password)
}

/// How long staff may leave a session unused.
pub(super) fn staff_idle(source: &Source) -> anyhow::Result<Duration> {
    a_minute_or_more(source, "staff-idle", DEFAULT_STAFF_IDLE)
}

/// How long staff are not asked for their password again after they entered it.
pub(super) fn staff_step_up(source: &Source) -> anyhow::Result<Duration> {
    a_minute_or_more(source, "staff-step-up", DEFAULT_STAFF_STEP_UP)
}

/// What one person may refund alone within a day, in whole units of the payment's currency. `None`: no limit.
pub(super) fn second_person_above(source: &Source) -> anyhow::Result<Option<i64>> {
    source.parse("second-person-above", Some(DEFAULT_SECOND_PERSON_ABOVE), |text| match text {
        "off" => Ok(None),
        text => {
            let parsed = text.parse().ok().filter(|units| (0..=MAX_SECOND_PERSON_ABOVE).contains(units));
            parsed
                .map(Some)
                .with_context(|| format!("expected off, or a whole number from 0 to {MAX_SECOND_PERSON_ABOVE}"))
        }
    })
}

/// Accounts that a host registers within an hour without a proof of work.
pub(super) fn free_registrations(source: &Source) -> anyhow::Result<u32> {
    source.parse("free-registrations", DEFAULT_FREE_REGISTRATIONS, |text| {
        let parsed = text.parse().ok().filter(|free| (1..=MAX_FREE_REGISTRATIONS).contains(free));
        parsed.with_context(|| format!("expected a whole number from 1 to {MAX_FREE_REGISTRATIONS}"))
    })
}

fn a_minute_or_more(source: &Source, name: &str, default: Duration) -> anyhow::Result<Duration> {
    source.parse(name, default, |text| {
        let parsed = duration(text)?;
        anyhow::ensure!(parsed >= MIN, "expected at least one minute");
        Ok(parsed)
    })
}
