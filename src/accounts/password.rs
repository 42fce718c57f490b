//! Password hashing. It is slow and needs much memory on purpose, so it runs on blocking threads, one per core, behind
//! a bounded queue.

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

/// OWASP's first choice for Argon2id: 19 MiB, two passes. About 20 ms of one core.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;

/// Hashes per core that may wait. At 20 ms each that is a wait of 2 s; more hashes are refused.
const MAX_QUEUED_PER_CORE: usize = 100;
/// How long one hash may wait for a core.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

/// A hash that matches no known password, so that an unknown user takes as long as a wrong password. It is random, not
/// computed, which would need 19 MiB at every start.
static UNKNOWN_USER_HASH: LazyLock<String> = LazyLock::new(|| {
    let (salt, hash) = (rand::random::<[u8; 16]>(), rand::random::<[u8; 32]>());
    let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash));
    format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p=1${salt}${hash}")
});

pub struct Passwords {
    /// Limits queued and running hashes.
    queue: Arc<Semaphore>,
    /// Limits running hashes.
    cores: Arc<Semaphore>,
}

impl Passwords {
    pub fn new() -> Passwords {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Passwords {
            queue: Arc::new(Semaphore::new(cores * (1 + MAX_QUEUED_PER_CORE))),
            cores: Arc::new(Semaphore::new(cores)),
        }
    }

    pub async fn hash(&self, password: SecretString) -> Result<String, AccountRefusal> {
        let hashed = self.run(move || hash(password.expose_secret().as_bytes())).await?;
        hashed.ok_or(AccountRefusal::Overloaded)
    }

    /// Whether the password matches the hash. Without a hash the result is `false`, after the same time.
    pub async fn verify(&self, password: SecretString, hash: Option<String>) -> Result<bool, AccountRefusal> {
        self.run(move || {
            let matches = verify(password.expose_secret().as_bytes(), hash.as_deref().unwrap_or(&UNKNOWN_USER_HASH));
            matches && hash.is_some()
        })
        .await
    }

    /// Runs `work` on a blocking thread. It keeps its place until it is done, even if the caller is dropped.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, AccountRefusal> {
        let place = self.queue.clone().try_acquire_owned().map_err(|_| AccountRefusal::Overloaded)?;
        let core = timeout(QUEUE_TIMEOUT, self.cores.clone().acquire_owned()).await;
        let Ok(Ok(core)) = core else { return Err(AccountRefusal::Overloaded) };
        let done = tokio::task::spawn_blocking(move || {
            let _permits = (place, core);
            work()
        });
        done.await.map_err(|_| AccountRefusal::Overloaded)
    }
}

/// A random password of 20 characters (100 bits) that is easy to type.
pub fn generate() -> String {
    letters::<20>()
}

/// `N` random characters of five bits each, without those that are easily confused.
pub fn letters<const N: usize>() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    rand::random::<[u8; N]>().iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}

fn argon2() -> Option<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, 1, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// `None` only when the system has no memory or no randomness.
fn hash(password: &[u8]) -> Option<String> {
    argon2()?.hash_password(password).ok().map(|hash| hash.to_string())
}

/// Uses the parameters that the hash names, so that the constants above may change.
fn verify(password: &[u8], hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    Argon2::default().verify_password(password, &hash).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_matches_its_password_only() {
        let hashed = hash(b"correct horse").unwrap();
        assert!(hashed.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hashed}");
        assert!(verify(b"correct horse", &hashed));
        assert!(!verify(b"wrong horse", &hashed));
        assert!(!verify(b"", "not a hash"));
        assert_ne!(generate(), generate());
    }

    #[test]
    fn unknown_user_costs_as_much_as_a_wrong_password() {
        let (unknown, known) = (PasswordHash::new(&UNKNOWN_USER_HASH).unwrap(), hash(b"correct horse").unwrap());
        let known = PasswordHash::new(&known).unwrap();
        let cost = |hash: &PasswordHash| (hash.algorithm.to_string(), hash.version, hash.params.to_string());
        assert_eq!(cost(&unknown), cost(&known));
        let sizes = |hash: &PasswordHash| (hash.salt.unwrap().len(), hash.hash.unwrap().len());
        assert_eq!(sizes(&unknown), sizes(&known));
        assert!(!verify(b"correct horse", &UNKNOWN_USER_HASH));
    }

    #[tokio::test]
    async fn full_queue_refuses_more_hashes() {
        let passwords = Passwords::new();
        let all = passwords.queue.clone().try_acquire_many_owned(passwords.queue.available_permits() as u32);
        let refused = passwords.verify(SecretString::from("x".to_owned()), None).await;
        assert!(matches!(refused, Err(AccountRefusal::Overloaded)));
        drop(all);
        assert!(!passwords.verify(SecretString::from("x".to_owned()), None).await.unwrap());
    }
}
