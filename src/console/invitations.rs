//! Invitation codes of a sale: made and shown once, listed in batches, revoked. The console's page gives new codes as a
//! file.

use std::ops::RangeInclusive;

use crate::lists::csv;
use crate::prelude::*;
use domain::InvitationCode;
use store::{InvitationBatch, Revocable};

answers! {
    BatchesResponse { batches: Vec<InvitationBatch> }
    RevokedResponse { revoked: u64 }
}

pub async fn list((State(shop), _, PathIds(sale)): StaffCallTo<ViewConsole, SaleId>) -> Answer {
    shop.store.sales().get(sale).await?.ok_or(Code::NoSuchSale)?;
    let batches = shop.store.eligibility().invitation_batches(sale).await?;
    Ok(private(BatchesResponse { batches }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInvitations {
    #[schemars(range(min = 1, max = 10000))]
    count: i64,
}

#[derive(Serialize, JsonSchema)]
struct MadeInvitations {
    /// The codes. They cannot be read again later.
    codes: Vec<String>,
}

pub async fn make(
    (State(shop), staff, PathIds(sale)): StaffCallTo<ManageSales, SaleId>,
    repeatable: Repeatable,
    Json(NewInvitations { count }): Json<NewInvitations>,
) -> Answer {
    let codes = make_invitations(&shop, sale, count, (repeatable, staff.actor())).await?;
    let codes = codes.iter().map(ToString::to_string).collect();
    let made = created(format!("/api/admin/sales/{sale}/codes"), MadeInvitations { codes });
    Ok((Extension(NotKept), made).into_response())
}

/// Exactly one of the two.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokedInvitations {
    code: Option<String>,
    /// The codes of this batch that no account has redeemed.
    unused_of_batch: Option<i64>,
}

pub async fn revoke(
    (State(shop), staff, PathIds(sale)): StaffCallTo<ManageSales, SaleId>,
    Json(body): Json<RevokedInvitations>,
) -> Answer {
    let which = match (body.code.as_deref(), body.unused_of_batch) {
        (Some(typed), None) => {
            let code = InvitationCode::parse(typed).ok_or(Problem::invalid_field("code", "bad_invitation"))?;
            Revocable::One(code)
        }
        (None, Some(batch)) => Revocable::UnusedOf(batch),
        _ => return Err(Problem::invalid_field("code", "required")),
    };
    shop.store.sales().get(sale).await?.ok_or(Code::NoSuchSale)?;
    let revoked = shop.store.eligibility().revoke_invitations(sale, &which, staff.actor()).await?;
    Ok(private(RevokedResponse { revoked }))
}

// Making invitation codes, for the API and the console. A replay makes the same codes again from its idempotency key,
// because no answer with codes is stored.

/// Codes in one batch: as many as a file shows at once, made in one short transaction.
pub const BATCH_SIZE: RangeInclusive<i64> = 1..=10_000;

/// New codes of a sale that is not over. They cannot be read again later.
async fn make_invitations(
    shop: &Shop,
    sale: SaleId,
    count: i64,
    (Repeatable(request), actor): (Repeatable, &str),
) -> Result<Vec<InvitationCode>, Problem> {
    if !BATCH_SIZE.contains(&count) {
        return Err(Problem::invalid_field("count", "bad_number"));
    }
    let known = shop.store.sales().get(sale).await?.ok_or(Code::NoSuchSale)?;
    if known.state == SaleState::Ended {
        return Err(Code::WrongState.into());
    }
    let codes: Vec<_> = match request {
        Some(request) => shop.eligibility.codes_of_request(request, count),
        None => (0..count).map(|_| InvitationCode::new(rand::random())).collect(),
    };
    match shop.store.eligibility().make_invitations(sale, &codes, actor).await? {
        true => Ok(codes),
        false => Err(Problem::invalid_field("count", "too_many_invitations")),
    }
}

fn path(locale: Locale, sale: SaleId, done: &str) -> String {
    format!("/admin/sales/{sale}/codes?lang={locale}{done}")
}

pub async fn page(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ViewConsole, SaleId>,
    Query(NoticeQuery { done }): Query<NoticeQuery>,
) -> Answer {
    let form = InvitationsFormState { is_done: done == "revoked", ..InvitationsFormState::default() };
    render(&shop, &visitor, sale, staff.may::<ManageSales>(), StatusCode::OK, form).await
}

async fn render(
    shop: &Shop,
    visitor: &Visitor,
    id: SaleId,
    may_act: bool,
    status: StatusCode,
    form: InvitationsFormState,
) -> Answer {
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

static COLUMNS: &[csv::Column<InvitationCode>] = &[("code", |code| code.to_string())];

inputs! {
    MakeForm { count }
    RevokeForm {
        /// Revokes all unused codes of this batch.
        batch,
        /// Without a batch, revokes this code.
        code,
    }
}

/// Answers with the file of the new codes. They cannot be read again later.
pub async fn make_by_form(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ManageSales, SaleId>,
    repeatable: Repeatable,
    Form(MakeForm { count: typed }): Form<MakeForm>,
) -> Answer {
    let count = typed.trim().parse().unwrap_or(0);
    match make_invitations(&shop, sale, count, (repeatable, staff.actor())).await {
        Ok(codes) => {
            let name = format!("sale-{sale}-invitation-codes.csv");
            let mut file = csv::download(&name, COLUMNS, stream::iter([Ok(codes)]));
            file.extensions_mut().insert(NotKept);
            Ok(file)
        }
        Err(problem) if problem.code() == Code::Invalid => {
            let form = InvitationsFormState {
                wrong_count: problem.field_code(),
                typed_count: typed,
                ..InvitationsFormState::default()
            };
            render(&shop, &visitor, sale, true, Code::Invalid.status(), form).await
        }
        Err(problem) => Err(problem.back(path(visitor.locale, sale, ""))),
    }
}

pub async fn revoke_by_form(
    (State(shop), staff, visitor, PathIds(sale)): StaffVisitTo<ManageSales, SaleId>,
    Form(RevokeForm { batch, code: typed }): Form<RevokeForm>,
) -> Answer {
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
        return render(&shop, &visitor, sale, true, StatusCode::UNPROCESSABLE_ENTITY, form).await;
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
struct AdminInvitationsPage {
    chrome: Chrome,
    goods_name: String,
    sale: Sale,
    batches: Vec<InvitationBatch>,
    may_act: bool,
    form: InvitationsFormState,
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

    fn count_error(&self) -> Option<&'static str> {
        self.form.wrong_count.map(|code| field_error(self.chrome.locale, code))
    }
}

web::operations! { "administrators"
    /// Batches of invitation codes of a sale, the newest first
    GET "/api/admin/sales/{sale}/codes" listInvitations = list;
        200 BatchesResponse, "Counts. The codes themselves are not stored.";
        refuses NoSuchSale;
    /// Make invitation codes of a sale
    ///
    /// The answer has the codes once: the shop keeps hashes. Under one key the same codes are made again, without
    /// `Idempotent-Replayed`; without a key a repeated request makes other codes.
    POST "/api/admin/sales/{sale}/codes" makeInvitations = make, example(r#"{"count": 2}"#), located;
        201 MadeInvitations;
        refuses NoSuchSale WrongState;
    /// Revoke invitation codes of a sale
    ///
    /// One code, or the codes of a batch that no account has redeemed. An account that has redeemed a revoked code may
    /// not take part any more; orders that exist stay.
    POST "/api/admin/sales/{sale}/codes/revoke" revokeInvitations = revoke, example(r#"{"unused_of_batch": 1}"#);
        200 RevokedResponse;
        refuses NoSuchSale;
}
