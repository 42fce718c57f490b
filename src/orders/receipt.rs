//! Receipts: the signed proof of a 202 that the shopper's browser keeps. If every server has lost the order, the
//! receipt is the last copy of the promise.
//!
//! A receipt is the quantity and a signature of sale, user, order and quantity. The order's id contains the time of the
//! reservation, and its address and the session name the rest.

use std::fmt::Write;

use base::signing::{ShopSecret, Signer};
use domain::claim::Claim;
use domain::{OrderId, SaleId, UserId};

#[derive(Clone)]
pub(super) struct Receipts {
    signer: Signer,
}

/// The length of a receipt with a quantity of three digits.
const LENGTH: usize = 47;

impl Receipts {
    pub(super) fn new(secret: &ShopSecret) -> Receipts {
        Receipts { signer: Signer::new(secret, "receipt") }
    }

    pub(super) fn issue(&self, sale: SaleId, claim: &Claim) -> String {
        let mut receipt = String::with_capacity(LENGTH);
        write!(receipt, "{}.", claim.quantity).expect("a string takes any text");
        self.signer.append_signature(&payload(sale, claim), &mut receipt);
        receipt
    }

    /// The claim that was granted, if the receipt is for this order of this user.
    pub(super) fn verify(&self, receipt: &str, user: UserId, sale: SaleId, order: OrderId) -> Option<Claim> {
        let (quantity, signature) = receipt.split_once('.')?;
        let claim = Claim { user_id: user, order_id: order, quantity: quantity.parse().ok()? };
        self.signer.verifies(&payload(sale, &claim), signature).then_some(claim)
    }
}

/// The signed bytes. They have a fixed length, so that no two claims have the same bytes.
fn payload(sale: SaleId, claim: &Claim) -> [u8; 44] {
    let mut bytes = [0; 44];
    bytes[..8].copy_from_slice(&sale.0.to_be_bytes());
    bytes[8..24].copy_from_slice(claim.user_id.0.as_bytes());
    bytes[24..40].copy_from_slice(claim.order_id.0.as_bytes());
    bytes[40..].copy_from_slice(&claim.quantity.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn receipt_is_valid_for_one_order_of_one_user() {
        let secret = ShopSecret::from(SecretString::from("k".repeat(64)));
        let receipts = Receipts::new(&secret);
        let (user, order) = (UserId(Uuid::from_u128(1)), OrderId(Uuid::from_u128(2)));
        let claim = Claim { user_id: user, order_id: order, quantity: 3 };
        let text = receipts.issue(SaleId(7), &claim);
        assert_eq!(receipts.verify(&text, user, SaleId(7), order), Some(claim));
        assert_eq!(receipts.verify(&text, UserId(Uuid::from_u128(9)), SaleId(7), order), None);
        assert_eq!(receipts.verify(&text, user, SaleId(8), order), None);
        assert_eq!(receipts.verify(&text, user, SaleId(7), OrderId(Uuid::from_u128(9))), None);
        assert_eq!(receipts.verify(&format!("{text}A"), user, SaleId(7), order), None);
        assert_eq!(receipts.verify(&text.replacen('3', "4", 1), user, SaleId(7), order), None);
        assert_eq!(receipts.verify("", user, SaleId(7), order), None);
        let mut other = "3.".to_owned();
        Signer::new(&secret, "purchase token").append_signature(&payload(SaleId(7), &claim), &mut other);
        assert_eq!(receipts.verify(&other, user, SaleId(7), order), None, "signed for another purpose");
    }
}

#[cfg(test)]
mod fuzz {
    use secrecy::SecretString;
    use uuid::Uuid;

    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn only_receipts_that_were_issued_verify() {
        let receipts = Receipts::new(&SecretString::from("k".repeat(64)).into());
        let (user, order) = (UserId(Uuid::from_u128(1)), OrderId(Uuid::from_u128(2)));
        let claims = [1, 2, u32::MAX].map(|quantity| Claim { user_id: user, order_id: order, quantity });
        let issued = claims.map(|claim| receipts.issue(SaleId(7), &claim));
        texts(&issued, |text| {
            if let Some(claim) = receipts.verify(text, user, SaleId(7), order) {
                assert!(claims.contains(&claim), "{text}");
            }
        });
    }
}
