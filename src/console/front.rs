//! A sale beside another shop: how its line stands in front of that shop, for staff and for programs; and shadow mode, which
//! shows where the other shop decided otherwise than this one would have.

use crate::prelude::*;
use crate::sales::view::sale_tabs;
use domain::SaleFront;
use domain::front::{DecisionCounts, Difference, Verdict};
use store::SavedFront;

/// `null` for a sale that sells in this shop.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrontBody {
    front: Option<SaleFront>,
}

pub async fn read((State(shop), _, PathIds(sale)): StaffCallTo<ViewConsole, SaleId>) -> Answer {
    known(&shop, sale).await?;
    Ok(answer(shop.store.fronts().get(sale).await?))
}

/// Replaces it. With `If-Match`, only if it has a version that the header names.
pub async fn replace(
    (State(shop), staff, PathIds(sale)): StaffCallTo<ManageSales, SaleId>,
    headers: HeaderMap,
    Json(FrontBody { front }): Json<FrontBody>,
) -> Answer {
    known(&shop, sale).await?;
    let mistakes = front.as_ref().map(SaleFront::mistakes).unwrap_or_default();
    if !mistakes.is_empty() {
        let problem = |(field, code)| FieldProblem { field: format!("front.{field}"), code };
        return Err(Problem::invalid(mistakes.into_iter().map(problem)));
    }
    let saved = save(&shop, sale, front, expected_versions(&headers).as_deref(), staff.actor()).await?;
    Ok(answer(saved.ok_or(Code::StaleVersion)?))
}

async fn save(
    shop: &Shop,
    sale: SaleId,
    front: Option<SaleFront>,
    versions: Option<&[i64]>,
    actor: &str,
) -> Result<Option<SavedFront>, Problem> {
    let saved = shop.store.fronts().put(sale, front, versions, actor, shop.clock.now()).await?;
    shop.catalogue.refresh().await?;
    Ok(saved)
}

fn answer(saved: SavedFront) -> Response {
    versioned(saved.version(), FrontBody { front: saved.front })
}

async fn known(shop: &Shop, id: SaleId) -> Result<Sale, Problem> {
    Ok(shop.store.sales().get(id).await?.ok_or(Code::NotFound)?)
}

inputs! {
    /// The values as entered.
    FrontForm {
        version: i64,
        /// One per line. None: the sale sells in this shop.
        return_addresses,
        anonymous, reusable,
    }
}

impl FrontForm {
    fn of(saved: SavedFront) -> FrontForm {
        let version = saved.version();
        let front = saved.front.unwrap_or_default();
        let tick = |is_on: bool| if is_on { "on".to_owned() } else { String::new() };
        FrontForm {
            version,
            return_addresses: front.return_addresses.join("\n"),
            anonymous: tick(front.anonymous),
            reusable: tick(front.reusable),
        }
    }

    fn read(&self) -> Option<SaleFront> {
        let lines = self.return_addresses.lines().map(str::trim).filter(|line| !line.is_empty());
        let front = SaleFront {
            return_addresses: lines.map(str::to_owned).collect(),
            anonymous: !self.anonymous.is_empty(),
            reusable: !self.reusable.is_empty(),
        };
        (!front.return_addresses.is_empty()).then_some(front)
    }
}

pub async fn show(
    (State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, SaleId>,
    Query(query): Query<SavedQuery>,
) -> Answer {
    let sale = known(&shop, id).await?;
    let form = FrontForm::of(shop.store.fronts().get(id).await?);
    let notice = (!query.saved.is_empty()).then_some(SaveNotice::Saved);
    page(&shop, &visitor, sale, form, notice)
}

pub async fn save_form(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ManageSales, SaleId>,
    Form(form): Form<FrontForm>,
) -> Answer {
    let sale = known(&shop, id).await?;
    let front = form.read();
    if front.as_ref().is_some_and(|front| !front.mistakes().is_empty()) {
        return page(&shop, &visitor, sale, form, Some(SaveNotice::Wrong));
    }
    match save(&shop, id, front, Some(&[form.version]), staff.actor()).await? {
        Some(_) => Ok(see_other(&format!("{}&saved=yes", front_path(id, visitor.locale)))),
        None => {
            let version = shop.store.fronts().get(id).await?.version();
            page(&shop, &visitor, sale, FrontForm { version, ..form }, Some(SaveNotice::ChangedMeanwhile))
        }
    }
}

fn front_path(sale: SaleId, locale: Locale) -> String {
    format!("/admin/sales/{sale}/front?lang={locale}")
}

#[derive(Debug, Template)]
#[template(path = "sales/console_front.html")]
struct FrontPage {
    chrome: Chrome,
    tabs: Vec<Tab>,
    sale: Sale,
    form: FrontForm,
    notice: Option<SaveNotice>,
    /// The address of the line, for links of the other shop.
    line: String,
}

fn page(shop: &Shop, visitor: &Visitor, sale: Sale, form: FrontForm, notice: Option<SaveNotice>) -> Answer {
    let chrome = visitor.chrome_at(front_path(sale.id, visitor.locale));
    let tabs = sale_tabs(&chrome, &sale, "/front");
    let line = format!("{}/line/{}", shop.config.public_url.trim_end_matches('/'), sale.id);
    personal(SaveNotice::status(notice), &FrontPage { chrome, tabs, sale, form, notice, line })
}

impl FrontPage {
    fn notice(&self) -> Option<(&'static str, bool)> {
        let t = &self.chrome.text().front;
        self.notice.map(|notice| notice.words([t.saved, t.wrong, t.changed]))
    }

    /// What staff should know about this way to sell.
    fn of_mode(&self) -> Option<&'static str> {
        let t = &self.chrome.text().front;
        match self.sale.mode {
            SaleMode::WaitingRoom(_) => None,
            SaleMode::Draw(_) => Some(t.draw_text),
            SaleMode::Rush => self.sale.spread().is_none().then_some(t.rush_text),
        }
    }

    fn error(&self) -> Option<&'static str> {
        let mistakes = self.form.read().map(|front| front.mistakes()).unwrap_or_default();
        let errors: Vec<_> = mistakes.into_iter().map(|(field, code)| FieldError::new(field, code)).collect();
        error_text(&self.chrome, &errors, "return_addresses")
    }
}

/// Differences of each list. Programs read all of them.
const MAX_SHOWN: usize = 100;

#[derive(Debug, Template)]
#[template(path = "sales/console_decisions.html")]
struct DecisionsPage {
    chrome: Chrome,
    tabs: Vec<Tab>,
    sale: Sale,
    counts: DecisionCounts,
    /// Orders with units beyond the stock.
    oversold: Vec<Difference>,
    others: Vec<Difference>,
    has_more: bool,
}

pub async fn decisions((State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, SaleId>) -> Answer {
    let sale = shop.store.sales().get(id).await?.ok_or(Code::NotFound)?;
    if sale.mode != SaleMode::Rush {
        return Err(Code::NotARush.into());
    }
    let (mut oversold, mut others, mut has_more) = (Vec::new(), Vec::new(), false);
    let mut add = |difference: Difference| {
        let list = if difference.oversold > 0 { &mut oversold } else { &mut others };
        if list.len() < MAX_SHOWN { list.push(difference) } else { has_more = true }
    };
    let counts = shop.store.decisions().compare(&sale, &mut add).await?;
    let chrome = visitor.chrome_at(format!("/admin/sales/{id}/decisions?lang={}", visitor.locale));
    let tabs = sale_tabs(&chrome, &sale, "/decisions");
    personal(StatusCode::OK, &DecisionsPage { chrome, tabs, sale, counts, oversold, others, has_more })
}

impl DecisionsPage {
    fn verdict(&self, verdict: &Verdict) -> &'static str {
        let t = &self.chrome.text().decisions;
        match verdict {
            Verdict::Sold => t.sold,
            Verdict::NotOpen => t.not_open,
            Verdict::Ended => t.ended,
            Verdict::AccountTooNew => t.account_too_new,
            Verdict::ContactNotVerified => t.contact_not_verified,
            Verdict::HoldsUnits => t.holds_units,
            Verdict::OverLimit => t.over_limit,
            Verdict::SoldOut => t.sold_out,
        }
    }

    /// What the other shop calls the order; its id of the decision if it has told none.
    fn name<'d>(&self, difference: &'d Difference) -> &'d str {
        difference.decision.reference.as_deref().unwrap_or(&difference.decision.id)
    }
}

web::operations! { "administrators"
    /// How a sale stands in front of another shop
    GET "/api/admin/sales/{sale}/front" showFront = read, versioned;
        200 FrontBody;
    /// Put the line of a sale in front of another shop, or take it back
    ///
    /// Shoppers go back to one of the addresses with a pass, and buy there: when they are called in a waiting room, from their
    /// own moment on, or when they have won a draw. `null` takes the sale back.
    PUT "/api/admin/sales/{sale}/front" replaceFront = replace, if_match, versioned;
        200 FrontBody;
}
