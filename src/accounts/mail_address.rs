//! The mail address of an account. Changes need the password, because the address can be used to recover the account.

use secrecy::SecretString;

use super::session::Session;
use super::{AccountRefusal, Accounts, Device};
use domain::{Locale, MailAddress, SecurityClass, UserId};
use store::User;

impl Accounts {
    /// Stores an unverified address and sends it a link that verifies it. The answer does not reveal whether another
    /// account has the address.
    pub async fn enter_address(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
        typed: &str,
        locale: Locale,
    ) -> Result<(), AccountRefusal> {
        let address = MailAddress::parse(typed).ok_or(AccountRefusal::BadMailAddress)?;
        let user = self.confirm(session, device, password).await?;
        self.count_address(device, user.id, &address).await?;
        Ok(self.store.accounts().enter_address(user.id, &address, locale).await?)
    }

    /// The account and the address of a verification link. Changes nothing: programs that scan mail follow links.
    pub async fn address_of_link(&self, token: &str) -> Result<(User, MailAddress), AccountRefusal> {
        let (id, _, address) = self.read_verification(token).await?;
        Ok((self.active_user(id).await?, address))
    }

    /// Verifies an address by the link that was sent to it.
    pub async fn verify_address(&self, device: &Device, token: &str) -> Result<(), AccountRefusal> {
        let (id, number, address) = self.read_verification(token).await?;
        let user = self.active_user(id).await?;
        let sessions = self.store.sessions().sessions_of(id, self.clock.now()).await?;
        match self.store.accounts().verify_address(&user, &address, number, &sessions).await? {
            true => {
                self.note(SecurityClass::MailAddressChanged, &user, device, "verified");
                Ok(())
            }
            false => Err(AccountRefusal::BadLink),
        }
    }

    /// Removes the address, verified or not.
    pub async fn remove_address(
        &self,
        session: &Session,
        device: &Device,
        password: SecretString,
    ) -> Result<(), AccountRefusal> {
        let user = self.confirm(session, device, password).await?;
        self.store.accounts().remove_address(&user).await?;
        self.note(SecurityClass::MailAddressChanged, &user, device, "removed");
        Ok(())
    }

    async fn read_verification(&self, token: &str) -> Result<(UserId, i64, MailAddress), AccountRefusal> {
        let verified = self.links.verify_verification(token, self.store.now().await?);
        let (link, address) = verified.ok_or(AccountRefusal::BadLink)?;
        Ok((link.user, link.number, address))
    }

    pub(super) async fn active_user(&self, id: UserId) -> Result<User, AccountRefusal> {
        let user = self.store.accounts().user(id).await?.filter(|user| user.deleted_at.is_none() && !user.is_blocked());
        user.ok_or(AccountRefusal::BadLink)
    }
}
