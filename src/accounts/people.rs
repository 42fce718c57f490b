//! What staff do with the accounts of others. Who may do what is decided where it is done: in the transaction.

use secrecy::SecretString;
use uuid::Uuid;

use super::password::generate;
use super::session::Session;
use super::{ADMIN, AccountRefusal, Accounts, is_username};
use crate::domain::UserId;
use crate::store::{Actor, PeopleRefusal, PersonChange, Role, User};

impl Accounts {
    /// Changes somebody's account. Sessions that end with it are dead here at once and elsewhere within a second.
    pub async fn change_person(&self, by: &Session, id: UserId, change: &PersonChange) -> Result<User, PeopleRefusal> {
        let (user, ended) = self.store.change_person(&actor(by), id, change, self.clock.now()).await?;
        self.revocations.learn(ended.as_slice());
        Ok(user)
    }

    /// Makes an account for a new member of the staff. The answer is a password that is good until they choose their
    /// own, which they must before anything else.
    pub async fn add_staff(
        &self,
        by: &Session,
        username: &str,
        role: Role,
    ) -> Result<Result<(User, String), AccountRefusal>, PeopleRefusal> {
        if !is_username(username) {
            return Ok(Err(AccountRefusal::BadUsername));
        }
        let password = generate();
        let hash = match self.passwords.hash(SecretString::from(password.clone())).await {
            Ok(hash) => hash,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let now = self.clock.now();
        let mut user = User::new(UserId(Uuid::now_v7()), username, hash, role, now);
        user.must_change_password = true;
        let free = username.to_lowercase() != ADMIN && self.store.add_staff(&actor(by), &user, now).await?;
        Ok(if free { Ok((user, password)) } else { Err(AccountRefusal::UsernameTaken) })
    }
}

fn actor(session: &Session) -> Actor {
    Actor { id: session.user_id, role: session.role, name: session.username.clone() }
}
