//! Sends to a push service in this process, which can refuse, be busy, or no longer know a browser. The tests decrypt
//! what it gets as a browser would, and verify the sender's signature.

use std::sync::Mutex;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::rand::SystemRandom;
use ring::signature::ECDSA_P256_SHA256_FIXED;
use secrecy::SecretString;
use sqlx::Connection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::outside::Reach;
use crate::push::*;
use base::clock::Clock;
use base::tls::ClientTls;
use domain::{MailState, Role, UserId};
use store::{NewSession, User};

/// A request as the push service got it.
#[derive(Clone)]
struct Received {
    head: String,
    body: Vec<u8>,
}

impl Received {
    fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }
}

/// A push service that gives the same answer to all requests until the test changes it.
#[derive(Clone)]
struct Service {
    port: u16,
    answer: Arc<Mutex<&'static str>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Service {
    async fn start(answer: &'static str) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let service = Service { port, answer: Arc::new(Mutex::new(answer)), received: Arc::default() };
        let own = service.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = Vec::new();
                let end = loop {
                    assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "the request ends early");
                    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
                    let head = |end: usize| String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
                    let length = |head: String| {
                        head.lines()
                            .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())
                            .unwrap()
                    };
                    match end {
                        Some(end) if bytes.len() == end + 4 + length(head(end)) => break end,
                        _ => {}
                    }
                };
                let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
                own.received.lock().unwrap().push(Received { head, body: bytes[end + 4..].to_vec() });
                let answer = format!("HTTP/1.1 {}\r\ncontent-length: 0\r\n\r\n", *own.answer.lock().unwrap());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        service
    }

    fn answer_with(&self, answer: &'static str) {
        *self.answer.lock().unwrap() = answer;
    }

    fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

/// A shop with one shopper, whose browser has subscribed, and one message that waits.
struct Post {
    pusher: Pusher,
    clock: Clock,
    browser: EphemeralPrivateKey,
    auth: [u8; 16],
    session: Uuid,
    dir: tempfile::TempDir,
}

fn secret(letter: &str) -> ShopSecret {
    ShopSecret::from(SecretString::from(letter.repeat(64)))
}

impl Post {
    async fn open(service: &Service) -> Post {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::manual("2026-11-24T12:00:00Z".parse().unwrap());
        let store = Store::open(&base::config::sqlite_in(dir.path())).unwrap().with_clock(&clock);
        store.migrate().await.unwrap();
        let user = User::new(UserId(Uuid::now_v7()), "mei", String::new(), Role::User, clock.now());
        store.accounts().add_user(&user).await.unwrap();
        let session = NewSession {
            id: Uuid::now_v7(),
            issued_at: clock.now(),
            expires_at: clock.now() + Duration::from_secs(3600),
            address: String::new(),
            agent: String::new(),
            is_proved: false,
        };
        assert!(store.sessions().open_session(&user, &session).await.unwrap());
        let browser = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let p256dh = URL_SAFE_NO_PAD.encode(browser.compute_public_key().unwrap());
        let mut connection = sqlx::AnyConnection::connect(&base::config::sqlite_in(dir.path())).await.unwrap();
        // Beside the check of addresses, which takes no push service of this machine.
        for sql in [
            format!(
                "INSERT INTO push_subscriptions (id, user_id, session_id, endpoint, p256dh, auth, locale, created_at_ms)
                 VALUES ('s', '{}', '{}', 'http://127.0.0.1:{}/send/1?x=y', '{p256dh}', '{}', 'zh', 0)",
                user.id,
                session.id,
                service.port,
                URL_SAFE_NO_PAD.encode([9; 16])
            ),
            format!(
                r#"INSERT INTO mails (id, user_id, recipient, locale, kind, facts, created_at_ms, expires_at_ms,
                   next_attempt_at_ms, subscription_id) VALUES ('m', '{}', 'push', 'zh', 'turn_called',
                   '{{"goods":{{"zh":"手机","en":"Phone"}},"sale":"7"}}', 0, {}, 0, 's')"#,
                user.id,
                (clock.now() + Duration::from_secs(120)).as_millisecond(),
            ),
        ] {
            sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        }
        let transport = OutsideTransport::new(&ClientTls::default(), Reach::Anywhere);
        let contact = MailAddress::parse("shop@shop.example").unwrap();
        let pusher = Pusher::new(store, &secret("s"), transport, &contact, Arc::default());
        Post { pusher, clock, browser, auth: [9; 16], session: session.id, dir }
    }

    async fn mails(&self) -> Vec<Mail> {
        let sql = "SELECT id FROM users";
        let mut connection = sqlx::AnyConnection::connect(&base::config::sqlite_in(self.dir.path())).await.unwrap();
        let user: String = sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap();
        self.pusher.store.mail().mails_of(user.parse().unwrap()).await.unwrap()
    }

    async fn is_subscribed(&self) -> bool {
        self.pusher.store.push().is_subscribed(self.session).await.unwrap()
    }
}

/// HKDF of SHA-256 with two calls of HMAC, for results of up to 32 bytes.
fn hkdf(salt: &[u8], secret: &[u8], info: &[u8], length: usize) -> Vec<u8> {
    use ring::hmac::{HMAC_SHA256, Key, sign};
    let extracted = sign(&Key::new(HMAC_SHA256, salt), secret);
    sign(&Key::new(HMAC_SHA256, extracted.as_ref()), &[info, &[1]].concat()).as_ref()[..length].to_vec()
}

/// What a browser reads.
fn decrypt(browser: EphemeralPrivateKey, auth: &[u8], message: &[u8]) -> Value {
    let own = browser.compute_public_key().unwrap();
    let (salt, sender, record) = (&message[..16], &message[21..86], &message[86..]);
    assert_eq!((&message[16..20], message[20]), (&4096_u32.to_be_bytes()[..], 65));
    let plain = agree_ephemeral(browser, &UnparsedPublicKey::new(&ECDH_P256, sender), |shared| {
        let secret = hkdf(auth, shared, &[b"WebPush: info\0", own.as_ref(), sender].concat(), 32);
        let key = hkdf(salt, &secret, b"Content-Encoding: aes128gcm\0", 16);
        let nonce = hkdf(salt, &secret, b"Content-Encoding: nonce\0", 12);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
        let mut record = record.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(&nonce).unwrap();
        key.open_in_place(nonce, Aad::empty(), &mut record).unwrap().to_vec()
    });
    let plain = plain.unwrap();
    let (last, text) = plain.split_last().unwrap();
    assert_eq!(*last, 2, "one record");
    serde_json::from_slice(text).unwrap()
}

#[tokio::test]
async fn browser_reads_the_message_and_the_service_knows_the_sender() {
    let service = Service::start("201 Created").await;
    let post = Post::open(&service).await;
    assert_eq!(post.pusher.step().await.unwrap(), 1);
    assert_eq!(post.pusher.step().await.unwrap(), 0);
    let received = service.received().remove(0);
    assert!(received.head.starts_with("POST /send/1?x=y HTTP/1.1"), "{}", received.head);
    // The message lives no longer than the turn.
    assert_eq!((received.header("ttl"), received.header("urgency")), ("120", "high"));
    assert_eq!(received.header("content-encoding"), "aes128gcm");
    let authorization = received.header("authorization").strip_prefix("vapid t=").unwrap();
    let (token, key) = authorization.split_once(", k=").unwrap();
    assert_eq!(key, post.pusher.keys.public().await.unwrap());
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let key = ring::signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decode(key));
    key.verify(signed.as_bytes(), &decode(signature)).unwrap();
    let claims: Value = serde_json::from_slice(&decode(signed.split_once('.').unwrap().1)).unwrap();
    assert_eq!(claims["aud"], json!(format!("http://127.0.0.1:{}", service.port)));
    assert_eq!(claims["sub"], json!("mailto:shop@shop.example"));
    assert_eq!(claims["exp"], json!(post.clock.now().as_second() + 12 * 3600));
    let metrics = post.pusher.metrics.encode();
    assert!(metrics.contains("seckill_pushes_sent_total 1"), "{metrics}");
    let text = decrypt(post.browser, &post.auth, &received.body);
    assert_eq!(text, json!({"title": "轮到你了：手机", "path": "/zh/sales/7/line", "tag": "sale-7"}));
}

#[tokio::test]
async fn result_of_a_draw_opens_the_entry() {
    let mut mail = Post::open(&Service::start("201 Created").await).await.mails().await.remove(0);
    mail.kind = MailKind::DrawResult;
    let shown = json!({"title": "抽签结果已公布：手机", "path": "/zh/sales/7/entry", "tag": "sale-7"});
    assert_eq!((mail.kind.is_pushed(), payload(&mail)), (true, shown));
}

#[tokio::test]
async fn browser_that_the_service_does_not_know_is_forgotten() {
    for answer in ["410 Gone", "404 Not Found"] {
        let service = Service::start(answer).await;
        let post = Post::open(&service).await;
        post.pusher.step().await.unwrap();
        assert!(!post.is_subscribed().await && post.mails().await.is_empty(), "{answer}");
        post.clock.advance(Duration::from_secs(60));
        assert_eq!(post.pusher.step().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn busy_service_is_asked_again_when_it_says_and_a_late_message_is_dropped() {
    let service = Service::start("429 Too Many Requests\r\nretry-after: 30").await;
    let post = Post::open(&service).await;
    post.pusher.step().await.unwrap();
    post.clock.advance(Duration::from_secs(29));
    assert_eq!(post.pusher.step().await.unwrap(), 0, "the service has asked to wait");
    service.answer_with("503 Service Unavailable");
    post.clock.advance(Duration::from_secs(1));
    assert_eq!(post.pusher.step().await.unwrap(), 1);
    assert_eq!(service.received().remove(1).header("ttl"), "90");
    assert_eq!(post.mails().await.remove(0).state, MailState::Waiting);
    // The turn is over.
    service.answer_with("201 Created");
    post.clock.advance(Duration::from_secs(90));
    post.pusher.step().await.unwrap();
    assert_eq!((post.mails().await.remove(0).state, service.received().len()), (MailState::Dead, 2));
    assert!(post.is_subscribed().await);
}

#[tokio::test]
async fn message_that_is_refused_for_good_is_given_up() {
    let service = Service::start("400 Bad Request").await;
    let post = Post::open(&service).await;
    while post.mails().await.remove(0).state == MailState::Waiting {
        post.pusher.step().await.unwrap();
        post.clock.advance(Duration::from_secs(20));
    }
    assert_eq!(service.received().len() as i64, crate::MAX_REFUSALS);
}

#[tokio::test]
async fn key_outlives_a_new_secret_and_is_replaced_without_the_old_one() {
    let service = Service::start("201 Created").await;
    let post = Post::open(&service).await;
    let store = &post.pusher.store;
    let key = post.pusher.keys.public().await.unwrap();
    let both = ShopSecret { previous: Some(secret("s").current), ..secret("t") };
    assert_eq!(VapidKeys::new(store.clone(), &both).public().await.unwrap(), key);
    assert_eq!(VapidKeys::new(store.clone(), &secret("t")).public().await.unwrap(), key, "it was encrypted again");
    assert!(post.is_subscribed().await);
    assert_ne!(VapidKeys::new(store.clone(), &secret("u")).public().await.unwrap(), key);
    assert!(!post.is_subscribed().await, "the browser listens to the old key alone");
}

fn bytes<const N: usize>(text: &str) -> [u8; N] {
    URL_SAFE_NO_PAD.decode(text).unwrap().try_into().unwrap()
}

/// Section 5 and appendix A of RFC 8291.
#[test]
fn example_of_the_standard_is_reproduced() {
    let keys = PushKeys::parse(
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
    );
    let own = bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
    let shared: [u8; 32] = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
    let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw");
    let message = seal(&keys.unwrap(), &own, &shared, &salt, b"When I grow up, I want to be a watermelon").unwrap();
    assert_eq!(
        URL_SAFE_NO_PAD.encode(message),
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    );
}

#[test]
fn key_that_is_no_point_of_the_curve_is_refused() {
    let keys = PushKeys { p256dh: [4; PUBLIC_KEY_BYTES], auth: [0; 16] };
    assert_eq!(encrypt(&keys, b"text"), None);
}
