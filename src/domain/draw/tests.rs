//! Draws as a whole: golden vectors that another program computed, and what a changed byte breaks.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::*;
use crate::{SaleId, hex};

const ENTRIES: &str = include_str!("../../../tests/draw/entries.csv");
/// Proof and order with each kind of randomness. The last one is of quicknet too, after two rounds were given up.
const GOLDEN: [(&str, &str); 4] = [
    (include_str!("../../../tests/draw/quicknet/proof.json"), include_str!("../../../tests/draw/quicknet/order.txt")),
    (include_str!("../../../tests/draw/sandbox/proof.json"), include_str!("../../../tests/draw/sandbox/order.txt")),
    (include_str!("../../../tests/draw/none/proof.json"), include_str!("../../../tests/draw/none/order.txt")),
    (include_str!("../../../tests/draw/later/proof.json"), include_str!("../../../tests/draw/later/order.txt")),
];
/// Round 123 of quicknet, as drand's API gives it.
const ROUND: &str = r#"{"round":123,"randomness":"@","signature":"b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482e26cd02df835d3546d23c4b13e0dfc92"}"#;

fn golden(index: usize) -> Proof {
    Proof::parse(GOLDEN[index].0.as_bytes()).unwrap()
}

fn round(beacon: Beacon, round: i64) -> PublicRound {
    PublicRound { beacon, round }
}

#[test]
fn golden_draws_hold_and_have_their_order() {
    for (index, (_, order)) in GOLDEN.iter().enumerate() {
        let verification = golden(index).verify(ENTRIES.as_bytes()).unwrap();
        assert!(verification.holds(), "{:?}", verification.checks);
        let ids: Vec<String> = verification.order.iter().map(|entry| format!("{entry}\n")).collect();
        assert_eq!(&ids.concat(), order);
        assert_eq!(
            verification.caveat().is_none(),
            [0, 3].contains(&index),
            "only quicknet's rounds are beyond the shop"
        );
    }
}

#[test]
fn proof_is_made_from_rules_list_randomness_and_secret() {
    for index in 0..GOLDEN.len() {
        let expected = golden(index);
        let rules: DrawRules = expected.rules.parse().unwrap();
        let list = EntryList::parse(ENTRIES.as_bytes()).unwrap();
        let awaited = rules.randomness.map(|public| RoundChange::last(public, &expected.changes));
        let known = awaited.map(|public| public.verify(expected.signature.as_deref().unwrap()).unwrap());
        let secret = expected.secret.parse().unwrap();
        let proof = Proof::new(&rules, &expected.changes, &list, known.as_ref(), &secret);
        assert_eq!(proof, expected);
        assert_eq!(Proof::parse(&serde_json::to_vec(&proof).unwrap()).unwrap(), proof);
    }
}

/// All texts that differ from this one in a single byte.
fn changes(text: &str) -> impl Iterator<Item = String> {
    (0..text.len()).flat_map(move |at| {
        let old = text.as_bytes()[at];
        let others = [b'0', b'1', b'a', b'A', b' ', b'\n'].into_iter().filter(move |new| *new != old);
        others.map(move |new| [&text[..at], &char::from(new).to_string(), &text[at + 1..]].concat())
    })
}

#[test]
fn any_changed_byte_of_a_proof_makes_it_fail() {
    // The pairing of a signature takes too long for every byte here; its own test is below.
    for index in [1, 2] {
        let proof = golden(index);
        let mut changed = Vec::new();
        changed.extend(changes(&proof.protocol).map(|protocol| Proof { protocol, ..proof.clone() }));
        changed.extend(changes(&proof.rules).map(|rules| Proof { rules, ..proof.clone() }));
        changed.extend(changes(&proof.root).map(|root| Proof { root, ..proof.clone() }));
        changed.extend(changes(&proof.entries_sha256).map(|hash| Proof { entries_sha256: hash, ..proof.clone() }));
        changed.extend(changes(&proof.secret).map(|secret| Proof { secret, ..proof.clone() }));
        changed.extend(changes(&proof.seed).map(|seed| Proof { seed, ..proof.clone() }));
        for signature in proof.signature.iter().flat_map(|signature| changes(signature)) {
            changed.push(Proof { signature: Some(signature), ..proof.clone() });
        }
        changed.push(Proof { n: proof.n + 1, ..proof.clone() });
        changed.push(Proof { excluded: [(Exclusion::Duplicate, 3)].into(), ..proof.clone() });
        let rounds = [Some(122), Some(124), Some(-1), None].into_iter().filter(|round| *round != proof.round);
        changed.extend(rounds.map(|round| Proof { round, ..proof.clone() }));
        let other = if proof.signature.is_some() { None } else { Some("00".repeat(32)) };
        changed.push(Proof { signature: other, ..proof.clone() });
        for proof in changed {
            let verification = proof.verify(ENTRIES.as_bytes()).unwrap();
            assert!(!verification.holds() && verification.order.is_empty(), "{proof:?}");
        }
    }
}

#[test]
fn any_changed_byte_of_the_list_makes_it_fail_or_unreadable() {
    let proof = golden(1);
    for list in changes(ENTRIES) {
        assert!(!proof.verify(list.as_bytes()).is_ok_and(|verification| verification.holds()), "{list}");
    }
    let lines: Vec<&str> = ENTRIES.split_inclusive('\n').collect();
    for at in 0..lines.len() {
        let without = [&lines[..at], &lines[at + 1..]].concat().concat();
        assert!(!proof.verify(without.as_bytes()).is_ok_and(|verification| verification.holds()), "{without}");
    }
}

#[test]
fn round_of_quicknet_is_verified_by_its_signature() {
    let awaited = round(Beacon::Quicknet, 123);
    let known = awaited.verify(ROUND.replace(r#""randomness":"@","#, "").as_str()).unwrap();
    let randomness = hex::encode(&known.value());
    let signature = known.signature_hex();
    for pasted in [
        ROUND.replace('@', &randomness),
        format!("\n{}  ", ROUND.replace('@', &randomness)),
        signature.clone(),
        signature.to_uppercase(),
    ] {
        assert_eq!(awaited.verify(&pasted), Ok(known.clone()), "{pasted}");
    }
    assert_eq!(awaited.verify(&ROUND.replace('@', "00")), Err(WrongRandomness::Randomness));
    assert_eq!(round(Beacon::Quicknet, 124).verify(&signature), Err(WrongRandomness::Signature));
    let other = round(Beacon::Quicknet, 124).verify(&ROUND.replace('@', &randomness));
    assert_eq!(other, Err(WrongRandomness::OtherRound { given: 123, awaited: 124 }));
    for at in [0, 7, 47] {
        let mut changed = known.signature.clone();
        changed[at] ^= 4;
        let changed = hex::encode(&changed);
        assert_eq!(awaited.verify(&changed), Err(WrongRandomness::Signature), "{changed}");
    }
    // The point at infinity is a point of the curve, and no signature.
    assert_eq!(awaited.verify(&format!("c0{}", "00".repeat(47))), Err(WrongRandomness::Signature));
    for unreadable in ["", "{}", "{\"round\":123}", "b75c", &"0".repeat(5_000)] {
        assert_eq!(awaited.verify(unreadable), Err(WrongRandomness::Unreadable), "{unreadable}");
    }
    assert_eq!(round(Beacon::Quicknet, -1).verify(&signature), Err(WrongRandomness::Signature));
}

#[test]
fn round_is_the_first_that_appears_after_a_time() {
    let genesis: Timestamp = "2023-08-23T15:09:27Z".parse().unwrap();
    for beacon in Beacon::ALL {
        let first =
            |ms| PublicRound::first_after(beacon, genesis.saturating_add(SignedDuration::from_millis(ms)).unwrap());
        let rounds = [-10_000, -3_001, -1, 0, 1, 2_999, 3_000, 3_001].map(|ms| first(ms).round);
        assert_eq!(rounds, [1, 1, 1, 2, 2, 2, 3, 3]);
        assert_eq!(round(beacon, 1).at(), genesis);
        assert_eq!(round(beacon, i64::MAX).at(), Timestamp::MAX);
        for ms in [0, 1, 2_999, 3_000, 1_234_567_890] {
            let time = genesis.saturating_add(SignedDuration::from_millis(ms)).unwrap();
            let wait = first(ms).at().duration_since(time);
            assert!(wait > SignedDuration::ZERO && wait <= SignedDuration::from_secs(3), "{wait}");
        }
    }
}

#[test]
fn draw_of_a_round_that_was_known_before_the_closing_fails() {
    let proof = golden(1);
    let mut rules: DrawRules = proof.rules.parse().unwrap();
    rules.closes_at = round(Beacon::Sandbox, 123).at();
    let known = rules.randomness.unwrap().sandbox_randomness();
    let list = EntryList::parse(ENTRIES.as_bytes()).unwrap();
    let early = Proof::new(&rules, &[], &list, known.as_ref(), &proof.secret.parse().unwrap());
    let verification = early.verify(ENTRIES.as_bytes()).unwrap();
    let failed: Vec<_> = verification.checks.iter().filter(|check| check.failure.is_some()).collect();
    assert!(matches!(&failed[..], [check] if check.promise == "the round appears after the last entry"), "{failed:?}");
}

/// `golden(3)` with one of its changes altered. Round 123 is due at 15:15:33.
fn altered(at: usize, alter: impl Fn(&mut RoundChange)) -> Proof {
    let mut proof = golden(3);
    alter(&mut proof.changes[at]);
    proof
}

#[test]
fn changed_round_follows_from_the_time_of_its_announcement() {
    let failed = |proof: &Proof| {
        let verification = proof.verify(ENTRIES.as_bytes()).unwrap();
        assert!(verification.order.is_empty() || verification.holds());
        let failed = verification.checks.iter().filter(|check| check.failure.is_some());
        failed.map(|check| check.promise).collect::<Vec<_>>()
    };
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    assert_eq!(failed(&altered(0, |change| change.at = at("2023-08-23T17:00:02.999Z"))), [""; 0], "the same round");
    for broken in [
        altered(0, |change| change.to = 2412),
        altered(0, |change| change.to = 2414),
        altered(0, |change| change.from = 122),
        altered(0, |change| change.at = at("2023-08-23T17:00:03Z")),
        altered(1, |change| change.from = 2412),
        altered(1, |change| change.at = at("2023-08-23T18:00:00Z")),
        Proof { changes: golden(3).changes[1..].to_vec(), ..golden(3) },
    ] {
        assert_eq!(failed(&broken), ["each change of the round follows from its time"], "{broken:?}");
    }
    // Given up a second before the hour is over.
    let early = |seconds| RoundChange {
        at: at("2023-08-23T16:15:32Z") + SignedDuration::from_secs(seconds),
        ..golden(3).changes[0].clone()
    };
    let follows = |change: RoundChange| {
        let to = PublicRound::first_after(Beacon::Quicknet, change.at + SignedDuration::from_mins(10)).round;
        RoundChange::check(Some(round(Beacon::Quicknet, 123)), &[RoundChange { to, ..change }]).is_ok()
    };
    assert!(!follows(early(0)) && follows(early(1)));
    let last = RoundChange { to: 123, ..golden(3).changes[0].clone() };
    let without = Proof { changes: golden(3).changes[..1].to_vec(), ..golden(3) };
    assert_eq!(failed(&without), ["the randomness is that of the awaited round"]);
    assert_eq!(
        failed(&Proof { changes: vec![last], ..golden(2) })[0],
        "each change of the round follows from its time"
    );
}

#[test]
fn changes_of_a_proof_have_one_form() {
    let proof = GOLDEN[3].0;
    for (old, new) in [
        ("\"reason\": \"drand", "\"by\": \"mei\", \"reason\": \"drand"),
        ("17:00:01.5Z", "17:00:01.50Z"),
        ("17:00:01.5Z", "18:00:01.5+01:00"),
        ("\"to\": 2413", "\"to\": 2413.0"),
        ("\"from\": 123,", ""),
    ] {
        assert!(Proof::parse(proof.as_bytes()).is_ok() && proof.contains(old), "{old}");
        assert!(Proof::parse(proof.replacen(old, new, 1).as_bytes()).is_err(), "{new}");
    }
}

#[test]
fn rules_have_one_text() {
    let rules = DrawRules {
        sale: SaleId(7),
        units: 5,
        opens_at: "2026-11-25T12:00:00.5Z".parse().unwrap(),
        closes_at: "2026-11-26T12:00:00Z".parse().unwrap(),
        window_s: 86_400,
        randomness: Some(PublicRound { beacon: Beacon::Quicknet, round: 34_000_000 }),
        commitment: "ab".repeat(32),
    };
    assert_eq!(rules.canonical().parse(), Ok(rules.clone()));
    let none = DrawRules { randomness: None, ..rules.clone() };
    assert_eq!(none.canonical().parse(), Ok(none));
    for wrong in [
        rules.canonical().replace("units 5", "units 05"),
        rules.canonical().replace("tickets 1", "tickets 2"),
        rules.canonical().replace("12:00:00Z", "12:00:00+00:00"),
        rules.canonical().replace("quicknet", "roulette"),
        rules.canonical().replace("34000000", "0"),
        rules.canonical().replace("abab", "ABab"),
        rules.canonical().replace('\n', "\r\n"),
        rules.canonical() + "\n",
        rules.canonical().trim_end().to_owned(),
        String::new(),
    ] {
        assert_eq!(wrong.parse::<DrawRules>(), Err(WrongRules), "{wrong}");
    }
}

#[test]
fn list_is_sorted_and_names_each_entry_once() {
    let listed = |byte, status| ListedEntry { id: EntryId::new([byte; 16]), status };
    let excluded = EntryStatus::Excluded(Exclusion::Automated);
    let list = EntryList::new(vec![listed(2, EntryStatus::In), listed(1, excluded)]).unwrap();
    assert_eq!(list.0, [listed(1, excluded), listed(2, EntryStatus::In)]);
    assert_eq!(list.taking_part(), [EntryId::new([2; 16])]);
    assert_eq!(EntryList::parse(list.to_csv().as_bytes()), Ok(list));
    let twice = EntryList::new(vec![listed(1, EntryStatus::In), listed(1, excluded)]);
    assert_eq!(twice, Err(WrongList::Twice(EntryId::new([1; 16]))));
    let csv = |lines: &[&str]| EntryList::parse(format!("entry,status\n{}", lines.concat()).as_bytes());
    let (one, two) = ("01".repeat(16) + ",in\n", "02".repeat(16) + ",in\n");
    assert_eq!(csv(&[&two, &one]), Err(WrongList::Order(3)));
    assert_eq!(csv(&[&one, &one]), Err(WrongList::Order(3)));
    assert_eq!(csv(&[&one, two.trim_end()]), Err(WrongList::Line(3)));
    assert_eq!(csv(&[&one.replace("in", "excluded")]), Err(WrongList::Line(2)));
    assert_eq!(EntryList::parse(b"entry\n"), Err(WrongList::Header));
    assert_eq!(EntryList::parse(b"\xff"), Err(WrongList::Header));
}

/// Entering early brings no better rank: χ² over tenths of the order of entering, with fixed seeds.
#[test]
fn position_of_entering_does_not_matter() {
    const TENTHS: usize = 10;
    const ENTRIES: usize = 500;
    const UNITS: usize = 50;
    const DRAWS: u8 = 100;
    for salt in 0..4_u8 {
        let mut wins = [0_u32; TENTHS];
        for draw in 0..DRAWS {
            let mut entered: Vec<(EntryId, usize)> = (0..ENTRIES).map(|n| (entry(&[salt, draw], n), n)).collect();
            entered.sort_unstable();
            let ids: Vec<EntryId> = entered.iter().map(|(id, _)| *id).collect();
            for winner in ranking(&[salt.wrapping_mul(64) ^ draw; 32], &ids).into_iter().take(UNITS) {
                wins[entered[winner].1 * TENTHS / ENTRIES] += 1;
            }
        }
        let expected = f64::from(DRAWS) * UNITS as f64 / TENTHS as f64;
        let chi2: f64 = wins.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
        assert!(chi2 < 27.88, "χ² of nine degrees of freedom exceeds this once in a thousand: {chi2} {wins:?}");
    }
}

/// A fixed entry that looks random.
fn entry(salt: &[u8], n: usize) -> EntryId {
    let digest = Sha256::new().chain_update(salt).chain_update(n.to_be_bytes()).finalize();
    EntryId::new(digest[..16].try_into().unwrap())
}

#[test]
fn stage_follows_state_phase_and_clock() {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let (before, due, after) = (at("2026-11-21T13:00:00Z"), at("2026-11-21T13:20:00Z"), at("2026-11-21T13:20:01Z"));
    let stage = |state, phase, now| DrawStage::of(state, phase, Some(due), now);
    assert_eq!(stage(DrawState::Announced, Phase::Upcoming, before), DrawStage::Announced);
    assert_eq!(stage(DrawState::Announced, Phase::Open, before), DrawStage::Entries);
    assert_eq!(stage(DrawState::Announced, Phase::Paused, before), DrawStage::Paused);
    assert_eq!(stage(DrawState::Announced, Phase::Ended, after), DrawStage::Review, "an overdue lock is not made yet");
    assert_eq!(stage(DrawState::Locked, Phase::Ended, before), DrawStage::Locked);
    assert_eq!(stage(DrawState::Locked, Phase::Ended, due), DrawStage::Due);
    assert_eq!(DrawStage::of(DrawState::Locked, Phase::Ended, None, before), DrawStage::Due, "no round is awaited");
    assert!(stage(DrawState::Drawn, Phase::Ended, after).is_held());
    assert!(!stage(DrawState::CalledOff, Phase::Ended, after).is_held());
}

mod fuzz {
    use super::*;
    use testing::fuzz::{inputs, texts};

    #[test]
    fn only_golden_proofs_verify() {
        let valid = GOLDEN.iter().skip(1).take(2).map(|(proof, _)| proof.as_bytes().to_vec()).collect();
        let known: Vec<Proof> = (1..GOLDEN.len()).map(golden).collect();
        inputs(valid, |bytes| {
            let Ok(proof) = Proof::parse(bytes) else { return };
            if proof.verify(ENTRIES.as_bytes()).unwrap().holds() {
                assert!(known.contains(&proof), "{proof:?}");
            }
        });
    }

    #[test]
    fn list_that_is_read_is_the_one_that_is_written() {
        inputs(vec![ENTRIES.into()], |bytes| {
            if let Ok(list) = EntryList::parse(bytes) {
                assert_eq!(list.to_csv().as_bytes(), bytes);
            }
        });
    }

    #[test]
    fn rules_that_are_read_are_those_that_are_written() {
        let valid: Vec<String> = (0..GOLDEN.len()).map(|index| golden(index).rules).collect();
        texts(&valid, |text| {
            if let Ok(rules) = text.parse::<DrawRules>() {
                assert_eq!(rules.canonical(), text);
            }
        });
    }

    #[test]
    fn pasted_text_is_the_awaited_round_or_refused() {
        let awaited = round(Beacon::Sandbox, 123);
        let expected = awaited.sandbox_randomness().unwrap();
        let json = format!(r#"{{"round":123,"signature":"{}"}}"#, expected.signature_hex());
        texts(&[json, expected.signature_hex(), ROUND.to_owned()], |text| {
            if let Ok(known) = awaited.verify(text) {
                assert_eq!(known, expected);
            }
        });
    }
}
