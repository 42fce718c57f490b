//! Sends to servers in this process that refuse, redirect, are silent or away. The tests verify what the servers get
//! with the official library, and advance the database's clock.

use std::time::Duration;

use axum::http::HeaderName;
use secrecy::SecretString;
use serde_json::Value;
use sqlx::Connection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::outside::Reach;
use base::clock::Clock;
use base::tls::ClientTls;
use domain::event::DeliveryState;
use domain::{MailKind, Role, UserId};
use store::{Delivery, Replay, User};

/// A request as a server got it.
#[derive(Clone, Debug)]
struct Received {
    headers: HeaderMap,
    body: String,
}

impl Received {
    fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    /// Whether one of its signatures is the official library's with this secret. The library's own check has the system's
    /// clock.
    fn is_signed_with(&self, secret: &Secret) -> bool {
        let official = standardwebhooks::Webhook::new(&secret.text()).unwrap();
        let seconds = self.header("webhook-timestamp").parse().unwrap();
        let signature = official.sign(self.header("webhook-id"), seconds, self.body.as_bytes()).unwrap();
        self.header("webhook-signature").split(' ').any(|one| one == signature)
    }
}

/// A program of the merchant. It gives the same answer to all requests until the test changes it; `None`: it is silent.
#[derive(Clone)]
struct Program {
    url: String,
    answer: Arc<Mutex<Option<&'static str>>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Program {
    async fn start(answer: Option<&'static str>) -> Program {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook?key=1", listener.local_addr().unwrap());
        let program = Program { url, answer: Arc::new(Mutex::new(answer)), received: Arc::default() };
        let own = program.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let own = own.clone();
                tokio::spawn(async move {
                    let Some(request) = read(&mut stream).await else { return };
                    own.received.lock().unwrap().push(request);
                    let Some(answer) = *own.answer.lock().unwrap() else { return std::future::pending().await };
                    let _ = stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await;
                });
            }
        });
        program
    }

    fn answer_with(&self, answer: Option<&'static str>) {
        *self.answer.lock().unwrap() = answer;
    }

    fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    async fn gets(&self, count: usize) -> Vec<Received> {
        while self.received().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.received()
    }
}

async fn read(stream: &mut tokio::net::TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        assert!(head.starts_with("POST /hook?key=1 HTTP/1.1"), "{head}");
        let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let headers: HeaderMap =
            lines.map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())).collect();
        let length: usize = headers["content-length"].to_str().unwrap().parse().unwrap();
        if bytes.len() == end + 4 + length {
            return Some(Received { headers, body: String::from_utf8(bytes[end + 4..].to_vec()).unwrap() });
        }
    }
}

const OK: Option<&str> = Some("204 No Content\r\n\r\n");
const BROKEN: Option<&str> = Some("500 Oops\r\ncontent-length: 11\r\n\r\nbroken\0pipe");

struct Bench {
    webhooks: Arc<Webhooks>,
    store: Store,
    clock: Clock,
    dir: tempfile::TempDir,
}

impl Bench {
    async fn open() -> Bench {
        Bench::open_within(Reach::Local).await
    }

    async fn open_within(reach: Reach) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::manual("2026-11-24T12:00:00Z".parse().unwrap());
        let store = Store::open(&base::config::sqlite_in(dir.path())).unwrap().with_clock(&clock);
        store.migrate().await.unwrap();
        Bench { webhooks: webhooks(&store, reach), store, clock, dir }
    }

    async fn add(&self, program: &Program) -> (Endpoint, Secret) {
        let choice = EventChoice::parse(&["order.*"]).unwrap();
        self.webhooks.add(program.url.clone(), choice, "admin").await.unwrap().unwrap()
    }

    async fn ping(&self, of: &Endpoint) -> String {
        self.store.events().ping(&of.id).await.unwrap().unwrap().to_string()
    }

    /// Sends what is due, and waits for the outcomes.
    async fn step(&self) {
        self.webhooks.step().await.unwrap();
        self.webhooks.settle().await;
    }

    async fn deliveries(&self, of: &Endpoint) -> Vec<Delivery> {
        self.store.events().deliveries(&of.id, None, 100).await.unwrap()
    }

    async fn state(&self, of: &Endpoint) -> EndpointState {
        self.store.events().endpoint(&of.id).await.unwrap().unwrap().state
    }

    /// Sends the event that waits until it is given up. Returns the number of attempts.
    async fn fail_for_good(&self, of: &Endpoint) -> i64 {
        loop {
            self.step().await;
            let newest = self.deliveries(of).await.remove(0);
            if newest.state == DeliveryState::Failed {
                return newest.attempts;
            }
            let wait = newest.next_attempt_at.duration_since(self.clock.now());
            let planned = event::retry_after(newest.attempts).unwrap().as_secs_f64();
            assert!((0.89..=1.11).contains(&(wait.as_secs_f64() / planned)), "{wait} instead of {planned} s");
            self.clock.advance(wait.unsigned_abs());
        }
    }
}

fn webhooks(store: &Store, reach: Reach) -> Arc<Webhooks> {
    webhooks_with(&secret_of("s"), store, reach)
}

fn webhooks_with(secret: &ShopSecret, store: &Store, reach: Reach) -> Arc<Webhooks> {
    let transport = OutsideTransport::new(&ClientTls::default(), reach);
    Arc::new(Webhooks::new(store.clone(), secret, transport, Arc::default()))
}

fn secret_of(letter: &str) -> ShopSecret {
    ShopSecret::from(SecretString::from(letter.repeat(64)))
}

#[tokio::test]
async fn endpoint_is_served_again_after_its_worker_panicked() {
    let bench = Bench::open().await;
    let webhooks = bench.webhooks.clone();
    let worker = tokio::spawn(async move {
        locked(&webhooks.workers).busy.insert("endpoint".to_owned());
        let _serving = Serving { webhooks: &webhooks, endpoint: "endpoint" };
        panic!("a worker ends");
    });
    assert!(worker.await.is_err());
    assert!(locked(&bench.webhooks.workers).busy.is_empty());
}

#[tokio::test]
async fn slow_and_dead_endpoints_delay_no_other() {
    let bench = Bench::open().await;
    let (good, silent, dead) = (Program::start(OK).await, Program::start(None).await, Program::start(OK).await);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let dead = Program { url: format!("http://{closed}/hook"), ..dead };
    let (good_one, secret) = bench.add(&good).await;
    let (silent_one, dead_one) = (bench.add(&silent).await.0, bench.add(&dead).await.0);
    for endpoint in [&good_one, &silent_one, &dead_one] {
        bench.ping(endpoint).await;
    }
    bench.webhooks.step().await.unwrap();
    silent.gets(1).await;
    let first = good.gets(1).await.remove(0);
    assert!(first.is_signed_with(&secret));
    let body: Value = serde_json::from_str(&first.body).unwrap();
    assert_eq!((&body["type"], &body["sequence"]), (&"ping".into(), &1.into()));
    assert_eq!(body["id"], first.header("webhook-id"));
    assert_eq!(first.header("webhook-timestamp"), bench.clock.now().as_second().to_string());
    // A worker of the good endpoint begins again while the silent one has the first.
    while bench.deliveries(&good_one).await[0].state == DeliveryState::Waiting {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bench.ping(&good_one).await;
    while good.received().len() < 2 {
        bench.webhooks.step().await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(locked(&bench.webhooks.workers).busy.contains(&silent_one.id), "the silent one has no answer yet");
    bench.webhooks.settle().await;
    for (endpoint, why) in [(&silent_one, "deadline has elapsed"), (&dead_one, "refused")] {
        let delivery = bench.deliveries(endpoint).await.remove(0);
        assert_eq!((delivery.state, delivery.log[0].status), (DeliveryState::Waiting, None));
        assert!(delivery.log[0].answer.contains(why), "{delivery:?}");
    }
    assert_eq!(good.received().len(), 2);
}

#[tokio::test]
async fn failing_endpoint_is_tried_over_a_day_and_disabled_after_days() {
    let bench = Bench::open().await;
    let owner = User::new(UserId(Uuid::now_v7()), "lin", String::new(), Role::Admin, bench.clock.now());
    bench.store.accounts().add_user(&owner).await.unwrap();
    let mut database = sqlx::AnyConnection::connect(&base::config::sqlite_in(bench.dir.path())).await.unwrap();
    let sql = "INSERT INTO mail_addresses (user_id, address, locale) VALUES ($1, 'lin@shop.example', 'en')";
    sqlx::query(sql).bind(owner.id.to_string()).execute(&mut database).await.unwrap();
    let program = Program::start(BROKEN).await;
    let (endpoint, _) = bench.add(&program).await;
    let event = bench.ping(&endpoint).await;
    assert_eq!(bench.fail_for_good(&endpoint).await, 8);
    let delivery = bench.deliveries(&endpoint).await.remove(0);
    assert_eq!((delivery.log.len(), delivery.log[7].status, &*delivery.log[7].answer), (8, Some(500), "broken pipe"));
    let received = program.received();
    assert!(received.iter().all(|one| one.header("webhook-id") == event && one.body == received[0].body));
    bench.step().await;
    assert_eq!((program.received().len(), bench.state(&endpoint).await), (8, EndpointState::On));

    // A success in between would begin the days again.
    bench.clock.advance(Duration::from_secs(5 * 24 * 3600));
    bench.ping(&endpoint).await;
    assert_eq!(bench.fail_for_good(&endpoint).await, 8);
    assert_eq!(bench.state(&endpoint).await, EndpointState::Disabled);
    let mail = bench.store.mail().mails(None, 9).await.unwrap().remove(0);
    assert_eq!((mail.kind, &*mail.recipient), (MailKind::EndpointDisabled, "lin@shop.example"));
    assert!(!mail.facts.to_string().contains("key=1"), "a key may stand in the query");
    bench.ping(&endpoint).await;
    bench.step().await;
    assert_eq!(program.received().len(), 16, "nothing is sent to it");

    program.answer_with(OK);
    let on = store::EndpointEdit { is_on: Some(true), ..Default::default() };
    bench.store.events().edit_endpoint(&endpoint.id, &on, "lin").await.unwrap().unwrap();
    bench.step().await;
    assert_eq!(bench.deliveries(&endpoint).await[0].state, DeliveryState::Delivered);
}

#[tokio::test]
async fn redirects_are_not_followed_and_a_gone_endpoint_is_disabled() {
    let bench = Bench::open().await;
    let target = Program::start(OK).await;
    let location = format!("307 Go\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", target.url);
    let program = Program::start(Some(String::leak(location))).await;
    let (endpoint, _) = bench.add(&program).await;
    bench.ping(&endpoint).await;
    bench.step().await;
    let delivery = bench.deliveries(&endpoint).await.remove(0);
    assert_eq!((delivery.state, delivery.log[0].status), (DeliveryState::Waiting, Some(307)));
    assert!(target.received().is_empty());
    program.answer_with(Some("410 Gone\r\ncontent-length: 0\r\n\r\n"));
    bench.clock.advance(Duration::from_secs(6));
    bench.step().await;
    assert_eq!(bench.deliveries(&endpoint).await[0].state, DeliveryState::Failed);
    assert_eq!(bench.state(&endpoint).await, EndpointState::Disabled);
}

#[tokio::test]
async fn public_shop_reaches_no_private_address() {
    let bench = Bench::open_within(Reach::Public).await;
    let program = Program::start(OK).await;
    let (endpoint, _) = bench.add(&program).await;
    bench.ping(&endpoint).await;
    bench.step().await;
    let delivery = bench.deliveries(&endpoint).await.remove(0);
    assert!(delivery.log[0].answer.contains("no public address"), "{delivery:?}");
    assert!(program.received().is_empty());
}

#[tokio::test]
async fn long_answer_is_cut() {
    let bench = Bench::open().await;
    let answer = format!("400 Bad\r\ncontent-length: 1000000\r\n\r\n{}", "x".repeat(100_000));
    let program = Program::start(Some(String::leak(answer))).await;
    let (endpoint, _) = bench.add(&program).await;
    bench.ping(&endpoint).await;
    bench.step().await;
    assert_eq!(bench.deliveries(&endpoint).await[0].log[0].answer, "x".repeat(LIMITS.answer));
}

#[tokio::test]
async fn both_secrets_sign_for_a_day_after_a_rotation() {
    let bench = Bench::open().await;
    let program = Program::start(OK).await;
    let (endpoint, old) = bench.add(&program).await;
    let new = bench.webhooks.rotate(&endpoint, "admin").await.unwrap().unwrap();
    let endpoint = bench.store.events().endpoint(&endpoint.id).await.unwrap().unwrap();
    assert!(!endpoint.secret.contains(&new.text()[6..]), "it is encrypted");
    let mut signed = Vec::new();
    for wait in [0, 23 * 3600, 2 * 3600] {
        bench.clock.advance(Duration::from_secs(wait));
        bench.ping(&endpoint).await;
        bench.step().await;
        let newest = program.received().pop().unwrap();
        signed.push((newest.is_signed_with(&new), newest.is_signed_with(&old)));
    }
    assert_eq!(signed, [(true, true), (true, true), (true, false)]);
    let read = bench.webhooks.reveal(&endpoint, "admin").await.unwrap().unwrap();
    assert_eq!(read.text(), new.text());
}

#[tokio::test]
async fn both_secrets_of_an_endpoint_outlive_a_new_secret_of_the_shop() {
    let bench = Bench::open().await;
    let program = Program::start(OK).await;
    let (endpoint, first) = bench.add(&program).await;
    let second = bench.webhooks.rotate(&endpoint, "admin").await.unwrap().unwrap();
    let both = ShopSecret { previous: Some(secret_of("s").current), ..secret_of("t") };
    let during = webhooks_with(&both, &bench.store, Reach::Local);
    for changed in [2, 0] {
        assert_eq!(during.re_encrypt_secrets().await.unwrap(), changed);
    }
    bench.ping(&endpoint).await;
    let after = webhooks_with(&secret_of("t"), &bench.store, Reach::Local);
    after.step().await.unwrap();
    after.settle().await;
    let sent = program.gets(1).await.remove(0);
    assert!(sent.is_signed_with(&first) && sent.is_signed_with(&second));
}

#[tokio::test]
async fn process_that_dies_between_writing_and_the_answer_sends_the_same_again() {
    let bench = Bench::open().await;
    let program = Program::start(None).await;
    let (endpoint, secret) = bench.add(&program).await;
    let event = bench.ping(&endpoint).await;
    bench.webhooks.step().await.unwrap();
    program.gets(1).await;
    // The process dies without the answer: its tasks end, and nothing is recorded.
    locked(&bench.webhooks.workers).tasks.abort_all();
    let next = webhooks(&bench.store, Reach::Local);
    program.answer_with(OK);
    next.step().await.unwrap();
    next.settle().await;
    assert_eq!(program.received().len(), 1, "the first attempt may still be under way");
    bench.clock.advance(ATTEMPT_TIMEOUT);
    next.step().await.unwrap();
    next.settle().await;
    let received = program.received();
    assert_eq!((received.len(), &received[0].body), (2, &received[1].body));
    assert!(received.iter().all(|one| one.header("webhook-id") == event && one.is_signed_with(&secret)));
    let delivery = bench.deliveries(&endpoint).await.remove(0);
    assert_eq!((delivery.state, delivery.attempts, delivery.log.len()), (DeliveryState::Delivered, 2, 1));
}

#[tokio::test]
async fn event_is_sent_again_by_its_id_to_its_own_endpoint_only() {
    let bench = Bench::open().await;
    let (one, other) = (Program::start(OK).await, Program::start(OK).await);
    let (endpoint, _) = bench.add(&one).await;
    let (stranger, _) = bench.add(&other).await;
    let event = bench.ping(&endpoint).await;
    bench.step().await;
    let replay = Replay::One(event.parse().unwrap());
    assert_eq!(bench.store.events().replay(&stranger, &replay, "admin").await.unwrap(), 0);
    assert_eq!(bench.store.events().replay(&endpoint, &replay, "admin").await.unwrap(), 1);
    bench.step().await;
    let received = one.received();
    assert_eq!((received.len(), &received[0].body, other.received().len()), (2, &received[1].body, 0));
    // A test is nobody's choice, so no time brings it back.
    let since = Replay::Since(bench.clock.now() - Duration::from_secs(60));
    assert_eq!(bench.store.events().replay(&endpoint, &since, "admin").await.unwrap(), 0);
    bench.clock.advance(store::KEEP_EVENTS + Duration::from_secs(1));
    assert!(!bench.store.events().purge().await.unwrap());
    assert_eq!(bench.deliveries(&endpoint).await.len(), 0);
    assert_eq!(bench.store.events().replay(&endpoint, &replay, "admin").await.unwrap(), 0);
}

/// The example that the specification's own libraries test.
#[test]
fn published_example_is_signed_alike() {
    let secret = Secret(STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap());
    assert_eq!(secret.text(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let body = br#"{"test": 2432232314}"#;
    let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn official_library_accepts_a_random_secret() {
    let (secret, body) = (Secret::random(), r#"{"type":"order.paid"}"#);
    let seconds = base::clock::Clock::system().now().as_second();
    let official = standardwebhooks::Webhook::new(&secret.text()).unwrap();
    let mut headers = axum::http::HeaderMap::new();
    headers.insert("webhook-id", "1".parse().unwrap());
    headers.insert("webhook-timestamp", seconds.to_string().parse().unwrap());
    headers.insert("webhook-signature", secret.sign("1", seconds, body.as_bytes()).parse().unwrap());
    official.verify(body.as_bytes(), &headers).unwrap();
    assert!(official.verify(b"{}", &headers).is_err());
}
