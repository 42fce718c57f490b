//! The console's page of messages.

use askama::Template;

use crate::Chrome;
use domain::MailState;
use mail::Letter;
use pages::filters;
use store::Mail;

/// Messages, newest first.
#[derive(Debug, Template)]
#[template(path = "users/mail.html")]
pub struct MailPage {
    pub chrome: Chrome,
    /// Whether a mail server is configured.
    pub sends: bool,
    pub mails: Vec<ShownMail>,
    /// The cursor of the next page.
    pub older: Option<String>,
}

#[derive(Debug)]
pub struct ShownMail {
    pub mail: Mail,
    /// The address, masked.
    pub recipient: String,
    pub letter: Letter,
}

impl MailPage {
    fn state(&self, state: &MailState) -> &'static str {
        let t = &self.chrome.text().recovery;
        match state {
            MailState::Waiting => t.state_waiting,
            MailState::Sent => t.state_sent,
            MailState::Dead => t.state_dead,
        }
    }

    /// A class of the style sheet.
    fn mark(&self, state: &MailState) -> &'static str {
        match state {
            MailState::Waiting => "unpaid",
            MailState::Sent => "paid",
            MailState::Dead => "rejected",
        }
    }
}
