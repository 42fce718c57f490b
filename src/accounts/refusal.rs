//! Refusals of log-ins, registrations and changes of the own account.

use std::time::Duration;

use store::StoreError;

/// Why a log-in, a registration or a change of the own account is refused.
#[derive(Debug, thiserror::Error)]
pub enum AccountRefusal {
    /// An unknown name and a wrong password are indistinguishable, also by their timing.
    #[error("the user name or password is wrong")]
    BadCredentials,
    /// The network has registered many accounts lately: see
    /// [`due_proof`](super::Accounts::due_proof).
    #[error("a proof of work, or a wait, is due")]
    ProofDue,
    #[error("the user name is taken")]
    UsernameTaken,
    #[error("the user name is not valid")]
    BadUsername,
    /// Its length is wrong, or guessing programs try it first.
    #[error("the password is weak")]
    WeakPassword,
    /// [`BadUsername`](Self::BadUsername) and [`WeakPassword`](Self::WeakPassword) of one registration, reported
    /// together.
    #[error("the user name is not valid and the password is weak")]
    BadNameAndPassword,
    /// Too many wrong guesses, or too many passwords of one network wait to be hashed. Try again after this time.
    #[error("too many attempts")]
    Throttled(Duration),
    /// Too many wrong guesses of all clients together at this name. The account's owner still gets in with a passkey,
    /// with a password and a code, or by a recovery.
    #[error("too many attempts at this account")]
    NameThrottled(Duration),
    /// Staff have blocked the account.
    #[error("the account is blocked")]
    Blocked,
    /// The password was set by an owner, and not replaced in time.
    #[error("the temporary password has expired")]
    PasswordExpired,
    /// The password was right, and a code is needed as well. Carries a signed proof that the password was right.
    #[error("a code is needed")]
    CodeNeeded(String),
    #[error("the code is wrong or was used before")]
    BadCode,
    /// The signature of a passkey is wrong, or the passkey is unknown. Clients cannot tell which.
    #[error("the passkey is unknown or its answer is wrong")]
    BadPasskey,
    /// The browser created a passkey that the shop does not accept, or took too long.
    #[error("the new passkey cannot be used")]
    BadRegistration,
    #[error("the account has no such passkey")]
    NoSuchPasskey,
    #[error("the account has the maximum number of passkeys")]
    TooManyPasskeys,
    #[error("the passkey belongs to an account already")]
    PasskeyTaken,
    /// Browsers offer no passkeys at the shop's address.
    #[error("the shop's address allows no passkeys")]
    PasskeysOff,
    /// The owners require a second factor, and the account's only one is a passkey.
    #[error("the account signs in with its passkey")]
    PasskeyNeeded,
    #[error("the policy is in another version")]
    StaleVersion,
    /// The account needs a second factor first.
    #[error("a second factor is required")]
    SecondFactorRequired,
    /// Replacing a second factor needs a code of the present one, which was missing or wrong.
    #[error("the code of the present second factor is wrong")]
    BadPresentCode,
    /// The current password, which confirms a change, was wrong.
    #[error("the password is wrong")]
    WrongPassword,
    /// The password was entered too long ago.
    #[error("the password is needed again")]
    StepUpNeeded,
    #[error("the mail address is not valid")]
    BadMailAddress,
    /// The link of a message has expired, was used, or is not the latest one.
    #[error("the link is not valid")]
    BadLink,
    #[error("the account has no verified mail address")]
    NoMailAddress,
    /// Too many passwords wait to be hashed.
    #[error("too many users are signing in")]
    Overloaded,
    #[error(transparent)]
    Store(#[from] StoreError),
}
