//! Passwords: their hashing, and which new ones are refused. Hashing is slow and needs much memory on purpose, so it
//! runs on blocking threads, one per core, behind a bounded queue that is shared fairly among networks (`fair_queue`).
//!
//! A new password is refused if guessing programs try it first. Existing passwords stay valid. A common or leaked
//! password is also refused if it is surrounded by digits and signs, has the usual replacements of letters, or is
//! written twice, because long passwords are often made from short ones: `Password2026!`, `p@ssw0rd-123`,
//! `!!!!welcome!!!!`.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use boxed::boxed;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;
use unicode_normalization::UnicodeNormalization;

use crate::AccountRefusal;
use crate::fair_queue::{FairQueue, Lane, QueueBounds, QueueRefusal};
use crate::network::Network;
use domain::Role;

/// OWASP's first choice for Argon2id: 19 MiB, two passes. About 20 ms of one core.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;

/// Hashes per core that may wait in one lane. At 20 ms each that is a wait of 2 s; more hashes are refused.
const MAX_QUEUED_PER_CORE: usize = 100;
/// One host may have 1/`HOST_SHARE` of a lane's places, and one site 1/`SITE_SHARE`.
const HOST_SHARE: usize = 4;
const SITE_SHARE: usize = 2;
/// When a network whose share is full may try again.
const SHARE_RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// How long one hash may wait for a core.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

/// A hash that matches no known password, so that an unknown user takes as long as a wrong password. It is random, not
/// computed, which would need 19 MiB at every start.
static UNKNOWN_USER_HASH: LazyLock<String> = LazyLock::new(|| {
    let (salt, hash) = (rand::random::<[u8; 16]>(), rand::random::<[u8; 32]>());
    let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash));
    format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p=1${salt}${hash}")
});

/// Why a password is hashed (the lane), and for which network.
#[derive(Debug, Clone, Copy)]
pub struct HashRequest {
    lane: Lane,
    network: Network,
}

impl HashRequest {
    pub fn new(lane: Lane, client: IpAddr) -> HashRequest {
        HashRequest { lane, network: Network::of(client) }
    }

    /// A request of the shop itself, not of a client.
    pub fn internal() -> HashRequest {
        HashRequest::new(Lane::Staff, Ipv4Addr::LOCALHOST.into())
    }
}

pub struct Passwords {
    queue: Arc<FairQueue>,
}

#[boxed]
impl Passwords {
    pub fn new() -> Passwords {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let per_lane = cores * MAX_QUEUED_PER_CORE;
        let bounds = QueueBounds { per_host: per_lane / HOST_SHARE, per_site: per_lane / SITE_SHARE, per_lane };
        Passwords { queue: FairQueue::new(cores, bounds) }
    }

    pub async fn hash(&self, password: SecretString, request: HashRequest) -> Result<String, AccountRefusal> {
        let hashed = self.run(request, move || hash(password.expose_secret().as_bytes())).await?;
        hashed.ok_or(AccountRefusal::Overloaded)
    }

    /// Whether the password matches the hash. Without a hash the result is `false`, after the same time.
    pub async fn verify(
        &self,
        password: SecretString,
        hash: Option<String>,
        request: HashRequest,
    ) -> Result<bool, AccountRefusal> {
        self.run(request, move || {
            let matches = verify(password.expose_secret().as_bytes(), hash.as_deref().unwrap_or(&UNKNOWN_USER_HASH));
            matches && hash.is_some()
        })
        .await
    }

    /// Runs `work` on a blocking thread. It keeps its slot until it is done, even if the caller is dropped.
    async fn run<T: Send + 'static>(
        &self,
        request: HashRequest,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, AccountRefusal> {
        let slot = match timeout(QUEUE_TIMEOUT, self.queue.enter(request.lane, request.network)).await {
            Ok(Ok(slot)) => slot,
            Ok(Err(QueueRefusal::ShareFull)) => return Err(AccountRefusal::Throttled(SHARE_RETRY_INTERVAL)),
            Ok(Err(QueueRefusal::LaneFull)) | Err(_) => return Err(AccountRefusal::Overloaded),
        };
        let done = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            work()
        });
        done.await.map_err(|_| AccountRefusal::Overloaded)
    }
}

/// Length of a generated password. Each character has five bits: 100 bits in all.
const MADE_CHARS: usize = 20;

/// A random password that is easy to type.
pub fn generate() -> String {
    letters::<MADE_CHARS>()
}

/// The password that [`generate`] would make of these random bytes.
pub(super) fn of_bytes(bytes: [u8; 32]) -> String {
    spelled(&bytes[..MADE_CHARS])
}

/// `N` random characters of five bits each.
pub fn letters<const N: usize>() -> String {
    spelled(&rand::random::<[u8; N]>())
}

/// One character for each byte, from an alphabet of 32 without letters and digits that look alike.
fn spelled(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
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

/// NIST SP 800-63B: eight characters that are on no list of leaked passwords.
const MIN_CHARS: usize = 8;
/// Staff can do much harm.
const MIN_STAFF_CHARS: usize = 12;
const MAX_CHARS: usize = 256;
/// A password has at least this many different characters.
const MIN_DIFFERENT_CHARS: usize = 4;
/// Rows of keyboards and counting. A password that is a piece of one of them, in either direction, is refused.
const SEQUENCES: [&str; 9] = [
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890123456789",
    "qwertyuiopasdfghjklzxcvbnm",
    "qwertzuiopasdfghjklyxcvbnm",
    "azertyuiopqsdfghjklmwxcvbn",
    "1234567890qwertyuiopasdfghjklzxcvbnm",
    "1q2w3e4r5t6y7u8i9o0p",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "qazwsxedcrfvtgbyhnujmikolp",
];

/// Common passwords and words at the core of common passwords, in lower case, separated by spaces.
const COMMON: &str = include_str!("common_passwords.txt");
/// The most frequent passwords in leaked collections, and given names: some 30,000 of six characters and more, in lower
/// case, one a line. Source: the lists of zxcvbn 4.4.2, whose license is beside them.
const LEAKED: &str = include_str!("leaked_passwords/list.txt");

/// The characters that a password of this role has at least.
pub fn min_password_chars(role: Role) -> usize {
    if role.is_staff() { MIN_STAFF_CHARS } else { MIN_CHARS }
}

/// Whether the password is too short for staff. Characters are counted as typed: a ligature is one character for the user.
pub fn is_short_for_staff(password: &SecretString) -> bool {
    password.expose_secret().chars().count() < MIN_STAFF_CHARS
}

/// Whether a user of this name and role may choose the password.
pub(super) fn is_acceptable(password: &SecretString, username: &str, role: Role) -> bool {
    let text: String = password.expose_secret().nfkc().flat_map(char::to_lowercase).collect();
    (min_password_chars(role)..=MAX_CHARS).contains(&password.expose_secret().chars().count())
        && !has_few_chars(text.trim())
        && !is_repetition(&text)
        && !is_sequence(&text)
        && !is_name(&text, username)
        && !is_common(&text)
}

/// Whether the administrator's password from the settings is one that a user could choose.
pub fn is_acceptable_for_admin(password: &SecretString) -> bool {
    is_acceptable(password, super::ADMIN, Role::Admin)
}

fn has_few_chars(text: &str) -> bool {
    let mut different: Vec<char> = text.chars().collect();
    different.sort_unstable();
    different.dedup();
    different.len() < MIN_DIFFERENT_CHARS
}

/// Whether a piece of at most half the length is repeated to the end: `abcdabcd`, `mei2mei2me`.
fn is_repetition(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    (1..=chars.len() / 2).any(|period| chars.iter().zip(&chars[period..]).all(|(a, b)| a == b))
}

fn is_sequence(text: &str) -> bool {
    let backwards: String = text.chars().rev().collect();
    SEQUENCES.iter().any(|sequence| sequence.contains(text) || sequence.contains(&backwards))
}

/// Whether the password is only the user name, apart from digits and signs around it.
fn is_name(text: &str, username: &str) -> bool {
    let name: String = username.nfkc().flat_map(char::to_lowercase).collect();
    let rest = text.replace(&name, "");
    !name.is_empty() && rest.len() < text.len() && !rest.chars().any(char::is_alphabetic)
}

fn is_common(text: &str) -> bool {
    let plain: String = text.chars().map(replaced_letter).collect();
    // `replaced_letter` turns digits at the ends into letters, so the ends are removed before it as well.
    let core = core_of(text);
    let plain_core: String = core.chars().map(replaced_letter).collect();
    let candidates = [text, core, &plain, &plain_core, core_of(&plain)];
    COMMON.split_ascii_whitespace().chain(LEAKED.lines()).any(|word| candidates.contains(&word) || is_twice(core, word))
}

/// Strips everything that is not a letter from both ends.
fn core_of(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphabetic())
}

fn is_twice(text: &str, word: &str) -> bool {
    text.strip_prefix(word) == Some(word)
}

/// The letter that a digit or sign usually replaces.
fn replaced_letter(c: char) -> char {
    match c {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
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
        assert_ne!(hash(b"correct horse").unwrap(), hashed, "each hash has a salt of its own");
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
    async fn full_share_refuses_its_own_network_only() {
        let bounds = QueueBounds { per_host: 1, per_site: 2, per_lane: 4 };
        let passwords = Passwords { queue: FairQueue::new(1, bounds) };
        let request = |n: u8| HashRequest::new(Lane::LogIn, IpAddr::from([192, 0, n, 1]));
        let busy = passwords.queue.enter(Lane::LogIn, request(1).network).await.unwrap();
        let guess = |n| passwords.verify(SecretString::from("x".to_owned()), None, request(n));
        let (mut waiting, mut other) = (Box::pin(guess(1)), Box::pin(guess(2)));
        assert!(futures::poll!(&mut waiting).is_pending());
        assert!(matches!(guess(1).await, Err(AccountRefusal::Throttled(SHARE_RETRY_INTERVAL))));
        assert!(futures::poll!(&mut other).is_pending(), "another network waits for its turn");
        drop(busy);
        assert!(!waiting.await.unwrap() && !other.await.unwrap());
    }

    fn accepts_of(role: Role, password: &str) -> bool {
        is_acceptable(&SecretString::from(password.to_owned()), "mei-lin", role)
    }

    fn accepts(password: &str) -> bool {
        accepts_of(Role::User, password)
    }

    /// `1km 2km 3km …` of this length.
    fn counted(chars: usize) -> String {
        (1..).flat_map(|n: u32| format!("{n}km ").into_bytes()).map(char::from).take(chars).collect()
    }

    #[test]
    fn password_length_is_counted_in_characters() {
        for (role, least) in
            [(Role::User, "kq7-mt4v"), (Role::Viewer, "kq7-mt4v-b9x"), (Role::User, "春眠不觉晓，处处")]
        {
            assert!(accepts_of(role, least) && accepts_of(role, &counted(256)), "{role:?}");
            let shorter: String = least.chars().skip(1).collect();
            assert!(!accepts_of(role, &shorter) && !accepts_of(role, &counted(257)), "{role:?}");
        }
    }

    #[test]
    fn long_password_counts_to_its_last_character() {
        let longest = counted(256);
        let hashed = hash(longest.as_bytes()).unwrap();
        assert!(verify(longest.as_bytes(), &hashed));
        assert!(!verify(format!("{}!", &longest[..255]).as_bytes(), &hashed));
    }

    #[test]
    fn passwords_that_are_tried_first_are_refused() {
        let refused = [
            "123456789012",
            "12345678",
            "password",
            "qwer1234",
            "abcd1234",
            "mei-lin1",
            "210987654321",
            "Password2026!",
            "p@ssw0rd2026",
            "P4$$w0rd-2026",
            "            ",
            "aaaaaaaaaaaa",
            "abcdefghijkl",
            "qwertyuiopasdf",
            "1qaz2wsx3edc",
            "abcdabcdabcd",
            "mei-lin12345",
            "!!!MEI-LIN!!!",
            "iloveyou-1314",
            "ｐａｓｓｗｏｒｄ２０２６",
            "woaini520131",
            "administrator",
            "letmein!!!!!",
            "monkeymonkey",
            "liverpool-2026",
            "butterfly1234",
            "Elizabeth#1990",
            "111222333444555",
        ];
        for password in refused {
            assert!(!accepts(password), "{password}");
        }
    }

    #[test]
    fn phrases_and_random_passwords_are_accepted() {
        let accepted =
            ["correct horse", "battery staple", "my own password", "a long password", "password of the tests"];
        for password in accepted {
            assert!(accepts(password), "{password}");
        }
        for _ in 0..100 {
            assert!(accepts(&crate::password::generate()));
        }
    }
}
