//! The codes of accounts that may not take part in a sale.

use crate::problem::{Code, Problem};
use domain::Ineligible;
use engine::eligibility::{EligibilityRefusal, RedeemRefusal};

impl From<Ineligible> for Code {
    fn from(lacks: Ineligible) -> Self {
        match lacks {
            Ineligible::AccountTooNew => Code::AccountTooNew,
            Ineligible::ContactNotVerified => Code::ContactNotVerified,
            Ineligible::ContactTaken => Code::ContactTaken,
            Ineligible::AddressNeeded => Code::AddressNeeded,
            Ineligible::AddressTaken => Code::AddressTaken,
            Ineligible::InvitationNeeded => Code::InvitationNeeded,
            Ineligible::DepositNeeded => Code::DepositNeeded,
        }
    }
}

impl Code {
    /// Whether the account may not take part in a sale, or not yet.
    pub fn is_about_eligibility(self) -> bool {
        Ineligible::ALL.into_iter().any(|lacks| Code::from(lacks) == self)
    }
}

impl From<EligibilityRefusal> for Problem {
    fn from(refusal: EligibilityRefusal) -> Self {
        match refusal {
            EligibilityRefusal::Ineligible(lacks) => Problem::new(lacks.into()),
            EligibilityRefusal::RateLimited => Code::RateLimited.into(),
            EligibilityRefusal::Store(error) => error.into(),
        }
    }
}

impl From<RedeemRefusal> for Problem {
    fn from(refusal: RedeemRefusal) -> Self {
        match refusal {
            RedeemRefusal::NoSuchSale => Code::NoSuchSale.into(),
            RedeemRefusal::BadInvitation => Code::BadInvitation.into(),
            RedeemRefusal::RateLimited => Problem::new(Code::RateLimited).retry_after(30),
            RedeemRefusal::Store(error) => error.into(),
        }
    }
}
