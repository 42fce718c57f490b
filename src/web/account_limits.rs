//! How many event streams an account may have open, and how fast it may read its lists.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;

use crate::{Answer, Code, Shop};
use base::rate_limit::{KeyedSlot, KeyedSlots, UserLimit};
use domain::{Network, UserId};

/// Open streams of one account: a page for each of a few sales, on two devices.
const MAX_STREAMS_PER_ACCOUNT: usize = 10;
/// Open streams of one address, behind which a whole office may watch a sale.
const MAX_STREAMS_PER_ADDRESS: usize = 50;

/// The open streams of one process, per account and per address.
#[derive(Debug)]
pub struct EventStreams {
    accounts: Arc<KeyedSlots<UserId>>,
    addresses: Arc<KeyedSlots<IpAddr>>,
}

/// The place of one open stream; free again once it is dropped.
pub type StreamSlot = (KeyedSlot<UserId>, KeyedSlot<IpAddr>);

impl EventStreams {
    #[expect(clippy::new_without_default, reason = "an empty registry of limits is no default value")]
    pub fn new() -> EventStreams {
        EventStreams {
            accounts: KeyedSlots::new(MAX_STREAMS_PER_ACCOUNT),
            addresses: KeyedSlots::new(MAX_STREAMS_PER_ADDRESS),
        }
    }

    /// `None` once the account or the address has as many streams as it may have.
    pub fn take(&self, account: UserId, client: IpAddr) -> Option<StreamSlot> {
        self.accounts.take(account).zip(self.addresses.take(Network::of(client).host))
    }
}

// The layer around lists of what an account has. Each page of a list is a query over many rows, so an account may read
// them only at a rate that a person does not reach. The API's lists and the pages' lists count together.

/// Lists that an account reads at once before the rate applies.
const BURST: u64 = 50;

pub fn limit(per_second: u32) -> UserLimit {
    UserLimit::every(Duration::from_secs(1) / per_second.max(1), BURST.max(per_second.into()))
}

/// A request without a session passes: the handler refuses it.
pub async fn limited(State(shop): State<Arc<Shop>>, request: Request, next: Next) -> Answer {
    let session = shop.accounts.session(request.headers());
    match session.is_some_and(|session| !shop.lists.allows(session.user_id)) {
        true => Err(Code::RateLimited.into()),
        false => Ok(next.run(request).await),
    }
}
