//! Making invitation codes, for the API and the console. A replay makes the same codes again from its idempotency key,
//! because no answer with codes is stored.

use std::ops::RangeInclusive;

use domain::{InvitationCode, SaleId, SaleState};
use web::Shop;
use web::extract::repeatable::Repeatable;
use web::problem::{Code, Problem};

/// Codes in one batch: as many as a file shows at once, made in one short transaction.
pub const BATCH_SIZE: RangeInclusive<i64> = 1..=10_000;

/// New codes of a sale that is not over. They cannot be read again later.
pub async fn make_invitations(
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
