//! Requests to the addresses that browsers have named. The owner of such an address decides where it leads. So a
//! request goes only to the public internet and follows no redirect, and of the answer only the status and
//! `Retry-After` are read.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use url::Url;

use crate::TransportError;
use base::tls::ClientTls;
use domain::network::is_public;

/// How long one request may take, with the connection.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const HTTPS_PORT: u16 = 443;
/// The longest wait that a push service may ask for. Messages are soon too old to be sent.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Which hosts requests may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Hosts of the public internet, by TLS.
    Public,
    /// Any host, even without TLS: for tests, whose push service is on this machine.
    Anywhere,
}

/// What is read of an answer.
#[derive(Debug, Clone, Copy)]
pub struct PushAnswer {
    pub status: StatusCode,
    pub retry_after: Option<Duration>,
}

pub struct PushTransport {
    tls: ClientTls,
    reach: Reach,
}

impl PushTransport {
    /// The certificates of push services are checked against the CAs of `tls`; its own certificate is not shown to
    /// them.
    pub fn new(tls: &ClientTls, reach: Reach) -> PushTransport {
        PushTransport { tls: ClientTls::new(tls.ca().cloned(), None), reach }
    }

    pub(super) async fn post(
        &self,
        endpoint: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<PushAnswer, TransportError> {
        let exchange = self.exchange(endpoint, headers, body);
        let answer =
            tokio::time::timeout(REQUEST_TIMEOUT, exchange).await.map_err(|late| TransportError::new(&late))?;
        answer.map_err(|error| TransportError::text(format!("{error:#}")))
    }

    async fn exchange(&self, endpoint: &str, headers: HeaderMap, body: Vec<u8>) -> anyhow::Result<PushAnswer> {
        let url = Url::parse(endpoint)?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let mut request = Request::post(&url[url::Position::BeforePath..]).body(Full::new(Bytes::from(body)))?;
        *request.headers_mut() = headers;
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        request.headers_mut().insert(header::HOST, HeaderValue::from_str(authority)?);
        let stream = self.connect(&host, url.port().unwrap_or(HTTPS_PORT)).await?;
        match (url.scheme(), self.reach) {
            ("https", _) => {
                let connector = TlsConnector::from(self.tls.config()?);
                answer(connector.connect(ServerName::try_from(host)?, stream).await?, request).await
            }
            (_, Reach::Anywhere) => answer(stream, request).await,
            (scheme, Reach::Public) => anyhow::bail!("{scheme} is not allowed"),
        }
    }

    /// Connects to one of the host's addresses that may be reached. It connects to the very address that was checked,
    /// so it does not matter if the name leads elsewhere a moment later.
    async fn connect(&self, host: &str, port: u16) -> anyhow::Result<TcpStream> {
        let found = tokio::net::lookup_host((host, port)).await?;
        let allowed: Vec<SocketAddr> =
            found.filter(|address| self.reach == Reach::Anywhere || is_public(address.ip())).collect();
        anyhow::ensure!(!allowed.is_empty(), "the push service has no public address");
        Ok(TcpStream::connect(allowed.as_slice()).await?)
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> anyhow::Result<PushAnswer> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // The task ends with this function, because nothing else uses the connection.
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let response = sender.send_request(request).await?;
    let seconds = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let retry_after = seconds.map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER));
    Ok(PushAnswer { status: response.status(), retry_after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hosts_of_private_networks_are_not_reached() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let transport = PushTransport::new(&ClientTls::default(), Reach::Public);
        for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"] {
            let endpoint = format!("https://{host}:{port}/");
            let refused = transport.post(&endpoint, HeaderMap::new(), Vec::new()).await.unwrap_err();
            assert!(refused.text.contains("no public address"), "{host}: {refused}");
        }
        let accepted = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(accepted.is_err(), "a connection was made");
    }
}
