//! What belongs to an account, for its owner: the export of everything, and the deletion.

use boxed::boxed;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::accounts::{self, sessions, tombstone};
use crate::packets::claims::UNCLAIMED;
use crate::{
    AccountStore, Deposit, EntryCursor, FoundQuestion, Mail, PartialRefund, PaymentRecord, Revocation, SessionRow,
    StoreResult, Tx, WalletEntry, column, deposits, reminders, wallet,
};
use domain::invoice::Invoice;
use domain::ledger::{LedgerAccount, Transfer, TransferKind, money};
use domain::packet::{Giver, Packet};
use domain::{AccountLink, DrawEntry, GoodsReturn, OrderHold, Parcel, SaleId, UserId, Waiter, WaitingRoomPlace};

/// Rows per query.
const PAGE: i64 = 500;

#[boxed]
impl AccountStore<'_> {
    /// Account, mail, orders with histories, payments and addresses, the address book, wallet, red packets, places in
    /// waiting rooms, entries of draws, waitlists, reminders, subscribed browsers, groups and invitations of sales,
    /// links, questions, saved views, sessions, and passkeys without their keys. `None` if there is no such account.
    pub async fn export_of(self, id: UserId, now: Timestamp) -> StoreResult<Option<Value>> {
        let Some(user) = self.user(id).await? else { return Ok(None) };
        Ok(Some(json!({
            "exported_at": now,
            "account": {
                "id": user.id, "username": user.username, "role": user.role.as_str(),
                "created_at": user.created_at, "logged_in_at": user.logged_in_at,
                "blocked_at": user.blocked_at, "blocked_reason": user.blocked_reason,
                "second_factor": user.second_factor.is_some(),
            },
            "mail": self.mail_for_export(id).await?,
            "orders": self.orders_for_export(id).await?,
            "addresses": self.addresses_of(id).await?,
            "wallet": {
                "balance": money(self.wallet().balance(LedgerAccount::User(id)).await?),
                "entries": self.entries_for_export(id).await?,
                "deposits": list(self.deposits().deposits_of(id).await?, deposit_json),
            },
            "packets": {
                "given": self.packets_given_for_export(id).await?,
                "received": self.packets_received_for_export(id).await?,
            },
            "push": self.push().push_for_export(id).await?,
            "reminders": self.reminders().reminders_for_export(id).await?,
            "queue_places": list(self.waiting_rooms().places_of(id).await?, place_json),
            "draw_entries": list(self.draws().draw_entries_of(id).await?, draw_entry_json),
            "waitlists": list(self.waitlists().waiters_of(id).await?, waiter_json),
            "eligibility": self.eligibility_for_export(id).await?,
            "signals": list(self.linked_accounts().links_of(id).await?, link_json),
            "questions": self.questions_for_export(id).await?,
            "saved_views": list(self.saved_views().views_for_export(id).await?, |view| {
                json!({"list": view.list, "name": view.name, "query": view.query})
            }),
            "sessions": list(self.sessions().sessions_of(id, now).await?, session_json),
            "passkeys": list(self.credentials().passkeys_of(id).await?, |passkey| {
                json!({"name": passkey.name, "created_at": passkey.created_at, "used_at": passkey.used_at})
            }),
        })))
    }

    async fn mail_for_export(self, id: UserId) -> StoreResult<Value> {
        let mail = self.mail_of(id).await?;
        let message = |mail: Mail| {
            json!({
                "to": mail.recipient, "about": mail.kind.as_str(), "facts": mail.facts, "created_at": mail.created_at,
                "state": mail.state.as_str(),
            })
        };
        Ok(json!({
            "address": mail.as_ref().and_then(|mail| mail.address.as_deref()),
            "verified_at": mail.as_ref().and_then(|mail| mail.verified_at),
            "pending": mail.as_ref().and_then(|mail| mail.pending.as_deref()),
            "messages": list(self.mail().mails_of(id).await?, message),
            "known_devices": self.known_devices_for_export(id).await?,
        }))
    }

    async fn orders_for_export(self, id: UserId) -> StoreResult<Vec<Value>> {
        let mut exported = Vec::new();
        let mut before = None;
        loop {
            let page = self.orders().orders_of(id, &[], before, PAGE).await?;
            let parcels = self.orders().parcels_of(&page.iter().map(|order| order.id).collect::<Vec<_>>()).await?;
            for order in &page {
                exported.push(json!({
                    "id": order.id, "number": order.number, "sale_id": order.sale_id, "quantity": order.quantity, "amount": order.amount,
                    "shipping": order.shipping,
                    "status": order.status, "reason": order.reason, "address": order.address,
                    "message": order.message, "reserved_at": order.reserved_at,
                    "history": self.orders().history(order).await?,
                    "holds": self.orders().holds_of(order.id).await?.iter().map(hold_json).collect::<Vec<_>>(),
                    "parcel": parcels.get(&order.id).map(parcel_json),
                    "return": self.orders().return_of(order.id).await?.map(return_json),
                    "invoice": self.orders().invoice_of(order.id).await?.map(invoice_json),
                    "payments": self.payments().payments_of(order.id).await?.iter().map(payment_json).collect::<Vec<_>>(),
                }));
            }
            match page.last() {
                Some(last) if page.len() as i64 == PAGE => before = Some(last.id),
                _ => return Ok(exported),
            }
        }
    }

    async fn packets_given_for_export(self, id: UserId) -> StoreResult<Value> {
        let page =
            |before: Option<Packet>| async move { self.packets().given(Giver::User(id), before.as_ref(), PAGE).await };
        Ok(list(all_pages(page, Packet::clone).await?, packet_json))
    }

    async fn packets_received_for_export(self, id: UserId) -> StoreResult<Value> {
        let page = |before| self.packets().received(id, before, PAGE);
        let claims = all_pages(page, |(claim, packet)| (claim.claimed_at, packet.id)).await?;
        Ok(list(claims, |(claim, packet)| {
            json!({
                "packet_id": packet.id, "greeting": packet.greeting, "amount": money(claim.amount),
                "claimed_at": claim.claimed_at,
            })
        }))
    }

    async fn questions_for_export(self, id: UserId) -> StoreResult<Value> {
        let page = |before| self.questions().questions_of(id, before, PAGE);
        let questions = all_pages(page, |found| found.question.id).await?;
        Ok(list(questions, |FoundQuestion { question, .. }| {
            json!({
                "id": question.id, "goods_id": question.goods_id, "sale_id": question.sale_id,
                "locale": question.locale, "text": question.text, "asked_at": question.asked_at,
                "status": question.status, "answer": question.answer, "answered_at": question.answered_at,
            })
        }))
    }

    async fn eligibility_for_export(self, id: UserId) -> StoreResult<Value> {
        let groups = list(
            self.eligibility().all_groups_of(id).await?,
            |(sale, group, at)| json!({"sale_id": sale, "kind": group.kind, "digest": group.digest, "claimed_at": at}),
        );
        let invitations = self.eligibility().invitations_of(id).await?;
        let invitations = list(invitations, |(sale, at)| json!({"sale_id": sale, "redeemed_at": at}));
        Ok(json!({"groups": groups, "invitations": invitations}))
    }

    async fn entries_for_export(self, id: UserId) -> StoreResult<Value> {
        let page = |before: Option<EntryCursor>| async move {
            self.wallet().entries(LedgerAccount::User(id), before.as_ref(), PAGE).await
        };
        Ok(list(all_pages(page, WalletEntry::cursor).await?, entry_json))
    }
}

/// The rows of all pages. A page begins after the cursor of the last row of the page before.
async fn all_pages<T, C, F: Future<Output = StoreResult<Vec<T>>>>(
    mut page: impl FnMut(Option<C>) -> F,
    cursor: impl Fn(&T) -> C,
) -> StoreResult<Vec<T>> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let rows = page(before).await?;
        let is_full = rows.len() as i64 == PAGE;
        all.extend(rows);
        if !is_full {
            return Ok(all);
        }
        before = all.last().map(&cursor);
    }
}

fn list<T>(rows: Vec<T>, json: impl Fn(T) -> Value) -> Value {
    rows.into_iter().map(json).collect()
}

fn session_json(session: SessionRow) -> Value {
    json!({
        "id": session.id, "created_at": session.created_at, "seen_at": session.seen_at, "address": session.address,
        "agent": session.agent,
    })
}

fn place_json((sale, WaitingRoomPlace { entry, place, joined_at, called_at }): (SaleId, WaitingRoomPlace)) -> Value {
    json!({
        "sale_id": sale, "entry": entry, "segment": place.segment, "number": place.number, "joined_at": joined_at,
        "called_at": called_at,
    })
}

fn draw_entry_json((sale, entry): (SaleId, DrawEntry)) -> Value {
    json!({
        "sale_id": sale, "entry": entry.id, "entered_at": entry.entered_at, "state": entry.state,
        "reason": entry.reason, "rank": entry.rank, "order_id": entry.order_id,
    })
}

fn waiter_json((sale, waiter): (SaleId, Waiter)) -> Value {
    json!({
        "sale_id": sale, "quantity": waiter.quantity, "joined_at": waiter.joined_at, "state": waiter.state,
        "order_id": waiter.order_id,
    })
}

fn link_json((sale, noted): (Option<SaleId>, AccountLink)) -> Value {
    json!({"sale_id": sale, "kind": noted.link.kind, "digest": noted.link.digest, "at": noted.at})
}

fn deposit_json(deposit: Deposit) -> Value {
    json!({
        "sale_id": deposit.sale_id, "amount": money(deposit.amount), "held_at": deposit.held_at,
        "returned_at": deposit.returned_at,
    })
}

/// A return as the order's owner sees it, without the names of the staff.
fn return_json(GoodsReturn { state, request, asked_at, answer, label, receipt }: GoodsReturn) -> Value {
    json!({
        "state": state, "reason": request.reason, "note": request.note, "asked_at": asked_at,
        "answer": answer.as_ref().map(|answer| &answer.words), "answered_at": answer.as_ref().map(|answer| answer.at),
        "carrier": label.carrier, "number": label.number, "received_at": receipt.as_ref().map(|receipt| receipt.at),
        "refund": receipt.as_ref().map(|receipt| receipt.refund),
    })
}

fn invoice_json(invoice: Invoice) -> Value {
    json!({
        "title": invoice.to.title, "tax_number": invoice.to.tax_number, "asked_at": invoice.asked_at,
        "issued_at": invoice.issued.map(|(at, _)| at),
    })
}

fn parcel_json(parcel: &Parcel) -> Value {
    let steps = parcel.steps.iter().map(
        |step| json!({"state": step.state, "carrier": step.label.carrier, "number": step.label.number, "at": step.at}),
    );
    steps.collect()
}

/// A hold as the order's owner sees it, without the names of the staff.
fn hold_json(hold: &OrderHold) -> Value {
    let appeals = hold.appeals.iter().map(|appeal| {
        let answer = appeal.answer.as_ref();
        json!({
            "text": appeal.text, "sent_at": appeal.sent_at, "answer": answer.map(|given| given.answer),
            "answered_at": answer.map(|given| given.at), "answer_reason": answer.and_then(|given| given.reason.as_deref()),
        })
    });
    let end = hold.end.as_ref();
    json!({
        "reason": hold.reason, "held_at": hold.held_at, "outcome": end.map(|end| end.outcome),
        "ended_at": end.map(|end| end.at), "end_reason": end.and_then(|end| end.reason.as_deref()),
        "appeals": appeals.collect::<Vec<_>>(),
    })
}

fn entry_json(entry: WalletEntry) -> Value {
    json!({
        "id": entry.id, "kind": entry.kind, "amount": money(entry.amount), "at": entry.at, "about": entry.about,
    })
}

fn packet_json(packet: Packet) -> Value {
    json!({
        "id": packet.id, "total": money(packet.total), "count": packet.count, "greeting": packet.greeting,
        "created_at": packet.created_at, "opens_at": packet.opens_at, "expires_at": packet.expires_at,
        "settled_at": packet.settled_at, "claimed": packet.claimed, "claimed_amount": money(packet.claimed_amount),
    })
}

fn partial_refund_json(part: &PartialRefund) -> Value {
    json!({
        "id": part.id, "amount": part.amount, "to": part.to(), "message": part.message,
        "requested_at": part.requested_at, "refunded_at": part.refunded_at,
    })
}

fn payment_json(record: &PaymentRecord) -> Value {
    json!({
        "id": record.payment.id, "provider": record.payment.provider, "amount": record.payment.amount,
        "status": record.payment.status.as_str(), "created_at": record.created_at, "captured_at": record.captured_at,
        "refunded_at": record.refunded_at,
        "partial_refunds": record.partial_refunds.iter().map(partial_refund_json).collect::<Vec<_>>(),
    })
}

// Deleting an account: personal data is deleted, and the row to which its orders belong stays.

/// The outcome of deleting an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionOutcome {
    Done(Revocation),
    /// An order is unpaid, a refund is pending, or a return is open.
    OrdersOpen,
    /// The wallet has a balance, or may get back the rest of an open packet, and the owner has not given up this money.
    WalletNotEmpty,
    /// The account is of the staff. It must be dismissed first.
    IsStaff,
    Gone,
}

#[boxed]
impl AccountStore<'_> {
    /// Deletes all personal data of an account and keeps the row to which its orders belong. With `give_up` the balance
    /// of the wallet goes to the shop, and so does money that returns later from open packets ([`wallet`]).
    pub async fn delete_account(self, id: UserId, give_up: bool, now: Timestamp) -> StoreResult<DeletionOutcome> {
        let mut tx = self.begin().await?;
        let number = sessions::next_number(&mut tx).await?;
        let Some(user) = accounts::read(&mut tx, id).await?.filter(|user| user.deleted_at.is_none()) else {
            return Ok(DeletionOutcome::Gone);
        };
        if user.role.is_staff() {
            return Ok(DeletionOutcome::IsStaff);
        }
        let open = "SELECT 1 FROM orders WHERE user_id = $1 AND (status IN ('unpaid', 'refund_pending')
             OR status = 'paid' AND (return_state IN ('asked', 'accepted') OR EXISTS (SELECT 1 FROM partial_refunds
               WHERE order_id = orders.id AND refunded_at_ms IS NULL))) LIMIT 1";
        if tx.exists(query!(open; id)).await? {
            return Ok(DeletionOutcome::OrdersOpen);
        }
        if !empty_wallet(&mut tx, id, give_up, now).await? {
            return Ok(DeletionOutcome::WalletNotEmpty);
        }
        let ended = sessions::end_all(&mut tx, number, id, now).await?;
        let sql = "UPDATE users SET username = $2, username_key = $3, password_hash = '', second_factor = NULL,
               blocked_reason = NULL, logged_in_at_ms = NULL, deleted_at_ms = $4 WHERE id = $1";
        tx.run(query!(sql; id, format!("deleted-{}", &id.to_string()[28..]), tombstone(&user.username), now)).await?;
        reminders::remove_all(&mut tx, id).await?;
        // There is one statement for each other table with personal data.
        for sql in [
            "DELETE FROM recovery_codes WHERE user_id = $1",
            "DELETE FROM passkeys WHERE user_id = $1",
            "DELETE FROM sessions WHERE user_id = $1",
            "DELETE FROM push_subscriptions WHERE user_id = $1",
            "DELETE FROM addresses WHERE user_id = $1",
            "DELETE FROM mail_addresses WHERE user_id = $1",
            "DELETE FROM mails WHERE user_id = $1",
            "DELETE FROM known_devices WHERE user_id = $1",
            "DELETE FROM sale_groups WHERE user_id = $1",
            // A used code stays used: it is revoked.
            "UPDATE invitations SET revoked_at_ms = COALESCE(revoked_at_ms, redeemed_at_ms), user_id = NULL WHERE user_id = $1",
            "DELETE FROM account_signals WHERE user_id = $1",
            "DELETE FROM saved_views WHERE user_id = $1",
            // Answered questions stay on the pages, without the account.
            "DELETE FROM questions WHERE user_id = $1 AND status <> 'answered'",
            "UPDATE questions SET user_id = NULL WHERE user_id = $1",
            "UPDATE hold_appeals SET text = '' WHERE hold_id IN (SELECT id FROM order_holds WHERE order_id IN
               (SELECT id FROM orders WHERE user_id = $1))",
            "UPDATE goods_returns SET note = '' WHERE order_id IN (SELECT id FROM orders WHERE user_id = $1)",
            // An issued invoice is a record of the shop's taxes.
            "DELETE FROM invoices WHERE issued_at_ms IS NULL AND order_id IN (SELECT id FROM orders WHERE user_id = $1)",
            // Stored responses contain addresses and amounts.
            "DELETE FROM idempotency_keys WHERE user_id = $1",
        ] {
            tx.run(query!(sql; id)).await?;
        }
        // A paid order still has to be delivered.
        let sql = "UPDATE orders SET address = NULL WHERE user_id = $1 AND status <> 'paid' AND address IS NOT NULL";
        tx.run(query!(sql; id)).await?;
        // Cached pages of the orders show the name of their owner.
        for order in tx.all(query!("SELECT id FROM orders WHERE user_id = $1"; id), column("id")).await? {
            tx.changes.edited(order);
        }
        tx.commit_and(DeletionOutcome::Done(ended)).await
    }
}

/// Empties the wallet. Returns `false` if it has a balance, or money in open packets, that is not given up. Packets are
/// funded from the balance, so they are read once it is locked.
async fn empty_wallet(tx: &mut Tx, id: UserId, give_up: bool, now: Timestamp) -> sqlx::Result<bool> {
    let account = LedgerAccount::User(id);
    let held = deposits::of_user(tx, id).await?;
    deposits::mark_returned(tx, &held).await?;
    let mut accounts = vec![account.to_string()];
    if !held.is_empty() {
        accounts.insert(0, LedgerAccount::Deposit(id).to_string());
    }
    // Deposits come back in the same call, so their money counts as well.
    let balance: i64 = wallet::lock(tx, &accounts).await?.into_values().sum();
    let in_packets: i64 = tx.one(query!(UNCLAIMED; id), column("amount")).await?;
    let mut transfers = deposits::transfers(&held);
    if balance > 0 && give_up {
        transfers.push(Transfer::simple(TransferKind::GiveUp, id, balance, account, LedgerAccount::Shop));
    }
    wallet::post(tx, &transfers, now).await?;
    Ok(give_up || balance == 0 && in_packets == 0)
}
