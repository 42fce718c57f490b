//! Requests to providers, by TLS. Each has a connection of its own: a payer makes one or two, and a kept connection may be
//! closed by the provider just when the next request is sent.

use std::fs::File;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncSeekExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use base::tls::ClientTls;

/// How long one attempt may take, so that a second one fits into the time that a payer waits.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(4500);
/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// The largest file that is downloaded. A line of a bill has some 400 bytes.
const MAX_FILE_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// How long a download may pause.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(30);

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
        let exchange = async {
            let exchange = self.exchange(request).await?;
            let (head, body) = exchange.response.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| anyhow::anyhow!(error))?;
            Ok(Answer { status: head.status, headers: head.headers, body: body.to_bytes() })
        };
        tokio::time::timeout(ATTEMPT_TIMEOUT, exchange).await.context("no answer in time")?
    }

    /// Downloads a file of any size up to [`MAX_FILE_BYTES`] into one without a name, which ends with its handle. `seen` is
    /// given every part.
    pub(super) async fn download(
        &self,
        request: &Request<Bytes>,
        mut seen: impl FnMut(&[u8]) + Send,
    ) -> anyhow::Result<File> {
        let exchange =
            tokio::time::timeout(PAUSE_TIMEOUT, self.exchange(request)).await.context("no answer in time")??;
        let status = exchange.response.status();
        ensure!(status == StatusCode::OK, "the download was answered with {status}");
        let (mut file, mut size) = (tokio::fs::File::from_std(tempfile::tempfile()?), 0);
        let Exchange { response, _connection } = exchange;
        let mut body = response.into_body();
        while let Some(frame) =
            tokio::time::timeout(PAUSE_TIMEOUT, body.frame()).await.context("the download stopped")?
        {
            let Ok(part) = frame?.into_data() else { continue };
            size += part.len() as u64;
            if size > MAX_FILE_BYTES {
                bail!("the file has more than {MAX_FILE_BYTES} bytes");
            }
            seen(&part);
            file.write_all(&part).await?;
        }
        file.rewind().await?;
        Ok(file.into_std().await)
    }

    async fn exchange(&self, request: &Request<Bytes>) -> anyhow::Result<Exchange> {
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

/// An answer whose body is not read yet. Its connection ends with it.
struct Exchange {
    response: Response<Incoming>,
    _connection: JoinSet<hyper::Result<()>>,
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> anyhow::Result<Exchange> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    Ok(Exchange { response: sender.send_request(request).await?, _connection: tasks })
}
