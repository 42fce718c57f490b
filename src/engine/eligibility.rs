//! Who may take part in a sale: the one check of its rules, for every way to earn a right to buy.
//!
//! The check is made where the right is earned: before the shopper gets a purchase token, a place in a waiting room, an
//! entry in a draw or a place on a waitlist. Each of these proves that the check passed, so a purchase reads nothing
//! more. A sale without rules costs no query.
//!
//! Accounts that share a mailbox or a delivery address form a group, and only the first account of a group takes part.
//! The database stores a group as a digest with a key of the shop. Digests of one group differ from sale to sale.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::catalogue::Catalogue;
use base::rate_limit::UserLimit;
use base::signing::{KeyedDigests, ShopSecret, key_for};
use boxed::boxed;
use domain::{
    Address, EligibilityRule, EligibilityRules, GroupKind, Ineligible, InvitationCode, MailAddress, Sale, SaleId,
    SaleState, UserId,
};
use store::{Applicant, Group, RedeemOutcome, RequestId, Store, StoreError, StoreResult};

/// Codes that an account may send at once, and then one in each [`CODE_INTERVAL`]. Typing errors need a few.
const CODE_BURST: u64 = 10;
const CODE_INTERVAL: Duration = Duration::from_secs(30);
/// The same for an IP address, which many shoppers may share.
const CODE_BURST_OF_ADDRESS: u64 = 100;
const CODE_INTERVAL_OF_ADDRESS: Duration = Duration::from_secs(3);

/// Why an account does not take part.
#[derive(Debug)]
pub enum EligibilityRefusal {
    Ineligible(Ineligible),
    RateLimited,
    Store(StoreError),
}

refusal_from!(EligibilityRefusal: Ineligible(Ineligible), Store(StoreError));

/// Why a code was not redeemed.
#[derive(Debug)]
pub enum RedeemRefusal {
    NoSuchSale,
    /// There is no such code, another account has redeemed it, or it was revoked.
    BadInvitation,
    RateLimited,
    Store(StoreError),
}

refusal_from!(RedeemRefusal: Store(StoreError));

/// A rule of a sale, and what an account lacks to meet it; `None` if it meets the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleState {
    pub rule: EligibilityRule,
    pub lacks: Option<Ineligible>,
}

/// Every rule of a sale for one account, and what taking part would claim.
struct Assessment {
    states: Vec<RuleState>,
    groups: Vec<Group>,
    /// Whether the sale has a deposit that is not set aside yet.
    owes_deposit: bool,
}

/// Checks accounts against the rules of sales.
pub struct Eligibility {
    store: Store,
    catalogue: Arc<Catalogue>,
    digests: KeyedDigests,
    secret: ShopSecret,
    /// Each check of a sale with rules reads the database.
    per_account: UserLimit,
    codes: UserLimit,
    codes_of_address: UserLimit,
}

#[boxed]
impl Eligibility {
    pub fn new(store: Store, catalogue: Arc<Catalogue>, user_rate: u32, secret: &ShopSecret) -> Eligibility {
        Eligibility {
            store,
            catalogue,
            digests: KeyedDigests::new(secret, "group of accounts in a sale"),
            secret: secret.clone(),
            per_account: UserLimit::new(user_rate),
            codes: UserLimit::every(CODE_INTERVAL, CODE_BURST),
            codes_of_address: UserLimit::every(CODE_INTERVAL_OF_ADDRESS, CODE_BURST_OF_ADDRESS),
        }
    }

    /// Checks every rule of a sale and claims the account's groups. Safe to repeat. Drafts and ended sales are not
    /// checked, because no one can take part in them. The deposit is not touched here: the caller sets it aside
    /// together with the entry or the place.
    pub async fn check(&self, sale: SaleId, user: UserId) -> Result<(), EligibilityRefusal> {
        self.admit(sale, user).await.map(drop)
    }

    /// Checks as [`check`](Self::check) does, and sets the deposit of the sale aside.
    pub async fn check_and_hold(&self, sale: SaleId, user: UserId) -> Result<(), EligibilityRefusal> {
        let owes_deposit = self.admit(sale, user).await?;
        if owes_deposit && !self.store.deposits().hold(sale, user).await? {
            return Err(Ineligible::DepositNeeded.into());
        }
        Ok(())
    }

    /// Returns whether the deposit of the sale is still to be set aside.
    async fn admit(&self, sale: SaleId, user: UserId) -> Result<bool, EligibilityRefusal> {
        let Some(known) = self.catalogue.known(sale) else { return Ok(false) };
        let is_over = matches!(known.sale.state, SaleState::Draft | SaleState::Ended);
        if known.sale.eligibility.are_none() || is_over {
            return Ok(false);
        }
        if !self.per_account.allows(user) {
            return Err(EligibilityRefusal::RateLimited);
        }
        let Assessment { states, groups, owes_deposit } = self.assess(&known.sale, user).await?;
        if let Some(lacks) = states.iter().find_map(|state| state.lacks) {
            return Err(lacks.into());
        }
        if groups.is_empty() {
            return Ok(owes_deposit);
        }
        match self.store.eligibility().claim_groups(sale, user, &groups).await? {
            None => Ok(owes_deposit),
            Some(kind) => Err(kind.taken().into()),
        }
    }

    /// The invitation codes that a request creates. A retry creates the same codes, as long as the shop's secret is the
    /// same.
    pub fn codes_of_request(&self, RequestId(request): RequestId, count: i64) -> Vec<InvitationCode> {
        let code = |n| {
            let bytes = key_for(&self.secret.current, &format!("invitation code {n} of request {request}"));
            InvitationCode::new(bytes.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte)))
        };
        (0..count).map(code).collect()
    }

    /// Every rule of a sale, and whether the account meets it. Changes nothing.
    pub async fn states(&self, sale: &Sale, user: UserId) -> Result<Vec<RuleState>, EligibilityRefusal> {
        if !self.per_account.allows(user) {
            return Err(EligibilityRefusal::RateLimited);
        }
        Ok(self.assess(sale, user).await?.states)
    }

    /// Redeems an invitation code of a sale for an account, once. Safe to repeat.
    pub async fn redeem(&self, sale: SaleId, user: UserId, client: IpAddr, typed: &str) -> Result<(), RedeemRefusal> {
        let known = self.catalogue.entry(sale).await?.filter(|entry| entry.sale.state != SaleState::Draft);
        known.ok_or(RedeemRefusal::NoSuchSale)?;
        if !self.codes.allows(user) || !self.codes_of_address.allows(client) {
            return Err(RedeemRefusal::RateLimited);
        }
        let code = InvitationCode::parse(typed).ok_or(RedeemRefusal::BadInvitation)?;
        match self.store.eligibility().redeem_invitation(sale, user, code).await? {
            RedeemOutcome::Redeemed => Ok(()),
            RedeemOutcome::Refused => Err(RedeemRefusal::BadInvitation),
        }
    }

    /// Whether an order of the account may be delivered to this address. In a sale with one account per address, only
    /// the address with which the account took part is accepted.
    pub async fn accepts_address(&self, sale: SaleId, user: UserId, address: &Address) -> StoreResult<bool> {
        let known = self.catalogue.entry(sale).await?;
        if !known.is_some_and(|known| known.sale.eligibility.one_per_address) {
            return Ok(true);
        }
        let mut own = self.store.eligibility().groups_of(sale, user).await?;
        own.retain(|group| group.kind == GroupKind::Address);
        // Groups are deleted long after the sale ended. Without them every address is accepted.
        Ok(own.is_empty()
            || self.groups(sale, GroupKind::Address, &address.place()).iter().any(|new| own.contains(new)))
    }

    async fn assess(&self, sale: &Sale, user: UserId) -> StoreResult<Assessment> {
        let rules = sale.eligibility;
        let applicant = self.store.eligibility().applicant(sale.id, user).await?;
        let (mut groups, mut needs_address) = (Vec::new(), false);
        if rules.one_per_contact || rules.one_per_address {
            let own = self.store.eligibility().groups_of(sale.id, user).await?;
            let is_new = |kind| !own.iter().any(|group| group.kind == kind);
            if rules.one_per_contact && is_new(GroupKind::Contact) {
                let contact = applicant.as_ref().and_then(|applicant| applicant.contact.as_deref());
                let mailbox = contact.and_then(MailAddress::parse).map(|address| address.mailbox());
                groups.extend(
                    mailbox.map(|mailbox| self.groups(sale.id, GroupKind::Contact, &mailbox)).unwrap_or_default(),
                );
            }
            if rules.one_per_address && is_new(GroupKind::Address) {
                // The default address comes first in the list.
                match self.store.accounts().addresses_of(user).await?.first() {
                    Some(saved) => groups.extend(self.groups(sale.id, GroupKind::Address, &saved.address.place())),
                    None => needs_address = true,
                }
            }
        }
        let taken = self.store.eligibility().group_of_another(sale.id, user, &groups).await?;
        let (mut owes_deposit, mut is_poor) = (false, false);
        if let Some(amount) = rules.deposit_amount() {
            let standing = self.store.deposits().standing(sale.id, user).await?;
            owes_deposit = !standing.is_covered;
            is_poor = owes_deposit && standing.balance < amount;
        }
        let lacks = |rule| match rule {
            EligibilityRule::Deposit => is_poor.then_some(Ineligible::DepositNeeded),
            rule => lacks(rule, rules, applicant.as_ref(), needs_address, taken),
        };
        let states = rules.rules().map(|rule| RuleState { rule, lacks: lacks(rule) }).collect();
        Ok(Assessment { states, groups, owes_deposit })
    }

    /// One group, as a digest under each key of the shop.
    fn groups(&self, sale: SaleId, kind: GroupKind, text: &str) -> Vec<Group> {
        let digests = self.digests.of(&format!("{sale} {kind} {text}"));
        digests.into_iter().map(|digest| Group { kind, digest }).collect()
    }
}

/// What the account lacks to meet a rule.
fn lacks(
    rule: EligibilityRule,
    rules: EligibilityRules,
    applicant: Option<&Applicant>,
    needs_address: bool,
    taken: Option<GroupKind>,
) -> Option<Ineligible> {
    let no_contact = applicant.is_none_or(|applicant| applicant.contact.is_none());
    match rule {
        EligibilityRule::AccountsBefore => {
            let is_old = applicant.zip(rules.accounts_before).is_some_and(|(own, before)| own.registered_at <= before);
            (!is_old).then_some(Ineligible::AccountTooNew)
        }
        EligibilityRule::VerifiedContact => no_contact.then_some(Ineligible::ContactNotVerified),
        EligibilityRule::OnePerContact if no_contact => Some(Ineligible::ContactNotVerified),
        EligibilityRule::OnePerContact => taken.filter(|kind| *kind == GroupKind::Contact).map(GroupKind::taken),
        EligibilityRule::OnePerAddress if needs_address => Some(Ineligible::AddressNeeded),
        EligibilityRule::OnePerAddress => taken.filter(|kind| *kind == GroupKind::Address).map(GroupKind::taken),
        EligibilityRule::Invitation => {
            let is_invited = applicant.is_some_and(|applicant| applicant.has_invitation);
            (!is_invited).then_some(Ineligible::InvitationNeeded)
        }
        // The caller checks the deposit: it depends on the wallet, not on the account.
        EligibilityRule::Deposit => None,
    }
}
