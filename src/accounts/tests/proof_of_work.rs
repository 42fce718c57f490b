//! The proof of work of a network that registers many accounts.

use std::time::Duration;

use super::*;
use domain::proof_of_work::{MAX_BITS, solve};

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
