//! The console's page of a sale's invitation codes: batches with counts, new codes as a file, revoking.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures::stream;
use serde::Deserialize;

use crate::StaffVisitTo;
use crate::invitations::input::make_invitations;
use crate::invitations::view::{AdminInvitationsPage, InvitationsFormState};
use crate::lists::csv;
use domain::{InvitationCode, Locale, SaleId};
use store::Revocable;
use web::Shop;
use web::extract::repeatable::Repeatable;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::visitor::Visitor;
use web::extract::{Form, PathIds, Query};
use web::idempotency::NotKept;
use web::problem::{Code, Problem};
use web::shared::NoticeQuery;
use web::shared::goods::goods_name_and_cover;
use web::shared::response::{personal, see_other};

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
