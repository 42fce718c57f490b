//! What a buying request claims, how it is decided, and the refusals in which nearly every request of a flash sale ends.

use serde::{Deserialize, Serialize};

use crate::order::generated_at;
use crate::wire::wire_enum;
use crate::{OrderId, OrderStatus, Reservation, SaleId, UserId};

/// One user's request for units of a sale. `order_id` becomes the id of the order if the claim is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    pub user_id: UserId,
    pub order_id: OrderId,
    pub quantity: u32,
}

impl Claim {
    /// The reservation that the claim becomes once it is granted. `reserved_at` is the time in the order's id.
    pub fn reservation(&self, sale_id: SaleId) -> Reservation {
        Reservation {
            order_id: self.order_id,
            sale_id,
            user_id: self.user_id,
            quantity: self.quantity,
            reserved_at: generated_at(self.order_id),
        }
    }
}

/// Units that a user holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub order_id: OrderId,
    pub quantity: u32,
}

impl Hold {
    /// The claim that was granted with this hold.
    pub fn claim_of(self, user_id: UserId) -> Claim {
        Claim { user_id, order_id: self.order_id, quantity: self.quantity }
    }
}

/// The stock backend's decision about one claim. A refusal is a decision, not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The units are held: the order is `reserved`, or `unpaid` where the database itself decided.
    Granted(OrderStatus),
    /// The user already held units; this is the hold of the first order.
    Repeated(Hold),
    /// `SoldOut`; `Busy` if the user's bucket is empty, but other buckets or the pool have units; `OverLimit`; `NotOpen` if
    /// the sale is not live, or the backend's own clock is before its window; or `Ended`.
    Refused(Refusal),
    /// The sale is not loaded in the backend, so there is no decision now.
    NotLoaded,
}

// Refusals of a buying request. Nearly every request of a flash sale ends in one of them.

wire_enum! {
    /// What a client does after a refusal.
    pub enum RefusalClass {
        /// Another request may succeed a moment later. The page's script sends it, a page without scripts offers it.
        Transient = "transient",
        /// The account may buy at another time. The script says so, a page without scripts offers another try.
        NotYet = "not_yet",
        /// The sale has nothing to sell.
        Gone = "gone",
        /// The same request is always refused.
        Final = "final",
    }
}

/// The rows of all refusals, handed to the macro `$table` after rows of its own: variant, status of the response, code
/// that clients see, class, sentence for people who read the API's answers, and seconds for `Retry-After` (429 and 503
/// need them). Codes are part of the contract. New rows go to the end: stored counters are lists in this order.
#[macro_export]
macro_rules! refusals {
    ($table:ident! { $($own:tt)* }) => { $table! { $($own)*
        NoSuchSale 404 "no_such_sale" Final "There is no such sale.";
        NotOpen 409 "not_open" NotYet "The sale is not open.";
        SoldOut 409 "sold_out" Gone "All units are taken. Unpaid orders go back on sale.";
        Ended 409 "ended" Gone "The sale is over.";
        BadToken 403 "bad_token" Transient "The purchase token is missing, expired, or belongs to another user. Request a new one.";
        BadQuantity 422 "bad_quantity" Final "The quantity must be a whole number above zero.";
        OverLimit 422 "over_limit" Final "That is more than one user may buy in this sale.";
        RateLimited 429 "rate_limited" Transient "Too many requests from you. Wait a little." retry "1";
        // Enough others were admitted for the units there are.
        Busy 429 "busy" Transient "Too many shoppers are buying at once. Units may be left: try again." retry "1";
        // It is not known whether the request was granted: the client asks again.
        Overloaded 503 "overloaded" Transient "The shop is overloaded at the moment." retry "2";
        TooEarly 429 "too_early" Transient "Each account has a moment of its own after the opening. Yours has not come: not_before says when." retry "1";
        NotCalled 409 "not_called" NotYet "This sale has a waiting room. The account may buy when it is called, and for a while.";
        ByDraw 409 "by_draw" Final "This sale is a draw. Enter it instead, while it is open.";
    } };
}

macro_rules! define {
    ($($variant:ident $status:literal $code:literal $class:ident $detail:literal $(retry $after:literal)?;)*) => {
        wire_enum! {
            /// Why a buying request was refused.
            pub enum Refusal { $(#[doc = $detail] $variant = $code,)* }
        }

        impl Refusal {
            pub const fn class(self) -> RefusalClass {
                match self { $(Refusal::$variant => RefusalClass::$class,)* }
            }
        }
    };
}

refusals! { define! {} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_keep_their_places_in_stored_counters() {
        let stored = "no_such_sale not_open sold_out ended bad_token bad_quantity over_limit rate_limited busy \
                      overloaded too_early not_called by_draw";
        assert!(Refusal::ALL.map(Refusal::as_str).join(" ").starts_with(stored));
    }
}
