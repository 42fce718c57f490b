//! Events that the shop sends to programs of the merchant: their types, and the endpoints that get them.

use std::time::Duration;

use url::{Host, Url};

use crate::network::is_public;
use crate::wire::wire_enum;
use crate::{OrderStatus, ParcelState, SaleState};

/// The longest address of an endpoint.
const MAX_URL_BYTES: usize = 1024;
/// How long after a failed attempt the next one is made. After the last one the event is given up.
const RETRIES: [Duration; 7] = [
    Duration::from_secs(5),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 3600),
    Duration::from_secs(5 * 3600),
    Duration::from_secs(10 * 3600),
    Duration::from_secs(10 * 3600),
];

/// How long to wait after this many failed attempts; `None` when the event is given up.
pub fn retry_after(attempts: i64) -> Option<Duration> {
    RETRIES.get(usize::try_from(attempts).ok()?.checked_sub(1)?).copied()
}

wire_enum! {
    /// The type of an event. Events of one subject that happened at the same time are told in this order.
    pub enum EventKind {
        OrderCreated = "order.created",
        ReservationHeld = "reservation.held",
        OrderRejected = "order.rejected",
        ReservationRejected = "reservation.rejected",
        PaymentCaptured = "payment.captured",
        OrderPaid = "order.paid",
        ReservationConfirmed = "reservation.confirmed",
        OrderCancelled = "order.cancelled",
        ReservationReleased = "reservation.released",
        ReservationExpired = "reservation.expired",
        ShipmentPacked = "shipment.packed",
        ShipmentShipped = "shipment.shipped",
        ShipmentDelivered = "shipment.delivered",
        ShipmentLost = "shipment.lost",
        ShipmentReturned = "shipment.returned",
        RefundStarted = "refund.started",
        RefundCompleted = "refund.completed",
        RefundFailed = "refund.failed",
        OrderRefunded = "order.refunded",
        SaleOpened = "sale.opened",
        SalePaused = "sale.paused",
        SaleResumed = "sale.resumed",
        SaleStopped = "sale.stopped",
        SaleEnded = "sale.ended",
        /// A test that staff send to one endpoint, whatever types it has.
        Ping = "ping",
    }
}

wire_enum! {
    pub enum EndpointState {
        On = "on",
        Off = "off",
        /// The shop gave the endpoint up after days of failure.
        Disabled = "disabled",
    }
}

wire_enum! {
    /// How far an event is on its way to an endpoint.
    pub enum DeliveryState {
        Waiting = "waiting",
        Delivered = "delivered",
        /// No attempt was answered with a status of 200 to 299.
        Failed = "failed",
    }
}

impl EventKind {
    /// What an order's status tells, and what it tells about an order that another shop reserved. `is_expired`: nobody
    /// paid in time.
    pub fn of_status(status: OrderStatus, is_expired: bool) -> Option<(EventKind, Option<EventKind>)> {
        use EventKind::*;
        Some(match status {
            OrderStatus::Reserved => return None,
            OrderStatus::Unpaid => (OrderCreated, Some(ReservationHeld)),
            OrderStatus::Rejected => (OrderRejected, Some(ReservationRejected)),
            OrderStatus::Paid => (OrderPaid, Some(ReservationConfirmed)),
            OrderStatus::Cancelled if is_expired => (OrderCancelled, Some(ReservationExpired)),
            OrderStatus::Cancelled => (OrderCancelled, Some(ReservationReleased)),
            OrderStatus::RefundPending => (RefundStarted, None),
            OrderStatus::Refunded => (OrderRefunded, None),
        })
    }

    pub fn of_parcel(state: ParcelState) -> EventKind {
        match state {
            ParcelState::Packed => EventKind::ShipmentPacked,
            ParcelState::Shipped => EventKind::ShipmentShipped,
            ParcelState::Delivered => EventKind::ShipmentDelivered,
            ParcelState::Lost => EventKind::ShipmentLost,
            ParcelState::Returned => EventKind::ShipmentReturned,
        }
    }

    /// What a change of a sale's state tells. `is_early`: it ended before it was to close.
    pub fn of_sale(before: SaleState, after: SaleState, is_early: bool) -> Option<EventKind> {
        use SaleState::{Draft, Ended, Live, Paused, Scheduled};
        match (before, after) {
            (Draft | Scheduled, Live | Paused) => Some(EventKind::SaleOpened),
            (Live, Paused) => Some(EventKind::SalePaused),
            (Paused, Live) => Some(EventKind::SaleResumed),
            (Draft | Scheduled | Live | Paused, Ended) if is_early => Some(EventKind::SaleStopped),
            (Draft | Scheduled | Live | Paused, Ended) => Some(EventKind::SaleEnded),
            _ => None,
        }
    }

    /// The group that endpoints may choose, such as `order.*`; `None` for a type that nobody chooses.
    pub fn group(self) -> Option<String> {
        self.as_str().split_once('.').map(|(group, _)| format!("{group}.*"))
    }
}

/// The types that an endpoint gets: single types, or groups such as `order.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventChoice(Vec<String>);

impl EventChoice {
    /// `None` if there is no type, or one that does not exist.
    pub fn parse<T: AsRef<str>>(names: &[T]) -> Option<EventChoice> {
        let mut names: Vec<String> = names.iter().map(|name| name.as_ref().trim().to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        let options = EventChoice::options();
        let are_known = names.iter().all(|name| options.contains(name));
        (are_known && !names.is_empty()).then_some(EventChoice(names))
    }

    /// Everything that can be chosen: groups first, each before its types.
    pub fn options() -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        for kind in EventKind::ALL {
            let Some(group) = kind.group() else { continue };
            if !options.contains(&group) {
                options.push(group.clone());
                let own = EventKind::ALL.into_iter().filter(|other| other.group().as_ref() == Some(&group));
                options.extend(own.map(|kind| kind.as_str().to_owned()));
            }
        }
        options
    }

    pub fn includes(&self, kind: EventKind) -> bool {
        self.0.iter().any(|name| name == kind.as_str() || kind.group().as_ref() == Some(name))
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }
}

/// The address of an endpoint as it is requested: https at a public host, or, where `is_local`, plain http at this machine.
/// `None` if it is none. Names are resolved, and checked again, when an event is sent.
pub fn endpoint_url(text: &str, is_local: bool) -> Option<String> {
    let url = Url::parse(text.trim()).ok().filter(|_| text.len() <= MAX_URL_BYTES)?;
    let (is_host, is_here) = match url.host()? {
        Host::Domain(name) => (name.contains('.'), name == "localhost"),
        Host::Ipv4(address) => (is_public(address.into()), address.is_loopback()),
        Host::Ipv6(address) => (is_public(address.into()), address.is_loopback()),
    };
    let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let may_be_sent = match url.scheme() {
        "https" => is_host || (is_local && is_here),
        "http" => is_local && is_here,
        _ => false,
    };
    (may_be_sent && is_plain).then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_lie_outside_unless_the_shop_is_local() {
        for url in ["https://erp.example/hook?x=1", "https://erp.example:8443/", "https://1.1.1.1/"] {
            assert_eq!(endpoint_url(url, false).as_deref(), Some(url));
        }
        let inside = ["http://127.0.0.1:9/", "http://localhost:9/x", "https://[::1]/", "https://localhost/"];
        for url in inside {
            assert_eq!((endpoint_url(url, false), endpoint_url(url, true).as_deref()), (None, Some(url)), "{url}");
        }
        let never =
            ["http://erp.example/", "https://10.0.0.1/", "https://169.254.169.254/", "https://redis/", "ftp://a.b/"];
        for url in never.into_iter().chain(["https://user@erp.example/", "https://erp.example/#x", "erp.example", ""]) {
            assert_eq!((endpoint_url(url, false), endpoint_url(url, true)), (None, None), "{url}");
        }
        assert_eq!(endpoint_url(&format!("https://erp.example/{}", "x".repeat(MAX_URL_BYTES)), true), None);
    }

    #[test]
    fn group_stands_for_its_types() {
        let choice = EventChoice::parse(&["sale.ended", "order.*", "order.*"]).unwrap();
        assert_eq!(choice.names(), ["order.*", "sale.ended"]);
        assert!(choice.includes(EventKind::OrderPaid) && choice.includes(EventKind::SaleEnded));
        assert!(!choice.includes(EventKind::SaleOpened) && !choice.includes(EventKind::Ping));
        assert_eq!(EventChoice::parse::<&str>(&[]), None);
        for wrong in ["", "*", "ping", "order", "order.*.x", "order.lost"] {
            assert_eq!(EventChoice::parse(&["order.paid", wrong]), None, "{wrong}");
        }
        assert_eq!(EventChoice::options()[..2], ["order.*", "order.created"]);
    }

    #[test]
    fn waits_grow_over_a_day_and_end() {
        let all: Vec<_> = (1..).map_while(retry_after).collect();
        assert_eq!(all, RETRIES);
        assert_eq!(all.iter().sum::<Duration>().as_secs() / 3600, 27);
        assert_eq!((retry_after(0), retry_after(8)), (None, None));
    }

    #[test]
    fn states_of_a_sale_tell_what_happened() {
        use SaleState::*;
        let told = |before, after| EventKind::of_sale(before, after, false);
        assert_eq!(told(Scheduled, Live), Some(EventKind::SaleOpened));
        assert_eq!(
            (told(Live, Paused), told(Paused, Live)),
            (Some(EventKind::SalePaused), Some(EventKind::SaleResumed))
        );
        assert_eq!(told(Live, Ended), Some(EventKind::SaleEnded));
        assert_eq!(EventKind::of_sale(Live, Ended, true), Some(EventKind::SaleStopped));
        assert_eq!((told(Draft, Scheduled), told(Live, Live), told(Ended, Ended)), (None, None, None));
    }
}
