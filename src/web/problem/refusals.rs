//! The code of each refusal of the modules below `web`.

use jiff::Timestamp;

use crate::questions::{ASK_INTERVAL, AskRefusal};
use crate::{Code, FieldProblem, Problem};
use accounts::{AccountRefusal, DeletionRefusal, StaffDuty};
use base::revalidating_cache::ComputationError;
use domain::parcel::ParcelRefusal;
use domain::returns::ReturnRefusal;
use domain::{GalleryRefusal, Ineligible, Locale, Phase, Refusal};
use engine::batching::Unavailable;
use engine::eligibility::{EligibilityRefusal, RedeemRefusal};
use engine::entries::EntryRefusal;
use engine::packets::{ClaimRefusal, GiveRefusal, LookupRefusal, PacketPageError};
use engine::pipeline::dead_letters::DeadLetterError;
use engine::waiting_rooms::JoinRefusal;
use engine::waitlist::WaitlistRefusal;
use orders::OrderRefusal;
use orders::reservations::ReservationRefusal;
use pages::pictures::PictureRefusal;
use payments::PaymentError;
use store::{
    AccountChangeRefusal, AddressRefusal, CategoryRefusal, GoodsRefusal, QuestionRefusal, SaleRefusal, StoreError,
};

/// Each refusal is the problem of the same name.
macro_rules! codes {
    ($($variant:ident $status:literal $code:literal $class:ident $detail:literal $(retry $after:literal)?;)*) => {
        impl From<Refusal> for Code {
            fn from(refusal: Refusal) -> Self {
                match refusal { $(Refusal::$variant => Code::$variant,)* }
            }
        }
    };
}

domain::refusals! { codes! {} }

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Problem::new(refusal.into())
    }
}

impl Problem {
    /// A purchase before the account's own moment. The problem names the moment if it is still to come.
    pub fn too_early(not_before: Option<Timestamp>, now: Timestamp) -> Problem {
        let mut problem = Problem::new(Code::TooEarly);
        if let Some(moment) = not_before {
            problem.extra().not_before = Some(moment);
            problem.extra().retry_after = Some(whole_seconds(moment, now));
        }
        problem
    }
}

/// Seconds from `now` to `moment`, rounded up, at least one.
fn whole_seconds(moment: Timestamp, now: Timestamp) -> u64 {
    let ms = u64::try_from(moment.as_millisecond() - now.as_millisecond()).unwrap_or(0);
    ms.div_ceil(1000).max(1)
}

/// The problem of each refusal of a module: the code of the same name for those in brackets, and for others a code, a
/// problem with more than that, or what another refusal is.
macro_rules! problems_of {
    ($($refusal:ident $([$($same:ident)+])? as $given:ident { $($variant:pat => $problem:expr,)* })+) => {$(
        impl From<$refusal> for Problem {
            fn from($given: $refusal) -> Self {
                match $given {
                    $($($refusal::$same => Code::$same.into(),)+)?
                    $($variant => $problem.into(),)*
                }
            }
        }
    )+};
}

problems_of! {
    JoinRefusal [RateLimited NoSuchWaitingRoom] as refusal {
        JoinRefusal::Ineligible(refusal) => refusal,
        JoinRefusal::Closed(Phase::Ended) => Code::Ended,
        JoinRefusal::Closed(_) => Code::NotOpen,
        JoinRefusal::Unknown => Code::Overloaded,
    }
    EntryRefusal [RateLimited NoSuchDraw NotEntered] as refusal {
        EntryRefusal::Ineligible(refusal) => refusal,
        EntryRefusal::Closed(Phase::Ended) => Code::Ended,
        EntryRefusal::Closed(_) => Code::NotOpen,
        EntryRefusal::Store(error) => error,
    }
    WaitlistRefusal [RateLimited NoSuchSale NoWaitlist NotSoldOut BadQuantity OverLimit NotWaiting] as refusal {
        WaitlistRefusal::HasOrder(order) => Problem::new(Code::HasOrder).detail(format!("Order {order}.")),
        WaitlistRefusal::Ineligible(refusal) => refusal,
        WaitlistRefusal::Closed(Phase::Ended) => Code::Ended,
        WaitlistRefusal::Closed(_) => Code::NotOpen,
        WaitlistRefusal::Store(error) => error,
    }
    AccountRefusal [
        BadCredentials UsernameTaken BadUsername WeakPassword Blocked SecondFactorRequired StaleVersion PasswordExpired
        BadCode BadPasskey TooManyPasskeys PasskeyTaken PasskeysOff PasskeyNeeded StepUpNeeded BadLink NoMailAddress
        Overloaded
    ] as refusal {
        AccountRefusal::ProofDue => Code::ProofNeeded,
        AccountRefusal::BadNameAndPassword => Problem::new(Code::BadUsername).fields([
            FieldProblem { field: "username".to_owned(), code: "bad_username" },
            FieldProblem { field: "password".to_owned(), code: "weak_password" },
        ]),
        AccountRefusal::Throttled(wait) | AccountRefusal::NameThrottled(wait) => {
            Problem::new(Code::RateLimited).retry_after(wait.as_secs().saturating_add(1))
        },
        AccountRefusal::CodeNeeded(_) => Code::CodeNeeded,
        AccountRefusal::BadRegistration => Problem::invalid_field("credential", "not_valid"),
        AccountRefusal::NoSuchPasskey => Code::NotFound,
        AccountRefusal::BadPresentCode => Problem::invalid_field("present_code", "bad_code"),
        AccountRefusal::WrongPassword => Problem::invalid_field("password", "wrong_password"),
        AccountRefusal::BadMailAddress => Problem::invalid_field("address", "bad_mail_address"),
        AccountRefusal::Store(error) => error,
    }
    StaffDuty as duty {
        StaffDuty::ChangePassword => Code::MustChangePassword,
        StaffDuty::SetUpSecondFactor => Code::SecondFactorRequired,
    }
    DeletionRefusal [OrdersOpen WalletNotEmpty] as refusal {
        DeletionRefusal::WrongName => Problem::invalid_field("username", "not_your_name"),
        DeletionRefusal::Throttled => Problem::invalid_field("password", "wait"),
        DeletionRefusal::OrdersUnknown => Code::Unavailable,
        DeletionRefusal::IsStaff => Code::StaffAccount,
        DeletionRefusal::Other(refusal) => refusal,
    }
    OrderRefusal [NotPayable NotCancellable AddressFixed OtherAddress] as refusal {
        OrderRefusal::NoSuchOrder => Code::NotFound,
        OrderRefusal::AddressTooEarly => Problem::new(Code::AddressFixed)
            .detail("The order is on its way to the database. It can take an address once it is unpaid."),
        OrderRefusal::Unknown => Code::Unavailable,
        OrderRefusal::Store(error) => error,
    }
    ReservationRefusal [ReferenceTaken] as refusal {
        ReservationRefusal::NoSuchReservation => Code::NotFound,
        ReservationRefusal::OnItsWay => {
            let text = "The reservation is on its way to the database. Ask again: nothing is done twice.";
            Problem::new(Code::Unavailable).detail(text)
        },
        ReservationRefusal::Expired => Code::ReservationExpired,
        ReservationRefusal::Released => Code::ReservationReleased,
        ReservationRefusal::Confirmed => Code::ReservationConfirmed,
        ReservationRefusal::TooLong => Code::ReservationTooLong,
        ReservationRefusal::Store(error) => error,
    }
    ParcelRefusal [NotPaid OrderEnded OrderHeld NoAddress NoSuchStep ChangedMeanwhile] as refusal {
        ParcelRefusal::NoSuchOrder => Code::NotFound,
    }
    ReturnRefusal [NotReturnable] as refusal {
        ReturnRefusal::NoSuchOrder => Code::NotFound,
        ReturnRefusal::WrongState => Code::WrongReturnState,
        ReturnRefusal::OwnOrder => Code::Yourself,
    }
    ClaimRefusal [NoSuchPacket RateLimited Overloaded] as refusal {
        ClaimRefusal::NotOpen => Code::PacketNotOpen,
        ClaimRefusal::Expired => Code::PacketExpired,
        ClaimRefusal::Empty => Code::PacketEmpty,
        ClaimRefusal::Own => Code::OwnPacket,
    }
    LookupRefusal [NoSuchPacket] as refusal {
        LookupRefusal::RateLimited => Problem::new(Code::RateLimited).retry_after(10),
        LookupRefusal::Store(error) => error,
    }
    GiveRefusal [NotEnough KeyReused RateLimited] as refusal {
        GiveRefusal::Invalid(errors) => Problem::invalid(errors),
        GiveRefusal::OverLimit(limit) => Problem::new(Code::SpendingLimit)
            .detail(format!("Your role may give {limit} of the shop's money within a day. Ask an owner.")),
        // Its senders are answered 202 before this.
        GiveRefusal::Waits(_) => Code::AwaitsApproval,
        GiveRefusal::TooMany => Code::TooManyPackets,
        GiveRefusal::Store(error) => error,
    }
    PacketPageError as error {
        PacketPageError::UnknownCursor => Problem::invalid_field("before", "bad_cursor"),
        PacketPageError::Store(error) => error,
    }
    DeadLetterError as error {
        DeadLetterError::Store(error) => error,
        DeadLetterError::Unavailable(error) => Problem::new(Code::Unavailable).cause(error),
    }
    AccountChangeRefusal [LastOwner Yourself NotAllowed StaleVersion] as refusal {
        AccountChangeRefusal::NoSuchUser => Code::NotFound,
        AccountChangeRefusal::Store(error) => error,
    }
    SaleRefusal [NoSuchSale GoodsArchived BelowSold UnitsAllotted ChangedMeanwhile] as refusal {
        SaleRefusal::NoSuchGoods => Problem::invalid_field("goods_id", "no_such_goods"),
        SaleRefusal::Invalid(fields) => Problem::invalid(fields),
        SaleRefusal::TooMany => Problem::invalid_field("units", "bad_number"),
        SaleRefusal::StockAway(_) => Problem::new(Code::Unavailable).cause(refusal.to_string()),
        SaleRefusal::SplitFixed => Problem::invalid_field("buckets", "split_fixed"),
        SaleRefusal::InPast => Problem::invalid_field("opens_at", "in_past"),
        SaleRefusal::Overlap(_) => Problem::new(Code::Overlap).detail(refusal.to_string()),
        SaleRefusal::WrongState(_) | SaleRefusal::HasBegun | SaleRefusal::HasClosed | SaleRefusal::NotADraft => {
            Problem::new(Code::WrongState).detail(refusal.to_string())
        },
        SaleRefusal::Store(error) => error,
    }
    AddressRefusal as refusal {
        AddressRefusal::NoSuchAddress => Code::NotFound,
        AddressRefusal::TooMany => Code::TooManyAddresses,
        AddressRefusal::ChangedMeanwhile => Code::StaleVersion,
        AddressRefusal::Store(error) => error,
    }
    PictureRefusal [TooLarge Overloaded] as refusal {
        PictureRefusal::Store(error) => error,
        PictureRefusal::Disk(error) => Problem::internal(error),
        refusal => Problem::invalid_field("image", refusal.field_code().unwrap_or("bad_picture")),
    }
    PaymentError [BadSignature NotPayable NotEnough] as error {
        PaymentError::Malformed => Code::BadJson,
        PaymentError::NeedsAddress => Code::ShippingAddressNeeded,
        PaymentError::NoProvider => Code::PaymentsOff,
        PaymentError::TooMany => Problem::new(Code::RateLimited).retry_after(60),
        PaymentError::TopUp(code) => Problem::invalid_field("amount", code),
        PaymentError::Store(error) => error,
        error @ PaymentError::Provider(..) => Problem::new(Code::Unavailable).cause(error),
    }
    EligibilityRefusal [RateLimited] as refusal {
        EligibilityRefusal::Ineligible(lacks) => Problem::new(lacks.into()),
        EligibilityRefusal::Store(error) => error,
    }
    RedeemRefusal [NoSuchSale BadInvitation] as refusal {
        RedeemRefusal::RateLimited => Problem::new(Code::RateLimited).retry_after(30),
        RedeemRefusal::Store(error) => error,
    }
    GoodsRefusal as refusal {
        GoodsRefusal::NoSuchGoods | GoodsRefusal::Gallery(GalleryRefusal::NoSuchPicture) => Code::NotFound,
        GoodsRefusal::NoSuchCategory => Problem::invalid_field("category_id", "no_such_category"),
        GoodsRefusal::VariantOfVariant => Problem::invalid_field("variant_of", "variant_of_variant"),
        GoodsRefusal::HasVariants => Problem::invalid_field("variant_of", "has_variants"),
        GoodsRefusal::OnSale => Code::GoodsOnSale,
        GoodsRefusal::ChangedMeanwhile => Code::StaleVersion,
        GoodsRefusal::Gallery(GalleryRefusal::Full) => Problem::invalid_field("pictures", "too_many_pictures"),
        GoodsRefusal::Gallery(GalleryRefusal::OtherPictures) => Problem::invalid_field("pictures", "other_pictures"),
        GoodsRefusal::Store(error) => error,
    }
    CategoryRefusal as refusal {
        CategoryRefusal::NoSuchCategory => Code::NotFound,
        CategoryRefusal::ChangedMeanwhile => Code::StaleVersion,
        CategoryRefusal::NameTaken(Locale::Zh) => Problem::invalid_field("name.zh", "name_taken"),
        CategoryRefusal::NameTaken(Locale::En) => Problem::invalid_field("name.en", "name_taken"),
        CategoryRefusal::TooMany => Code::TooManyCategories,
        CategoryRefusal::OtherCategories => Problem::invalid_field("categories", "other_categories"),
        CategoryRefusal::InUse(_) => Problem::invalid_field("confirm", "confirm"),
        CategoryRefusal::Store(error) => error,
    }
    AskRefusal [NoSuchSale] as refusal {
        AskRefusal::RateLimited => Problem::new(Code::RateLimited).retry_after(ASK_INTERVAL.as_secs()),
        AskRefusal::TooMany => Code::TooManyQuestions,
        AskRefusal::NoSuchAccount => Code::NotSignedIn,
        AskRefusal::NoSuchQuestion => Code::NotFound,
        AskRefusal::Answered => Code::AlreadyAnswered,
        AskRefusal::Store(error) => error,
    }
    QuestionRefusal as refusal {
        QuestionRefusal::NoSuchQuestion => Code::NotFound,
        QuestionRefusal::ChangedMeanwhile => Code::StaleVersion,
        QuestionRefusal::Hidden => Code::QuestionHidden,
        QuestionRefusal::Store(error) => error,
    }
}

impl From<&StoreError> for Code {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Code::Unavailable,
            StoreError::Refused(_) => Code::Internal,
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Problem::new(Code::from(&error)).cause(error)
    }
}

impl From<Unavailable> for Problem {
    fn from(error: Unavailable) -> Self {
        Problem::new(Code::Unavailable).cause(error)
    }
}

/// The cache has logged the cause.
impl From<ComputationError<StoreError>> for Problem {
    fn from(error: ComputationError<StoreError>) -> Self {
        match error {
            ComputationError::Failed(error) => Code::from(&*error).into(),
            ComputationError::Panicked => Code::Internal.into(),
        }
    }
}

impl From<askama::Error> for Problem {
    fn from(error: askama::Error) -> Self {
        Problem::internal(error)
    }
}

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

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use axum::http::header::RETRY_AFTER;

    use super::*;
    use crate::problem::tests::body;

    #[test]
    fn too_early_tells_the_moment_and_the_seconds_until_it() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        for (moment, seconds) in [(10_001, "10"), (10_000, "9"), (1_001, "1"), (900, "1")] {
            let (response, json) = body(Problem::too_early(Some(at(moment)), at(1_000)));
            assert_eq!(
                (response.status().as_u16(), &response.headers()[RETRY_AFTER]),
                (429, &HeaderValue::from_static(seconds))
            );
            assert_eq!(
                (json["code"].as_str(), json["not_before"].as_str()),
                (Some("too_early"), Some(&*at(moment).to_string()))
            );
        }
        let (response, json) = body(Problem::too_early(None, at(0)));
        assert_eq!((&response.headers()[RETRY_AFTER], json.get("not_before")), (&HeaderValue::from_static("1"), None));
    }

    #[test]
    fn retry_after_of_a_throttle_replaces_the_one_of_the_table() {
        let (response, _) = body(AccountRefusal::Throttled(std::time::Duration::from_millis(6500)).into());
        assert_eq!(response.headers()[RETRY_AFTER], "7");
    }
}
