//! Devices from which an account was used: kinds of browsers with their networks. They are stored only for accounts
//! with a verified address, to which mail about new devices is sent.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::any::AnyRow;

use crate::{AccountStore, NewSession, SessionRow, StoreError, Tx, mail, row};
use domain::network::Network;
use domain::{MailKind, UserId};

/// A device that was not seen for this long counts as new again.
const KEEP: Duration = Duration::from_secs(180 * 24 * 3600);

/// The network under which a device is stored.
fn network(address: &str) -> String {
    address.parse::<IpAddr>().map_or_else(|_| address.to_owned(), |address| Network::of(address).site_text())
}

/// Remembers the device of a new session. If it is a new device, sends mail to the account's address.
pub(super) async fn note(tx: &mut Tx, user: UserId, session: &NewSession) -> Result<(), sqlx::Error> {
    let verified = "SELECT 1 FROM mail_addresses WHERE user_id = $1 AND address IS NOT NULL";
    if sqlx::query(verified).bind(user.to_string()).fetch_optional(&mut **tx).await?.is_none() {
        return Ok(());
    }
    if remember(tx, user, &session.agent, &session.address).await? {
        let facts = json!({"agent": session.agent, "address": session.address});
        mail::notify(tx, user, MailKind::NewDevice, facts).await?;
    }
    Ok(())
}

/// Remembers the devices of sessions that exist when an address is verified.
pub(super) async fn remember_all(tx: &mut Tx, user: UserId, sessions: &[SessionRow]) -> Result<(), sqlx::Error> {
    for session in sessions {
        remember(tx, user, &session.agent, &session.address).await?;
    }
    Ok(())
}

/// Remembers a device. Returns whether it is new.
pub(super) async fn remember(tx: &mut Tx, user: UserId, agent: &str, address: &str) -> Result<bool, sqlx::Error> {
    let (user, now) = (user.to_string(), tx.now.as_millisecond());
    let seen = "UPDATE known_devices SET seen_at_ms = $4 WHERE user_id = $1 AND agent = $2 AND network = $3";
    let new = "INSERT INTO known_devices (user_id, agent, network, seen_at_ms) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING";
    for sql in [seen, new] {
        let query = sqlx::query(sql).bind(user.clone()).bind(agent).bind(network(address)).bind(now);
        if query.execute(&mut **tx).await?.rows_affected() == 1 {
            return Ok(sql == new);
        }
    }
    Ok(false)
}

impl AccountStore<'_> {
    /// The known devices of an account, for its export.
    pub(super) async fn known_devices_for_export(self, user: UserId) -> Result<Vec<Value>, StoreError> {
        let sql = "SELECT agent, network, seen_at_ms FROM known_devices WHERE user_id = $1 ORDER BY agent, network";
        let read = |row: &AnyRow| {
            let (agent, network) = (row::text(row, "agent")?, row::text(row, "network")?);
            Ok(json!({"agent": agent, "network": network, "seen_at": row::time(row, "seen_at_ms")?}))
        };
        self.all(sqlx::query(sql).bind(user.to_string()), read).await
    }

    pub(crate) async fn purge_known_devices(self, now: Timestamp) -> Result<(), StoreError> {
        let sql = "DELETE FROM known_devices WHERE seen_at_ms < $1";
        sqlx::query(sql).bind((now - KEEP).as_millisecond()).execute(&self.pool).await?;
        Ok(())
    }
}
