//! Requests to providers, by TLS. Each has a connection of its own: a payer makes one or two, and a kept connection may be
//! closed by the provider just when the next request is sent.

use std::time::Duration;

use anyhow::Context;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use base::tls::ClientTls;

/// How long one attempt may take, so that a second one fits into the time that a payer waits.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(4500);
/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// An answer as a whole.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// A client for one provider.
pub(super) struct HttpsClient(ClientTls);

impl HttpsClient {
    /// Certificates are checked against the CAs of `tls`; its own certificate is not shown.
    pub(super) fn new(tls: &ClientTls) -> HttpsClient {
        HttpsClient(ClientTls::new(tls.ca().cloned(), None))
    }

    /// Sends a request that may take effect twice only as once. If the answer does not come or the provider has a fault,
    /// it is sent again, once.
    ///
    /// # Errors
    /// It is not known whether the request took effect.
    pub(super) async fn send(&self, request: &Request<Bytes>) -> anyhow::Result<Answer> {
        match self.attempt(request).await {
            Ok(answer) if !answer.status.is_server_error() => Ok(answer),
            _ => self.attempt(request).await,
        }
    }

    async fn attempt(&self, request: &Request<Bytes>) -> anyhow::Result<Answer> {
        tokio::time::timeout(ATTEMPT_TIMEOUT, self.exchange(request)).await.context("no answer in time")?
    }

    async fn exchange(&self, request: &Request<Bytes>) -> anyhow::Result<Answer> {
        let to = request.uri();
        let is_tls = to.scheme_str() == Some("https");
        let host = to.host().context("the address has no host")?.trim_matches(['[', ']']).to_owned();
        let port = to.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let path = to.path_and_query().map_or("/", |path| path.as_str());
        let authority = to.authority().context("the address has no host")?.as_str();
        let mut request = request.clone().map(Full::new);
        request.headers_mut().insert(header::HOST, HeaderValue::from_str(authority)?);
        *request.uri_mut() = path.parse()?;
        let stream = TcpStream::connect((host.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        match is_tls {
            true => {
                let tls = TlsConnector::from(self.0.config()?);
                answer(tls.connect(ServerName::try_from(host)?, stream).await?, request).await
            }
            false => answer(stream, request).await,
        }
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> anyhow::Result<Answer> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // The task ends with this function, because nothing else uses the connection.
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let (head, body) = sender.send_request(request).await?.into_parts();
    let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| anyhow::anyhow!(error))?;
    Ok(Answer { status: head.status, headers: head.headers, body: body.to_bytes() })
}
