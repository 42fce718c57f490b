//! Requests to providers, by TLS, on connections that are kept for the next request.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use axum::body::Bytes;
use axum::http::{HeaderMap, Request, StatusCode, Uri};
use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use base::tls::ClientTls;

/// How long one attempt may take, so that a second one fits into the time that a payer waits.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(4500);
/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// The status and the body of an answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// A client for one provider.
pub(super) struct HttpsClient(Client<Connector, Full<Bytes>>);

impl HttpsClient {
    /// Certificates are checked against the CAs of `tls`; its own certificate is not shown.
    pub(super) fn new(tls: &ClientTls) -> HttpsClient {
        let connector = Connector(ClientTls::new(tls.ca().cloned(), None));
        HttpsClient(Client::builder(TokioExecutor::new()).build(connector))
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
        let mut copy = Request::new(Full::new(request.body().clone()));
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.headers_mut() = HeaderMap::clone(request.headers());
        let exchange = async {
            let (head, body) = self.0.request(copy).await?.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| anyhow::anyhow!(error))?;
            anyhow::Ok(Answer { status: head.status, body: body.to_bytes() })
        };
        tokio::time::timeout(ATTEMPT_TIMEOUT, exchange).await.context("no answer in time")?
    }
}

#[derive(Clone)]
struct Connector(ClientTls);

impl tower::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = anyhow::Error;
    type Future = BoxFuture<'static, anyhow::Result<TokioIo<Stream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<anyhow::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let tls = self.0.clone();
        Box::pin(async move {
            let is_tls = to.scheme_str() == Some("https");
            let host = to.host().context("the address has no host")?.trim_matches(['[', ']']).to_owned();
            let port = to.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
            let stream = TcpStream::connect((host.as_str(), port)).await?;
            stream.set_nodelay(true)?;
            let stream: Box<dyn Duplex> = match is_tls {
                true => {
                    let tls = TlsConnector::from(tls.config()?);
                    Box::new(tls.connect(ServerName::try_from(host)?, stream).await?)
                }
                false => Box::new(stream),
            };
            Ok(TokioIo::new(Stream(stream)))
        })
    }
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection with or without TLS.
struct Stream(Box<dyn Duplex>);

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
