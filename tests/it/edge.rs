//! nginx in front of the program: which client it sees, and what it answers by itself.

mod stack {
    use std::net::SocketAddr;
    use std::path::Path;
    use std::process::Stdio;
    use std::time::Duration;

    use axum::http::Method;
    use tempfile::TempDir;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use crate::support::{Answer, Client, Connections, Nginx, Settings, Stack, eventually, free_address, run};

    const TIMEOUT: Duration = Duration::from_secs(20);
    /// More than the 40 that may arrive at once, even if a slow machine takes seconds for them.
    const LOGINS: usize = 200;
    /// The same for one client after the other.
    const ATTEMPTS: usize = 70;

    struct Edge {
        nginx: Nginx,
        _dir: TempDir,
    }

    impl Edge {
        /// nginx in front of a program that may be down.
        async fn before(upstream: SocketAddr) -> Edge {
            let dir = tempfile::tempdir().unwrap();
            let pages = dir.path().join("pages");
            std::fs::create_dir_all(pages.join("zh")).unwrap();
            std::fs::write(pages.join("zh/index.html"), "<!doctype html>").unwrap();
            let nginx = Nginx::start(dir.path(), free_address(), &[upstream], &pages, "");
            Edge::of(nginx, dir).await
        }

        async fn of(nginx: Nginx, dir: TempDir) -> Edge {
            let edge = Edge { nginx, _dir: dir };
            let answers = async || tokio::net::TcpStream::connect(edge.nginx.address).await.map_err(|e| e.to_string());
            eventually("nginx answers", TIMEOUT, answers).await;
            edge
        }

        fn client(&self) -> Client {
            Client::new(Connections::new(), [format!("http://{}", self.nginx.address)].into())
        }

        async fn get(&self, path: &str) -> Answer {
            self.client().request(Method::GET, path).send().await
        }

        /// A log-in that claims to be forwarded for this address.
        async fn log_in(&self, forwarded_for: &str) -> u16 {
            let client = self.client();
            let request = client.request(Method::POST, "/api/login").header("x-forwarded-for", forwarded_for);
            request.send().await.status
        }

        /// The statuses of requests that a client sends at once.
        async fn storm(&self, method: Method, path: &str, forwarded_for: &str) -> Vec<u16> {
            let client = self.client();
            let one = |_| client.request(method.clone(), path).header("x-forwarded-for", forwarded_for).send();
            futures::future::join_all((0..ATTEMPTS).map(one)).await.iter().map(|answer| answer.status).collect()
        }
    }

    /// Every address that takes a POST without a session, except log-outs and webhooks of payment providers.
    async fn posts_of_strangers() -> Vec<String> {
        let printed = run(&Settings::default(), Path::new("/"), &["openapi"]).await.stdout;
        let document: serde_json::Value = serde_json::from_slice(&printed).unwrap();
        let is_open = |path: &str| {
            let needs = &document["paths"][path]["post"]["security"];
            needs.as_array().is_some_and(Vec::is_empty) && path != "/api/logout" && !path.starts_with("/api/webhooks/")
        };
        let operations = document["paths"].as_object().unwrap().keys().filter(|path| is_open(path)).cloned();
        let mut paths: Vec<String> = operations.collect();
        assert!(paths.contains(&"/api/login/passkey".to_owned()), "{paths:?}");
        let forms = ["login", "login/code", "login/mail", "login/mail/code", "register", "register/contact"];
        for form in forms.iter().chain(&["register/contact/verify", "recovery", "recovery/password", "mail"]) {
            paths.extend(["zh", "en"].map(|locale| format!("/{locale}/{form}")));
        }
        paths
    }

    #[tokio::test]
    async fn answers_of_nginx_itself_have_a_policy() {
        let edge = Edge::before(free_address()).await;
        let page = edge.get("/zh/").await.expect(200);
        assert!(page.header("content-security-policy").starts_with("default-src 'self'"));
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        for (path, status) in [("/zh/orders", 503), ("/admin", 503), ("/api/sales", 503), ("/api/me", 503), ("/", 302)]
        {
            let answer = edge.get(path).await.expect(status);
            let policy = answer.header("content-security-policy");
            assert!(policy.starts_with("default-src 'none'"), "{path}: {policy:?}");
        }
    }

    #[tokio::test]
    async fn client_is_the_rightmost_address_that_is_no_trusted_proxy() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let edge = Edge::before(listener.local_addr().unwrap()).await;
        let receive = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let count = connection.read(&mut head).await.unwrap();
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await.unwrap();
            String::from_utf8_lossy(&head[..count]).to_lowercase()
        };
        let chain = "198.51.100.66, 203.0.113.9, 127.0.0.1";
        let client = edge.client();
        let request = client.request(Method::GET, "/api/me").header("x-forwarded-for", chain);
        let (head, answer) = tokio::join!(receive, request.send());
        answer.expect(200);
        assert!(head.contains("\r\nx-forwarded-for: 203.0.113.9\r\n"), "{head}");
    }

    /// The browser of another shop's page compares the origin in the answer with its own.
    #[tokio::test]
    async fn copy_of_a_button_or_line_is_for_the_origin_that_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let edge = Edge::before(listener.local_addr().unwrap()).await;
        let program = tokio::spawn(async move {
            loop {
                let (mut connection, _) = listener.accept().await.unwrap();
                let mut head = vec![0; 4096];
                let count = connection.read(&mut head).await.unwrap();
                let head = String::from_utf8_lossy(&head[..count]).to_lowercase();
                let origin = head.lines().find_map(|line| line.strip_prefix("origin: ")).unwrap_or_default();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nVary: origin\r\n\
                     Access-Control-Allow-Origin: {origin}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let client = edge.client();
        for path in ["/api/sales/7/button", "/api/sales/7/line"] {
            for (origin, cached) in
                [("https://a.example", "MISS"), ("https://b.example", "MISS"), ("https://a.example", "HIT")]
            {
                let answer = client.request(Method::GET, path).header("origin", origin).send().await.expect(200);
                let seen = (answer.header("access-control-allow-origin"), answer.header("x-cache"));
                assert_eq!(seen, (origin, cached), "{path}");
            }
        }
        program.abort();
    }

    #[tokio::test]
    async fn sign_ins_of_one_address_are_limited_and_others_go_on() {
        let edge = Edge::before(free_address()).await;
        let statuses = futures::future::join_all((0..LOGINS).map(|_| edge.log_in("203.0.113.9"))).await;
        assert!(statuses.contains(&429) && statuses.contains(&503), "{statuses:?}");
        assert_eq!(edge.log_in("203.0.113.10").await, 503, "passed on to a program that is down");
        assert_eq!(edge.log_in("127.0.0.1").await, 503, "this machine is not counted");
    }

    #[tokio::test]
    async fn everything_that_lets_strangers_in_is_limited() {
        let edge = Edge::before(free_address()).await;
        for (n, path) in posts_of_strangers().await.iter().enumerate() {
            let statuses = edge.storm(Method::POST, path, &format!("203.0.113.{n}")).await;
            assert!(statuses.contains(&429) && statuses.contains(&503), "{path}: {statuses:?}");
        }
        let read = edge.storm(Method::GET, "/en/login", "203.0.113.254").await;
        assert!(!read.contains(&429), "pages that are read: {read:?}");
    }

    /// The example with TLS, as operators start it.
    #[tokio::test]
    async fn plain_http_leads_to_the_shops_own_name_only() {
        let (dir, plain) = (tempfile::tempdir().unwrap(), free_address());
        let files = Stack::get().variable("SECKILL_STACK_TLS");
        let example =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docker/nginx-tls.conf")).unwrap();
        let example = example
            .replace("/etc/nginx/tls/fullchain.pem", &format!("{files}/server.pem"))
            .replace("/etc/nginx/tls/privkey.pem", &format!("{files}/server.key"))
            .replace("listen 80", &format!("listen {plain}"));
        let listen = format!("{} ssl", free_address());
        Nginx::write(dir.path(), &listen, &[free_address()], dir.path(), &example);
        let edge = Edge::of(Nginx::run(dir.path(), plain, Stdio::inherit()), dir).await;
        let client = edge.client();
        let ask = async |host: &str| client.request(Method::GET, "/zh/?a=1").header("host", host).send().await;
        for host in ["evil.example", "evil.example:80", "shop.example.evil.example", "127.0.0.1"] {
            let answer = ask(host).await.expect(421);
            assert!(answer.header("location").is_empty() && !answer.text().contains(host), "{}", answer.text());
        }
        for host in ["shop.example", "SHOP.example:80"] {
            assert_eq!(ask(host).await.expect(308).header("location"), "https://shop.example/zh/?a=1");
        }
    }

    /// The program is down, so nginx also has something to say in its log of errors.
    #[tokio::test]
    async fn tokens_of_links_are_in_neither_log() {
        let dir = tempfile::tempdir().unwrap();
        let (access, errors) = (dir.path().join("access.log"), dir.path().join("errors.log"));
        let address = free_address();
        Nginx::write(dir.path(), &address.to_string(), &[free_address()], dir.path(), "");
        let main = dir.path().join("nginx.conf");
        let site = std::fs::read_to_string(&main).unwrap();
        let site = site.replace("access_log /dev/null", &format!("access_log {}", access.display()));
        std::fs::write(&main, site).unwrap();
        let nginx = Nginx::run(dir.path(), address, std::fs::File::create(&errors).unwrap().into());
        let edge = Edge::of(nginx, dir).await;
        for path in ["/zh/mail", "/en/recovery/password", "/zh/register/contact", "/enter", "/line/7"] {
            let linked = format!("{path}?token=sesame");
            let client = edge.client();
            client.request(Method::GET, &linked).header("referer", &linked).send().await.expect(503);
        }
        // nginx writes the rest of its logs when it stops.
        let Edge { nginx, _dir } = edge;
        drop(nginx);
        let read = |log| std::fs::read_to_string(log).unwrap();
        assert!(read(&access).contains("GET /en/recovery/password HTTP/1.1"), "{}", read(&access));
        assert!(!read(&access).contains("sesame") && !read(&errors).contains("sesame"), "{}", read(&errors));
    }
}
