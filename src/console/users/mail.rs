//! The console's page of messages, for owners: without a mail server it is where links are read.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use uuid::Uuid;

use crate::StaffVisit;
use crate::users::mail_view::{MailPage, ShownMail};
use domain::mail::masked;
use domain::page::Page;
use mail::LinkView;
use web::extract::Query;
use web::extract::session::ReadMail;
use web::problem::Problem;
use web::shared::pagination::{Cursor, LARGE_PAGE_SIZE};
use web::shared::response::personal;

#[derive(Deserialize)]
pub struct MailQuery {
    #[serde(default)]
    before: Cursor,
}

pub async fn show(
    (State(shop), _, visitor): StaffVisit<ReadMail>,
    Query(query): Query<MailQuery>,
) -> Result<Response, Problem> {
    let before = query.before.read::<Uuid>("before")?.map(|id| id.to_string());
    let mails = shop.store.mail().mails(before.as_deref(), LARGE_PAGE_SIZE as i64 + 1).await?;
    let page = Page::cut(mails, LARGE_PAGE_SIZE, |mail| mail.id.clone());
    // The link of a recovery opens the account. With a mail server, only the recipient may see it.
    let view = if shop.sends_mail { LinkView::Hidden } else { LinkView::Shown };
    let shown = page.items.into_iter().map(|mail| ShownMail {
        recipient: masked(&mail.recipient),
        letter: shop.letters.letter(&mail, view),
        mail,
    });
    let chrome = visitor.chrome_at(format!("/admin/mail?lang={}", visitor.locale));
    personal(StatusCode::OK, &MailPage { chrome, sends: shop.sends_mail, mails: shown.collect(), older: page.next })
}
