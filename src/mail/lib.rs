//! Messages to the owners of accounts, by mail and, if they are urgent, to their browsers ([`push`]). Messages are rows
//! of an outbox ([`store`](store)), written in the same transaction as the change that they report. Data control
//! sends them, one leader at a time.
//!
//! - [`webhooks`]: events for programs of the merchant, which are sent in much the same way.
//! - [`outside`]: requests to addresses that others have named.
//! - `letter`: the text of a message, made from its row when it is sent or read. Links exist only there.
//! - `transport`: the mail server.
//!
//! A message is sent at least once. An attempt is counted before it is made, so a process that dies between the
//! server's answer and the record leaves a message that is sent again, with the same Message-ID, by which mailboxes
//! recognize it. A message that cannot be delivered is tried again at growing intervals. It is dead once its link has
//! expired, or when the server has refused it for good several times. A failing message delays no other.
//!
//! Without a mail server messages wait, and owners of the shop read them in the console.

mod letter;
pub mod outside;
pub mod push;
mod transport;
pub mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use boxed::boxed;
use futures::StreamExt;
use prometheus_client::metrics::counter::Counter;
use tracing::{info, warn};

use base::metrics::Metrics;
use domain::MailState;
use store::{Mail, Store, StoreResult};

pub use letter::{Letter, Letters, LinkView};
pub use transport::Transport;

/// Messages per step.
const MAX_MAILS: i64 = 50;
/// Connections to the mail server at a time.
const CONCURRENCY: usize = 4;

/// Sends the messages that wait for the mail server.
pub struct Mailer {
    pub store: Store,
    /// `None`: nothing is sent.
    pub transport: Option<Transport>,
    pub letters: Letters,
    pub metrics: Arc<Metrics>,
}

#[boxed]
impl Mailer {
    /// Sends a bounded number of messages that are due. Returns the number of attempts.
    pub async fn step(&self) -> StoreResult<usize> {
        let waiting = self.store.mail().waiting().await?;
        self.metrics.mails_waiting.set(waiting);
        let Some(transport) = &self.transport else { return Ok(0) };
        let due = self.store.mail().due(MAX_MAILS).await?;
        if due.is_empty() {
            return Ok(0);
        }
        let shop = &self.store.shop_settings().get().await?;
        let outbox = &Outbox { store: &self.store, sent: &self.metrics.mails_sent, failed: &self.metrics.mails_failed };
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |mail| async move {
            let letter = self.letters.letter(mail, LinkView::Shown, shop);
            if let Err(error) = outbox.attempt(mail, async || transport.send(mail, &letter).await).await {
                warn!(mail = mail.id, %error, "the outcome of a message is not recorded; it is sent again");
            }
        });
        attempts.await;
        Ok(due.len())
    }
}

// One attempt to deliver a message, by mail or push. It is counted before it is made, and its result is recorded
// afterwards.

/// How long an attempt may take before it is made again. Longer than the limits of the transports.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
/// A message that the server refuses for good is still tried this many times, because a wrongly configured server also
/// refuses for good.
const MAX_REFUSALS: i64 = 5;
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
    fn new(error: &dyn std::error::Error) -> TransportError {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            text = format!("{text}: {error}");
            source = error.source();
        }
        TransportError::text(text)
    }

    fn text(text: impl Into<String>) -> TransportError {
        TransportError { text: text.into(), is_permanent: false, retry_after: None }
    }
}

/// Delivers messages of one channel.
struct Outbox<'a> {
    pub store: &'a Store,
    pub sent: &'a Counter,
    pub failed: &'a Counter,
}

impl Outbox<'_> {
    /// Makes one attempt, unless the message is too old or another process makes it.
    async fn attempt(&self, mail: &Mail, send: impl AsyncFnOnce() -> Result<(), TransportError>) -> StoreResult<()> {
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

    async fn failed(&self, mail: &Mail, error: &TransportError) -> StoreResult<()> {
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

#[cfg(test)]
mod tests;
