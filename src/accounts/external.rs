//! Shoppers of another shop. Its server names a customer, who gets an account without a password here, and lets the
//! customer in by an entry token: signed, valid for five minutes, and once.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Mutex;

use boxed::boxed;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::{AccountRefusal, Accounts, Device, Session};
use base::locked;
use domain::{SaleId, UserId};
use store::ExternalAccount;

/// How long an entry token lives: the time of a redirect, on a slow telephone.
const ENTRY_LIFETIME: SignedDuration = SignedDuration::from_mins(5);
/// Customers whose account this process remembers. Each takes some hundred bytes.
const MAX_REMEMBERED: usize = 100_000;
/// The longest id of a customer, in bytes.
const MAX_EXTERNAL_ID: usize = 64;
/// How the ids of visitors begin whom no shop names.
const ANONYMOUS: &str = "anonymous-";
/// The first word of an entry token's payload, its format.
const FORMAT: &str = "1";

/// What another shop says about its customer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedShopper {
    pub id: String,
    /// Since when the other shop has known the customer.
    pub since: Option<Timestamp>,
    /// Whether it has verified how it reaches the customer. `None`: it does not say.
    pub verified: Option<bool>,
}

/// Where an entry leads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryTarget {
    pub sale: Option<SaleId>,
    /// Where the other shop wants its customer back, as it says. Whoever redirects there has to check it.
    pub return_url: Option<String>,
}

/// The accounts of customers as this process last read them.
#[derive(Default)]
pub(crate) struct Remembered(Mutex<HashMap<String, (UserId, Timestamp)>>);

impl Remembered {
    fn get(&self, id: &str) -> Option<(UserId, Timestamp)> {
        locked(&self.0).get(id).copied()
    }

    fn put(&self, id: &str, account: UserId, read_at: Timestamp) {
        let mut all = locked(&self.0);
        if all.len() >= MAX_REMEMBERED {
            all.clear();
        }
        all.insert(id.to_owned(), (account, read_at));
    }
}

/// Whether a text can be the id of a customer.
pub fn is_external_id(text: &str) -> bool {
    (1..=MAX_EXTERNAL_ID).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether another shop may name a customer by this id. The id of an anonymous visitor would issue an entry into the
/// visitor's account.
pub fn may_be_named(id: &str) -> bool {
    is_external_id(id) && !id.starts_with(ANONYMOUS)
}

impl Accounts {
    pub fn customers(&self) -> Customers<'_> {
        Customers(self)
    }
}

/// The customers of another shop.
#[derive(Clone, Copy)]
pub struct Customers<'a>(&'a Accounts);

impl Deref for Customers<'_> {
    type Target = Accounts;

    fn deref(&self) -> &Accounts {
        self.0
    }
}

#[boxed]
impl Customers<'_> {
    /// The account of a customer that the other shop names; a new one for a new customer. What the other shop leaves out
    /// stays as it was. Returns whether the account is new.
    pub async fn name(&self, named: &NamedShopper) -> Result<(UserId, bool), AccountRefusal> {
        let known = self.store.accounts().external(&named.id).await?;
        let now = self.store.now().await?;
        let wanted = ExternalAccount {
            id: known.as_ref().map_or_else(|| UserId(Uuid::now_v7()), |known| known.id),
            since: named.since.or(known.as_ref().map(|known| known.since)).unwrap_or(now),
            is_verified: named.verified.or(known.as_ref().map(|known| known.is_verified)).unwrap_or_default(),
            is_closed: known.as_ref().is_some_and(|known| known.is_closed),
        };
        let is_new = known.as_ref() != Some(&wanted) && self.store.accounts().put_external(&named.id, &wanted).await?;
        // Another request may have been the first.
        match self.external_account(&named.id).await? {
            Some(account) => Ok((account, is_new)),
            None => Err(AccountRefusal::Blocked),
        }
    }

    /// The account of a customer who was named before; `None` without one. A blocked or deleted account is refused. The
    /// answer comes from memory, unless this process has not met the customer, or sessions of the account were ended
    /// since: a block ends them.
    pub async fn find(&self, id: &str) -> Result<Option<UserId>, AccountRefusal> {
        if let Some((account, read_at)) = self.remembered.get(id)
            && self.revocations.revoked_until(account.0).is_none_or(|until| until < read_at)
        {
            return Ok(Some(account));
        }
        self.external_account(id).await
    }

    async fn external_account(&self, id: &str) -> Result<Option<UserId>, AccountRefusal> {
        // Earlier than the read, by more than the clocks of hosts differ.
        let read_at = self.clock.now() - SignedDuration::from_secs(2);
        let Some(found) = self.store.accounts().external(id).await? else { return Ok(None) };
        if found.is_closed {
            return Err(AccountRefusal::Blocked);
        }
        self.remembered.put(id, found.id, read_at);
        Ok(Some(found.id))
    }

    /// A token with which a browser becomes signed in as this account, once.
    pub fn issue_entry(&self, account: UserId, target: &EntryTarget) -> (String, Timestamp) {
        let expires_at = self.clock.now() + ENTRY_LIFETIME;
        let sale = target.sale.map_or_else(|| "-".to_owned(), |sale| sale.to_string());
        let (id, end) = (Uuid::new_v4().simple(), expires_at.as_millisecond());
        let back = target.return_url.as_deref().unwrap_or_default();
        (self.entries.sign(&format!("{FORMAT} {id} {end} {account} {sale} {back}")), expires_at)
    }

    /// Opens a session for the account of an entry token, which is spent by this. The refusal of a token that is forged,
    /// expired or spent is [`AccountRefusal::BadLink`].
    pub async fn enter(&self, device: &Device, token: &str) -> Result<(Session, EntryTarget), AccountRefusal> {
        let (id, expires_at, account, target) = self.read_entry(token).ok_or(AccountRefusal::BadLink)?;
        let user = self.store.accounts().user(account).await?.filter(|user| user.external_id.is_some());
        let user = user.ok_or(AccountRefusal::BadLink)?;
        if user.is_blocked() {
            return Err(AccountRefusal::Blocked);
        }
        if !self.store.accounts().spend(&format!("entry {id}"), expires_at).await? {
            return Err(AccountRefusal::BadLink);
        }
        Ok((self.begin(&user, device, "entry").await?, target))
    }

    /// Opens a session for a visitor whom no shop names, with a new account. It counts as a registration of the visitor's
    /// network; `None` once that has none left for free.
    pub async fn enter_anonymously(&self, device: &Device) -> Result<Option<Session>, AccountRefusal> {
        match self.spend_proof(device, None).await {
            Err(AccountRefusal::ProofDue) => return Ok(None),
            counted => counted?,
        }
        let id = format!("{ANONYMOUS}{}", Uuid::new_v4().simple());
        let (account, _) = self.name(&NamedShopper { id, ..NamedShopper::default() }).await?;
        let user = self.store.accounts().user(account).await?.ok_or(AccountRefusal::BadLink)?;
        Ok(Some(self.begin(&user, device, "anonymous entry").await?))
    }

    fn read_entry(&self, token: &str) -> Option<(String, Timestamp, UserId, EntryTarget)> {
        let payload = self.entries.verify(token)?;
        let mut parts = payload.strip_prefix(FORMAT)?.strip_prefix(' ')?.splitn(5, ' ');
        let id = parts.next()?.to_owned();
        let expires_at = Timestamp::from_millisecond(parts.next()?.parse().ok()?).ok()?;
        let account = parts.next()?.parse().ok()?;
        let sale = parts.next()?.parse().ok();
        let return_url = Some(parts.next()?.to_owned()).filter(|url| !url.is_empty());
        (self.clock.now() < expires_at).then_some((id, expires_at, account, EntryTarget { sale, return_url }))
    }
}
