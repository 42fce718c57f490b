//! Connections to the services by TLS: the bytes that are sent before the certificate is checked, and how a start ends
//! if it cannot check the certificate.

use std::process::Output;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use crate::support::{Settings, free_address, run};

const TIMEOUT: Duration = Duration::from_secs(20);
/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 22;

/// Runs the program with its data in this folder.
async fn program(dir: &TempDir, words: &[&str], given: &[(&str, &str)]) -> Output {
    let mut settings: Settings = given.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    settings.insert("SECKILL_DATA_DIR".into(), dir.path().join("data").display().to_string());
    settings.insert("SECKILL_LISTEN".into(), free_address().to_string());
    settings.insert("SECKILL_OPS_LISTEN".into(), free_address().to_string());
    run(&settings, dir.path(), words).await
}

/// The first bytes that a server on this machine receives, while the doctor looks at it.
async fn first_bytes(name: &str, address: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = address.replace("PORT", &listener.local_addr().unwrap().port().to_string());
    let mut given = vec![("SECKILL_REDIS_URL", "redis://127.0.0.1:1/")];
    given.retain(|(given, _)| *given != name);
    given.push((name, &address));
    let receive = async {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut bytes = vec![0; 64];
        let count = connection.read(&mut bytes).await.unwrap();
        bytes.truncate(count);
        bytes
    };
    let doctor = program(&dir, &["doctor"], &given);
    let (bytes, _) = tokio::time::timeout(TIMEOUT, async { tokio::join!(receive, doctor) }).await.unwrap();
    bytes
}

#[tokio::test]
async fn amqps_and_rediss_send_nothing_before_the_handshake() {
    for (name, address) in [
        ("SECKILL_AMQP_URL", "amqps://user:password@127.0.0.1:PORT/"),
        ("SECKILL_REDIS_URL", "rediss://user:password@127.0.0.1:PORT/"),
        ("SECKILL_SMTP_URL", "smtps://user:password@127.0.0.1:PORT/"),
        ("SECKILL_REDIS_URL", "rediss+sentinel://:password@127.0.0.1:PORT/shop"),
    ] {
        let bytes = first_bytes(name, address).await;
        assert_eq!(bytes.first(), Some(&HANDSHAKE), "{address}: {bytes:?}");
    }
}

#[tokio::test]
async fn sslmode_that_may_be_plain_is_refused_for_another_machine() {
    let dir = tempfile::tempdir().unwrap();
    let given = [("SECKILL_DATABASE_URL", "postgres://user:password@db.example/x?sslmode=prefer")];
    let done = program(&dir, &["doctor"], &given).await;
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(2) && text.contains("SECKILL_DATABASE_URL"), "{text}");
    assert!(!text.contains("password@"), "{text}");
}

mod stack {
    use super::*;
    use crate::support::{Plan, Rung, Stack};

    /// Starts a shop that should end by itself, and returns its log.
    async fn failed_start(plan: Plan) -> String {
        let mut shop = plan.launch();
        let status = shop.processes[0].ended(TIMEOUT).await;
        let log = shop.processes[0].log();
        assert!(!status.success(), "{log}");
        log
    }

    /// The settings of these services with TLS, and of the others without.
    async fn only(names: &[&str]) -> Plan {
        let (plain, tls) = (Plan::on(Rung::Rabbit).await, Plan::on(Rung::Tls).await);
        names.iter().fold(plain, |plan, name| plan.set(name, tls.setting(name)))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn wrong_ca_ends_the_start_and_names_the_setting() {
        let files = Stack::get().variable("SECKILL_STACK_TLS");
        let other = format!("{files}/other-ca.pem");
        let own = ["SECKILL_TLS_CERT", "SECKILL_TLS_KEY"];
        for name in ["SECKILL_REDIS_URL", "SECKILL_AMQP_URL"] {
            let plan = only(&[name, own[0], own[1]]).await.set("SECKILL_TLS_CA", &other);
            let log = failed_start(plan).await;
            assert!(log.contains("SECKILL_TLS_CA") && log.contains(name), "{name}: {log}");
        }
        // The same servers, addressed as a cluster. Its client would look for its members without end.
        let plan = only(&["SECKILL_REDIS_URL", own[0], own[1]]).await.unset("SECKILL_REDIS_REPLICA_URLS");
        let [one, two] =
            ["SECKILL_STACK_TLS_REDIS", "SECKILL_STACK_TLS_REPLICA"].map(|name| Stack::get().variable(name));
        let cluster = format!("rediss://{one}/,rediss://{two}/");
        let log = failed_start(plan.set("SECKILL_REDIS_URL", &cluster).set("SECKILL_TLS_CA", &other)).await;
        assert!(log.contains("SECKILL_TLS_CA") && log.contains("SECKILL_REDIS_URL"), "{log}");
        let plan = Plan::on(Rung::Rabbit).await;
        let database = format!("{}?sslmode=verify-ca", plan.setting("SECKILL_DATABASE_URL"));
        let log = failed_start(plan.set("SECKILL_DATABASE_URL", &database).set("SECKILL_TLS_CA", &other)).await;
        assert!(log.contains("SECKILL_TLS_CA") && log.contains("SECKILL_DATABASE_URL"), "{log}");
    }

    /// The same service at an address that its certificate does not name.
    async fn at_another_name(address: &str) -> String {
        let mut url = Url::parse(address).unwrap();
        let service = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
        let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
        url.set_host(Some("127.0.0.2")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut server = TcpStream::connect(&service).await.unwrap();
                tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
            }
        });
        url.into()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn certificate_for_another_name_ends_the_start() {
        let trusted = ["SECKILL_TLS_CA", "SECKILL_TLS_CERT", "SECKILL_TLS_KEY"];
        for name in ["SECKILL_REDIS_URL", "SECKILL_AMQP_URL", "SECKILL_DATABASE_URL"] {
            let plan = only(&[&trusted[..], &[name]].concat()).await;
            let address = at_another_name(plan.setting(name)).await;
            let log = failed_start(plan.set(name, &address)).await;
            assert!(log.contains("its certificate is for another name") && log.contains(name), "{name}: {log}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn missing_client_certificate_ends_the_start_and_names_the_setting() {
        for name in ["SECKILL_REDIS_URL", "SECKILL_AMQP_URL"] {
            let log = failed_start(only(&[name, "SECKILL_TLS_CA"]).await).await;
            assert!(log.contains("SECKILL_TLS_CERT") && log.contains(name), "{name}: {log}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn doctor_says_which_connections_are_encrypted() {
        for (rung, state) in [(Rung::Tls, " (encrypted)"), (Rung::Rabbit, " (not encrypted)")] {
            let shop = Plan::on(rung).await.start().await;
            let done = shop.run(&["doctor"]).await;
            let report = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(done.status.success(), "{report}");
            for service in ["database", "redis master", "redis replica", "rabbitmq"] {
                let line = report.lines().find(|line| line.contains(service)).unwrap_or_default();
                assert!(line.ends_with(state), "{service}: {report}");
            }
        }
    }

    /// Every mode but `disable` is encrypted on a server that has TLS.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_sslmode_does_what_its_name_says() {
        let files = Stack::get().variable("SECKILL_STACK_TLS").to_owned();
        let modes = [
            ("disable", " (not encrypted)"),
            ("prefer", " (encrypted)"),
            ("require", " (encrypted)"),
            ("verify-ca", " (encrypted)"),
            ("verify-full", " (encrypted)"),
        ];
        let shop = Plan::on(Rung::Postgres).await.start().await;
        let plain = shop.setting("SECKILL_DATABASE_URL").to_owned();
        let dir = tempfile::tempdir().unwrap();
        for (mode, state) in modes {
            let database = format!("{plain}?sslmode={mode}");
            let ca = format!("{files}/ca.pem");
            let given = [("SECKILL_DATABASE_URL", database.as_str()), ("SECKILL_TLS_CA", &ca)];
            let done = program(&dir, &["doctor"], &given).await;
            let report = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(report.contains(&format!("ok    database{state}")), "{mode}: {report}");
        }
    }
}
