//! A verified mail address in place of a registration's proof of work, for shoppers who can neither compute nor wait.
//!
//! The address is entered beside the registration form and belongs to the form's challenge, not to a browser: the
//! message may be read on another device, and the form keeps what was filled in. A button behind the link verifies the
//! address. From then on the challenge is enough for one account, from any network, and the address becomes the address
//! of that account.
//!
//! The answer is the same for every address and takes the same time. The message contains nothing that the visitor
//! typed, and it is counted before any work ([`mail_limits`](super::mail_limits)), so the shop cannot be used to write
//! to strangers.

use std::sync::Arc;

use tracing::warn;

use super::registration_price::Issued;
use super::{AccountRefusal, Accounts, Device};
use domain::{Locale, MailAddress};
use store::{RegistrationContact, StoreError};

impl Accounts {
    /// Sends a link to an address. Once it is verified, the challenge needs no proof of work.
    pub async fn request_contact(
        self: &Arc<Self>,
        device: &Device,
        challenge: &str,
        typed: &str,
        locale: Locale,
    ) -> Result<MailAddress, AccountRefusal> {
        let address = MailAddress::parse(typed).ok_or(AccountRefusal::BadMailAddress)?;
        let issued = self.issued_to(device, challenge, self.store.now().await?).ok_or(AccountRefusal::PriceDue)?;
        self.count_contact(device, &address).await?;
        let contact = RegistrationContact {
            expires_at: issued.expires_at(),
            id: issued.id,
            challenge: challenge.to_owned(),
            address: address.clone(),
            locale,
            is_verified: false,
        };
        let accounts = self.clone();
        tokio::spawn(async move {
            if let Err(error) = accounts.store.accounts().enter_contact(&contact).await {
                warn!(%error, "the link of a registration was not sent; its reader has to ask again");
            }
        });
        Ok(address)
    }

    /// The address of a link, and whether it is verified already. Changes nothing: programs that scan mail follow
    /// links.
    pub async fn contact_of_link(&self, token: &str) -> Result<RegistrationContact, AccountRefusal> {
        let (id, address) = self.read_contact(token).await?;
        let contact = self.store.accounts().contact_of(&id).await?.filter(|contact| contact.address == address);
        contact.ok_or(AccountRefusal::BadLink)
    }

    /// Verifies the address of a link, so that its challenge is enough for an account.
    pub async fn verify_contact(&self, token: &str) -> Result<(), AccountRefusal> {
        let (id, address) = self.read_contact(token).await?;
        match self.store.accounts().verify_contact(&id, &address).await? {
            true => Ok(()),
            false => Err(AccountRefusal::BadLink),
        }
    }

    async fn read_contact(&self, token: &str) -> Result<(String, MailAddress), AccountRefusal> {
        let now = self.store.now().await?;
        self.links.verify_registration(token, now).ok_or(AccountRefusal::BadLink)
    }

    /// The verified address of a challenge, if it has one.
    pub(super) async fn verified_contact(&self, issued: &Issued) -> Result<Option<RegistrationContact>, StoreError> {
        Ok(self.store.accounts().contact_of(&issued.id).await?.filter(|contact| contact.is_verified))
    }
}
