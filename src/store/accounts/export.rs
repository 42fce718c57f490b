//! Everything that the shop knows about one person, for that person.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::domain::UserId;
use crate::domain::wallet::{Account, money};
use crate::store::{Mark, PaymentRecord, Store, StoreError, WalletEntry};

/// Orders that are read at once.
const PAGE: i64 = 500;

impl Store {
    /// Account, orders with their histories, payments and addresses, kept addresses, wallet, and sessions. `None` for
    /// nobody.
    pub async fn export_of(&self, id: UserId, now: Timestamp) -> Result<Option<Value>, StoreError> {
        let Some(user) = self.user(id).await? else { return Ok(None) };
        let sessions = self.sessions_of(id, now).await?.into_iter().map(|session| {
            json!({
                "id": session.id, "created_at": session.created_at, "seen_at": session.seen_at,
                "address": session.address, "agent": session.agent,
            })
        });
        Ok(Some(json!({
            "exported_at": now,
            "account": {
                "id": user.id, "username": user.username, "role": user.role.as_str(),
                "created_at": user.created_at, "logged_in_at": user.logged_in_at,
                "blocked_at": user.blocked_at, "blocked_reason": user.blocked_reason,
                "second_factor": user.second_factor.is_some(),
            },
            "orders": self.orders_for_export(id).await?,
            "addresses": self.addresses_of(id).await?,
            "wallet": {
                "balance": money(self.wallet_balance(Account::User(id)).await?),
                "entries": self.entries_for_export(id).await?,
            },
            "sessions": sessions.collect::<Vec<_>>(),
        })))
    }

    async fn orders_for_export(&self, id: UserId) -> Result<Vec<Value>, StoreError> {
        let mut exported = Vec::new();
        let mut before = None;
        loop {
            let page = self.orders_of(id, &[], before, PAGE).await?;
            for order in &page {
                exported.push(json!({
                    "id": order.id, "sale_id": order.sale_id, "quantity": order.quantity, "amount": order.amount,
                    "status": order.status, "reason": order.reason, "address": order.address,
                    "message": order.message, "reserved_at": order.reserved_at,
                    "history": self.history(order).await?,
                    "payments": self.payments_of(order.id).await?.iter().map(told).collect::<Vec<_>>(),
                }));
            }
            match page.last() {
                Some(last) if page.len() as i64 == PAGE => before = Some(last.id),
                _ => return Ok(exported),
            }
        }
    }

    async fn entries_for_export(&self, id: UserId) -> Result<Vec<Value>, StoreError> {
        let mut exported = Vec::new();
        let mut before: Option<Mark> = None;
        loop {
            let page = self.wallet_entries(Account::User(id), before.as_ref(), PAGE).await?;
            exported.extend(page.iter().map(line));
            match page.last() {
                Some(last) if page.len() as i64 == PAGE => before = Some(last.mark()),
                _ => return Ok(exported),
            }
        }
    }
}

fn line(entry: &WalletEntry) -> Value {
    json!({
        "id": entry.id, "kind": entry.kind, "amount": money(entry.amount), "at": entry.at, "about": entry.about,
    })
}

fn told(paid: &PaymentRecord) -> Value {
    json!({
        "id": paid.payment.id, "provider": paid.payment.provider, "amount": paid.payment.amount,
        "status": paid.payment.status.as_str(), "created_at": paid.created_at, "captured_at": paid.captured_at,
        "refunded_at": paid.refunded_at,
    })
}
