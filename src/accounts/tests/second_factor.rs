//! The second factor: codes, recovery codes, its replacement, and the shop's secret that encrypts it.

use super::*;

/// The code of an authenticator with this secret.
fn code_at(enrolment: &Enrolment, clock: &Clock, steps: i64) -> String {
    let secret = totp_rs::Secret::try_from_base32(&enrolment.secret).unwrap();
    let totp = totp_rs::Builder::new().with_secret(secret).build().unwrap();
    totp.generate((clock.now().as_second() + 30 * steps) as u64).to_string()
}

#[tokio::test]
async fn codes_are_accepted_once_near_their_time_and_recovery_codes_once() {
    let (one, other, clock, _dir) = two().await;
    let here = device(1);
    let mei = one.register(&here, "mei", secret("correct horse"), &free()).await.unwrap();
    let enrolment = one.enrol(&mei, "Seckill").unwrap();
    assert!(enrolment.url.starts_with("otpauth://totp/") && enrolment.url.contains(&enrolment.secret));
    let code = code_at(&enrolment, &clock, 0);
    let set = async |signed: &str, password: &str, code: &str| {
        one.set_second_factor(&mei, &here, signed, secret(password), code, None).await
    };
    assert!(matches!(set(&enrolment.signed, "wrong", &code).await, Err(AccountRefusal::WrongPassword)));
    assert!(matches!(set(&enrolment.signed, "correct horse", "000000").await, Err(AccountRefusal::BadCode)));
    assert!(matches!(set("forged", "correct horse", &code).await, Err(AccountRefusal::BadCode)));
    let recovery = set(&enrolment.signed, "correct horse", &code).await.unwrap();
    assert_eq!(recovery.len(), 10);

    let log_in = async |accounts: &Accounts, code: Option<&str>| {
        accounts.log_in(&here, "mei", secret("correct horse"), code).await.map(|session| session.user_id)
    };
    assert!(matches!(log_in(&one, Some(&code)).await, Err(AccountRefusal::BadCode)), "used when it was set up");
    let Err(AccountRefusal::CodeNeeded(proof)) = log_in(&one, None).await else { panic!("a code is needed") };
    clock.advance(Duration::from_secs(120));
    let late = code_at(&enrolment, &clock, -1);
    assert!(other.log_in_with_code(&here, &proof, &late).await.is_ok(), "one step late, in another process");
    assert!(matches!(log_in(&one, Some(&late)).await, Err(AccountRefusal::BadCode)), "never twice");
    let early = code_at(&enrolment, &clock, 1);
    assert_eq!(log_in(&one, Some(&early)).await.unwrap(), mei.user_id);
    let present = code_at(&enrolment, &clock, 0);
    assert!(matches!(log_in(&other, Some(&present)).await, Err(AccountRefusal::BadCode)), "older than one used");
    clock.advance(Duration::from_secs(600));
    for far in [-2, 2] {
        let code = code_at(&enrolment, &clock, far);
        assert!(matches!(log_in(&other, Some(&code)).await, Err(AccountRefusal::BadCode)), "{far}");
    }
    assert!(matches!(one.log_in_with_code(&here, &proof, "x").await, Err(AccountRefusal::BadCredentials)), "too late");

    let typed = recovery[3].to_uppercase().replace('-', " ");
    assert!(log_in(&one, Some(&typed)).await.is_ok());
    assert!(matches!(log_in(&one, Some(&recovery[3])).await, Err(AccountRefusal::BadCode)));
    assert_eq!(one.store.credentials().recovery_codes_left(mei.user_id).await.unwrap(), 9);

    clock.advance(Duration::from_secs(3600));
    let mut throttled = false;
    for n in 0..10 {
        let guess = log_in(&one, Some(&format!("{n:06}"))).await;
        throttled |= matches!(guess, Err(AccountRefusal::Throttled(_)));
    }
    assert!(throttled);
    clock.advance(Duration::from_secs(3600));
    let off = one.remove_second_factor(&mei, &here, secret("correct horse"), &recovery[0]).await;
    assert!(off.is_ok(), "{off:?}");
    assert!(log_in(&one, None).await.is_ok());
}

#[tokio::test]
async fn replacing_the_secret_signs_nobody_out_and_keeps_second_factors() {
    let (before, _, clock, _dir) = two().await;
    let process = |current: &str, previous: Option<&str>| {
        let text = |letter: &str| secret(&letter.repeat(64));
        let known = ShopSecret { current: text(current), previous: previous.map(text) };
        Accounts::new(before.store.clone(), clock.clone(), &known, false)
    };
    let here = device(1);
    let mei = before.register(&here, "mei", secret("correct horse"), &free()).await.unwrap();
    let enrolment = before.enrol(&mei, "Seckill").unwrap();
    let code = code_at(&enrolment, &clock, 0);
    before.set_second_factor(&mei, &here, &enrolment.signed, secret("correct horse"), &code, None).await.unwrap();
    let headers = cookie(&before, &mei);
    let signed_in = |accounts: &Accounts| accounts.sessions.find(&headers).map(|session| session.user_id);
    let log_in = async |accounts: &Accounts| {
        clock.advance(Duration::from_secs(60));
        let code = code_at(&enrolment, &clock, 0);
        accounts.log_in(&here, "mei", secret("correct horse"), Some(&code)).await.map(|session| session.user_id)
    };

    let during = process("t", Some("s"));
    assert_eq!(signed_in(&during), Some(mei.user_id));
    assert_eq!(log_in(&during).await.unwrap(), mei.user_id, "before it is encrypted again");
    assert_eq!(before.re_encrypt_second_factors().await.unwrap(), 0, "there is no other secret");
    assert_eq!(during.re_encrypt_second_factors().await.unwrap(), 1);
    assert_eq!(during.re_encrypt_second_factors().await.unwrap(), 0, "done");
    assert_eq!(log_in(&during).await.unwrap(), mei.user_id);
    // A process that is not restarted yet knows the new secret as the other one.
    assert_eq!(log_in(&process("s", Some("t"))).await.unwrap(), mei.user_id);

    let after = process("t", None);
    assert_eq!(signed_in(&after), None, "signed with a secret that is gone");
    assert_eq!(log_in(&after).await.unwrap(), mei.user_id);
}

#[tokio::test]
async fn second_factor_is_replaced_with_a_code_of_the_present_one_only() {
    let (one, _, clock, _dir) = two().await;
    let here = device(1);
    let mei = one.register(&here, "mei", secret("correct horse"), &free()).await.unwrap();
    let set = async |enrolment: &Enrolment, present: Option<&str>| {
        let code = code_at(enrolment, &clock, 0);
        one.set_second_factor(&mei, &here, &enrolment.signed, secret("correct horse"), &code, present).await
    };
    let first = one.enrol(&mei, "Seckill").unwrap();
    let recovery = set(&first, None).await.unwrap();
    clock.advance(Duration::from_secs(60));

    let second = one.enrol(&mei, "Seckill").unwrap();
    let of_second = code_at(&second, &clock, 0);
    for wrong in [None, Some(""), Some("000000"), Some(of_second.as_str())] {
        let refused = set(&second, wrong).await;
        assert!(matches!(refused, Err(AccountRefusal::BadPresentCode)), "{wrong:?}");
    }
    let of_first = code_at(&first, &clock, 0);
    set(&second, Some(&of_first)).await.unwrap();
    clock.advance(Duration::from_secs(60));
    let log_in = async |code: &str| one.log_in(&here, "mei", secret("correct horse"), Some(code)).await;
    assert!(matches!(log_in(&code_at(&first, &clock, 0)).await, Err(AccountRefusal::BadCode)));
    assert!(matches!(log_in(&recovery[0]).await, Err(AccountRefusal::BadCode)), "the old recovery codes are gone");
    assert!(log_in(&code_at(&second, &clock, 0)).await.is_ok());
}

#[tokio::test]
async fn change_of_the_second_factor_ends_the_other_sessions() {
    let (one, other, clock, _dir) = two().await;
    let here = device(1);
    let mei = one.register(&here, "mei", secret("correct horse"), &free()).await.unwrap();
    let log_in =
        async |code: Option<&str>| other.log_in(&device(2), "mei", secret("correct horse"), code).await.unwrap();
    let phone = log_in(None).await;
    let enrolment = one.enrol(&mei, "Seckill").unwrap();
    let code = code_at(&enrolment, &clock, 0);
    let set = one.set_second_factor(&mei, &here, &enrolment.signed, secret("correct horse"), &code, None);
    let recovery = set.await.unwrap();
    other.refresh().await.unwrap();
    for process in [&one, &other] {
        assert!(process.session(&cookie(&one, &phone)).is_none());
        assert!(process.session(&cookie(&one, &mei)).is_some(), "the session that made the change stays");
    }
    let phone = log_in(Some(&recovery[0])).await;
    one.remove_second_factor(&mei, &here, secret("correct horse"), &recovery[1]).await.unwrap();
    assert!(one.session(&cookie(&one, &phone)).is_none());
    assert_eq!(one.sessions_of(&mei).await.unwrap().len(), 1);
}

#[tokio::test]
async fn command_opens_the_account_of_an_owner_who_has_lost_the_second_factor() {
    let (accounts, _, clock, _dir) = two().await;
    let here = device(1);
    let password = "administrator of this shop";
    accounts.ensure_admin(Some(secret(password))).await.unwrap();
    let admin = accounts.log_in(&here, ADMIN, secret(password), None).await.unwrap();
    let enrolment = accounts.enrol(&admin, "Seckill").unwrap();
    let code = code_at(&enrolment, &clock, 0);
    accounts.set_second_factor(&admin, &here, &enrolment.signed, secret(password), &code, None).await.unwrap();
    let log_in = async || accounts.log_in(&here, ADMIN, secret(password), None).await;
    assert!(matches!(log_in().await, Err(AccountRefusal::CodeNeeded(_))));

    let change = AccountChange::ResetSecondFactor;
    assert!(accounts.change_by_command("nadia", &change).await.unwrap().is_none());
    let changed = accounts.change_by_command("Admin", &change).await.unwrap().unwrap();
    assert!(!changed.has_second_factor());
    clock.advance(Duration::from_secs(1));
    assert!(log_in().await.is_ok());
    assert_eq!(
        accounts.store.sessions().sessions_of(admin.user_id, clock.now()).await.unwrap().len(),
        1,
        "the old ones ended"
    );
    let filter = AuditFilter { action: "reset-second-factor".into(), ..AuditFilter::default() };
    let log = accounts.store.audit_log().list(&filter, None, 10).await.unwrap();
    assert_eq!(log.iter().map(|row| row.actor.as_str()).collect::<Vec<_>>(), ["command line"]);
}
