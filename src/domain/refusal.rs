//! Refusals of a buying request. Nearly every request of a flash sale ends in one of them.

use super::wire::wire_enum;

wire_enum! {
    /// Why a buying request was refused. The texts are the codes that clients see, part of the contract.
    pub enum Refusal {
        NoSuchSale = "no_such_sale",
        NotOpen = "not_open",
        SoldOut = "sold_out",
        Ended = "ended",
        BadToken = "bad_token",
        BadQuantity = "bad_quantity",
        OverLimit = "over_limit",
        /// This user sends too many requests.
        RateLimited = "rate_limited",
        /// Enough others were admitted for the units there are. Some may be left over: the client tries again.
        Busy = "busy",
        /// It is not known whether the request was granted: the client asks again.
        Overloaded = "overloaded",
        /// The account's own moment in the sale's spread has not come.
        TooEarly = "too_early",
        /// The sale has a waiting room, and the account's turn is not now.
        NotCalled = "not_called",
        /// The sale is a draw: units are given to entries, by rank.
        ByDraw = "by_draw",
    }
}
