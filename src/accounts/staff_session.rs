//! Sessions of staff: confirmed by the database, and ended when they are not used.

use std::sync::PoisonError;
use std::time::Duration;

use super::Accounts;
use super::session::Session;
use store::{StoreError, User};

impl Accounts {
    /// The current account behind a session of staff. `None` for shoppers, without a database query, and for staff
    /// whose account no longer allows it.
    pub async fn staff(&self, session: &Session) -> Result<Option<User>, StoreError> {
        if !session.is_staff() {
            return Ok(None);
        }
        if self.is_idle(session).await? {
            self.log_out(session).await?;
            return Ok(None);
        }
        let user = self.store.accounts().user(session.user_id).await?;
        Ok(user.filter(|user| user.role.is_staff() && !user.is_blocked() && session.is_of(user)))
    }

    /// Whether the session was unused for longer than staff may leave it. Other processes store uses every half minute,
    /// so a session may end that much early. Stored uses have the database's time and are compared with it: a process
    /// whose clock is wrong neither ends nor prolongs sessions.
    async fn is_idle(&self, session: &Session) -> Result<bool, StoreError> {
        let pending = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&session.id).copied();
        let unused = if let Some(pending) = pending {
            self.clock.now().duration_since(pending)
        } else if let Some(stored) = self.store.sessions().session_last_use(session.id).await? {
            self.store.now().await?.duration_since(stored)
        } else {
            self.clock.now().duration_since(session.issued_at)
        };
        Ok(Duration::try_from(unused).unwrap_or_default() >= self.rules.staff_idle)
    }
}
