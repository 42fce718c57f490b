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
        /// As many others were admitted as there are units. Some units may be left over, so the client tries again.
        Busy = "busy",
        /// The outcome is unknown (timeout). The client retries, which is safe.
        Overloaded = "overloaded",
        /// The account's own moment in the sale's spread has not come yet.
        TooEarly = "too_early",
        /// The sale has a waiting room, and the account's turn is not now.
        NotCalled = "not_called",
        /// The sale is a draw: units are given to entries, by rank.
        ByDraw = "by_draw",
    }
}
