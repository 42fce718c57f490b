//! The first steps of a new shop, above the list of sales. Each is done once its fact is true, so nobody ticks anything
//! off. The list goes when all are done, or when an owner puts it away.

use axum::extract::State;
use axum::response::Response;

use crate::StaffVisit;
use domain::{AuditAction, Locale, ShopSettings};
use store::{AuditFilter, StoreError};
use web::Shop;
use web::extract::session::ManageStaff;
use web::extract::visitor::Visitor;
use web::problem::{Code, Problem};
use web::shared::negotiation::see_other;
use web::shared::paths::console_link;
use words::text;

/// The name under which rehearsals change sales.
const REHEARSAL: &str = "rehearsal";

/// One step: what to do, the page where it is done, and whether it is.
#[derive(Debug, Clone)]
pub struct FirstStep {
    pub words: &'static str,
    pub path: String,
    pub is_done: bool,
}

/// The steps for an owner; empty for others, and when there is nothing left to do.
pub async fn first_steps(
    shop: &Shop,
    visitor: &Visitor,
    has_goods: bool,
    has_sales: bool,
) -> Result<Vec<FirstStep>, Problem> {
    let settings = &visitor.shop;
    let Some(session) = visitor.session.as_ref().filter(|_| visitor.chrome().owns() && !settings.knows_steps) else {
        return Ok(Vec::new());
    };
    let Some(user) = shop.store.accounts().user(session.user_id).await? else { return Ok(Vec::new()) };
    let has_factor =
        user.second_factor.is_some() || !shop.store.credentials().passkeys_of(session.user_id).await?.is_empty();
    let is_logged = async |actor: &str, action: &str| {
        let filter = AuditFilter { actor: actor.to_owned(), action: action.to_owned(), ..AuditFilter::default() };
        Ok::<bool, StoreError>(!shop.store.audit_log().list(&filter, None, 1).await?.is_empty())
    };
    let has_own_password = is_logged(&user.username, AuditAction::ChangePassword.as_str()).await?;
    let has_rehearsed = is_logged(REHEARSAL, "").await?;
    let is_named =
        settings.name != ShopSettings::default().name && (settings.logo.is_some() || !settings.mark.is_empty());
    let takes_payments = shop.payments.is_online() && !shop.payments.is_test();
    let (t, locale) = (&text(visitor.locale).overview, visitor.locale);
    let console = |path: &str| console_link(&format!("/admin{path}"), locale);
    let steps = [
        (t.step_password, format!("/{locale}/account#password-form"), has_own_password),
        (t.step_factor, format!("/{locale}/account#second-factor"), has_factor),
        (t.step_name, console("/shop"), is_named),
        (t.step_mail, console("/system?show=mail"), shop.sends_mail),
        (t.step_payment, console("/orders?show=payments"), takes_payments),
        (t.step_product, console("/goods/new"), has_goods),
        (t.step_sale, console("/sales/new"), has_sales),
        (t.step_rehearsal, console("/calendar"), has_rehearsed),
    ];
    let steps = steps.map(|(words, path, is_done)| FirstStep { words, path, is_done });
    let is_over = steps.iter().all(|step| step.is_done);
    Ok(if is_over { Vec::new() } else { steps.into() })
}

/// Puts the list away for all owners.
pub async fn dismiss((State(shop), staff, visitor): StaffVisit<ManageStaff>) -> Result<Response, Problem> {
    let settings = shop.store.shop_settings().get().await?;
    let after = ShopSettings { knows_steps: true, ..settings };
    let saved = shop.store.shop_settings().put(after, staff.actor(), shop.clock.now()).await?;
    saved.ok_or(Code::ChangedMeanwhile)?;
    shop.catalogue.refresh().await?;
    Ok(see_other(&list_path(visitor.locale)))
}

fn list_path(locale: Locale) -> String {
    format!("/admin?lang={locale}")
}
