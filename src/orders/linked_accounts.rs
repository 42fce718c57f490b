//! Linked accounts in a sale with their orders, for staff. A [`LinkedAccounts`] is a group of linked accounts.
//!
//! Which accounts are linked is computed from the digests that accounts in the sale share, in the background
//! ([`RevalidatingCache`]). Orders and holds are read again for every page, so that it shows what staff just did. A
//! group may have any number of accounts; a page reads the orders of a bounded number of them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use boxed::boxed;
use jiff::Timestamp;

use super::Orders;
use base::revalidating_cache::{ComputationError, Known, RevalidatingCache};
use domain::linked_accounts::groups;
use domain::{LinkReason, LinkedAccounts, Money, OrderHold, OrderId, OrderStatus, SaleId, UserId};
use store::{FoundOrder, LiveOrder, Store, StoreError, StoreResult};

/// Sales whose groups of linked accounts are kept in memory. The groups of a million accounts take up to 100 MB.
const MAX_KEPT: usize = 4;
/// Accounts of a group whose orders are on one page. Each has one live order at most.
pub const MEMBERS_PAGE_SIZE: usize = 200;
/// Accounts whose orders are summed for one group.
const MAX_SUMMED_MEMBERS: usize = 1_000;
/// Accounts whose orders are summed for one page of groups.
const MAX_SUMMED_ON_PAGE: usize = 3_000;

/// The computed groups of each sale, the largest first.
pub(super) type GroupCache = RevalidatingCache<SaleId, Vec<LinkedAccounts>, StoreError>;

pub(super) fn cache(clock: base::clock::Clock) -> GroupCache {
    RevalidatingCache::new("groups of sales", MAX_KEPT, clock)
}

/// The content of a page; `None` while it is computed for the first time.
type Asked<T> = Result<Option<T>, ComputationError<StoreError>>;

/// A page of the groups of linked accounts in a sale.
#[derive(Debug)]
pub struct GroupList {
    pub groups: Vec<GroupSummary>,
    /// Groups on all pages.
    pub count: usize,
    pub read_at: Timestamp,
    /// Whether newer groups are being computed.
    pub is_renewing: bool,
}

/// A group without its members.
#[derive(Debug)]
pub struct GroupSummary {
    /// The account that identifies the group in URLs: the first member.
    pub id: UserId,
    pub members: usize,
    pub reasons: BTreeMap<LinkReason, usize>,
    pub totals: GroupTotals,
}

/// A group with the orders of one page of its members.
#[derive(Debug)]
pub struct GroupDetail {
    pub summary: GroupSummary,
    /// Orders of these members, newest first.
    pub orders: Vec<GroupOrder>,
    /// The last member of the page, if there are more.
    pub next: Option<UserId>,
    pub read_at: Timestamp,
}

/// An order of a linked account, and its hold if it is still held.
#[derive(Debug)]
pub struct GroupOrder {
    pub found: FoundOrder,
    pub hold: Option<OrderHold>,
}

/// Sums over the live orders of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupTotals {
    /// Accounts whose orders are summed, at most [`MAX_SUMMED_MEMBERS`].
    pub accounts: usize,
    /// Unpaid and paid orders, and their units.
    pub orders: usize,
    pub units: u64,
    /// What the paid orders cost. `None` if they have several currencies, or if there are none.
    pub paid: Option<Money>,
    pub held: usize,
    /// Appeals that wait for an answer.
    pub appeals: usize,
}

impl GroupSummary {
    fn of(group: &LinkedAccounts, live: &HashMap<UserId, LiveOrder>) -> GroupSummary {
        let summed = summed(group);
        let live = || summed.iter().filter_map(|member| live.get(member));
        let paid = live().filter(|order| order.status == OrderStatus::Paid);
        let totals = GroupTotals {
            accounts: summed.len(),
            orders: live().count(),
            units: live().map(|order| u64::from(order.quantity)).sum(),
            paid: paid.map(|order| order.amount).try_fold(None, add).flatten(),
            held: live().filter(|order| order.is_held).count(),
            appeals: live().filter(|order| order.has_open_appeal).count(),
        };
        let LinkedAccounts { members, reasons } = group;
        GroupSummary { id: members[0], members: members.len(), reasons: reasons.clone(), totals }
    }

    /// Whether the totals cover only some of the members.
    pub fn is_cut(&self) -> bool {
        self.totals.accounts < self.members
    }
}

/// The members whose orders are summed.
fn summed(group: &LinkedAccounts) -> &[UserId] {
    &group.members[..group.members.len().min(MAX_SUMMED_MEMBERS)]
}

/// Adds an amount to the sum so far. `None` if the currencies differ or the sum is too large.
fn add(sum: Option<Money>, amount: Money) -> Option<Option<Money>> {
    match sum {
        None => Some(Some(amount)),
        Some(sum) if sum.currency == amount.currency => {
            Some(Some(Money::new(sum.amount.checked_add(amount.amount)?, sum.currency)))
        }
        Some(_) => None,
    }
}

impl GroupOrder {
    pub fn is_live(&self) -> bool {
        self.found.order.status.is_live()
    }

    pub fn open_appeal(&self) -> Option<&domain::Appeal> {
        self.hold.as_ref()?.open_appeal()
    }
}

#[boxed]
impl Orders {
    /// At most `limit` groups of a sale, the largest first; fewer if they are large. `None` if `patience` ends before
    /// they are computed for the first time.
    pub async fn groups(&self, sale: SaleId, (after, limit): (usize, usize), patience: Duration) -> Asked<GroupList> {
        let Some(Known { value: all, read_at, is_renewing }) = self.known_groups(sale, patience).await? else {
            return Ok(None);
        };
        let page = page_of(all.get(after..).unwrap_or_default(), limit);
        let accounts: Vec<UserId> = page.iter().flat_map(summed).copied().collect();
        let live = self.store.orders().live_orders_of(sale, &accounts).await?;
        let groups = page.iter().map(|group| GroupSummary::of(group, &live)).collect();
        Ok(Some(GroupList { groups, count: all.len(), read_at, is_renewing }))
    }

    /// The group of an account in a sale, with the orders of the members after `after`. The inner `None` means that no
    /// account is linked with this one, the outer `None` is the same as in [`Orders::groups`].
    pub async fn group_of(
        &self,
        sale: SaleId,
        user: UserId,
        after: Option<UserId>,
        patience: Duration,
    ) -> Asked<Option<GroupDetail>> {
        let Some(Known { value: all, read_at, .. }) = self.known_groups(sale, patience).await? else {
            return Ok(None);
        };
        let Some(group) = all.iter().find(|group| group.members.binary_search(&user).is_ok()) else {
            return Ok(Some(None));
        };
        let from = after.map_or(0, |after| group.members.partition_point(|member| *member <= after));
        let (rest, size) = (&group.members[from..], MEMBERS_PAGE_SIZE);
        let page = &rest[..rest.len().min(size)];
        let next = page.last().copied().filter(|_| rest.len() > size);
        let live = self.store.orders().live_orders_of(sale, summed(group)).await?;
        let orders = self.group_orders(sale, page).await?;
        Ok(Some(Some(GroupDetail { summary: GroupSummary::of(group, &live), orders, next, read_at })))
    }

    async fn known_groups(&self, sale: SaleId, patience: Duration) -> Asked<Known<Vec<LinkedAccounts>>> {
        self.groups.get(sale, patience, compute(self.store.clone(), sale)).await
    }

    /// The orders of some accounts, newest first, with their holds.
    async fn group_orders(&self, sale: SaleId, accounts: &[UserId]) -> StoreResult<Vec<GroupOrder>> {
        let mut found = self.store.orders().orders_of_accounts(sale, accounts).await?;
        found.sort_by_key(|found| std::cmp::Reverse(found.order.id));
        found.iter_mut().for_each(|found| found.order.mask_recipient());
        let ids: Vec<OrderId> = found.iter().map(|found| found.order.id).collect();
        let mut holds = self.store.orders().lasting_holds(&ids).await?;
        let orders = found.into_iter().map(|found| GroupOrder { hold: holds.remove(&found.order.id), found });
        Ok(orders.collect())
    }
}

/// As many groups as one page can sum, starting with the first; at least one.
fn page_of(groups: &[LinkedAccounts], limit: usize) -> &[LinkedAccounts] {
    let mut accounts = 0;
    let fits = groups.iter().take(limit).take_while(|group| {
        accounts += summed(group).len();
        accounts <= MAX_SUMMED_ON_PAGE
    });
    &groups[..fits.count()]
}

/// Computes the groups on a blocking thread, because a large sale has millions of digests.
async fn compute(store: Store, sale: SaleId) -> StoreResult<Vec<LinkedAccounts>> {
    let links = store.linked_accounts().shared_links(sale).await?;
    let computed = tokio::task::spawn_blocking(move || groups(&links)).await;
    Ok(computed.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic())))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn group(members: usize) -> LinkedAccounts {
        LinkedAccounts {
            members: (0..members as u128).map(|n| UserId(Uuid::from_u128(n))).collect(),
            reasons: BTreeMap::new(),
        }
    }

    #[test]
    fn page_of_large_groups_is_shorter() {
        assert_eq!(MAX_SUMMED_ON_PAGE, 3 * MAX_SUMMED_MEMBERS, "a page has one group of any size");
        let groups = [group(5_000), group(1_000), group(998), group(2), group(2)];
        assert_eq!(page_of(&groups, 50).len(), 4);
        assert_eq!(page_of(&groups, 2).len(), 2);
        assert_eq!(page_of(&groups[4..], 50).len(), 1);
        assert_eq!(page_of(&[], 50).len(), 0);
    }
}
