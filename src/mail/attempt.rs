//! One attempt to deliver a message, by mail or push. It is counted before it is made, and its result is recorded
//! afterwards.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tracing::{info, warn};

use domain::MailState;
use store::{Mail, Store, StoreError};

/// How long an attempt may take before it is made again. Longer than the limits of the transports.
pub(super) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
/// A message that the server refuses for good is still tried this many times, because a wrongly configured server also
/// refuses for good.
pub(super) const MAX_REFUSALS: i64 = 5;
/// Characters of an error that are stored.
const MAX_ERROR_CHARS: usize = 300;

/// Why a message was not accepted.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct TransportError {
    pub text: String,
    /// The server says that it will never take the message.
    pub is_permanent: bool,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

impl TransportError {
    pub(super) fn new(error: &dyn std::error::Error) -> TransportError {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            text = format!("{text}: {error}");
            source = error.source();
        }
        TransportError::text(text)
    }

    pub(super) fn text(text: impl Into<String>) -> TransportError {
        TransportError { text: text.into(), is_permanent: false, retry_after: None }
    }
}

/// Delivers messages of one channel.
pub(super) struct Outbox<'a> {
    pub store: &'a Store,
    pub sent: &'a Counter,
    pub failed: &'a Counter,
}

impl Outbox<'_> {
    /// Makes one attempt, unless the message is too old or another process makes it.
    pub(super) async fn attempt(
        &self,
        mail: &Mail,
        send: impl AsyncFnOnce() -> Result<(), TransportError>,
    ) -> Result<(), StoreError> {
        if self.store.now().await? >= mail.expires_at {
            self.failed.inc();
            warn!(mail = mail.id, kind = %mail.kind, attempts = mail.attempts, "a message is too old to be sent");
            let error = mail.error.as_deref().unwrap_or("too old");
            return self.store.mail().end(&mail.id, MailState::Dead, Some(error)).await;
        }
        if !self.store.mail().claim(mail, ATTEMPT_TIMEOUT).await? {
            return Ok(());
        }
        match send().await {
            Ok(()) => {
                self.store.mail().end(&mail.id, MailState::Sent, None).await?;
                self.sent.inc();
                info!(mail = mail.id, kind = %mail.kind, "message sent");
                Ok(())
            }
            Err(error) => self.failed(mail, &error).await,
        }
    }

    async fn failed(&self, mail: &Mail, error: &TransportError) -> Result<(), StoreError> {
        self.failed.inc();
        let attempts = mail.attempts + 1;
        let text: String = error.to_string().chars().take(MAX_ERROR_CHARS).collect();
        if error.is_permanent && attempts >= MAX_REFUSALS {
            warn!(mail = mail.id, kind = %mail.kind, attempts, error = text, "a message was refused; it is given up");
            return self.store.mail().end(&mail.id, MailState::Dead, Some(&text)).await;
        }
        warn!(mail = mail.id, kind = %mail.kind, attempts, error = text, "a message was not sent; it will be tried again");
        self.store.mail().postpone(&mail.id, &text, error.retry_after).await
    }
}
