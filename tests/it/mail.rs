//! Mail from outside: a program that sends, a mail server that is away, and a crash between the server's answer and the
//! record of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Plan, Rung, Shop, eventually, until};

const TIMEOUT: Duration = Duration::from_secs(60);
const PASSWORD: &str = "correct horse";

/// The decoded text of a message.
fn decoded(message: &str) -> String {
    let message = message.replace("\r\n", "\n");
    let (head, body) = message.split_once("\n\n").unwrap();
    if head.contains("base64") {
        return String::from_utf8(STANDARD.decode(body.replace('\n', "")).unwrap()).unwrap();
    }
    body.replace("=\n", "").replace("=3D", "=")
}

/// The token of the link in a message.
fn token(message: &str) -> String {
    let text = decoded(message);
    let link = text.lines().find(|line| line.contains("?token=")).unwrap_or_else(|| panic!("no link: {text}"));
    link.split_once("?token=").unwrap().1.trim().to_owned()
}

fn message_id(message: &str) -> &str {
    message.lines().find(|line| line.starts_with("Message-ID:")).unwrap().trim()
}

async fn enter_address(shop: &Shop, name: &str, address: &str) {
    let client = shop.register(name, PASSWORD).await;
    let body = json!({"address": address, "password": PASSWORD});
    client.request(axum::http::Method::PUT, "/api/account/mail").json(&body).send().await.expect(202);
}

/// A mail server that takes messages and does not answer the first one.
async fn silent_once(listener: TcpListener, taken: Arc<Mutex<Vec<String>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(take(stream, taken.clone()));
    }
}

async fn take(stream: TcpStream, taken: Arc<Mutex<Vec<String>>>) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut answer = "220 test";
    loop {
        if write.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
            return;
        }
        let Ok(Some(line)) = lines.next_line().await else { return };
        answer = if line.starts_with("DATA") { "354 go on" } else { "250 ok" };
        if line.starts_with("DATA") {
            let _ = write.write_all(b"354 go on\r\n").await;
            let mut message = String::new();
            while let Ok(Some(line)) = lines.next_line().await
                && line != "."
            {
                message += &line;
                message.push('\n');
            }
            let is_first = {
                let mut taken = taken.lock().unwrap();
                taken.push(message);
                taken.len() == 1
            };
            if is_first {
                std::future::pending::<()>().await;
            }
            answer = "250 kept";
        }
    }
}

#[tokio::test]
async fn message_is_repeated_with_its_id_after_a_kill_between_sending_and_recording() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let taken = Arc::<Mutex<Vec<String>>>::default();
    tokio::spawn(silent_once(listener, taken.clone()));
    let mut shop = Plan::on(Rung::Sqlite).await.set("SECKILL_SMTP_URL", &url).start().await;
    enter_address(&shop, "mei", "mei@shop.example").await;
    let messages = async |count: usize| {
        let read = async || taken.lock().unwrap().clone();
        until("the server has taken messages", TIMEOUT, read, |taken| taken.len() >= count).await
    };
    messages(1).await;
    shop.processes[0].restart();
    shop.wait_until_ready().await;
    let taken = messages(2).await;
    assert_eq!(message_id(&taken[0]), message_id(&taken[1]));
    assert_eq!(decoded(&taken[0]), decoded(&taken[1]), "and with the same link");
    let verified = json!({"token": token(&taken[1])});
    shop.client().post("/api/mail/verify", verified).await.expect(204);
    let log = shop.processes[0].log();
    assert!(!log.contains(&token(&taken[1])) && !log.contains("mei@shop.example"), "{log}");
}

mod stack {
    use super::*;
    use crate::support::Stack;

    /// The messages to an address that the stack's mail server has.
    fn messages(address: &str) -> Vec<String> {
        let folder = Stack::get().dir().join("smtp/mail");
        let mut files: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|f| f.path()).collect();
        files.retain(|file| file.extension().is_some_and(|ending| ending == "eml"));
        files.sort();
        let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
        texts.filter(|text| text.contains(&format!("To: {address}"))).collect()
    }

    async fn message(address: &str, number: usize) -> String {
        eventually("the message has arrived", TIMEOUT, async || {
            let found = messages(address);
            found.get(number).cloned().ok_or_else(|| format!("{} messages", found.len()))
        })
        .await
    }

    #[tokio::test]
    async fn account_of_a_busy_network_is_paid_by_a_verified_address() {
        let address = format!("lei-{}@shop.example", uuid::Uuid::new_v4().simple());
        let mut plan = Plan::on(Rung::Postgres).await.set("SECKILL_FREE_REGISTRATIONS", "1");
        plan = plan.set("SECKILL_TRUSTED_PROXIES", "127.0.0.1");
        let shop = plan.set("SECKILL_SMTP_URL", Stack::get().variable("SECKILL_SMTP_URL")).start().await;
        let client = shop.client();
        let post = |path: &str, body: serde_json::Value| {
            client.request(axum::http::Method::POST, path).header("x-forwarded-for", "192.0.2.9").json(&body).send()
        };
        let register = |name: &str, challenge: &str| {
            post("/api/register", json!({"username": name, "password": PASSWORD, "challenge": challenge}))
        };
        register("mei", "").await.expect(201);
        let price =
            client.request(axum::http::Method::GET, "/api/register/price").header("x-forwarded-for", "192.0.2.9");
        let price = price.send().await.expect(200).json();
        let challenge = price["price"]["challenge"].as_str().unwrap();
        post("/api/register/contact", json!({"challenge": challenge, "address": address})).await.expect(202);
        let link = token(&message(&address, 0).await);
        register("lei", challenge).await.expect(403);
        shop.client().post("/api/register/contact/verify", json!({"token": link})).await.expect(204);
        register("lei", challenge).await.expect(201);
        register("wang", challenge).await.expect(403);
        let lei = shop.store().accounts().user_named("lei").await.unwrap().unwrap();
        let mail = shop.store().accounts().mail_of(lei.id).await.unwrap().unwrap();
        assert_eq!(mail.address.as_deref(), Some(address.as_str()));
    }

    #[tokio::test]
    async fn address_is_verified_and_account_recovered_through_an_outage() {
        let address = format!("mei-{}@shop.example", uuid::Uuid::new_v4().simple());
        let mut plan = Plan::on(Rung::Postgres).await;
        plan = plan.set("SECKILL_SMTP_URL", Stack::get().variable("SECKILL_SMTP_URL"));
        let proxy = plan.through_proxy("SECKILL_SMTP_URL");
        let shop = plan.start().await;
        enter_address(&shop, "mei", &address).await;
        eventually("an attempt has failed", TIMEOUT, async || {
            let mails = shop.store().mail().mails(None, 1).await.map_err(|error| error.to_string())?;
            if mails[0].attempts > 0 && mails[0].error.is_some() { Ok(()) } else { Err(format!("{mails:?}")) }
        })
        .await;
        proxy.restore().await;
        let verification = token(&message(&address, 0).await);
        shop.client().post("/api/mail/verify", json!({"token": verification})).await.expect(204);

        shop.client().post("/api/recovery", json!({"account": address})).await.expect(202);
        let recovery = token(&message(&address, 1).await);
        let new = json!({"token": recovery, "new_password": "battery staple"});
        shop.client().post("/api/recovery/password", new).await.expect(204);
        let log_in = json!({"username": "mei", "password": "battery staple"});
        shop.client().post("/api/login", log_in).await.expect(200);
        assert!(decoded(&message(&address, 2).await).contains("password"), "the change is told");
        assert_eq!(messages(&address).len(), 3, "each was sent once");
        let doctor = String::from_utf8(shop.run(&["doctor"]).await.stdout).unwrap();
        assert!(doctor.contains("ok    mail server (not encrypted)"), "{doctor}");
    }
}
