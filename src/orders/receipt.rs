//! Receipts: what a shopper's browser keeps of a 202, signed. If every server has forgotten the order, the receipt is the last
//! copy of the promise.

use secrecy::SecretString;

use crate::domain::claim::Claim;
use crate::domain::{OrderId, SaleId, UserId};
use crate::signing::Signer;

#[derive(Clone)]
pub(super) struct Receipts {
    signer: Signer,
}

impl Receipts {
    pub(super) fn new(secret: &SecretString) -> Receipts {
        Receipts { signer: Signer::new(secret, "receipt") }
    }

    /// The order's id contains the time of the reservation.
    pub(super) fn issue(&self, sale: SaleId, claim: &Claim) -> String {
        self.signer.sign(&format!("{sale} {} {} {}", claim.user_id, claim.order_id, claim.quantity))
    }

    /// The claim that was granted, if the receipt is for this order of this user.
    pub(super) fn verify(&self, receipt: &str, user: UserId, sale: SaleId, order: OrderId) -> Option<Claim> {
        let payload = self.signer.verify(receipt)?;
        let mut parts = payload.splitn(4, ' ');
        let for_sale: SaleId = parts.next()?.parse().ok()?;
        let user_id: UserId = parts.next()?.parse().ok()?;
        let order_id: OrderId = parts.next()?.parse().ok()?;
        let quantity = parts.next()?.parse().ok()?;
        ((for_sale, user_id, order_id) == (sale, user, order)).then_some(Claim { user_id, order_id, quantity })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn receipt_is_valid_for_one_order_of_one_user() {
        let secret = SecretString::from("k".repeat(64));
        let receipts = Receipts::new(&secret);
        let (user, order) = (UserId(Uuid::from_u128(1)), OrderId(Uuid::from_u128(2)));
        let claim = Claim { user_id: user, order_id: order, quantity: 3 };
        let text = receipts.issue(SaleId(7), &claim);
        assert_eq!(receipts.verify(&text, user, SaleId(7), order), Some(claim));
        assert_eq!(receipts.verify(&text, UserId(Uuid::from_u128(9)), SaleId(7), order), None);
        assert_eq!(receipts.verify(&text, user, SaleId(8), order), None);
        assert_eq!(receipts.verify(&text, user, SaleId(7), OrderId(Uuid::from_u128(9))), None);
        assert_eq!(receipts.verify(&format!("{text}A"), user, SaleId(7), order), None);
        let token = Signer::new(&secret, "purchase token").sign(&format!("7 {user} {order} 3"));
        assert_eq!(receipts.verify(&token, user, SaleId(7), order), None, "signed for another purpose");
    }
}
