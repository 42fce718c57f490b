//! Requests to addresses that browsers and staff have named. The owner of such an address decides where it leads. So a
//! request goes only to the public internet and follows no redirect, and of the answer only the status, `Retry-After` and
//! a bounded beginning are read.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use boxed::boxed;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
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

/// Bytes of an answer's head.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// The longest wait that an answer may ask for. Messages to browsers are soon too old to be sent.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Which hosts requests may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Hosts of the public internet, by TLS.
    Public,
    /// These, and this machine even without TLS: for a shop that only this machine reaches.
    Local,
    /// Any host, even without TLS: for tests, whose push service is on this machine.
    Anywhere,
}

impl Reach {
    fn allows(self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        self == Reach::Anywhere || is_public(ip) || (self == Reach::Local && ip.is_loopback())
    }
}

/// What one request may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// From the look-up of the name to the last byte that is read.
    pub timeout: Duration,
    /// Bytes of the answer that are read.
    pub answer: usize,
}

/// What is read of an answer.
#[derive(Debug, Clone)]
pub struct OutsideAnswer {
    pub status: StatusCode,
    pub retry_after: Option<Duration>,
    pub body: Vec<u8>,
}

pub struct OutsideTransport {
    tls: ClientTls,
    reach: Reach,
}

#[boxed]
impl OutsideTransport {
    /// Certificates are checked against the CAs of `tls`; its own certificate is not shown.
    pub fn new(tls: &ClientTls, reach: Reach) -> OutsideTransport {
        OutsideTransport { tls: ClientTls::new(tls.ca().cloned(), None), reach }
    }

    pub async fn post(
        &self,
        address: &str,
        headers: HeaderMap,
        body: Vec<u8>,
        limits: Limits,
    ) -> Result<OutsideAnswer, TransportError> {
        let exchange = self.exchange(address, headers, body, limits);
        let answer = tokio::time::timeout(limits.timeout, exchange).await.map_err(|late| TransportError::new(&late))?;
        answer.map_err(|error| TransportError::text(format!("{error:#}")))
    }

    async fn exchange(
        &self,
        address: &str,
        headers: HeaderMap,
        body: Vec<u8>,
        limits: Limits,
    ) -> anyhow::Result<OutsideAnswer> {
        let url = Url::parse(address)?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let mut request = Request::post(&url[url::Position::BeforePath..]).body(Full::new(Bytes::from(body)))?;
        *request.headers_mut() = headers;
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        request.headers_mut().insert(header::HOST, HeaderValue::from_str(authority)?);
        let stream = self.connect(&host, url.port_or_known_default().unwrap_or_default()).await?;
        let is_here = stream.peer_addr()?.ip().to_canonical().is_loopback();
        match (url.scheme(), self.reach) {
            ("https", _) => {
                let connector = TlsConnector::from(self.tls.config()?);
                answer(connector.connect(ServerName::try_from(host)?, stream).await?, request, limits).await
            }
            (_, Reach::Anywhere) => answer(stream, request, limits).await,
            (_, Reach::Local) if is_here => answer(stream, request, limits).await,
            (scheme, _) => anyhow::bail!("{scheme} is not allowed"),
        }
    }

    /// Connects to one of the host's addresses that may be reached. It connects to the very address that was checked,
    /// so it does not matter if the name leads elsewhere a moment later.
    async fn connect(&self, host: &str, port: u16) -> anyhow::Result<TcpStream> {
        let found = tokio::net::lookup_host((host, port)).await?;
        let allowed: Vec<SocketAddr> = found.filter(|address| self.reach.allows(*address)).collect();
        anyhow::ensure!(!allowed.is_empty(), "the host has no public address");
        Ok(TcpStream::connect(allowed.as_slice()).await?)
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
    limits: Limits,
) -> anyhow::Result<OutsideAnswer> {
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(MAX_HEAD_BYTES).handshake(TokioIo::new(stream)).await?;
    // The task ends with this function, because nothing else uses the connection.
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let response = sender.send_request(request).await?;
    let seconds = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let retry_after = seconds.map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER));
    let status = response.status();
    Ok(OutsideAnswer { status, retry_after, body: beginning(response.into_body(), limits.answer).await })
}

/// The first bytes of a body. The status is known before, so an answer that ends early is one, too.
async fn beginning(mut body: Incoming, limit: usize) -> Vec<u8> {
    let mut read = Vec::new();
    while read.len() < limit
        && let Some(Ok(frame)) = body.frame().await
    {
        read.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
    }
    read.truncate(limit);
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { timeout: Duration::from_secs(5), answer: 0 };

    #[tokio::test]
    async fn hosts_of_private_networks_are_not_reached() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let transport = OutsideTransport::new(&ClientTls::default(), Reach::Public);
        for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"] {
            let endpoint = format!("https://{host}:{port}/");
            let refused = transport.post(&endpoint, HeaderMap::new(), Vec::new(), LIMITS).await.unwrap_err();
            assert!(refused.text.contains("no public address"), "{host}: {refused}");
        }
        let accepted = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(accepted.is_err(), "a connection was made");
    }
}
