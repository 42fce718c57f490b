//! Starting a payment from a page.

use axum::response::Response;

use accounts::Session;
use domain::{Locale, Order, SaleId};
use payments::{Begun, PayerChoice, payment_path};
use store::{Checkout, WALLET};
use web::Shop;
use web::extract::client::PayingPhone;
use web::extract::visitor::Visitor;
use web::problem::{Code, Problem};
use web::shared::goods_name_and_cover;
use web::shared::negotiation::see_other;
use web::shared::paths::order_path;

/// Pays the order from the wallet if `source` is `wallet`. Otherwise begins a payment at the provider of that name, or at
/// the first that takes it, and redirects there. `shown` is the amount that the form showed, in minor units; if the order
/// costs another one by now, nothing is paid and the order's page shows it.
pub async fn pay_from(
    shop: &Shop,
    session: &Session,
    visitor: &Visitor,
    order: &Order,
    (source, shown): (&str, &str),
    phone: PayingPhone,
) -> Result<Response, Problem> {
    let order_page = order_path(visitor.locale, order.sale_id, order.id);
    check_paid_here(shop, order.sale_id).map_err(|problem| problem.back(&order_page))?;
    if !shown.is_empty() && shown.parse() != Ok(order.amount.amount) {
        return Ok(see_other(&order_page));
    }
    if source == WALLET {
        shop.accounts.check_spending(session).await?;
        let paid = shop.payments.pay_from_wallet(order).await;
        paid.map_err(|error| Problem::from(error).back(&order_page))?;
        return Ok(see_other(&order_page));
    }
    let choice = choice_for(shop, visitor.locale, order, (source, phone), order_page).await?;
    let begun = shop.payments.start(order, choice).await?;
    Ok(redirect_to_checkout(shop, visitor.locale, &begun))
}

/// Refuses to take money for a sale in front of another shop, which takes it.
pub fn check_paid_here(shop: &Shop, sale: SaleId) -> Result<(), Problem> {
    shop.catalogue.front(sale).map_or(Ok(()), |_| Err(Code::SoldElsewhere.into()))
}

/// What the owner of an order asks for. An empty `provider` is the first that takes the payment.
pub async fn choice_for(
    shop: &Shop,
    locale: Locale,
    order: &Order,
    (provider, PayingPhone(phone)): (&str, PayingPhone),
    return_path: String,
) -> Result<PayerChoice, Problem> {
    let entry = shop.catalogue.entry(order.sale_id).await?;
    let (title, _) = goods_name_and_cover(entry.as_deref(), locale);
    Ok(PayerChoice { provider: provider.to_owned(), title, locale, return_path, phone })
}

/// Redirects to where a payment is made.
pub fn redirect_to_checkout(shop: &Shop, locale: Locale, begun: &Begun) -> Response {
    // A provider on this shop's own origin is reached by path, whatever host name the shopper uses, because the page's
    // content security policy lets forms lead nowhere else. To other origins a page of the shop leads.
    let Checkout::Redirect(url) = &begun.checkout else { return see_other(&payment_path(locale, begun.payment)) };
    let own = url.strip_prefix(&shop.config.public_url).unwrap_or(url);
    match own.starts_with('/') && !own.starts_with("//") {
        true => see_other(own),
        false => see_other(&payment_path(locale, begun.payment)),
    }
}
