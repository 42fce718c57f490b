//! Which code each refusal has, wherever in the shop it comes from.

use super::{Code, FieldProblem, Problem};
use crate::accounts::AccountRefusal;
use crate::domain::{GalleryRefusal, Refusal};
use crate::packets::{ClaimRefusal, GiveRefusal};
use crate::payments::PaymentError;
use crate::pictures::PictureRefusal;
use crate::pipeline::dead_letters::LetterError;
use crate::store::{GoodsRefusal, PeopleRefusal, SaleRefusal, StoreError};

impl From<Refusal> for Code {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoSuchSale => Code::NoSuchSale,
            Refusal::NotOpen => Code::NotOpen,
            Refusal::SoldOut => Code::SoldOut,
            Refusal::Ended => Code::Ended,
            Refusal::BadToken => Code::BadToken,
            Refusal::BadQuantity => Code::BadQuantity,
            Refusal::OverLimit => Code::OverLimit,
            Refusal::RateLimited => Code::RateLimited,
            Refusal::Busy => Code::Busy,
            Refusal::Overloaded => Code::Overloaded,
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Problem::new(refusal.into())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::Unavailable(_) => Code::Unavailable,
            StoreError::Refused(_) => Code::Internal,
        };
        Problem::new(code).cause(error)
    }
}

impl From<AccountRefusal> for Problem {
    fn from(refusal: AccountRefusal) -> Self {
        match refusal {
            AccountRefusal::BadCredentials => Code::BadCredentials.into(),
            AccountRefusal::UsernameTaken => Code::UsernameTaken.into(),
            AccountRefusal::BadUsername => Code::BadUsername.into(),
            AccountRefusal::WeakPassword => Code::WeakPassword.into(),
            AccountRefusal::Throttled(wait) => {
                Problem::new(Code::RateLimited).retry_after(wait.as_secs().saturating_add(1))
            }
            AccountRefusal::Blocked => Code::Blocked.into(),
            AccountRefusal::CodeNeeded(_) => Code::CodeNeeded.into(),
            AccountRefusal::BadCode => Code::BadCode.into(),
            AccountRefusal::WrongPassword => Problem::invalid_field("password", "wrong_password"),
            AccountRefusal::Overloaded => Code::Overloaded.into(),
            AccountRefusal::Store(error) => error.into(),
        }
    }
}

impl From<ClaimRefusal> for Problem {
    fn from(refusal: ClaimRefusal) -> Self {
        Problem::new(match refusal {
            ClaimRefusal::NoSuchPacket => Code::NoSuchPacket,
            ClaimRefusal::NotOpen => Code::PacketNotOpen,
            ClaimRefusal::Expired => Code::PacketExpired,
            ClaimRefusal::Empty => Code::PacketEmpty,
            ClaimRefusal::Own => Code::OwnPacket,
            ClaimRefusal::RateLimited => Code::RateLimited,
            ClaimRefusal::Overloaded => Code::Overloaded,
        })
    }
}

impl From<GiveRefusal> for Problem {
    fn from(refusal: GiveRefusal) -> Self {
        match refusal {
            GiveRefusal::Invalid(wrong) => {
                let field = |(field, code): (&'static str, _)| FieldProblem { field: field.to_owned(), code };
                Problem::invalid(wrong.into_iter().map(field).collect())
            }
            GiveRefusal::NotEnough => Code::NotEnough.into(),
            GiveRefusal::RateLimited => Code::RateLimited.into(),
            GiveRefusal::Store(error) => error.into(),
        }
    }
}

impl From<LetterError> for Problem {
    fn from(error: LetterError) -> Self {
        match error {
            LetterError::Store(error) => error.into(),
            LetterError::Away(error) => Problem::new(Code::Unavailable).cause(error),
        }
    }
}

impl From<PeopleRefusal> for Problem {
    fn from(refusal: PeopleRefusal) -> Self {
        match refusal {
            PeopleRefusal::NoSuchUser => Code::NotFound.into(),
            PeopleRefusal::LastOwner => Code::LastOwner.into(),
            PeopleRefusal::Yourself => Code::Yourself.into(),
            PeopleRefusal::NotAllowed => Code::NotAllowed.into(),
            PeopleRefusal::Store(error) => error.into(),
        }
    }
}

impl From<SaleRefusal> for Problem {
    fn from(refusal: SaleRefusal) -> Self {
        match refusal {
            SaleRefusal::NoSuchSale => Code::NoSuchSale.into(),
            SaleRefusal::NoSuchGoods => Problem::invalid_field("goods_id", "no_such_goods"),
            SaleRefusal::GoodsArchived => Code::GoodsArchived.into(),
            SaleRefusal::TooMany => Problem::invalid_field("units", "bad_number"),
            SaleRefusal::SplitFixed => Problem::invalid_field("buckets", "split_fixed"),
            SaleRefusal::InPast => Problem::invalid_field("opens_at", "in_past"),
            SaleRefusal::Overlap(_) => Problem::new(Code::Overlap).detail(refusal.to_string()),
            SaleRefusal::ChangedMeanwhile => Code::ChangedMeanwhile.into(),
            SaleRefusal::WrongState(_) | SaleRefusal::HasBegun | SaleRefusal::HasClosed | SaleRefusal::NotADraft => {
                Problem::new(Code::WrongState).detail(refusal.to_string())
            }
            SaleRefusal::Store(error) => error.into(),
        }
    }
}

impl From<GoodsRefusal> for Problem {
    fn from(refusal: GoodsRefusal) -> Self {
        match refusal {
            GoodsRefusal::NoSuchGoods | GoodsRefusal::Gallery(GalleryRefusal::NoSuchPicture) => Code::NotFound.into(),
            GoodsRefusal::OnSale => Code::GoodsOnSale.into(),
            GoodsRefusal::Gallery(GalleryRefusal::Full) => Problem::invalid_field("pictures", "too_many_pictures"),
            GoodsRefusal::Gallery(GalleryRefusal::OtherPictures) => {
                Problem::invalid_field("pictures", "other_pictures")
            }
            GoodsRefusal::Store(error) => error.into(),
        }
    }
}

impl From<PictureRefusal> for Problem {
    fn from(refusal: PictureRefusal) -> Self {
        match refusal {
            PictureRefusal::TooLarge => Code::TooLarge.into(),
            PictureRefusal::Overloaded => Code::Overloaded.into(),
            PictureRefusal::Store(error) => error.into(),
            PictureRefusal::Disk(error) => Problem::internal(error),
            refusal => Problem::invalid_field("image", refusal.field_code().unwrap_or("bad_picture")),
        }
    }
}

impl From<PaymentError> for Problem {
    fn from(error: PaymentError) -> Self {
        match error {
            PaymentError::BadSignature => Code::BadSignature.into(),
            PaymentError::Malformed => Code::BadJson.into(),
            PaymentError::NotPayable => Code::NotPayable.into(),
            PaymentError::NotEnough => Code::NotEnough.into(),
            PaymentError::Store(error) => error.into(),
            error @ PaymentError::Provider(..) => Problem::new(Code::Unavailable).cause(error),
        }
    }
}

impl From<askama::Error> for Problem {
    fn from(error: askama::Error) -> Self {
        Problem::internal(error)
    }
}
