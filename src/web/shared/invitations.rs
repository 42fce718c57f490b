//! Making invitation codes, for the API and the console.

use std::ops::RangeInclusive;

use crate::domain::{InvitationCode, SaleId, SaleState};
use crate::web::Shop;
use crate::web::problem::{Code, Problem};

/// Codes of one batch: what a file shows at once, in one short transaction.
pub const BATCH_SIZE: RangeInclusive<i64> = 1..=10_000;

/// New codes of a sale that is not over. They cannot be read again later.
pub async fn make_invitations(
    shop: &Shop,
    sale: SaleId,
    count: i64,
    actor: &str,
) -> Result<Vec<InvitationCode>, Problem> {
    if !BATCH_SIZE.contains(&count) {
        return Err(Problem::invalid_field("count", "bad_number"));
    }
    let known = shop.store.sale(sale).await?.ok_or(Code::NoSuchSale)?;
    if known.state == SaleState::Ended {
        return Err(Code::WrongState.into());
    }
    let codes: Vec<_> = (0..count).map(|_| InvitationCode::new(rand::random())).collect();
    match shop.store.make_invitations(sale, &codes, actor).await? {
        true => Ok(codes),
        false => Err(Problem::invalid_field("count", "too_many_invitations")),
    }
}
