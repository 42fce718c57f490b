//! Why a service cannot be used, in plain words. It is asked after the service's client has failed, whose errors say little: that
//! a pool timed out, or a pipe broke.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// What different servers answer to: an AMQP header, Redis' PING, PostgreSQL's question for TLS, nothing (a mail server speaks
/// first), a request of HTTP.
const QUESTIONS: [&[u8]; 5] =
    [b"AMQP\0\0\x09\x01", b"PING\r\n", b"\0\0\0\x08\x04\xd2\x16\x2f", b"", b"GET / HTTP/1.0\r\n\r\n"];

/// Where a service is expected.
pub struct Place {
    host: String,
    port: u16,
    expected: &'static str,
    /// Nothing is sent in plain text to a server that is spoken to by TLS.
    is_plain: bool,
}

impl Place {
    /// `None` for a file and for a socket file.
    pub fn of(url: &str, expected: &'static str, is_encrypted: bool) -> Option<Place> {
        let url = Url::parse(url).ok()?;
        let default = match url.scheme() {
            "redis" | "rediss" => 6379,
            "amqp" => 5672,
            "amqps" => 5671,
            "postgres" | "postgresql" => 5432,
            _ => return None,
        };
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(Place { host, port: url.port().unwrap_or(default), expected, is_plain: !is_encrypted })
    }

    /// `None` if a server of the expected kind answers, or it is not known which kind.
    pub async fn problem(&self) -> Option<String> {
        let at = format!("{}:{}", self.host, self.port);
        if tokio::net::lookup_host((self.host.as_str(), self.port)).await.is_err() {
            return Some(format!("the name {:?} is not known", self.host));
        }
        match self.connect().await {
            None => return Some(format!("{at} does not answer: the host is down, or a firewall is in between")),
            Some(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                return Some(format!("nothing listens at {at}"));
            }
            Some(Err(error)) => return Some(format!("{at} cannot be reached: {error}")),
            Some(Ok(_)) => {}
        }
        for question in QUESTIONS.into_iter().filter(|_| self.is_plain) {
            if let Some(found) = kind(&self.ask(question).await.unwrap_or_default()) {
                return (found != self.expected).then(|| format!("{found} answers at {at}, not {}", self.expected));
            }
        }
        None
    }

    async fn connect(&self) -> Option<std::io::Result<TcpStream>> {
        timeout(CONNECT_TIMEOUT, TcpStream::connect((self.host.as_str(), self.port))).await.ok()
    }

    async fn ask(&self, question: &[u8]) -> Option<Vec<u8>> {
        let mut stream = self.connect().await?.ok()?;
        stream.write_all(question).await.ok()?;
        let mut answer = [0; 64];
        let length = timeout(ANSWER_TIMEOUT, stream.read(&mut answer)).await.ok()?.ok()?;
        Some(answer[..length].to_vec())
    }
}

/// The kind of a server that answers so.
fn kind(answer: &[u8]) -> Option<&'static str> {
    match answer {
        [1, 0, ..] | [b'A', b'M', b'Q', b'P', ..] => Some("RabbitMQ"),
        [b'+', b'P', b'O', b'N', b'G', ..] | [b'-', b'N' | b'E' | b'D', ..] => Some("Redis"),
        b"N" | b"S" => Some("PostgreSQL"),
        [b'2', b'2', b'0', ..] => Some("a mail server"),
        [b'H', b'T', b'T', b'P', ..] => Some("a web server"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn closed_port_and_servers_of_another_kind_are_named() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = server.local_addr().unwrap();
        let place = Place::of(&format!("redis://{at}"), "Redis", false).unwrap();
        let answer = tokio::spawn(async move {
            loop {
                let (mut stream, _) = server.accept().await.unwrap();
                let mut asked = [0; 64];
                if stream.read(&mut asked).await.is_ok_and(|length| length > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
                }
            }
        });
        assert_eq!(place.problem().await, Some(format!("a web server answers at {at}, not Redis")));
        answer.abort();
        let _ = answer.await;
        assert_eq!(place.problem().await, Some(format!("nothing listens at {at}")));
        let unknown = Place::of("postgres://no-such-host.invalid/shop", "PostgreSQL", false).unwrap();
        assert_eq!(unknown.problem().await.as_deref(), Some("the name \"no-such-host.invalid\" is not known"));
        assert!(Place::of("sqlite://shop.sqlite", "SQLite", false).is_none());
        assert_eq!(kind(b"N"), Some("PostgreSQL"));
        assert_eq!(kind(b"-ERR unknown command"), Some("Redis"));
    }
}
