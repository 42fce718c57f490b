//! Password hashing: slow and hungry on purpose, so it happens on threads of its own, one per core, and a line that has
//! grown too long is not joined any more.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::AccountRefusal;

/// OWASP's first choice for Argon2id: 19 MiB, two passes. Some 20 ms of one core.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;

/// Hashes per core that may wait; beyond, the wait would be longer than people's patience.
const LINE_PER_CORE: usize = 100;
/// How long one hash may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// A hash that no password is known to fit, so that an unknown user takes as long as a wrong password. It is drawn, not
/// computed: that would touch 19 MiB at every start.
static NOBODY: LazyLock<String> = LazyLock::new(|| {
    let (salt, hash) = (rand::random::<[u8; 16]>(), rand::random::<[u8; 32]>());
    let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash));
    format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p=1${salt}${hash}")
});

pub struct Passwords {
    line: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

impl Passwords {
    pub fn new() -> Passwords {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Passwords {
            line: Arc::new(Semaphore::new(cores * (1 + LINE_PER_CORE))),
            turns: Arc::new(Semaphore::new(cores)),
        }
    }

    pub async fn hash(&self, password: SecretString) -> Result<String, AccountRefusal> {
        let hashed = self.in_turn(move || hash(password.expose_secret().as_bytes())).await?;
        hashed.ok_or(AccountRefusal::Overloaded)
    }

    /// Whether the password fits the hash. Without a hash the answer is `false`, after the same time.
    pub async fn verify(&self, password: SecretString, hash: Option<String>) -> Result<bool, AccountRefusal> {
        self.in_turn(move || {
            let fits = verify(password.expose_secret().as_bytes(), hash.as_deref().unwrap_or(&NOBODY));
            fits && hash.is_some()
        })
        .await
    }

    /// The work keeps its place until it is done, also when nobody waits for the answer any more.
    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, AccountRefusal> {
        let place = self.line.clone().try_acquire_owned().map_err(|_| AccountRefusal::Overloaded)?;
        let turn = timeout(PATIENCE, self.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(AccountRefusal::Overloaded) };
        let done = tokio::task::spawn_blocking(move || {
            let _held = (place, turn);
            work()
        });
        done.await.map_err(|_| AccountRefusal::Overloaded)
    }
}

/// 20 characters that nobody guesses and everybody can type.
pub fn generate() -> String {
    letters::<20>()
}

/// So many random characters, five bits each.
pub fn letters<const N: usize>() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    rand::random::<[u8; N]>().iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}

fn argon2() -> Option<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, 1, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// `None` only when the system gives no memory or no randomness.
fn hash(password: &[u8]) -> Option<String> {
    argon2()?.hash_password(password).ok().map(|hash| hash.to_string())
}

/// With the parameters that the hash names, so that they can change.
fn verify(password: &[u8], hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    Argon2::default().verify_password(password, &hash).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_fits_its_password_only() {
        let hashed = hash(b"correct horse").unwrap();
        assert!(hashed.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hashed}");
        assert!(verify(b"correct horse", &hashed));
        assert!(!verify(b"wrong horse", &hashed));
        assert!(!verify(b"", "not a hash"));
        assert_ne!(generate(), generate());
    }

    #[test]
    fn an_unknown_user_takes_as_long_as_a_wrong_password() {
        let (nobody, somebody) = (PasswordHash::new(&NOBODY).unwrap(), hash(b"correct horse").unwrap());
        let somebody = PasswordHash::new(&somebody).unwrap();
        let cost = |hash: &PasswordHash| (hash.algorithm.to_string(), hash.version, hash.params.to_string());
        assert_eq!(cost(&nobody), cost(&somebody));
        let sizes = |hash: &PasswordHash| (hash.salt.unwrap().len(), hash.hash.unwrap().len());
        assert_eq!(sizes(&nobody), sizes(&somebody));
        assert!(!verify(b"correct horse", &NOBODY));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_not_joined() {
        let passwords = Passwords::new();
        let all = passwords.line.clone().try_acquire_many_owned(passwords.line.available_permits() as u32);
        let refused = passwords.verify(SecretString::from("x".to_owned()), None).await;
        assert!(matches!(refused, Err(AccountRefusal::Overloaded)));
        drop(all);
        assert!(!passwords.verify(SecretString::from("x".to_owned()), None).await.unwrap());
    }
}
