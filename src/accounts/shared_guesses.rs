//! Counts the guesses of all processes together, in the database. Each process limits them in memory first
//! (`throttle`), so that a flood reaches the database only as fast as one process allows guesses.

use std::time::Duration;

use tracing::warn;

use super::keyed_limit::rate;
use super::throttle::{Guess, Origin, PER_ACCOUNT, PER_CODE, PER_NAME};
use super::{AccountRefusal, Accounts, Device, names};
use base::signing::key_for;
use domain::{UserId, hex};
use store::GuessCount;

impl Accounts {
    /// Counts a guess that this process has allowed, for all processes.
    pub(super) async fn share_guess<'a>(
        &'a self,
        mut guess: Guess<'a>,
        device: &Device,
        username: &str,
    ) -> Result<Guess<'a>, AccountRefusal> {
        let name = names::key(username);
        let mut counts = vec![self.count_of_name(Origin::of(device, username), &name)];
        if guess.counts_for_account() {
            counts.push(self.count("account", &name, PER_ACCOUNT));
        }
        let mut reached = self.store.credentials().take_guess(&counts).await?;
        if reached.is_some_and(|limit| limit.place == 1) && self.is_signed_in_from(device.address, username).await? {
            counts.truncate(1);
            reached = self.store.credentials().take_guess(&counts).await?;
        }
        match reached {
            Some(limit) if limit.place == 1 => Err(AccountRefusal::NameThrottled(limit.wait)),
            Some(limit) => Err(AccountRefusal::Throttled(limit.wait)),
            None => {
                guess.set_shared(counts);
                Ok(guess)
            }
        }
    }

    /// Ends a guess. A wrong one stays counted.
    pub(super) async fn end_guess(&self, mut guess: Guess<'_>, is_wrong: bool) {
        if is_wrong {
            return guess.record_wrong();
        }
        let shared = guess.take_shared();
        drop(guess);
        self.give_back(&shared).await;
    }

    /// Counts a code of the second factor that is about to be judged.
    pub(super) async fn reserve_code(&self, user: UserId) -> Result<(), AccountRefusal> {
        self.guesses.reserve_code(user.0).map_err(AccountRefusal::Throttled)?;
        match self.store.credentials().take_guess(&[self.count_of_codes(user)]).await? {
            Some(limit) => Err(AccountRefusal::Throttled(limit.wait)),
            None => Ok(()),
        }
    }

    /// Gives back a code that was right.
    pub(super) async fn give_back_code(&self, user: UserId) {
        self.guesses.give_back_code(user.0);
        self.give_back(&[self.count_of_codes(user)]).await;
    }

    /// A failure is only logged. The guess was right, and a count that is too high for a while does less harm than a
    /// refusal.
    async fn give_back(&self, counts: &[GuessCount]) {
        if let Err(error) = self.store.credentials().give_back_guess(counts).await {
            warn!(%error, "a right guess stays counted as a wrong one");
        }
    }

    fn count_of_name(&self, origin: Origin, name: &str) -> GuessCount {
        self.count("name", &format!("{origin} {name}"), PER_NAME)
    }

    fn count_of_codes(&self, user: UserId) -> GuessCount {
        self.count("code", &user.to_string(), PER_CODE)
    }

    /// The count of guesses of one kind that share `common`.
    pub(super) fn count(&self, kind: &str, common: &str, limit: (u32, Duration)) -> GuessCount {
        GuessCount { key: self.count_key(kind, common), rate: rate(limit) }
    }

    /// The key of a count in the database. It does not reveal whose count it is.
    pub(super) fn count_key(&self, kind: &str, common: &str) -> String {
        let digest = key_for(&self.secret, &format!("guess {kind} {common}"));
        hex::encode(&digest[..16])
    }
}
