//! How many server-sent event streams are open, per account and per address.

use std::net::IpAddr;
use std::sync::Arc;

use base::slots::{KeyedSlot, KeyedSlots};
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
