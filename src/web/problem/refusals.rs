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

impl From<JoinRefusal> for Problem {
    fn from(refusal: JoinRefusal) -> Self {
        match refusal {
            JoinRefusal::RateLimited => Code::RateLimited.into(),
            JoinRefusal::NoSuchWaitingRoom => Code::NoSuchWaitingRoom.into(),
            JoinRefusal::Ineligible(refusal) => refusal.into(),
            JoinRefusal::Closed(Phase::Ended) => Code::Ended.into(),
            JoinRefusal::Closed(_) => Code::NotOpen.into(),
            JoinRefusal::Unknown => Code::Overloaded.into(),
        }
    }
}

impl From<EntryRefusal> for Problem {
    fn from(refusal: EntryRefusal) -> Self {
        match refusal {
            EntryRefusal::RateLimited => Code::RateLimited.into(),
            EntryRefusal::NoSuchDraw => Code::NoSuchDraw.into(),
            EntryRefusal::NotEntered => Code::NotEntered.into(),
            EntryRefusal::Ineligible(refusal) => refusal.into(),
            EntryRefusal::Closed(Phase::Ended) => Code::Ended.into(),
            EntryRefusal::Closed(_) => Code::NotOpen.into(),
            EntryRefusal::Store(error) => error.into(),
        }
    }
}

impl From<WaitlistRefusal> for Problem {
    fn from(refusal: WaitlistRefusal) -> Self {
        match refusal {
            WaitlistRefusal::RateLimited => Code::RateLimited.into(),
            WaitlistRefusal::NoSuchSale => Code::NoSuchSale.into(),
            WaitlistRefusal::NoWaitlist => Code::NoWaitlist.into(),
            WaitlistRefusal::NotSoldOut => Code::NotSoldOut.into(),
            WaitlistRefusal::HasOrder(order) => Problem::new(Code::HasOrder).detail(format!("Order {order}.")),
            WaitlistRefusal::BadQuantity => Code::BadQuantity.into(),
            WaitlistRefusal::OverLimit => Code::OverLimit.into(),
            WaitlistRefusal::NotWaiting => Code::NotWaiting.into(),
            WaitlistRefusal::Ineligible(refusal) => refusal.into(),
            WaitlistRefusal::Closed(Phase::Ended) => Code::Ended.into(),
            WaitlistRefusal::Closed(_) => Code::NotOpen.into(),
            WaitlistRefusal::Store(error) => error.into(),
        }
    }
}

/// Seconds from `now` to `moment`, rounded up, at least one.
fn whole_seconds(moment: Timestamp, now: Timestamp) -> u64 {
    let ms = u64::try_from(moment.as_millisecond() - now.as_millisecond()).unwrap_or(0);
    ms.div_ceil(1000).max(1)
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

impl From<AccountRefusal> for Problem {
    fn from(refusal: AccountRefusal) -> Self {
        match refusal {
            AccountRefusal::BadCredentials => Code::BadCredentials.into(),
            AccountRefusal::ProofDue => Code::ProofNeeded.into(),
            AccountRefusal::UsernameTaken => Code::UsernameTaken.into(),
            AccountRefusal::BadUsername => Code::BadUsername.into(),
            AccountRefusal::WeakPassword => Code::WeakPassword.into(),
            AccountRefusal::BadNameAndPassword => Problem::new(Code::BadUsername).fields([
                FieldProblem { field: "username".to_owned(), code: "bad_username" },
                FieldProblem { field: "password".to_owned(), code: "weak_password" },
            ]),
            AccountRefusal::Throttled(wait) | AccountRefusal::NameThrottled(wait) => {
                Problem::new(Code::RateLimited).retry_after(wait.as_secs().saturating_add(1))
            }
            AccountRefusal::Blocked => Code::Blocked.into(),
            AccountRefusal::SecondFactorRequired => Code::SecondFactorRequired.into(),
            AccountRefusal::StaleVersion => Code::StaleVersion.into(),
            AccountRefusal::PasswordExpired => Code::PasswordExpired.into(),
            AccountRefusal::CodeNeeded(_) => Code::CodeNeeded.into(),
            AccountRefusal::BadCode => Code::BadCode.into(),
            AccountRefusal::BadPasskey => Code::BadPasskey.into(),
            AccountRefusal::BadRegistration => Problem::invalid_field("credential", "not_valid"),
            AccountRefusal::NoSuchPasskey => Code::NotFound.into(),
            AccountRefusal::TooManyPasskeys => Code::TooManyPasskeys.into(),
            AccountRefusal::PasskeyTaken => Code::PasskeyTaken.into(),
            AccountRefusal::PasskeysOff => Code::PasskeysOff.into(),
            AccountRefusal::PasskeyNeeded => Code::PasskeyNeeded.into(),
            AccountRefusal::BadPresentCode => Problem::invalid_field("present_code", "bad_code"),
            AccountRefusal::WrongPassword => Problem::invalid_field("password", "wrong_password"),
            AccountRefusal::StepUpNeeded => Code::StepUpNeeded.into(),
            AccountRefusal::BadMailAddress => Problem::invalid_field("address", "bad_mail_address"),
            AccountRefusal::BadLink => Code::BadLink.into(),
            AccountRefusal::NoMailAddress => Code::NoMailAddress.into(),
            AccountRefusal::Overloaded => Code::Overloaded.into(),
            AccountRefusal::Store(error) => error.into(),
        }
    }
}

impl From<StaffDuty> for Problem {
    fn from(duty: StaffDuty) -> Self {
        Problem::new(match duty {
            StaffDuty::ChangePassword => Code::MustChangePassword,
            StaffDuty::SetUpSecondFactor => Code::SecondFactorRequired,
        })
    }
}

impl From<DeletionRefusal> for Problem {
    fn from(refusal: DeletionRefusal) -> Self {
        match refusal {
            DeletionRefusal::WrongName => Problem::invalid_field("username", "not_your_name"),
            DeletionRefusal::Throttled => Problem::invalid_field("password", "wait"),
            DeletionRefusal::OrdersOpen => Code::OrdersOpen.into(),
            DeletionRefusal::OrdersUnknown => Code::Unavailable.into(),
            DeletionRefusal::WalletNotEmpty => Code::WalletNotEmpty.into(),
            DeletionRefusal::IsStaff => Code::StaffAccount.into(),
            DeletionRefusal::Other(refusal) => refusal.into(),
        }
    }
}

impl From<OrderRefusal> for Problem {
    fn from(refusal: OrderRefusal) -> Self {
        match refusal {
            OrderRefusal::NoSuchOrder => Code::NotFound.into(),
            OrderRefusal::NotPayable => Code::NotPayable.into(),
            OrderRefusal::NotCancellable => Code::NotCancellable.into(),
            OrderRefusal::AddressFixed => Code::AddressFixed.into(),
            OrderRefusal::OtherAddress => Code::OtherAddress.into(),
            OrderRefusal::AddressTooEarly => Problem::new(Code::AddressFixed)
                .detail("The order is on its way to the database. It can take an address once it is unpaid."),
            OrderRefusal::Unknown => Code::Unavailable.into(),
            OrderRefusal::Store(error) => error.into(),
        }
    }
}

impl From<ReservationRefusal> for Problem {
    fn from(refusal: ReservationRefusal) -> Self {
        match refusal {
            ReservationRefusal::NoSuchReservation => Code::NotFound.into(),
            ReservationRefusal::OnItsWay => {
                let text = "The reservation is on its way to the database. Ask again: nothing is done twice.";
                Problem::new(Code::Unavailable).detail(text)
            }
            ReservationRefusal::Expired => Code::ReservationExpired.into(),
            ReservationRefusal::Released => Code::ReservationReleased.into(),
            ReservationRefusal::Confirmed => Code::ReservationConfirmed.into(),
            ReservationRefusal::ReferenceTaken => Code::ReferenceTaken.into(),
            ReservationRefusal::TooLong => Code::ReservationTooLong.into(),
            ReservationRefusal::Store(error) => error.into(),
        }
    }
}

impl From<ParcelRefusal> for Problem {
    fn from(refusal: ParcelRefusal) -> Self {
        Problem::new(match refusal {
            ParcelRefusal::NoSuchOrder => Code::NotFound,
            ParcelRefusal::NotPaid => Code::NotPaid,
            ParcelRefusal::OrderEnded => Code::OrderEnded,
            ParcelRefusal::OrderHeld => Code::OrderHeld,
            ParcelRefusal::NoAddress => Code::NoAddress,
            ParcelRefusal::NoSuchStep => Code::NoSuchStep,
            ParcelRefusal::ChangedMeanwhile => Code::ChangedMeanwhile,
        })
    }
}

impl From<ReturnRefusal> for Problem {
    fn from(refusal: ReturnRefusal) -> Self {
        Problem::new(match refusal {
            ReturnRefusal::NoSuchOrder => Code::NotFound,
            ReturnRefusal::NotReturnable => Code::NotReturnable,
            ReturnRefusal::WrongState => Code::WrongReturnState,
            ReturnRefusal::OwnOrder => Code::Yourself,
        })
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

impl From<LookupRefusal> for Problem {
    fn from(refusal: LookupRefusal) -> Self {
        match refusal {
            LookupRefusal::NoSuchPacket => Code::NoSuchPacket.into(),
            LookupRefusal::RateLimited => Problem::new(Code::RateLimited).retry_after(10),
            LookupRefusal::Store(error) => error.into(),
        }
    }
}

impl From<GiveRefusal> for Problem {
    fn from(refusal: GiveRefusal) -> Self {
        match refusal {
            GiveRefusal::Invalid(errors) => Problem::invalid(errors),
            GiveRefusal::NotEnough => Code::NotEnough.into(),
            GiveRefusal::KeyReused => Code::KeyReused.into(),
            GiveRefusal::OverLimit(limit) => Problem::new(Code::SpendingLimit)
                .detail(format!("Your role may give {limit} of the shop's money within a day. Ask an owner.")),
            // Its senders are answered 202 before this.
            GiveRefusal::Waits(_) => Code::AwaitsApproval.into(),
            GiveRefusal::TooMany => Code::TooManyPackets.into(),
            GiveRefusal::RateLimited => Code::RateLimited.into(),
            GiveRefusal::Store(error) => error.into(),
        }
    }
}

impl From<PacketPageError> for Problem {
    fn from(error: PacketPageError) -> Self {
        match error {
            PacketPageError::UnknownCursor => Problem::invalid_field("before", "bad_cursor"),
            PacketPageError::Store(error) => error.into(),
        }
    }
}

impl From<DeadLetterError> for Problem {
    fn from(error: DeadLetterError) -> Self {
        match error {
            DeadLetterError::Store(error) => error.into(),
            DeadLetterError::Unavailable(error) => Problem::new(Code::Unavailable).cause(error),
        }
    }
}

impl From<AccountChangeRefusal> for Problem {
    fn from(refusal: AccountChangeRefusal) -> Self {
        match refusal {
            AccountChangeRefusal::NoSuchUser => Code::NotFound.into(),
            AccountChangeRefusal::LastOwner => Code::LastOwner.into(),
            AccountChangeRefusal::Yourself => Code::Yourself.into(),
            AccountChangeRefusal::NotAllowed => Code::NotAllowed.into(),
            AccountChangeRefusal::StaleVersion => Code::StaleVersion.into(),
            AccountChangeRefusal::Store(error) => error.into(),
        }
    }
}

impl From<SaleRefusal> for Problem {
    fn from(refusal: SaleRefusal) -> Self {
        match refusal {
            SaleRefusal::NoSuchSale => Code::NoSuchSale.into(),
            SaleRefusal::NoSuchGoods => Problem::invalid_field("goods_id", "no_such_goods"),
            SaleRefusal::GoodsArchived => Code::GoodsArchived.into(),
            SaleRefusal::Invalid(fields) => Problem::invalid(fields),
            SaleRefusal::TooMany => Problem::invalid_field("units", "bad_number"),
            SaleRefusal::BelowSold => Code::BelowSold.into(),
            SaleRefusal::UnitsAllotted => Code::UnitsAllotted.into(),
            SaleRefusal::StockAway(_) => Problem::new(Code::Unavailable).cause(refusal.to_string()),
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

impl From<AddressRefusal> for Problem {
    fn from(refusal: AddressRefusal) -> Self {
        match refusal {
            AddressRefusal::NoSuchAddress => Code::NotFound.into(),
            AddressRefusal::TooMany => Code::TooManyAddresses.into(),
            AddressRefusal::ChangedMeanwhile => Code::StaleVersion.into(),
            AddressRefusal::Store(error) => error.into(),
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
            PaymentError::NeedsAddress => Code::ShippingAddressNeeded.into(),
            PaymentError::NotEnough => Code::NotEnough.into(),
            PaymentError::NoProvider => Code::PaymentsOff.into(),
            PaymentError::TooMany => Problem::new(Code::RateLimited).retry_after(60),
            PaymentError::TopUp(refusal) => Problem::invalid_field("amount", refusal.code()),
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

impl From<GoodsRefusal> for Problem {
    fn from(refusal: GoodsRefusal) -> Self {
        match refusal {
            GoodsRefusal::NoSuchGoods | GoodsRefusal::Gallery(GalleryRefusal::NoSuchPicture) => Code::NotFound.into(),
            GoodsRefusal::NoSuchCategory => Problem::invalid_field("category_id", "no_such_category"),
            GoodsRefusal::VariantOfVariant => Problem::invalid_field("variant_of", "variant_of_variant"),
            GoodsRefusal::HasVariants => Problem::invalid_field("variant_of", "has_variants"),
            GoodsRefusal::OnSale => Code::GoodsOnSale.into(),
            GoodsRefusal::ChangedMeanwhile => Code::StaleVersion.into(),
            GoodsRefusal::Gallery(GalleryRefusal::Full) => Problem::invalid_field("pictures", "too_many_pictures"),
            GoodsRefusal::Gallery(GalleryRefusal::OtherPictures) => {
                Problem::invalid_field("pictures", "other_pictures")
            }
            GoodsRefusal::Store(error) => error.into(),
        }
    }
}

impl From<CategoryRefusal> for Problem {
    fn from(refusal: CategoryRefusal) -> Self {
        match refusal {
            CategoryRefusal::NoSuchCategory => Code::NotFound.into(),
            CategoryRefusal::ChangedMeanwhile => Code::StaleVersion.into(),
            CategoryRefusal::NameTaken(Locale::Zh) => Problem::invalid_field("name.zh", "name_taken"),
            CategoryRefusal::NameTaken(Locale::En) => Problem::invalid_field("name.en", "name_taken"),
            CategoryRefusal::TooMany => Code::TooManyCategories.into(),
            CategoryRefusal::OtherCategories => Problem::invalid_field("categories", "other_categories"),
            CategoryRefusal::InUse(_) => Problem::invalid_field("confirm", "confirm"),
            CategoryRefusal::Store(error) => error.into(),
        }
    }
}

impl From<AskRefusal> for Problem {
    fn from(refusal: AskRefusal) -> Self {
        match refusal {
            AskRefusal::NoSuchSale => Code::NoSuchSale.into(),
            AskRefusal::RateLimited => Problem::new(Code::RateLimited).retry_after(ASK_INTERVAL.as_secs()),
            AskRefusal::TooMany => Code::TooManyQuestions.into(),
            AskRefusal::NoSuchAccount => Code::NotSignedIn.into(),
            AskRefusal::NoSuchQuestion => Code::NotFound.into(),
            AskRefusal::Answered => Code::AlreadyAnswered.into(),
            AskRefusal::Store(error) => error.into(),
        }
    }
}

impl From<QuestionRefusal> for Problem {
    fn from(refusal: QuestionRefusal) -> Self {
        match refusal {
            QuestionRefusal::NoSuchQuestion => Code::NotFound.into(),
            QuestionRefusal::ChangedMeanwhile => Code::StaleVersion.into(),
            QuestionRefusal::Hidden => Code::QuestionHidden.into(),
            QuestionRefusal::Store(error) => error.into(),
        }
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
