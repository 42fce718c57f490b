//! Starting a payment from a page.

use axum::response::Response;

use accounts::Session;
use domain::Order;
use store::WALLET;
use web::Shop;
use web::extract::visitor::Visitor;
use web::problem::Problem;
use web::shared::paths::order_path;
use web::shared::response::see_other;

/// Pays the order from the wallet if `source` is `wallet`. Begins a payment at the provider otherwise and redirects
/// there.
pub async fn pay_from(
    shop: &Shop,
    session: &Session,
    visitor: &Visitor,
    order: &Order,
    source: &str,
) -> Result<Response, Problem> {
    let order_page = order_path(visitor.locale, order.sale_id, order.id);
    if source == WALLET {
        shop.accounts.check_spending(session).await?;
        let paid = shop.payments.pay_from_wallet(order).await;
        paid.map_err(|error| Problem::from(error).back(&order_page))?;
        return Ok(see_other(&order_page));
    }
    let (_, checkout_url) = shop.payments.start(order, order_page).await?;
    Ok(redirect_to_checkout(shop, &checkout_url))
}

/// Redirects to the page of a payment.
pub fn redirect_to_checkout(shop: &Shop, checkout_url: &str) -> Response {
    // A provider on this shop's own origin is reached by path, whatever host name the shopper uses, because the page's
    // content security policy lets forms lead nowhere else.
    let own = checkout_url.strip_prefix(&shop.config.public_url).filter(|path| path.starts_with('/'));
    see_other(own.unwrap_or(checkout_url))
}
