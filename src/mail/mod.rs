//! Mail to the owners of accounts. Messages are rows of an outbox ([`store`](crate::store)), written in the transaction that
//! they speak of. Data control sends them, one leader at a time.
//!
//! - `letter`: the text of a message, made from its row when it is sent or read. Links exist in no other place.
//! - `transport`: the mail server.
//!
//! A message is sent at least once. An attempt is counted before it is made, so a process that dies between the server's
//! answer and the record leaves a message that is sent again, with the same Message-ID, by which mailboxes recognize it. A
//! message that cannot be delivered is tried again later and later, and is dead once its link has expired, or when the server
//! has refused it for good several times. One message's trouble delays no other.
//!
//! Without a mail server messages wait, and owners of the shop read them in the console.

mod letter;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tracing::{info, warn};

pub use letter::{Letter, Letters, LinkView};
pub use transport::{Transport, TransportError};

use crate::domain::MailState;
use crate::metrics::Metrics;
use crate::store::{Mail, Store, StoreError};

/// Messages of one step.
const MAX_MAILS: i64 = 50;
/// Connections to the mail server at a time.
const CONCURRENCY: usize = 4;
/// How long an attempt may take before it is made again. Longer than the transport's own limit.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
/// A message that the server refuses for good is tried so often, because a server that is set up wrongly does the same.
const MAX_REFUSALS: i64 = 5;
/// What is kept of an error, in characters.
const MAX_ERROR_CHARS: usize = 300;

/// Sends what waits.
pub struct Mailer {
    pub store: Store,
    /// `None`: nothing is sent.
    pub transport: Option<Transport>,
    pub letters: Letters,
    pub metrics: Arc<Metrics>,
}

impl Mailer {
    /// Sends a bounded number of messages that are due. Returns the number of attempts.
    pub async fn step(&self) -> Result<usize, StoreError> {
        let waiting = self.store.mails_waiting().await?;
        self.metrics.mails_waiting.set(waiting);
        let Some(transport) = &self.transport else { return Ok(0) };
        let due = self.store.mails_due(MAX_MAILS).await?;
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |mail| async move {
            if let Err(error) = self.attempt(transport, mail).await {
                warn!(mail = mail.id, %error, "the outcome of a message is not recorded; it is sent again");
            }
        });
        attempts.await;
        Ok(due.len())
    }

    async fn attempt(&self, transport: &Transport, mail: &Mail) -> Result<(), StoreError> {
        if self.store.now().await? >= mail.expires_at {
            self.metrics.mails_failed.inc();
            warn!(mail = mail.id, kind = %mail.kind, attempts = mail.attempts, "a message is too old to be sent");
            let error = mail.error.as_deref().unwrap_or("too old");
            return self.store.end_mail(&mail.id, MailState::Dead, Some(error)).await;
        }
        if !self.store.claim_mail(mail, ATTEMPT_TIMEOUT).await? {
            return Ok(());
        }
        let letter = self.letters.letter(mail, LinkView::Shown);
        match transport.send(mail, &letter).await {
            Ok(()) => {
                self.store.end_mail(&mail.id, MailState::Sent, None).await?;
                self.metrics.mails_sent.inc();
                info!(mail = mail.id, kind = %mail.kind, "message sent");
                Ok(())
            }
            Err(error) => self.failed(mail, &error).await,
        }
    }

    async fn failed(&self, mail: &Mail, error: &TransportError) -> Result<(), StoreError> {
        self.metrics.mails_failed.inc();
        let attempts = mail.attempts + 1;
        let text: String = error.to_string().chars().take(MAX_ERROR_CHARS).collect();
        if error.is_permanent && attempts >= MAX_REFUSALS {
            warn!(mail = mail.id, kind = %mail.kind, attempts, error = text, "a message was refused; it is given up");
            return self.store.end_mail(&mail.id, MailState::Dead, Some(&text)).await;
        }
        warn!(mail = mail.id, kind = %mail.kind, attempts, error = text, "a message was not sent; it will be tried again");
        self.store.postpone_mail(&mail.id, &text).await
    }
}

#[cfg(test)]
mod tests;
