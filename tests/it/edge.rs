//! nginx in front of the program: which client it sees, and what it answers by itself.

mod stack {
    use std::net::SocketAddr;
    use std::path::Path;
    use std::time::Duration;

    use axum::http::Method;
    use tempfile::TempDir;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use crate::support::{Answer, Client, Connections, Nginx, Stack, eventually, free_address};

    const TIMEOUT: Duration = Duration::from_secs(20);
    /// More than the 40 that may arrive at once, even if a slow machine takes seconds for them.
    const LOGINS: usize = 200;

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

    #[tokio::test]
    async fn sign_ins_of_one_address_are_limited_and_others_go_on() {
        let edge = Edge::before(free_address()).await;
        let statuses = futures::future::join_all((0..LOGINS).map(|_| edge.log_in("203.0.113.9"))).await;
        assert!(statuses.contains(&429) && statuses.contains(&503), "{statuses:?}");
        assert_eq!(edge.log_in("203.0.113.10").await, 503, "passed on to a program that is down");
        assert_eq!(edge.log_in("127.0.0.1").await, 503, "this machine is not counted");
    }

    #[test]
    fn the_example_with_tls_is_valid() {
        let dir = tempfile::tempdir().unwrap();
        let files = Stack::get().variable("SECKILL_STACK_TLS");
        let example =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docker/nginx-tls.conf")).unwrap();
        let example = example
            .replace("/etc/nginx/tls/fullchain.pem", &format!("{files}/server.pem"))
            .replace("/etc/nginx/tls/privkey.pem", &format!("{files}/server.key"))
            .replace("listen 80", &format!("listen {}", free_address()));
        let listen = format!("{} ssl", free_address());
        Nginx::write(dir.path(), &listen, &[free_address()], dir.path(), &example);
        let done = Nginx::command(dir.path()).arg("-t").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}
