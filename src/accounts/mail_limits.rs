//! Limits on how many messages can be requested, so that the shop cannot be used to fill the mailboxes of strangers.
//! Requests are counted for all processes together, before any work is done.

use std::time::Duration;

use super::{AccountRefusal, Accounts, Device};
use domain::network::Network;
use domain::{MailAddress, UserId};
use store::{GuessCount, StoreError};

/// A burst, then one message per period.
type Limit = (u32, Duration);

/// Messages that one host asks for.
const PER_HOST: Limit = (20, Duration::from_secs(2 * 60));
/// Recoveries of one name or address that one host asks for.
const PER_NAME: Limit = (5, Duration::from_secs(5 * 60));
/// Messages about one account, which its owner, staff or strangers ask for.
const PER_ACCOUNT: Limit = (5, Duration::from_secs(10 * 60));
/// Messages that the hosts of one site ask for while they register.
const PER_SITE: Limit = (60, Duration::from_secs(60));
/// Messages to one address that was entered in a form.
const PER_ADDRESS: Limit = (3, Duration::from_secs(30 * 60));

impl Accounts {
    /// Counts an address that an account enters.
    pub(super) async fn count_address(
        &self,
        device: &Device,
        user: UserId,
        address: &MailAddress,
    ) -> Result<(), AccountRefusal> {
        let of_address = self.count_of_address(&address.key());
        self.take_mail(&[self.count_of_mail_host(device), self.count_of_mail(user), of_address]).await
    }

    /// Counts an address that is entered in place of a registration's proof of work.
    pub(super) async fn count_contact(&self, device: &Device, address: &MailAddress) -> Result<(), AccountRefusal> {
        let of_site = self.count("mail to register by", &Network::of(device.address).site_text(), PER_SITE);
        let of_mailbox = self.count_of_address(&address.mailbox());
        self.take_mail(&[self.count_of_mail_host(device), of_site, of_mailbox]).await
    }

    /// Counts a recovery that a host asks for, whether there is such an account or not.
    pub(super) async fn count_recovery(&self, device: &Device, typed: &str) -> Result<(), AccountRefusal> {
        let host = Network::of(device.address).host;
        let of_name = self.count("recovery", &format!("{host} {}", typed.to_lowercase()), PER_NAME);
        self.take_mail(&[self.count_of_mail_host(device), of_name]).await
    }

    /// Counts a message about an account. `false` when there were too many lately.
    pub(super) async fn count_mail_of(&self, user: UserId) -> Result<bool, StoreError> {
        Ok(self.store.credentials().take_guess(&[self.count_of_mail(user)]).await?.is_none())
    }

    async fn take_mail(&self, counts: &[GuessCount]) -> Result<(), AccountRefusal> {
        match self.store.credentials().take_guess(counts).await? {
            Some(limit) => Err(AccountRefusal::Throttled(limit.wait)),
            None => Ok(()),
        }
    }

    fn count_of_mail_host(&self, device: &Device) -> GuessCount {
        self.count("mail by", &Network::of(device.address).host.to_string(), PER_HOST)
    }

    /// Limits messages to one address. Registrations pass the mailbox, because an address spelled with other tags
    /// reaches the same reader. Accounts pass the address itself, because they also have [`PER_ACCOUNT`].
    fn count_of_address(&self, address: &str) -> GuessCount {
        self.count("mail to", address, PER_ADDRESS)
    }

    fn count_of_mail(&self, user: UserId) -> GuessCount {
        self.count("mail of", &user.to_string(), PER_ACCOUNT)
    }
}
