//! Sends to a mail server in this process, which can be down, refuse, or be killed.

use std::sync::Mutex;
use std::time::Duration;

use secrecy::SecretString;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::{ATTEMPT_TIMEOUT, MAX_REFUSALS, *};
use accounts::MailLinks;
use base::clock::Clock;
use base::config::{Config, ServiceAddress};
use base::signing::ShopSecret;
use base::tls::{ClientTls, Identity, PemFile};
use domain::{MailAddress, MailState, Role, UserId};
use store::{Mail, User};

/// A mail server. It keeps what it accepts.
#[derive(Clone)]
struct Server {
    port: u16,
    accepted: Arc<Mutex<Vec<String>>>,
    /// The commands of all clients.
    heard: Arc<Mutex<String>>,
}

impl Server {
    /// `answer` is the answer to each recipient.
    async fn start(port: u16, answer: &'static str) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let server =
            Server { port: listener.local_addr().unwrap().port(), accepted: Arc::default(), heard: Arc::default() };
        let kept = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, answer, kept.clone()));
            }
        });
        server
    }

    fn heard(&self) -> String {
        self.heard.lock().unwrap().clone()
    }

    fn accepted(&self) -> Vec<String> {
        self.accepted.lock().unwrap().clone()
    }
}

async fn converse(stream: TcpStream, answer: &str, server: Server) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let _ = write.write_all(b"220 test\r\n").await;
    while let Ok(Some(line)) = lines.next_line().await {
        *server.heard.lock().unwrap() += &line;
        let answer = match line.get(..4).unwrap_or_default() {
            "RCPT" => answer,
            "DATA" => {
                let _ = write.write_all(b"354 go on\r\n").await;
                let mut text = String::new();
                while let Ok(Some(line)) = lines.next_line().await
                    && line != "."
                {
                    text += &line;
                    text.push('\n');
                }
                server.accepted.lock().unwrap().push(text);
                "250 kept"
            }
            "QUIT" => "221 bye",
            _ => "250 ok",
        };
        if write.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

struct Post {
    mailer: Mailer,
    clock: Clock,
    _dir: tempfile::TempDir,
}

impl Post {
    /// A shop with one message that waits, and a mail server at this port.
    async fn open(port: u16) -> Post {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::manual("2026-11-24T12:00:00Z".parse().unwrap());
        let store = Store::open(&base::config::sqlite_in(dir.path())).unwrap().with_clock(&clock);
        store.migrate().await.unwrap();
        let user = User::new(UserId(uuid::Uuid::now_v7()), "mei", String::new(), Role::User, clock.now());
        store.accounts().add_user(&user).await.unwrap();
        let address = MailAddress::parse("mei@shop.example").unwrap();
        store.accounts().enter_address(user.id, &address, domain::Locale::Zh).await.unwrap();
        let config = Config::read_text(&format!("smtp_url = 'smtp://127.0.0.1:{port}'")).unwrap();
        let links = MailLinks::new(&ShopSecret::from(SecretString::from("s".repeat(64))));
        let mailer = Mailer {
            store,
            transport: Transport::of(&config.mail).unwrap(),
            letters: Letters { links, public_url: "https://shop.example".to_owned() },
            metrics: Arc::default(),
        };
        Post { mailer, clock, _dir: dir }
    }

    async fn mail(&self) -> Mail {
        self.mailer.store.mail().mails(None, 1).await.unwrap().remove(0)
    }

    /// Makes attempts until the message has this state. Returns their number.
    async fn attempts_until(&self, state: MailState) -> i64 {
        while self.mail().await.state != state {
            self.mailer.step().await.unwrap();
            self.clock.advance(Duration::from_secs(3600));
        }
        self.mail().await.attempts
    }
}

fn message_id(text: &str) -> &str {
    text.lines().find(|line| line.starts_with("Message-ID:")).unwrap()
}

#[tokio::test]
async fn message_is_sent_once_with_its_headers() {
    let server = Server::start(0, "250 ok").await;
    let post = Post::open(server.port).await;
    assert_eq!(post.mailer.step().await.unwrap(), 1);
    assert_eq!(post.mail().await.state, MailState::Sent);
    assert_eq!(post.mailer.step().await.unwrap(), 0);
    let accepted = server.accepted();
    assert_eq!(accepted.len(), 1);
    let text = &accepted[0];
    assert!(message_id(text).contains(&post.mail().await.id) && text.contains("To: mei@shop.example"), "{text}");
    assert!(text.contains("Auto-Submitted: auto-generated") && text.contains("Subject: =?utf-8?b?"), "{text}");
    let metrics = post.mailer.metrics.encode();
    assert!(metrics.contains("seckill_mails_sent_total 1") && metrics.contains("seckill_mails_waiting 0"), "{metrics}");
}

#[tokio::test]
async fn message_waits_for_a_server_that_is_away() {
    let server = Server::start(0, "250 ok").await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let mut post = Post::open(closed).await;
    post.mailer.step().await.unwrap();
    let waiting = post.mail().await;
    assert_eq!((waiting.state, waiting.attempts), (MailState::Waiting, 1));
    assert!(waiting.error.is_some());
    assert_eq!(post.mailer.step().await.unwrap(), 0, "it is tried again later");
    let config = Config::read_text(&format!("smtp_url = 'smtp://127.0.0.1:{}'", server.port)).unwrap();
    post.mailer.transport = Transport::of(&config.mail).unwrap();
    post.clock.advance(Duration::from_secs(2));
    assert_eq!(post.mailer.step().await.unwrap(), 1);
    assert_eq!((post.mail().await.state, server.accepted().len()), (MailState::Sent, 1));
}

#[tokio::test]
async fn message_is_sent_again_with_the_same_id_after_a_crash() {
    let server = Server::start(0, "250 ok").await;
    let post = Post::open(server.port).await;
    let mail = post.mail().await;
    // The process dies after the server's answer and before the record.
    assert!(post.mailer.store.mail().claim(&mail, ATTEMPT_TIMEOUT).await.unwrap());
    let letter = post.mailer.letters.letter(&mail, LinkView::Shown, &domain::ShopSettings::default());
    post.mailer.transport.as_ref().unwrap().send(&mail, &letter).await.unwrap();
    assert!(!post.mailer.store.mail().claim(&mail, ATTEMPT_TIMEOUT).await.unwrap(), "one process makes an attempt");
    assert_eq!(post.mailer.step().await.unwrap(), 0, "the attempt may still be under way");
    post.clock.advance(ATTEMPT_TIMEOUT);
    assert_eq!(post.mailer.step().await.unwrap(), 1);
    let accepted = server.accepted();
    assert_eq!((accepted.len(), post.mail().await.state), (2, MailState::Sent));
    assert_eq!(message_id(&accepted[0]), message_id(&accepted[1]));
}

#[tokio::test]
async fn password_is_not_sent_to_a_server_without_the_tls_that_the_address_asks_for() {
    let server = Server::start(0, "250 ok").await;
    let mut post = Post::open(server.port).await;
    let url = format!("smtp_url = 'smtp://user:secret@127.0.0.1:{}?tls=required'", server.port);
    post.mailer.transport = Transport::of(&Config::read_text(&url).unwrap().mail).unwrap();
    post.mailer.step().await.unwrap();
    let mail = post.mail().await;
    assert!(mail.state == MailState::Waiting && mail.error.is_some(), "{mail:?}");
    assert!(!server.heard().contains("AUTH") && server.accepted().is_empty(), "{}", server.heard());
}

#[tokio::test]
async fn message_is_dead_when_it_is_refused_for_good_or_too_old() {
    let server = Server::start(0, "550 no such mailbox").await;
    let post = Post::open(server.port).await;
    assert_eq!(post.attempts_until(MailState::Dead).await, MAX_REFUSALS);
    assert!(post.mail().await.error.unwrap().contains("no such mailbox"));
    let server = Server::start(0, "450 later").await;
    let post = Post::open(server.port).await;
    assert!(post.attempts_until(MailState::Dead).await > MAX_REFUSALS, "its link is valid for a day");
}

#[tokio::test]
async fn without_a_server_messages_wait_and_are_deleted_after_30_days() {
    let mut post = Post::open(1).await;
    post.mailer.transport = None;
    assert_eq!(post.mailer.step().await.unwrap(), 0);
    assert_eq!((post.mail().await.state, post.mail().await.attempts), (MailState::Waiting, 0));
    post.clock.advance(Duration::from_secs(30 * 24 * 3600));
    post.mailer.store.mail().purge().await.unwrap();
    assert_eq!(post.mailer.store.mail().mails(None, 10).await.unwrap().len(), 1);
    post.clock.advance(Duration::from_millis(1));
    post.mailer.store.mail().purge().await.unwrap();
    assert!(post.mailer.store.mail().mails(None, 10).await.unwrap().is_empty());
}

/// A certificate and its key that nothing else uses.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUbnmM92+1S5EJh+EwVyXxog3wJKIwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjUyMjQyMzhaGA8yMTI2MTEwMTIyNDIz
OFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLRC
ncRP3kOqAAg4bF6Ebg5LXSya52cg0FD2UE6b3c7fOmJ+qSeuwF1QltZ1WW8KvLlV
JRvjMLc0rC96r2BbcNajUzBRMB0GA1UdDgQWBBQLA/2+VHrp4ynC0c/2NxeSdZ2C
8jAfBgNVHSMEGDAWgBQLA/2+VHrp4ynC0c/2NxeSdZ2C8jAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIQDDCjW6y+bZGgYS0Mh6rIG9Spxu+y5zN/Q8
xV3P0nXcXQIgcckspOJ/sfEAWE6SCqjibZGqyGEqqMA4GGUKwPChK6Q=
-----END CERTIFICATE-----
";
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2jU96oJ723F73OaX
rTkobXPErTgoHrighsVk6wLfl8ShRANCAAS0Qp3ET95DqgAIOGxehG4OS10smudn
INBQ9lBOm93O3zpifqknrsBdUJbWdVlvCry5VSUb4zC3NKwveq9gW3DW
-----END PRIVATE KEY-----
";

#[test]
fn server_that_asks_for_a_certificate_gets_the_programs() {
    let file = |text: &str| PemFile { path: "x.pem".into(), text: text.as_bytes().to_vec() };
    let identity = Identity { certificate: file(CERTIFICATE), key: file(KEY) };
    for url in ["smtps://mail.example", "smtp://mail.example?tls=required"] {
        let tls = ClientTls::new(Some(file(CERTIFICATE)), Some(identity.clone()));
        let mut config = Config::defaults().mail;
        config.smtp = Some(ServiceAddress { url: SecretString::from(url), tls });
        assert!(Transport::of(&config).unwrap().is_some(), "{url}");
    }
}
