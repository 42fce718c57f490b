//! The ways to lose. Nearly every request of a flash sale ends in one of them.

/// Why a buying request was refused. The codes are part of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    NoSuchSale,
    NotOpen,
    SoldOut,
    Ended,
    BadToken,
    BadQuantity,
    OverLimit,
    /// This user asks too often.
    RateLimited,
    /// Enough others were let in for the units there are; some may be left over: try again.
    Busy,
    /// The shop cannot tell now; the request may have been granted: ask again.
    Overloaded,
}

impl Refusal {
    pub const ALL: [Refusal; 10] = [
        Refusal::NoSuchSale,
        Refusal::NotOpen,
        Refusal::SoldOut,
        Refusal::Ended,
        Refusal::BadToken,
        Refusal::BadQuantity,
        Refusal::OverLimit,
        Refusal::RateLimited,
        Refusal::Busy,
        Refusal::Overloaded,
    ];

    /// The stable code that clients see.
    pub fn code(self) -> &'static str {
        match self {
            Refusal::NoSuchSale => "no_such_sale",
            Refusal::NotOpen => "not_open",
            Refusal::SoldOut => "sold_out",
            Refusal::Ended => "ended",
            Refusal::BadToken => "bad_token",
            Refusal::BadQuantity => "bad_quantity",
            Refusal::OverLimit => "over_limit",
            Refusal::RateLimited => "rate_limited",
            Refusal::Busy => "busy",
            Refusal::Overloaded => "overloaded",
        }
    }
}
