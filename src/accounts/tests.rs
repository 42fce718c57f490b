mod second_factor;

use std::net::IpAddr;

use super::*;
use domain::SecurityClass;
use domain::proof_of_work::{MAX_BITS, solve};
use store::{AccountChange, AuditFilter, SecurityEventFilter};

async fn accounts() -> (Accounts, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual("2026-11-21T12:00:00Z".parse().unwrap());
    let store = Store::open(&base::config::sqlite_in(dir.path())).unwrap().with_clock(&clock);
    store.migrate().await.unwrap();
    (of(&store, &clock), dir)
}

/// One process of a shop; several share a store.
fn of(store: &Store, clock: &Clock) -> Accounts {
    Accounts::new(store.clone(), clock.clone(), &SecretString::from("s".repeat(64)).into(), false)
}

fn device(n: u8) -> Device {
    Device::new(IpAddr::from([192, 0, 2, n]), "Firefox/128.0 (X11; Linux)")
}

async fn role(accounts: &Accounts, session: &Session) -> Option<Role> {
    accounts.staff(session).await.unwrap().map(|user| user.role)
}

/// An empty proof of work, for accounts that need none.
fn free() -> RegistrationProof {
    RegistrationProof::default()
}

fn secret(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

#[tokio::test]
async fn registered_user_can_log_in_and_guesses_are_throttled() {
    let (accounts, _dir) = accounts().await;
    let (here, there) = (device(1), device(2));
    let registered = accounts.register(&here, "Mei", secret("correct horse"), &free()).await.unwrap();
    let again = accounts.register(&here, "mEI", secret("correct horse"), &free()).await;
    assert!(matches!(again, Err(AccountRefusal::UsernameTaken)));
    let taken = accounts.register(&here, "Admin", secret("correct horse"), &free()).await;
    assert!(matches!(taken, Err(AccountRefusal::UsernameTaken)));
    for name in ["аdmin", "ａｄｍｉｎ", "adm1n", "deleted-12345678", "аԁміո"] {
        let refused = accounts.register(&here, name, secret("correct horse"), &free()).await;
        assert!(matches!(refused, Err(AccountRefusal::UsernameTaken | AccountRefusal::BadUsername)), "{name}");
    }
    for weak in ["12345678", "password", "        ", "lei12345"] {
        let refused = accounts.register(&here, "lei", secret(weak), &free()).await;
        assert!(matches!(refused, Err(AccountRefusal::WeakPassword)), "{weak}");
    }
    for name in ["mei", "nobody"] {
        let wrong = accounts.log_in(&here, name, secret("wrong horse"), None).await;
        assert!(matches!(wrong, Err(AccountRefusal::BadCredentials)));
    }
    let mut throttled = false;
    for _ in 0..20 {
        throttled |=
            matches!(accounts.log_in(&here, "mei", secret("guess"), None).await, Err(AccountRefusal::Throttled(_)));
    }
    assert!(throttled);
    let session = accounts.log_in(&there, "mei", secret("correct horse"), None).await.unwrap();
    assert_eq!(session.user_id, registered.user_id);
}

/// Wrong guesses at the same time. Returns how many were judged.
async fn parallel_guesses(accounts: &Accounts, guesses: impl IntoIterator<Item = (Device, String)>) -> usize {
    let guesses = guesses.into_iter().map(|(device, name)| async move {
        let guessed = accounts.log_in(&device, &name, secret("wrong horse"), None).await;
        matches!(guessed, Err(AccountRefusal::BadCredentials))
    });
    futures::future::join_all(guesses).await.into_iter().filter(|judged| *judged).count()
}

#[tokio::test]
async fn parallel_guesses_are_limited_per_network_and_per_account() {
    let (accounts, _dir) = accounts().await;
    let (owner, lei) = (device(1), device(2));
    accounts.register(&owner, "mei", secret("correct horse"), &free()).await.unwrap();
    accounts.register(&lei, "lei", secret("correct horse"), &free()).await.unwrap();
    let burst = (0..150).map(|_| (device(9), "mei".to_owned()));
    assert_eq!(parallel_guesses(&accounts, burst).await, 8);
    let mut judged = 8;
    for from in 10..30 {
        let spelling = if from % 2 == 0 { "Mei" } else { "Ｍｅｉ" };
        judged += parallel_guesses(&accounts, (0..8).map(|_| (device(from), spelling.to_owned()))).await;
    }
    assert_eq!(judged, 40, "of all addresses together");
    let elsewhere = accounts.log_in(&lei, "mei", secret("correct horse"), None).await;
    assert!(matches!(elsewhere, Err(AccountRefusal::NameThrottled(_))), "{elsewhere:?}");
    assert!(accounts.log_in(&owner, "mei", secret("correct horse"), None).await.is_ok(), "the owner is not locked out");
    assert!(accounts.log_in(&device(9), "lei", secret("correct horse"), None).await.is_ok());
}

#[tokio::test]
async fn guesses_count_for_all_processes_together() {
    let (one, _dir) = accounts().await;
    let two = of(&one.store, &one.clock);
    one.register(&device(1), "mei", secret("correct horse"), &free()).await.unwrap();
    let mut judged = 0;
    for n in 0..40 {
        let process = if n % 2 == 0 { &one } else { &two };
        let guess = process.log_in(&device(9), "mei", secret("wrong horse"), None).await;
        judged += usize::from(matches!(guess, Err(AccountRefusal::BadCredentials)));
    }
    assert_eq!(judged, 8, "of one network");
    for from in 10..30 {
        judged += parallel_guesses(&one, (0..4).map(|_| (device(from), "mei".to_owned()))).await;
        judged += parallel_guesses(&two, (0..4).map(|_| (device(from), "Mei".to_owned()))).await;
    }
    assert_eq!(judged, 40, "of all networks");
    let elsewhere = two.log_in(&device(40), "mei", secret("correct horse"), None).await;
    assert!(matches!(elsewhere, Err(AccountRefusal::NameThrottled(_))), "{elsewhere:?}");
    assert!(two.log_in(&device(1), "mei", secret("correct horse"), None).await.is_ok(), "the owner is not locked out");
    for _ in 0..30 {
        assert!(
            two.log_in(&device(1), "mei", secret("correct horse"), None).await.is_ok(),
            "right ones are given back"
        );
    }
    one.clock.advance(Duration::from_secs(3600));
    one.store.credentials().purge_guesses().await.unwrap();
    assert!(two.log_in(&device(40), "mei", secret("correct horse"), None).await.is_ok(), "an hour later");
}

#[tokio::test]
async fn guesses_at_invented_names_do_not_lock_out_their_neighbours() {
    let (accounts, _dir) = accounts().await;
    let here = device(1);
    accounts.register(&here, "mei", secret("correct horse"), &free()).await.unwrap();
    for batch in 0..7 {
        let names = (0..10).map(|n| (here.clone(), format!("nobody-{batch}-{n}")));
        assert_eq!(parallel_guesses(&accounts, names).await, 10);
    }
    assert!(accounts.log_in(&here, "mei", secret("correct horse"), None).await.is_ok());
}

#[tokio::test]
async fn wide_letters_of_a_name_are_the_plain_ones() {
    let (accounts, _dir) = accounts().await;
    let session = accounts.register(&device(1), "Ｍｅｉ", secret("correct horse"), &free()).await.unwrap();
    assert_eq!(session.username, "Mei");
    for typed in ["mei", "ＭＥＩ"] {
        let again = accounts.log_in(&device(1), typed, secret("correct horse"), None).await.unwrap();
        assert_eq!(again.user_id, session.user_id);
    }
    let taken = accounts.register(&device(1), "ｍｅｉ", secret("correct horse"), &free()).await;
    assert!(matches!(taken, Err(AccountRefusal::UsernameTaken)));
}

#[tokio::test]
async fn names_that_look_like_those_of_staff_cannot_be_registered() {
    let (accounts, _dir) = accounts().await;
    owner(&accounts, "Lilly").await;
    for name in ["LiIIy", "l1lly", "lil.ly", "líllý"] {
        let refused = accounts.register(&device(1), name, secret("correct horse"), &free()).await;
        assert!(matches!(refused, Err(AccountRefusal::UsernameTaken)), "{name}");
    }
    accounts.register(&device(1), "lola", secret("correct horse"), &free()).await.unwrap();
}

#[tokio::test]
async fn weak_password_of_an_existing_account_still_signs_in_and_no_new_one_is_set() {
    let (accounts, _dir) = accounts().await;
    let hash = accounts.passwords.hash(secret("12345678"), HashRequest::internal()).await.unwrap();
    let user = User::new(UserId(Uuid::now_v7()), "mei", hash, Role::User, accounts.clock.now());
    assert!(accounts.store.accounts().add_user(&user).await.unwrap());
    let session = accounts.log_in(&device(1), "mei", secret("12345678"), None).await.unwrap();
    let weak = accounts.change_password(&session, &device(1), secret("12345678"), secret("87654321")).await;
    assert!(matches!(weak, Err(AccountRefusal::WeakPassword)));
    accounts.change_password(&session, &device(1), secret("12345678"), secret("correct horse")).await.unwrap();
}

#[tokio::test]
async fn administrator_is_made_once_and_the_setting_never_brings_a_password_back() {
    let (accounts, _dir) = accounts().await;
    let here = device(1);
    let generated = accounts.ensure_admin(None).await.unwrap().expect("a new administrator's password");
    assert_eq!(accounts.ensure_admin(None).await.unwrap(), None);
    let first = accounts.log_in(&here, ADMIN, secret(&generated), None).await.unwrap();
    assert_eq!(role(&accounts, &first).await, Some(Role::Admin));
    let changed = secret("another password");
    let session = accounts.change_password(&first, &here, secret(&generated), changed.clone()).await.unwrap();
    assert_eq!(accounts.ensure_admin(Some(secret(&generated))).await.unwrap(), None);
    assert_eq!(role(&accounts, &session).await, Some(Role::Admin), "the session goes on");
    accounts.log_in(&here, ADMIN, changed, None).await.unwrap();
}

#[tokio::test]
async fn command_gives_an_owner_a_temporary_password_and_ends_the_sessions() {
    let (accounts, _dir) = accounts().await;
    let here = device(1);
    accounts.ensure_admin(Some(secret("administrator"))).await.unwrap();
    let old = accounts.log_in(&here, ADMIN, secret("administrator"), None).await.unwrap();
    let (password, change) = accounts.temporary_password().await.unwrap();
    assert!(accounts.change_by_command("nadia", &change).await.unwrap().is_none());
    let user = accounts.change_by_command("Admin", &change).await.unwrap().unwrap();
    assert!(user.must_change_password);
    accounts.refresh().await.unwrap();
    assert_eq!(role(&accounts, &old).await, None);
    assert!(accounts.log_in(&here, ADMIN, secret("administrator"), None).await.is_err());
    accounts.log_in(&here, ADMIN, secret(&password), None).await.unwrap();
    let filter = AuditFilter { action: "reset-password".into(), ..AuditFilter::default() };
    let log = accounts.store.audit_log().list(&filter, None, 10).await.unwrap();
    assert_eq!(log.iter().map(|row| row.actor.as_str()).collect::<Vec<_>>(), ["command line"]);
    accounts.events.write(&accounts.store).await.unwrap();
    let events = accounts.store.security_events().list(&SecurityEventFilter::default(), None, 10).await.unwrap();
    assert!(events.iter().any(|event| event.class == SecurityClass::PasswordChanged.as_str()), "{events:?}");
}

async fn two() -> (Accounts, Accounts, Clock, tempfile::TempDir) {
    let (one, dir) = accounts().await;
    let (other, clock) = (of(&one.store, &one.clock), one.clock.clone());
    (one, other, clock, dir)
}

/// The headers of a browser that has this session's cookie.
fn cookie(accounts: &Accounts, session: &Session) -> HeaderMap {
    let cookie = accounts.cookie(session);
    let pair = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
    HeaderMap::from_iter([(axum::http::header::COOKIE, pair.parse().unwrap())])
}

#[tokio::test]
async fn session_ended_in_one_process_ends_in_all() {
    let (one, other, clock, _dir) = two().await;
    let mei = one.register(&device(1), "mei", secret("correct horse"), &free()).await.unwrap();
    let phone = other.log_in(&device(2), "mei", secret("correct horse"), None).await.unwrap();
    let (mine, phones) = (cookie(&one, &mei), cookie(&one, &phone));
    one.refresh().await.unwrap();
    other.refresh().await.unwrap();
    assert_eq!(other.session(&mine).as_ref(), Some(&mei));

    one.log_out(&mei).await.unwrap();
    assert_eq!(one.session(&mine), None, "at once in the same process");
    other.refresh().await.unwrap();
    assert_eq!(other.session(&mine), None, "a copied cookie is revoked everywhere");
    assert!(one.session(&phones).is_some() && other.session(&phones).is_some());

    clock.advance(Duration::from_secs(60));
    let next =
        one.change_password(&phone, &device(2), secret("correct horse"), secret("battery staple")).await.unwrap();
    other.refresh().await.unwrap();
    assert!(one.session(&phones).is_none() && other.session(&phones).is_none());
    let nexts = cookie(&one, &next);
    assert!(
        one.session(&nexts).is_some() && other.session(&nexts).is_some(),
        "the session that changed the password stays"
    );
    assert_eq!(one.sessions_of(&next).await.unwrap().len(), 1);

    // A process that starts later reads the revocations before it serves.
    let later = of(&one.store, &clock);
    later.refresh().await.unwrap();
    assert!(later.session(&mine).is_none() && later.session(&nexts).is_some());
    later.log_out_everywhere(&next).await.unwrap();
    one.refresh().await.unwrap();
    assert_eq!(one.session(&nexts), None);
    let again = one.log_in(&device(1), "mei", secret("battery staple"), None).await.unwrap();
    assert!(one.session(&cookie(&one, &again)).is_some(), "in the same millisecond, too");
}

#[tokio::test]
async fn expired_sessions_and_revocations_are_deleted() {
    let (one, _, clock, _dir) = two().await;
    let mei = one.register(&device(1), "mei", secret("correct horse"), &free()).await.unwrap();
    one.log_out_everywhere(&mei).await.unwrap();
    assert_eq!(one.store.sessions().revocations(0, 10).await.unwrap().len(), 2);
    clock.advance(Duration::from_secs(15 * 24 * 3600));
    one.purge().await.unwrap();
    assert_eq!(one.store.sessions().revocations(0, 10).await.unwrap(), []);
    assert_eq!(one.session(&cookie(&one, &mei)), None);
}

async fn owner(accounts: &Accounts, name: &str) -> Session {
    let session = accounts.register(&device(1), name, secret("correct horse"), &free()).await.unwrap();
    let boss = accounts.ensure_admin(Some(secret("administrator"))).await;
    assert_eq!(boss.unwrap(), None);
    let boss = accounts.log_in(&device(1), ADMIN, secret("administrator"), None).await.unwrap();
    let change = store::AccountChange::SetRole(Role::Admin);
    accounts.change_account(&boss, session.user_id, &change).await.unwrap();
    accounts.log_in(&device(1), name, secret("correct horse"), None).await.unwrap()
}

#[tokio::test]
async fn concurrent_owners_cannot_remove_the_last_owner() {
    use store::{AccountChange, AccountChangeRefusal};
    for round in 0..8 {
        let (one, other, _clock, _dir) = two().await;
        let mei = owner(&one, "mei").await;
        let admin = other.log_in(&device(1), ADMIN, secret("administrator"), None).await.unwrap();
        let change = match round % 2 {
            0 => AccountChange::SetRole(Role::User),
            _ => AccountChange::Block { reason: "out".into() },
        };
        let (a, b) = tokio::join!(
            one.change_account(&mei, admin.user_id, &change),
            other.change_account(&admin, mei.user_id, &change),
        );
        assert_eq!(usize::from(a.is_ok()) + usize::from(b.is_ok()), 1, "{a:?} {b:?}");
        let left = one.store.accounts().staff().await.unwrap();
        let owners: Vec<&User> = left.iter().filter(|u| u.role == Role::Admin && !u.is_blocked()).collect();
        assert_eq!(owners.len(), 1);
        let last = if a.is_ok() { &mei } else { &admin };
        for change in [AccountChange::SetRole(Role::User), AccountChange::SetRole(Role::Viewer)] {
            let refused = one.change_account(last, last.user_id, &change).await;
            assert!(matches!(refused, Err(AccountChangeRefusal::LastOwner)), "{refused:?}");
        }
        let refused = one.change_account(last, last.user_id, &AccountChange::Block { reason: "me".into() }).await;
        assert!(matches!(refused, Err(AccountChangeRefusal::Yourself)), "{refused:?}");
    }
}

#[tokio::test]
async fn session_of_staff_ends_when_it_is_not_used_and_after_half_a_day() {
    let (one, other, clock, _dir) = two().await;
    let staff = owner(&one, "mei").await;
    let shopper = one.register(&device(1), "lei", secret("correct horse"), &free()).await.unwrap();
    let almost = Duration::from_secs(29 * 60);
    for _ in 0..3 {
        clock.advance(almost);
        assert_eq!(role(&one, &staff).await, Some(Role::Admin));
        one.seen(&staff);
    }
    one.write_last_uses().await.unwrap();
    clock.advance(almost);
    assert_eq!(role(&other, &staff).await, Some(Role::Admin), "its uses are stored for other processes");
    clock.advance(Duration::from_secs(60));
    assert_eq!(role(&other, &staff).await, None);
    assert!(other.session(&cookie(&one, &staff)).is_none(), "the session has ended");

    let staff = one.log_in(&device(1), "mei", secret("correct horse"), None).await.unwrap();
    clock.advance(Duration::from_secs(12 * 3600));
    assert!(one.session(&cookie(&one, &staff)).is_none());
    assert!(one.session(&cookie(&one, &shopper)).is_some());
}

#[tokio::test]
async fn process_with_a_wrong_clock_neither_ends_nor_prolongs_a_session_of_staff() {
    let (right, _, clock, _dir) = two().await;
    let wrong = Duration::from_secs(31 * 60);
    let ahead = of(&right.store, &Clock::manual(clock.now() + wrong));
    let behind = of(&right.store, &Clock::manual(clock.now() - wrong));
    let staff = owner(&right, "mei").await;
    assert_eq!(role(&ahead, &staff).await, Some(Role::Admin));
    assert_eq!(role(&behind, &staff).await, Some(Role::Admin));
    assert!(right.session(&cookie(&right, &staff)).is_some(), "no other process ended it");

    for process in [&ahead, &behind] {
        process.seen(&staff);
        process.write_last_uses().await.unwrap();
    }
    clock.advance(Duration::from_secs(31 * 60));
    assert_eq!(role(&right, &staff).await, None, "a use in the future does not prolong it");
}

// The proof of work of a network that registers many accounts.

/// A shop on which three accounts of a host are free, and its clock.
async fn open() -> (Accounts, Clock, tempfile::TempDir) {
    let (accounts, folder) = accounts().await;
    let clock = accounts.clock.clone();
    (with_free_registrations(accounts, 3), clock, folder)
}

fn with_free_registrations(accounts: Accounts, free: u32) -> Accounts {
    Accounts { rules: AccountRules { free_registrations: free, ..Default::default() }, ..accounts }
}

fn at(address: &str) -> Device {
    Device::new(address.parse().unwrap(), "")
}

/// Counts accounts without adding them.
async fn count(accounts: &Accounts, device: &Device, times: usize) {
    for _ in 0..times {
        let counts = accounts.registration_counts(device);
        accounts.store.accounts().count_registration(&counts, |_| true, None).await.unwrap();
    }
}

async fn register(
    accounts: &Accounts,
    device: &Device,
    name: &str,
    proof: &RegistrationProof,
) -> Result<(), AccountRefusal> {
    accounts.register(device, name, secret("correct horse"), proof).await.map(drop)
}

fn solved(due: &DueProof) -> RegistrationProof {
    RegistrationProof { challenge: due.challenge.clone(), numbers: solve(&due.challenge, due.bits) }
}

#[tokio::test]
async fn account_of_a_busy_network_costs_a_proof_that_is_spent_once() {
    let (accounts, clock, _folder) = open().await;
    let (busy, neighbor, far) = (at("203.0.113.7"), at("203.0.113.8"), at("198.51.100.1"));
    for n in 0..3 {
        assert_eq!(accounts.due_proof(&busy, "").await.unwrap(), None);
        register(&accounts, &busy, &format!("free{n}"), &free()).await.unwrap();
    }
    let refused = register(&accounts, &busy, "lei", &free()).await;
    assert!(matches!(refused, Err(AccountRefusal::ProofDue)), "{refused:?}");
    for device in [&neighbor, &far, &at("127.0.0.1"), &at("2001:db8::1")] {
        assert_eq!(accounts.due_proof(device, "").await.unwrap(), None, "{device:?}");
    }
    let due = accounts.due_proof(&busy, "").await.unwrap().unwrap();
    assert_eq!(accounts.due_proof(&busy, &due.challenge).await.unwrap().unwrap(), due, "a good one is kept");
    let proof = solved(&due);
    let wrong = [
        RegistrationProof { numbers: proof.numbers.iter().map(|number| number + 1).collect(), ..proof.clone() },
        RegistrationProof { numbers: vec![], ..proof.clone() },
        RegistrationProof { challenge: format!("{}x", proof.challenge), ..proof.clone() },
        free(),
    ];
    for proof in &wrong {
        assert!(matches!(register(&accounts, &busy, "lei", proof).await, Err(AccountRefusal::ProofDue)), "{proof:?}");
    }
    // A taken name does not spend the proof of work.
    assert!(matches!(register(&accounts, &busy, "free0", &proof).await, Err(AccountRefusal::UsernameTaken)));
    register(&accounts, &busy, "lei", &proof).await.unwrap();
    assert!(matches!(register(&accounts, &busy, "wang", &proof).await, Err(AccountRefusal::ProofDue)), "it is spent");

    // A challenge belongs to its network.
    let due = accounts.due_proof(&busy, "").await.unwrap().unwrap();
    for n in 0..3 {
        register(&accounts, &far, &format!("far{n}"), &free()).await.unwrap();
    }
    assert!(matches!(register(&accounts, &far, "zhao", &solved(&due)).await, Err(AccountRefusal::ProofDue)));
    // An hour later the network is as free as before.
    clock.advance(Duration::from_secs(2 * 3600));
    assert_eq!(accounts.due_proof(&busy, "").await.unwrap(), None);
    assert!(matches!(register(&accounts, &busy, "wang", &solved(&due)).await, Ok(())), "what is old is not looked at");
}

#[tokio::test]
async fn anonymous_entry_counts_as_a_registration_of_its_network() {
    let (accounts, _, _dir) = open().await;
    let enter = async |from: &str| accounts.customers().enter_anonymously(&at(from)).await.unwrap().is_some();
    for _ in 0..3 {
        assert!(enter("192.0.2.1").await);
    }
    assert!(!enter("192.0.2.1").await, "no account is left for free");
    let refused = accounts.register(&at("192.0.2.1"), "lei", secret("correct horse"), &free()).await;
    assert!(matches!(refused, Err(AccountRefusal::ProofDue)), "{refused:?}");
    assert!(enter("198.51.100.1").await, "another network");
}

#[tokio::test]
async fn registrations_beyond_the_rate_of_a_host_are_refused_before_any_work() {
    let (accounts, _dir) = accounts().await;
    let ask = async |from: u8| accounts.register(&device(from), "lei", secret("12345678"), &free()).await;
    for n in 0..100 {
        assert!(matches!(ask(1).await, Err(AccountRefusal::WeakPassword)), "{n}");
    }
    assert!(matches!(ask(1).await, Err(AccountRefusal::Throttled(_))));
    assert!(matches!(ask(2).await, Err(AccountRefusal::WeakPassword)), "another host");
}

#[tokio::test]
async fn work_rises_with_the_accounts_of_a_host_and_of_its_site_up_to_a_ceiling() {
    let (accounts, clock, _folder) = open().await;
    let bits = async |device: &Device| accounts.due_proof(device, "").await.unwrap().map(|due| due.bits);
    count(&accounts, &at("203.0.113.7"), 3).await;
    assert_eq!(bits(&at("203.0.113.7")).await, Some(3));
    count(&accounts, &at("203.0.113.7"), 3).await;
    assert_eq!(bits(&at("203.0.113.7")).await, Some(4));
    for host in 20..23 {
        count(&accounts, &at(&format!("203.0.113.{host}")), 3).await;
    }
    assert_eq!(bits(&at("203.0.113.99")).await, Some(3), "fifteen accounts of the site");
    count(&accounts, &at("203.0.113.7"), 100).await;
    assert_eq!(bits(&at("203.0.113.7")).await, Some(MAX_BITS));
    clock.advance(Duration::from_secs(20 * 3600));
    assert_eq!(bits(&at("203.0.113.7")).await, None, "a count has an upper bound, so that abuse is forgotten");
    // A /64 of IPv6 is one host.
    count(&accounts, &at("2001:db8:1:2::1"), 3).await;
    assert_eq!((bits(&at("2001:db8:1:2::ffff")).await, bits(&at("2001:db8:1:3::1")).await), (Some(3), None));
}

#[tokio::test]
async fn who_cannot_compute_waits_ten_minutes() {
    let (accounts, clock, _folder) = open().await;
    let here = at("203.0.113.7");
    count(&accounts, &here, 12).await;
    let due = accounts.due_proof(&here, "").await.unwrap().unwrap();
    let waited = RegistrationProof { challenge: due.challenge.clone(), numbers: vec![] };
    clock.advance(Duration::from_secs(10 * 60 - 1));
    assert!(matches!(register(&accounts, &here, "lei", &waited).await, Err(AccountRefusal::ProofDue)));
    clock.advance(Duration::from_secs(1));
    assert_eq!(due.free_at, clock.now());
    register(&accounts, &here, "lei", &waited).await.unwrap();
    assert!(matches!(register(&accounts, &here, "wang", &waited).await, Err(AccountRefusal::ProofDue)), "it is spent");
    let late = accounts.due_proof(&here, "").await.unwrap().unwrap();
    clock.advance(Duration::from_secs(60 * 60));
    count(&accounts, &here, 12).await;
    let waited = RegistrationProof { challenge: late.challenge, numbers: vec![] };
    assert!(matches!(register(&accounts, &here, "wang", &waited).await, Err(AccountRefusal::ProofDue)), "it expired");
}

#[tokio::test]
async fn accounts_that_are_registered_at_once_do_not_share_a_price() {
    let (accounts, _clock, _folder) = open().await;
    let here = at("203.0.113.7");
    let names: Vec<String> = (0..8).map(|n| format!("user{n}")).collect();
    let free = free();
    let all = futures::future::join_all(names.iter().map(|name| register(&accounts, &here, name, &free))).await;
    assert_eq!(all.iter().filter(|done| done.is_ok()).count(), 3, "{all:?}");
    let due = accounts.due_proof(&here, "").await.unwrap().unwrap();
    let proof = solved(&due);
    let all =
        futures::future::join_all((0..4).map(|n| register(&accounts, &here, ["a-1", "a-2", "a-3", "a-4"][n], &proof)))
            .await;
    assert_eq!(all.iter().filter(|done| done.is_ok()).count(), 1, "{all:?}");
}

#[tokio::test]
async fn account_that_was_free_when_it_was_checked_is_not_paid_by_an_unsolved_challenge() {
    let (accounts, clock, _folder) = open().await;
    let here = at("203.0.113.7");
    count(&accounts, &here, 3).await;
    let due = accounts.due_proof(&here, "").await.unwrap().unwrap();
    let unsolved = RegistrationProof { challenge: due.challenge, numbers: vec![] };
    // While the challenge is good, the count falls by one account (here: the allowance is raised) and rises again.
    clock.advance(Duration::from_secs(9 * 60));
    let other = with_free_registrations(accounts, 30);
    let checked = other.check_proof(&here, &unsolved).await.unwrap();
    assert!(checked.is_none(), "it is free");
    let accounts = with_free_registrations(other, 3);
    let taken = accounts.spend_proof(&here, checked.as_ref()).await;
    assert!(matches!(taken, Err(AccountRefusal::ProofDue)), "{taken:?}");
}
