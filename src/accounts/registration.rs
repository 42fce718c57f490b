//! New accounts.

use secrecy::SecretString;
use uuid::Uuid;

use super::fair_queue::Lane;
use super::password::HashRequest;
use super::registration_price::Payment;
use super::session::Session;
use super::{AccountRefusal, Accounts, Device, names, password_rules};
use domain::Role;
use domain::{Network, SecurityClass, Signal, UserId};
use store::{RegisterOutcome, RegistrationDevice, StoreError, User};

impl Accounts {
    /// Registers a shopper, who is signed in from then on.
    pub async fn register(
        &self,
        device: &Device,
        username: &str,
        password: SecretString,
        paid: &Payment,
    ) -> Result<Session, AccountRefusal> {
        self.registrations.admit(device).await?;
        let username = &*names::normalized(username);
        match (names::is_valid(username), password_rules::is_acceptable(&password, username)) {
            (true, true) => {}
            (false, true) => return Err(AccountRefusal::BadUsername),
            (true, false) => return Err(AccountRefusal::WeakPassword),
            (false, false) => return Err(AccountRefusal::BadNameAndPassword),
        }
        let paid = self.check_payment(device, paid).await?;
        // Hashed before the look-up, so that probing for taken names costs a hash and waits for a slot.
        let request = HashRequest::new(Lane::Registration, device.address);
        let hash = self.passwords.hash(password, request).await?;
        if self.is_name_taken(username).await? {
            return Err(AccountRefusal::UsernameTaken);
        }
        self.take_payment(device, paid.as_ref()).await?;
        let user = User::new(UserId(Uuid::now_v7()), username, hash, Role::User, self.clock.now());
        let contact = paid.as_ref().and_then(|paid| paid.contact.as_ref());
        let address = device.address.to_string();
        let known = RegistrationDevice { agent: &device.agent, address: &address };
        let contact = contact.map(|contact| (contact, known));
        match self.store.accounts().register_user(&user, &self.signals_of(device), contact).await? {
            RegisterOutcome::Added => {}
            RegisterOutcome::NameTaken => return Err(AccountRefusal::UsernameTaken),
            RegisterOutcome::ContactTaken => return Err(AccountRefusal::PriceDue),
        }
        if contact.is_some() {
            self.note(SecurityClass::MailAddressChanged, &user, device, "verified");
        }
        self.begin(&user, device, "").await
    }

    /// Digests of the network that the account is registered from. A loopback address gives none: it belongs to tests,
    /// or to a proxy that is not trusted.
    fn signals_of(&self, device: &Device) -> Vec<Signal> {
        match device.address.is_loopback() {
            true => Vec::new(),
            false => self.signals.of_network(Network::of(device.address)),
        }
    }

    /// Whether shoppers cannot register the name: it is taken, or looks like a name of the shop or of its staff.
    async fn is_name_taken(&self, username: &str) -> Result<bool, StoreError> {
        if names::is_reserved(username) || self.store.accounts().user_named(username).await?.is_some() {
            return Ok(true);
        }
        let skeleton = names::skeleton(username);
        Ok(self.store.accounts().staff().await?.iter().any(|member| names::skeleton(&member.username) == skeleton))
    }
}
