//! Reading the recipient of one order in full.

use std::net::IpAddr;

use domain::{Address, Order, SecurityClass};
use store::StoreError;
use web::Shop;
use web::extract::session::{ReadAddresses, Staff};

/// The recipient, for a member of the staff who may read it and says why. `None` while the order has no address.
pub async fn reveal_recipient(
    shop: &Shop,
    staff: &Staff<ReadAddresses>,
    client: IpAddr,
    order: &Order,
    reason: &str,
) -> Result<Option<Address>, StoreError> {
    let recipient = shop.orders.reveal_recipient(staff.actor(), order, reason).await?;
    if recipient.is_some() {
        shop.security.record(SecurityClass::RecipientRevealed, Some(staff.session.user_id), Some(client), "");
    }
    Ok(recipient)
}
