//! The console's page of messages, for owners: without a mail server it is where links are read.

use crate::prelude::*;
use domain::MailState;
use domain::mail::masked;
use mail::{Letter, LinkView};
use store::Mail;
use web::extract::ReadMail;
use web::shared::pagination::BeforeQuery;

pub async fn show((State(shop), _, visitor): StaffVisit<ReadMail>, Query(query): Query<BeforeQuery>) -> Answer {
    let before = query.before.read::<Uuid>("before")?.map(|id| id.to_string());
    let mails = shop.store.mail().mails(before.as_deref(), LARGE_PAGE_SIZE as i64 + 1).await?;
    let page = Page::cut(mails, LARGE_PAGE_SIZE, |mail| mail.id.clone());
    // The link of a recovery opens the account. With a mail server, only the recipient may see it.
    let view = if shop.sends_mail { LinkView::Hidden } else { LinkView::Shown };
    let shown = page.items.into_iter().map(|mail| ShownMail {
        recipient: masked(&mail.recipient),
        letter: shop.letters.letter(&mail, view, &visitor.shop),
        mail,
    });
    let chrome = visitor.chrome_at(format!("/admin/system?show=mail&lang={}", visitor.locale));
    personal(StatusCode::OK, &MailPage { chrome, sends: shop.sends_mail, mails: shown.collect(), older: page.next })
}

/// Messages, newest first.
#[derive(Debug, Template)]
#[template(path = "users/mail.html")]
struct MailPage {
    chrome: Chrome,
    /// Whether a mail server is configured.
    sends: bool,
    mails: Vec<ShownMail>,
    /// The cursor of the next page.
    older: Option<String>,
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
