//! Purchase tokens: proof that the sale is open, that the account's turn has come, and that the account may take part.

use jiff::Timestamp;

use domain::{SaleId, UserId};
use engine::gate::IssuedToken;
use web::Shop;
use web::problem::Problem;

/// A purchase token, issued once everything that it proves was checked. The cheapest checks come first. `seat` is the
/// time until which an account that was called in a waiting room may buy.
pub async fn purchase_token(
    shop: &Shop,
    sale: SaleId,
    user: UserId,
    seat: Option<Timestamp>,
) -> Result<IssuedToken, Problem> {
    let issued = shop.gate.issue_token(sale, user, seat)?;
    // A place in a waiting room may be older than the rules, so its account is checked again.
    shop.eligibility.check_and_hold(sale, user).await?;
    Ok(issued)
}
