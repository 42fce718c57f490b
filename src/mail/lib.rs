//! Messages to the owners of accounts, by mail and, if they are urgent, to their browsers ([`push`]). Messages are rows
//! of an outbox ([`store`](store)), written in the same transaction as the change that they report. Data control
//! sends them, one leader at a time.
//!
//! - `letter`: the text of a message, made from its row when it is sent or read. Links exist only there.
//! - `transport`: the mail server.
//! - `attempt`: one attempt to send, by mail or push.
//!
//! A message is sent at least once. An attempt is counted before it is made, so a process that dies between the
//! server's answer and the record leaves a message that is sent again, with the same Message-ID, by which mailboxes
//! recognize it. A message that cannot be delivered is tried again at growing intervals. It is dead once its link has
//! expired, or when the server has refused it for good several times. A failing message delays no other.
//!
//! Without a mail server messages wait, and owners of the shop read them in the console.

mod attempt;
mod letter;
pub mod push;
mod transport;

use std::sync::Arc;

use futures::StreamExt;
use tracing::warn;

pub use attempt::TransportError;
pub use letter::{Letter, Letters, LinkView};
pub use transport::Transport;

use attempt::Outbox;
use base::metrics::Metrics;
use store::{Store, StoreError};

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

impl Mailer {
    /// Sends a bounded number of messages that are due. Returns the number of attempts.
    pub async fn step(&self) -> Result<usize, StoreError> {
        let waiting = self.store.mail().waiting().await?;
        self.metrics.mails_waiting.set(waiting);
        let Some(transport) = &self.transport else { return Ok(0) };
        let due = self.store.mail().due(MAX_MAILS).await?;
        let outbox = &Outbox { store: &self.store, sent: &self.metrics.mails_sent, failed: &self.metrics.mails_failed };
        let attempts = futures::stream::iter(&due).for_each_concurrent(CONCURRENCY, |mail| async move {
            let letter = self.letters.letter(mail, LinkView::Shown);
            if let Err(error) = outbox.attempt(mail, async || transport.send(mail, &letter).await).await {
                warn!(mail = mail.id, %error, "the outcome of a message is not recorded; it is sent again");
            }
        });
        attempts.await;
        Ok(due.len())
    }
}

#[cfg(test)]
mod tests;
