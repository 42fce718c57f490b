//! The console's page of a sale's invitation codes: batches with counts, new codes as a file, revoking.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures::stream;
use serde::Deserialize;

use crate::StaffVisitTo;
use crate::invitations::api::make_invitations;
use crate::lists::csv;
use domain::{InvitationCode, Locale, Sale, SaleId, SaleState};
use pages::{Chrome, filters};
use store::{InvitationBatch, Revocable};
use web::Shop;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds, Query};
use web::idempotency::{NotKept, Repeatable};
use web::problem::{Code, Problem};
use web::shared::negotiation::{personal, see_other};
use web::shared::{NoticeQuery, goods_name_and_cover};
use words::field_error;

fn path(locale: Locale, sale: SaleId, done: &str) -> String {
    format!("/admin/sales/{sale}/codes?lang={locale}{done}")
}

pub async fn show(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ViewConsole, SaleId>,
    Query(NoticeQuery { done }): Query<NoticeQuery>,
) -> Result<Response, Problem> {
    let form = InvitationsFormState { is_done: done == "revoked", ..InvitationsFormState::default() };
    page(&shop, &visitor, sale, staff.may::<ManageSales>(), StatusCode::OK, form).await
}

async fn page(
    shop: &Shop,
    visitor: &Visitor,
    id: SaleId,
    may_act: bool,
    status: StatusCode,
    form: InvitationsFormState,
) -> Result<Response, Problem> {
    let known = shop.catalogue.entry(id).await?.ok_or(Code::NoSuchSale)?;
    let page = AdminInvitationsPage {
        chrome: visitor.chrome_at(path(visitor.locale, id, "")),
        goods_name: goods_name_and_cover(Some(&*known), visitor.locale).0,
        sale: known.sale.clone(),
        batches: shop.store.eligibility().invitation_batches(id).await?,
        may_act,
        form,
    };
    personal(status, &page)
}

#[derive(Deserialize)]
pub struct MakeForm {
    #[serde(default)]
    count: String,
}

/// Answers with the file of the new codes. They cannot be read again later.
pub async fn make(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ManageSales, SaleId>,
    repeatable: Repeatable,
    Form(MakeForm { count: typed }): Form<MakeForm>,
) -> Result<Response, Problem> {
    let count = typed.trim().parse().unwrap_or(0);
    match make_invitations(&shop, sale, count, (repeatable, staff.actor())).await {
        Ok(codes) => {
            let records = codes.iter().map(|code| vec![code.to_string()]).collect();
            let name = format!("sale-{sale}-invitation-codes.csv");
            let mut file = csv::download(&name, &["code"], stream::iter([Ok(records)]));
            file.extensions_mut().insert(NotKept);
            Ok(file)
        }
        Err(problem) if problem.code() == Code::Invalid => {
            let form = InvitationsFormState {
                wrong_count: problem.field_code(),
                typed_count: typed,
                ..InvitationsFormState::default()
            };
            page(&shop, &visitor, sale, true, Code::Invalid.status(), form).await
        }
        Err(problem) => Err(problem.back(path(visitor.locale, sale, ""))),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct RevokeForm {
    /// Revokes all unused codes of this batch.
    batch: String,
    /// Without a batch, revokes this code.
    code: String,
}

pub async fn revoke(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ManageSales, SaleId>,
    Form(RevokeForm { batch, code: typed }): Form<RevokeForm>,
) -> Result<Response, Problem> {
    let which = match batch.parse() {
        Ok(batch) => Some(Revocable::UnusedOf(batch)),
        Err(_) => InvitationCode::parse(&typed).map(Revocable::One),
    };
    let revoked = match &which {
        Some(which) => shop.store.eligibility().revoke_invitations(sale, which, staff.actor()).await?,
        None => 0,
    };
    if revoked == 0 {
        let wrong_code = Some(words::text(visitor.locale).eligibility_console.not_found);
        let form = InvitationsFormState { typed_code: typed, wrong_code, ..InvitationsFormState::default() };
        return page(&shop, &visitor, sale, true, StatusCode::UNPROCESSABLE_ENTITY, form).await;
    }
    Ok(see_other(&path(visitor.locale, sale, "&done=revoked")))
}

/// The page's forms, after a refusal or after something was done.
#[derive(Debug, Default)]
pub struct InvitationsFormState {
    pub is_done: bool,
    pub typed_count: String,
    /// The code that says what is wrong with the count.
    pub wrong_count: Option<&'static str>,
    pub typed_code: String,
    pub wrong_code: Option<&'static str>,
}

/// Batches of codes as staff see them.
#[derive(Debug, Template)]
#[template(path = "invitations/invitations.html")]
pub struct AdminInvitationsPage {
    pub chrome: Chrome,
    pub goods_name: String,
    pub sale: Sale,
    pub batches: Vec<InvitationBatch>,
    pub may_act: bool,
    pub form: InvitationsFormState,
}

impl AdminInvitationsPage {
    /// Names and values of the counts of all batches.
    fn totals(&self) -> [(&'static str, i64); 4] {
        let t = &self.chrome.text().eligibility_console;
        let sum = |count: fn(&InvitationBatch) -> i64| self.batches.iter().map(count).sum();
        [
            (t.made, sum(|batch| batch.made)),
            (t.used, sum(|batch| batch.used)),
            (t.unused, sum(InvitationBatch::unused)),
            (t.revoked, sum(|batch| batch.revoked)),
        ]
    }

    fn can_make(&self) -> bool {
        self.may_act && self.sale.state != SaleState::Ended
    }

    fn count_error(&self) -> Option<&'static str> {
        self.form.wrong_count.map(|code| field_error(self.chrome.locale, code))
    }
}
