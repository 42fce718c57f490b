//! The ledger of wallets: transfers, their entries, and one balance per ledger account.
//!
//! [`post`] is the only function that moves money. It belongs at the end of a transaction, because other transactions
//! on the same accounts wait from there on. It locks transfers in the order of their ids and then balances in the order
//! of their accounts, so that transactions cannot deadlock.
//!
//! The shop and the provider take part in most transfers. Their balances may be negative, so nothing has to be checked
//! before they change. They are changed with the commit ([`BusyBalances`]), so they are not locked during a round trip.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::str::FromStr;

use boxed::boxed;
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::json;
use sqlx::any::AnyRow;

use crate::{StoreResult, Tx, WalletStore, column, for_rows, pair, row};
use domain::ledger::{LedgerAccount, Transfer, TransferKind};
use domain::{OrderId, PacketId, PaymentId, SaleId, UserId};

/// The outcome of posting transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Posted {
    /// All transfers are posted; `new` of them by this call.
    Done { new: usize },
    /// A balance is too low. The caller must roll the transaction back.
    NotEnough,
}

/// Posts transfers. Transfers that are posted already are skipped, so a repeated call changes nothing. The transfers of
/// one call count together: an account may spend what it receives in the same call.
///
/// # Errors
/// A transfer is not balanced, or the database failed.
pub(super) async fn post(tx: &mut Tx, transfers: &[Transfer], now: Timestamp) -> sqlx::Result<Posted> {
    if let Some(wrong) = transfers.iter().find(|transfer| !transfer.is_balanced()) {
        return Err(sqlx::Error::Encode(
            format!("the transfer {} is not balanced: {:?}", wrong.id, wrong.moves).into(),
        ));
    }
    let by_id: BTreeMap<&str, &Transfer> = transfers.iter().map(|transfer| (transfer.id.as_str(), transfer)).collect();
    let new = insert_transfers(tx, by_id.values().copied(), now).await?;
    if new.is_empty() {
        return Ok(Posted::Done { new: 0 });
    }
    let mut changes: BTreeMap<String, (LedgerAccount, i128)> = BTreeMap::new();
    for (account, amount) in new.iter().flat_map(|transfer| &transfer.moves) {
        changes.entry(account.to_string()).or_insert((*account, 0)).1 += i128::from(*amount);
    }
    let (busy, checked): (BTreeMap<_, _>, BTreeMap<_, _>) =
        changes.into_iter().partition(|(_, (account, _))| account.may_be_negative());
    let before = lock(tx, checked.keys()).await?;
    let mut after = BTreeMap::new();
    for (name, (_, change)) in checked {
        let balance = i128::from(before.get(&name).copied().unwrap_or_default()) + change;
        if balance < 0 {
            return Ok(Posted::NotEnough);
        }
        let balance = i64::try_from(balance).map_err(|e| sqlx::Error::Encode(e.into()))?;
        if change != 0 {
            after.insert(name, balance);
        }
    }
    insert_entries(tx, &new, now).await?;
    set_balances(tx, &after).await?;
    for (account, change) in busy.into_values() {
        tx.busy_balances.add(account, change)?;
    }
    let forwarded = to_deleted_accounts(tx, &new).await?;
    if !forwarded.is_empty() {
        Box::pin(post(tx, &forwarded, now)).await?;
    }
    Ok(Posted::Done { new: new.len() })
}

/// Transfers to the shop for the money that these transfers bring to deleted accounts, where it could not be spent.
/// Deletion locks the balance too. So either the deletion is complete here, or it follows these transfers and finds the
/// money.
async fn to_deleted_accounts(tx: &mut Tx, transfers: &[&Transfer]) -> sqlx::Result<Vec<Transfer>> {
    let received = transfers.iter().flat_map(|transfer| {
        let moves = transfer.moves.iter().filter(|(_, amount)| *amount > 0);
        moves.filter_map(|(account, amount)| Some((*transfer, account.user()?, *amount)))
    });
    let received: Vec<(&Transfer, UserId, i64)> = received.collect();
    let users: Vec<UserId> = received.iter().map(|(_, user, _)| *user).collect();
    let sql = "SELECT id FROM users WHERE id IN $ids AND deleted_at_ms IS NOT NULL";
    let deleted: HashSet<UserId> = tx.all_of(sql, &[], &users, column("id")).await?;
    let forwarded = received.into_iter().filter(|(_, user, _)| deleted.contains(user));
    Ok(forwarded.map(|(transfer, user, amount)| Transfer::forwarded(&transfer.id, user, amount)).collect())
}

/// The sums that a transaction adds to balances that may be negative.
#[derive(Debug, Default)]
pub(super) struct BusyBalances(BTreeMap<String, i64>);

impl BusyBalances {
    fn add(&mut self, account: LedgerAccount, change: i128) -> sqlx::Result<()> {
        let sum = self.0.entry(account.to_string()).or_default();
        *sum = i64::try_from(i128::from(*sum) + change).map_err(|e| sqlx::Error::Encode(e.into()))?;
        Ok(())
    }

    /// The statement that writes the changes; `None` if there are none. It contains only names of accounts without an
    /// id, and numbers, so it needs no parameters.
    pub(super) fn sql(&self) -> Option<String> {
        let rows: Vec<String> = self.0.iter().map(|(account, change)| format!("('{account}',{change})")).collect();
        (!rows.is_empty()).then(|| {
            format!(
                "INSERT INTO wallet_balances (account, balance) VALUES {}
                 ON CONFLICT (account) DO UPDATE SET balance = wallet_balances.balance + excluded.balance",
                rows.join(",")
            )
        })
    }
}

/// Inserts transfers and returns those that were new.
async fn insert_transfers<'a>(
    tx: &mut Tx,
    transfers: impl Iterator<Item = &'a Transfer>,
    now: Timestamp,
) -> sqlx::Result<Vec<&'a Transfer>> {
    let transfers: Vec<&Transfer> = transfers.collect();
    let sql =
        "INSERT INTO wallet_transfers (id, kind, reference, at_ms) VALUES $rows ON CONFLICT DO NOTHING RETURNING id";
    let values = |of: &&Transfer| values![&of.id, of.kind, &of.reference, now];
    let new: HashSet<String> = tx.all_in(for_rows(sql, &transfers, values), column("id")).await?;
    Ok(transfers.into_iter().filter(|transfer| new.contains(&transfer.id)).collect())
}

/// Reads balances and locks them until the end of the transaction. `accounts` must be sorted.
pub(super) async fn lock(
    tx: &mut Tx,
    accounts: impl IntoIterator<Item = &String>,
) -> sqlx::Result<BTreeMap<String, i64>> {
    let accounts: Vec<&String> = accounts.into_iter().collect();
    // This creates the row or updates it without a change. Either way it is locked from here on.
    let sql = "INSERT INTO wallet_balances (account, balance) VALUES $rows
         ON CONFLICT (account) DO UPDATE SET balance = wallet_balances.balance RETURNING account, balance";
    let rows = for_rows(sql, &accounts, |account| values![account, 0_i64]);
    tx.all_in(rows, pair("account", "balance")).await
}

async fn insert_entries(tx: &mut Tx, transfers: &[&Transfer], now: Timestamp) -> sqlx::Result<()> {
    let entries: Vec<(&str, LedgerAccount, i64)> = transfers
        .iter()
        .flat_map(|transfer| transfer.moves.iter().map(|(account, amount)| (transfer.id.as_str(), *account, *amount)))
        .collect();
    let sql = "INSERT INTO wallet_entries (transfer_id, account, amount, at_ms) VALUES $rows";
    tx.run_all(for_rows(sql, &entries, |(of, account, amount)| values![of, account, *amount, now])).await
}

/// Writes balances. Their rows exist and are locked.
async fn set_balances(tx: &mut Tx, balances: &BTreeMap<String, i64>) -> sqlx::Result<()> {
    let balances: Vec<(&String, &i64)> = balances.iter().collect();
    let sql = "INSERT INTO wallet_balances (account, balance) VALUES $rows
         ON CONFLICT (account) DO UPDATE SET balance = excluded.balance";
    tx.run_all(for_rows(sql, &balances, |(account, balance)| values![account, **balance])).await
}

// Balances and statements of ledger accounts.

/// One line of an account's statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletEntry {
    /// The transfer's id.
    pub id: String,
    pub kind: TransferKind,
    /// Minor units, negative if they left the account.
    pub amount: i64,
    pub at: Timestamp,
    pub about: Option<EntrySubject>,
}

/// The order, packet, payment or sale that a transfer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntrySubject {
    Order { sale_id: SaleId, id: OrderId },
    Packet { id: PacketId },
    Payment { id: PaymentId },
    Sale { id: SaleId },
}

/// One object of which one field is there, instead of one of four: programs read it more easily.
impl JsonSchema for EntrySubject {
    fn schema_name() -> Cow<'static, str> {
        "EntrySubject".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let subject = |fields: &[(&str, Schema)]| {
            let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            json!({"type": "object", "properties": BTreeMap::from_iter(fields.iter().cloned()), "required": names})
        };
        let (sale, order) = (generator.subschema_for::<SaleId>(), generator.subschema_for::<OrderId>());
        json_schema!({"type": "object", "properties": {
            "order": subject(&[("sale_id", sale.clone()), ("id", order)]),
            "packet": subject(&[("id", generator.subschema_for::<PacketId>())]),
            "payment": subject(&[("id", generator.subschema_for::<PaymentId>())]),
            "sale": subject(&[("id", sale)]),
        }})
    }
}

/// The cursor of a page of lines: only older lines follow. Its text is `<milliseconds>_<transfer>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryCursor {
    at_ms: i64,
    id: String,
}

impl std::fmt::Display for EntryCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.at_ms, self.id)
    }
}

impl std::str::FromStr for EntryCursor {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, id) = text.split_once('_').ok_or(())?;
        Ok(EntryCursor { at_ms: at.parse().map_err(|_| ())?, id: id.to_owned() })
    }
}

impl WalletEntry {
    pub fn cursor(&self) -> EntryCursor {
        EntryCursor { at_ms: self.at.as_millisecond(), id: self.id.clone() }
    }
}

/// What a transfer is about. The column has a text, also of ids that are numbers.
fn reference<T: FromStr>(row: &AnyRow) -> sqlx::Result<T> {
    row::text(row, "reference")?.parse().map_err(|_| row::undecodable("reference"))
}

fn entry(row: &AnyRow) -> sqlx::Result<WalletEntry> {
    let kind: TransferKind = row::get(row, "kind")?;
    let about = match kind {
        TransferKind::TopUp => Some(EntrySubject::Payment { id: reference(row)? }),
        TransferKind::Pay | TransferKind::Refund => match row::get(row, "sale_id")? {
            Some(sale_id) => Some(EntrySubject::Order { sale_id, id: reference(row)? }),
            None => None,
        },
        TransferKind::Fund | TransferKind::Claim | TransferKind::Return => {
            Some(EntrySubject::Packet { id: reference(row)? })
        }
        TransferKind::Deposit | TransferKind::DepositReturn => Some(EntrySubject::Sale { id: reference(row)? }),
        TransferKind::GiveUp => None,
    };
    read!(row => WalletEntry { id: "transfer_id", kind = kind, amount, at: "at_ms", about = about })
}

#[boxed]
impl WalletStore<'_> {
    /// The balance of an account, in minor units.
    pub async fn balance(self, account: LedgerAccount) -> StoreResult<i64> {
        let query = query!("SELECT balance FROM wallet_balances WHERE account = $1"; account);
        Ok(self.optional(query, column("balance")).await?.unwrap_or_default())
    }

    /// The lines of an account, newest first, older than `before`.
    pub async fn entries(
        self,
        account: LedgerAccount,
        before: Option<&EntryCursor>,
        limit: i64,
    ) -> StoreResult<Vec<WalletEntry>> {
        let (at, id) = before.map_or((i64::MAX, ""), |cursor| (cursor.at_ms, cursor.id.as_str()));
        let sql = "SELECT e.transfer_id, e.amount, e.at_ms, t.kind, t.reference, o.sale_id
             FROM wallet_entries e JOIN wallet_transfers t ON t.id = e.transfer_id
               LEFT JOIN orders o ON t.kind IN ('pay', 'refund') AND o.id = t.reference
             WHERE e.account = $1 AND e.at_ms <= $2 AND (e.at_ms < $2 OR e.transfer_id < $3)
             ORDER BY e.at_ms DESC, e.transfer_id DESC LIMIT $4";
        self.all(query!(sql; account, at, id, limit), entry).await
    }
}

#[cfg(test)]
mod tests {
    use sqlx::AssertSqlSafe;
    use uuid::Uuid;

    use super::*;
    use crate::Store;
    use crate::fixture::new_store;
    use base::clock::Clock;
    use domain::ledger::TransferKind;
    use domain::{PacketId, UserId};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;
    const PACKET: LedgerAccount = LedgerAccount::Packet(PacketId(1));

    fn new_user() -> LedgerAccount {
        LedgerAccount::User(UserId(Uuid::now_v7()))
    }

    /// Posts transfers like a caller: commits unless the balance is too low.
    async fn posted(store: &Store, transfers: &[Transfer]) -> sqlx::Result<Posted> {
        let mut tx = store.begin().await.unwrap();
        let posted = post(&mut tx, transfers, NOW).await?;
        if posted != Posted::NotEnough {
            tx.commit().await?;
        }
        Ok(posted)
    }

    async fn mismatches(store: &Store) -> Vec<String> {
        store.audit().snapshot(Default::default()).await.unwrap().wallet_mismatches().await.unwrap()
    }

    async fn change(store: &Store, sql: &str) {
        store.run(query!(AssertSqlSafe(sql.to_owned()))).await.unwrap();
    }

    #[tokio::test]
    async fn transfers_are_posted_once_and_balances_stay_positive() {
        let (_dir, store) = new_store(&Clock::system()).await;
        let (a, b) = (new_user(), new_user());
        let top_up = Transfer::simple(TransferKind::TopUp, "p1", 100, LedgerAccount::Provider, a);
        assert_eq!(posted(&store, std::slice::from_ref(&top_up)).await.unwrap(), Posted::Done { new: 1 });
        let fund = Transfer::simple(TransferKind::Fund, 1, 70, a, PACKET);
        assert_eq!(posted(&store, &[top_up.clone(), fund.clone(), fund]).await.unwrap(), Posted::Done { new: 1 });
        let spend = Transfer::simple(TransferKind::Pay, "o1", 31, a, LedgerAccount::Shop);
        assert_eq!(posted(&store, std::slice::from_ref(&spend)).await.unwrap(), Posted::NotEnough);
        // Money received in a call may be spent in the same call.
        let share = Transfer::simple(TransferKind::Claim, "1:a", 1, PACKET, a);
        assert_eq!(posted(&store, &[spend, share]).await.unwrap(), Posted::Done { new: 2 });
        assert_eq!(posted(&store, &[]).await.unwrap(), Posted::Done { new: 0 });
        let mut balances = Vec::new();
        for account in [a, b, PACKET, LedgerAccount::Shop, LedgerAccount::Provider] {
            balances.push(store.wallet().balance(account).await.unwrap());
        }
        assert_eq!(balances, [0, 0, 69, 31, -100]);
        assert_eq!(mismatches(&store).await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn unbalanced_transfer_is_refused() {
        let (_dir, store) = new_store(&Clock::system()).await;
        let mut wrong = Transfer::simple(TransferKind::TopUp, "p1", 100, LedgerAccount::Provider, new_user());
        wrong.moves[0].1 = -99;
        let error = posted(&store, &[wrong]).await.unwrap_err();
        assert!(error.to_string().contains("topup:p1"), "{error}");
        let huge = |n: u32| Transfer::simple(TransferKind::TopUp, n, i64::MAX, LedgerAccount::Provider, PACKET);
        posted(&store, &[huge(1), huge(2)]).await.unwrap_err();
        assert_eq!(store.wallet().balance(PACKET).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn thousand_transfers_are_posted_in_one_call() {
        let (_dir, store) = new_store(&Clock::system()).await;
        let users: Vec<LedgerAccount> = (0..1200).map(|_| new_user()).collect();
        let fund = Transfer::simple(TransferKind::Fund, 1, 1200 * 3, LedgerAccount::Shop, PACKET);
        posted(&store, &[fund]).await.unwrap();
        let claim = |account: &LedgerAccount| {
            Transfer::simple(TransferKind::Claim, format!("1:{account}"), 3, PACKET, *account)
        };
        // A real reference is the packet alone. That does not matter here.
        let claims: Vec<Transfer> = users.iter().map(claim).collect();
        assert_eq!(posted(&store, &claims[..700]).await.unwrap(), Posted::Done { new: 700 });
        assert_eq!(posted(&store, &claims).await.unwrap(), Posted::Done { new: 500 });
        for account in [users[0], users[699], users[1199]] {
            assert_eq!(store.wallet().balance(account).await.unwrap(), 3);
        }
        assert_eq!(store.wallet().balance(PACKET).await.unwrap(), 0);
        assert_eq!(mismatches(&store).await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn audit_reports_every_inconsistency() {
        let (_dir, store) = new_store(&Clock::system()).await;
        let a = new_user();
        for n in 1..=3 {
            posted(&store, &[Transfer::simple(TransferKind::TopUp, n, 10, LedgerAccount::Provider, a)]).await.unwrap();
        }
        change(&store, "UPDATE wallet_balances SET balance = balance + 1 WHERE account <> 'provider'").await;
        assert_eq!(mismatches(&store).await, [format!("account {a} has balance 31, its entries sum to 30")]);
        change(&store, "UPDATE wallet_balances SET balance = balance - 1 WHERE account <> 'provider'").await;
        change(&store, "DELETE FROM wallet_entries WHERE transfer_id = 'topup:1' AND account = 'provider'").await;
        change(&store, "DELETE FROM wallet_entries WHERE transfer_id = 'topup:2'").await;
        change(&store, "DELETE FROM wallet_balances WHERE account <> 'provider'").await;
        let mut wrong = mismatches(&store).await;
        wrong.sort();
        assert_eq!(
            wrong,
            [
                "account provider has balance -30, its entries sum to -10".into(),
                format!("account {a} has entries and no balance"),
                "transfer topup:1 sums to 10".into(),
                "transfer topup:2 sums to nothing: it has no entries".into(),
            ]
        );
    }

    #[tokio::test]
    async fn statement_is_read_page_by_page() {
        let (_dir, store) = new_store(&Clock::system()).await;
        let a = new_user();
        let top_up =
            |n: i64| Transfer::simple(TransferKind::TopUp, Uuid::from_u128(n as u128), n, LedgerAccount::Provider, a);
        // Several lines have the same time, so the cursor includes the transfer's id.
        posted(&store, &[top_up(1), top_up(2), top_up(3)]).await.unwrap();
        posted(&store, &[Transfer::simple(TransferKind::Fund, 7, 6, a, PACKET)]).await.unwrap();
        let (mut amounts, mut cursor) = (Vec::new(), None);
        loop {
            let page = store.wallet().entries(a, cursor.as_ref(), 2).await.unwrap();
            let Some(last) = page.last() else { break };
            cursor = Some(last.cursor());
            amounts.extend(page.iter().map(|entry| entry.amount));
        }
        amounts.sort_unstable();
        assert_eq!(amounts, [-6, 1, 2, 3]);
        let all = store.wallet().entries(a, None, 10).await.unwrap();
        assert!(all.iter().any(|entry| entry.about == Some(EntrySubject::Packet { id: PacketId(7) })));
    }
}
