//! The parcel of a paid order: where it is, who moves it, and how its carrier shows it. An order has one parcel.
//!
//! Every change is a step, and the steps are kept, so the last one says where the parcel is. [`decide`] is the whole rule.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::tidy;
use super::wire::wire_enum;
use super::{Locale, OrderId, OrderStatus};

/// Characters of the name of a carrier that the shop does not know.
const MAX_CARRIER_CHARS: usize = 40;
/// Characters of a tracking number. JD's with the number of the piece are the longest, about 25.
const TRACKING_NUMBER_CHARS: std::ops::RangeInclusive<usize> = 6..=32;

wire_enum! {
    /// Where the parcel of a paid order is. A paid order without a parcel waits to be packed.
    pub enum ParcelState {
        Packed = "packed",
        Shipped = "shipped",
        Delivered = "delivered",
        Lost = "lost",
        /// The goods are back at the shop.
        Returned = "returned",
    }
}

impl ParcelState {
    /// Whether the goods are in the shop, so that their units may go back on sale. `store` has the same rule in its refund.
    pub fn is_with_shop(self) -> bool {
        matches!(self, ParcelState::Packed | ParcelState::Returned)
    }
}

/// Who moves a parcel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParcelMover {
    Staff,
    /// The owner of the order confirms the receipt.
    Owner,
    /// Nobody said anything for some days.
    Clock,
}

/// The actor of a step that [`ParcelMover::Clock`] made.
pub const CLOCK: &str = "";

/// From where to where parcels go, and who may say so. A step back corrects what staff entered by mistake.
const STEPS: [(Option<ParcelState>, ParcelState, &[ParcelMover]); 13] = {
    use ParcelMover::{Clock, Owner, Staff};
    use ParcelState::{Delivered, Lost, Packed, Returned, Shipped};
    [
        (None, Packed, &[Staff]),
        (None, Shipped, &[Staff]),
        (Some(Packed), Shipped, &[Staff]),
        (Some(Shipped), Packed, &[Staff]),
        (Some(Shipped), Delivered, &[Staff, Owner, Clock]),
        (Some(Shipped), Lost, &[Staff]),
        (Some(Shipped), Returned, &[Staff]),
        (Some(Delivered), Lost, &[Staff]),
        (Some(Delivered), Returned, &[Staff]),
        (Some(Lost), Delivered, &[Staff, Owner]),
        (Some(Lost), Returned, &[Staff]),
        // Sent again, for instance to a better address.
        (Some(Returned), Packed, &[Staff]),
        (Some(Returned), Shipped, &[Staff]),
    ]
};

/// Whether a parcel may go from one state to another by this mover.
pub fn may_step(from: Option<ParcelState>, to: ParcelState, by: ParcelMover) -> bool {
    STEPS.iter().any(|step| step.0 == from && step.1 == to && step.2.contains(&by))
}

/// Whether staff may move the parcel of an order with this status from one state to another. `may_leave`: the order is
/// not held and has an address.
pub fn staff_steps(status: OrderStatus, may_leave: bool, from: Option<ParcelState>) -> Vec<ParcelState> {
    let may = |to: &ParcelState| may_step(from, *to, ParcelMover::Staff) && (may_leave || !leaves_the_shop(*to));
    ParcelState::ALL.into_iter().filter(|to| status == OrderStatus::Paid && may(to)).collect()
}

fn leaves_the_shop(to: ParcelState) -> bool {
    matches!(to, ParcelState::Packed | ParcelState::Shipped)
}

/// The carrier and its number of the parcel, as they stand on the parcel. Both may be missing: not every shop sends by a
/// carrier.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParcelLabel {
    /// The code of a carrier that the shop knows (`sf`, `zto`, `yto`, `jd`, `ems`, `ups`, `dhl`, `fedex`), or the name of
    /// another one.
    pub carrier: Option<String>,
    pub number: Option<String>,
}

impl ParcelLabel {
    /// Reads what was entered. A carrier is known by its code and by its names. An error lists the fields that are wrong.
    pub fn check(carrier: &str, number: &str) -> Result<ParcelLabel, Vec<(&'static str, &'static str)>> {
        let (carrier, mut errors) = (tidy(carrier), Vec::new());
        let number: String = number.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_uppercase();
        if carrier.chars().count() > MAX_CARRIER_CHARS {
            errors.push(("carrier", "too_long"));
        }
        if carrier.is_empty() && !number.is_empty() {
            errors.push(("carrier", "required"));
        }
        let is_plain = number.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let has_digit = number.bytes().any(|byte| byte.is_ascii_digit());
        let is_number = is_plain && has_digit && TRACKING_NUMBER_CHARS.contains(&number.len());
        if !number.is_empty() && !is_number {
            errors.push(("number", "bad_tracking_number"));
        }
        let known = Carrier::read(&carrier).map(|known| known.code.to_owned());
        let label = ParcelLabel {
            carrier: known.or(Some(carrier)).filter(|carrier| !carrier.is_empty()),
            number: Some(number).filter(|number| !number.is_empty()),
        };
        if errors.is_empty() { Ok(label) } else { Err(errors) }
    }

    fn is_empty(&self) -> bool {
        *self == ParcelLabel::default()
    }

    fn known(&self) -> Option<&'static Carrier> {
        let code = self.carrier.as_deref()?;
        CARRIERS.iter().find(|carrier| carrier.code == code)
    }

    /// The name of the carrier in a language.
    pub fn carrier_name(&self, locale: Locale) -> Option<&str> {
        self.known().map(|known| known.name(locale)).or(self.carrier.as_deref())
    }

    /// The page on which a known carrier shows where the parcel is.
    pub fn tracking_url(&self) -> Option<String> {
        // Only letters, digits and hyphens, so nothing needs escaping.
        Some(self.known()?.tracking.replace("{}", self.number.as_deref()?))
    }
}

/// A carrier that the shop knows by name.
#[derive(Debug)]
pub struct Carrier {
    pub code: &'static str,
    zh: &'static str,
    en: &'static str,
    /// Other names, in lower case.
    aliases: &'static [&'static str],
    /// The address of its tracking page; `{}` stands for the number.
    tracking: &'static str,
}

#[rustfmt::skip]
pub static CARRIERS: [Carrier; 8] = [
    Carrier { code: "sf", zh: "顺丰速运", en: "SF Express", aliases: &["顺丰", "sf express"], tracking: "https://www.sf-express.com/chn/sc/waybill/waybill-detail/{}" },
    Carrier { code: "zto", zh: "中通快递", en: "ZTO Express", aliases: &["中通", "zto express"], tracking: "https://www.zto.com/express/expressCheck.html?txtBill={}" },
    // No address of its site takes the number, so it is copied from the order.
    Carrier { code: "yto", zh: "圆通速递", en: "YTO Express", aliases: &["圆通", "圆通快递", "yto express"], tracking: "https://www.yto.net.cn/" },
    Carrier { code: "jd", zh: "京东物流", en: "JD Logistics", aliases: &["京东", "京东快递", "jdl", "jd logistics"], tracking: "https://www.jdl.com/orderSearch/?waybillCodes={}" },
    Carrier { code: "ems", zh: "中国邮政 EMS", en: "EMS China Post", aliases: &["邮政", "中国邮政", "china post"], tracking: "https://www.ems.com.cn/queryList?mailNum={}" },
    Carrier { code: "ups", zh: "UPS", en: "UPS", aliases: &[], tracking: "https://www.ups.com/track?tracknum={}" },
    Carrier { code: "dhl", zh: "DHL", en: "DHL", aliases: &["dhl express"], tracking: "https://www.dhl.com/global-en/home/tracking.html?tracking-id={}" },
    Carrier { code: "fedex", zh: "联邦快递", en: "FedEx", aliases: &["联邦"], tracking: "https://www.fedex.com/fedextrack/?trknbr={}" },
];

impl Carrier {
    fn read(text: &str) -> Option<&'static Carrier> {
        let text = text.to_lowercase();
        let is = |carrier: &&Carrier| {
            [carrier.code, carrier.zh, carrier.en].iter().any(|name| name.to_lowercase() == text)
                || carrier.aliases.contains(&text.as_str())
        };
        CARRIERS.iter().find(is)
    }

    pub fn name(&self, locale: Locale) -> &'static str {
        match locale {
            Locale::Zh => self.zh,
            Locale::En => self.en,
        }
    }
}

/// One step of a parcel, or a correction of its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParcelStep {
    pub at: Timestamp,
    pub state: ParcelState,
    pub label: ParcelLabel,
    /// The member of the staff, or [`CLOCK`]; `None` if it was the owner of the order.
    pub actor: Option<String>,
}

/// A parcel by its steps, oldest first. It has at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    pub steps: Vec<ParcelStep>,
}

impl Parcel {
    /// `None` if nothing was packed yet.
    pub fn of(steps: Vec<ParcelStep>) -> Option<Parcel> {
        (!steps.is_empty()).then_some(Parcel { steps })
    }

    fn last(&self) -> &ParcelStep {
        &self.steps[self.steps.len() - 1]
    }

    pub fn state(&self) -> ParcelState {
        self.last().state
    }

    pub fn label(&self) -> &ParcelLabel {
        &self.last().label
    }

    /// Rises with every change, so that nobody changes what they have not seen.
    pub fn version(&self) -> i64 {
        self.steps.len() as i64
    }

    /// When a parcel that is on its way counts as delivered, which is so many days after it was sent. `None` if it is not,
    /// or never.
    pub fn counts_as_delivered(&self, days: u32) -> Option<Timestamp> {
        let sent = self.moves().last().filter(|step| step.state == ParcelState::Shipped && days > 0)?;
        Some(sent.at + Duration::from_secs(24 * 3600) * days)
    }

    /// The steps without corrections of the label.
    pub fn moves(&self) -> impl Iterator<Item = &ParcelStep> {
        let before = std::iter::once(None).chain(self.steps.iter().map(|step| Some(step.state)));
        self.steps.iter().zip(before).filter(|(step, before)| Some(step.state) != *before).map(|(step, _)| step)
    }
}

/// What somebody asks for: a step, or another label in the same state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParcelMove {
    pub order: OrderId,
    pub to: ParcelState,
    /// Empty: the label stays as it is.
    pub label: ParcelLabel,
    /// The version of the parcel that was seen, 0 for none. A label that is there already is corrected only with it.
    pub seen: Option<i64>,
}

/// What a request about a parcel does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParcelChange {
    /// It is so already, as after a request that is sent again.
    Unchanged,
    /// The parcel gets this state or label.
    Step(ParcelLabel),
}

wire_enum! {
    /// Why a request about a parcel is refused.
    pub enum ParcelRefusal {
        NoSuchOrder = "not_found",
        NotPaid = "not_paid",
        /// The order was cancelled or rejected, or its money goes back.
        OrderEnded = "order_ended",
        OrderHeld = "order_held",
        /// Nobody knows where to send it.
        NoAddress = "no_address",
        /// There is no such step from where the parcel is.
        NoSuchStep = "no_such_step",
        /// The parcel was changed after it was seen, or has another label already.
        ChangedMeanwhile = "changed_meanwhile",
    }
}

/// What decides about the parcel of an order, as it is in the transaction that carries the change out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderFacts {
    pub status: OrderStatus,
    pub is_held: bool,
    pub has_address: bool,
}

/// Decides about a request.
pub fn decide(
    OrderFacts { status, is_held, has_address }: OrderFacts,
    parcel: Option<&Parcel>,
    wanted: &ParcelMove,
    by: ParcelMover,
) -> Result<ParcelChange, ParcelRefusal> {
    match status {
        OrderStatus::Paid => {}
        OrderStatus::Reserved | OrderStatus::Unpaid => return Err(ParcelRefusal::NotPaid),
        _ => return Err(ParcelRefusal::OrderEnded),
    }
    let (from, version) = (parcel.map(Parcel::state), parcel.map_or(0, Parcel::version));
    let known = parcel.map(Parcel::label).cloned().unwrap_or_default();
    let stays = wanted.label.is_empty() || wanted.label == known;
    if from == Some(wanted.to) && stays {
        return Ok(ParcelChange::Unchanged);
    }
    if wanted.seen.is_some_and(|seen| seen != version) {
        return Err(ParcelRefusal::ChangedMeanwhile);
    }
    if from == Some(wanted.to) {
        let may_correct = wanted.seen.is_some() || known.number.is_none();
        return if may_correct {
            Ok(ParcelChange::Step(wanted.label.clone()))
        } else {
            Err(ParcelRefusal::ChangedMeanwhile)
        };
    }
    if is_held && leaves_the_shop(wanted.to) {
        return Err(ParcelRefusal::OrderHeld);
    }
    if !has_address && leaves_the_shop(wanted.to) {
        return Err(ParcelRefusal::NoAddress);
    }
    if !may_step(from, wanted.to, by) {
        return Err(ParcelRefusal::NoSuchStep);
    }
    // A parcel that is packed again gets a new label.
    let kept =
        if leaves_the_shop(wanted.to) && from != Some(ParcelState::Packed) { ParcelLabel::default() } else { known };
    Ok(ParcelChange::Step(if wanted.label.is_empty() { kept } else { wanted.label.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(number: &str) -> ParcelLabel {
        ParcelLabel::check("sf", number).unwrap()
    }

    fn parcel(states: &[ParcelState], number: &str) -> Parcel {
        let step = |state| ParcelStep { at: Timestamp::UNIX_EPOCH, state, label: label(number), actor: None };
        Parcel { steps: states.iter().copied().map(step).collect() }
    }

    fn wanted(to: ParcelState, number: &str, seen: Option<i64>) -> ParcelMove {
        let label = if number.is_empty() { ParcelLabel::default() } else { label(number) };
        ParcelMove { order: "0198c0de-0000-7000-8000-000000000001".parse().unwrap(), to, label, seen }
    }

    fn facts(status: OrderStatus, is_held: bool) -> OrderFacts {
        OrderFacts { status, is_held, has_address: true }
    }

    #[test]
    fn nothing_leaves_the_shop_without_an_address() {
        let unaddressed = OrderFacts { has_address: false, ..facts(OrderStatus::Paid, false) };
        for to in [ParcelState::Packed, ParcelState::Shipped] {
            let decided = decide(unaddressed, None, &wanted(to, "", None), ParcelMover::Staff);
            assert_eq!(decided, Err(ParcelRefusal::NoAddress));
        }
        // It left the shop before that was asked.
        let sent = parcel(&[ParcelState::Shipped], "SF1234567");
        let delivered = wanted(ParcelState::Delivered, "", None);
        assert!(decide(unaddressed, Some(&sent), &delivered, ParcelMover::Owner).is_ok());
    }

    #[test]
    fn steps_are_those_of_the_table_and_owners_only_confirm() {
        use ParcelState::{Delivered, Lost, Packed, Returned, Shipped};
        let to = |from, by| ParcelState::ALL.into_iter().filter(|to| may_step(from, *to, by)).collect::<Vec<_>>();
        for (from, staff, owner) in [
            (None, vec![Packed, Shipped], vec![]),
            (Some(Packed), vec![Shipped], vec![]),
            (Some(Shipped), vec![Packed, Delivered, Lost, Returned], vec![Delivered]),
            (Some(Delivered), vec![Lost, Returned], vec![]),
            (Some(Lost), vec![Delivered, Returned], vec![Delivered]),
            (Some(Returned), vec![Packed, Shipped], vec![]),
        ] {
            assert_eq!(
                (to(from, ParcelMover::Staff), to(from, ParcelMover::Owner)),
                (staff.clone(), owner),
                "{from:?}"
            );
            assert_eq!(staff_steps(OrderStatus::Paid, true, from), staff);
            assert_eq!(staff_steps(OrderStatus::RefundPending, true, from), []);
        }
        assert_eq!(staff_steps(OrderStatus::Paid, false, None), [], "held orders stay where they are");
    }

    #[test]
    fn only_paid_orders_are_sent_and_held_ones_stay() {
        let ask = |status, held, to| decide(facts(status, held), None, &wanted(to, "", None), ParcelMover::Staff);
        for status in OrderStatus::ALL {
            let expected = match status {
                OrderStatus::Paid => Ok(ParcelChange::Step(ParcelLabel::default())),
                OrderStatus::Unpaid | OrderStatus::Reserved => Err(ParcelRefusal::NotPaid),
                _ => Err(ParcelRefusal::OrderEnded),
            };
            assert_eq!(ask(status, false, ParcelState::Packed), expected, "{status}");
        }
        assert_eq!(ask(OrderStatus::Paid, true, ParcelState::Shipped), Err(ParcelRefusal::OrderHeld));
        assert_eq!(ask(OrderStatus::Paid, false, ParcelState::Lost), Err(ParcelRefusal::NoSuchStep));
        let sent = parcel(&[ParcelState::Shipped], "SF1234567");
        let delivered = wanted(ParcelState::Delivered, "", Some(1));
        let told = decide(facts(OrderStatus::Paid, true), Some(&sent), &delivered, ParcelMover::Staff);
        assert_eq!(told, Ok(ParcelChange::Step(label("SF1234567"))), "what happened outside is recorded");
    }

    #[test]
    fn label_is_corrected_only_by_who_has_seen_it() {
        let sent = parcel(&[ParcelState::Packed, ParcelState::Shipped], "SF1234567");
        let ask = |number, seen| {
            let wanted = wanted(ParcelState::Shipped, number, seen);
            decide(facts(OrderStatus::Paid, false), Some(&sent), &wanted, ParcelMover::Staff)
        };
        assert_eq!(ask("SF7654321", None), Err(ParcelRefusal::ChangedMeanwhile));
        assert_eq!(ask("SF7654321", Some(1)), Err(ParcelRefusal::ChangedMeanwhile));
        assert_eq!(ask("SF7654321", Some(2)), Ok(ParcelChange::Step(label("SF7654321"))));
        for seen in [None, Some(1), Some(2)] {
            assert_eq!(ask("SF1234567", seen), Ok(ParcelChange::Unchanged), "the same request again");
        }
        let unlabelled = Parcel { steps: vec![ParcelStep { label: ParcelLabel::default(), ..sent.steps[1].clone() }] };
        let late = wanted(ParcelState::Shipped, "SF7654321", None);
        let told = decide(facts(OrderStatus::Paid, false), Some(&unlabelled), &late, ParcelMover::Staff);
        assert_eq!(told, Ok(ParcelChange::Step(label("SF7654321"))));
    }

    #[test]
    fn parcel_that_is_sent_again_loses_its_old_label() {
        let back = parcel(&[ParcelState::Shipped, ParcelState::Returned], "SF1234567");
        let again = wanted(ParcelState::Shipped, "", None);
        let told = decide(facts(OrderStatus::Paid, false), Some(&back), &again, ParcelMover::Staff);
        assert_eq!(told, Ok(ParcelChange::Step(ParcelLabel::default())));
        let corrected = parcel(&[ParcelState::Packed, ParcelState::Shipped, ParcelState::Shipped], "SF1234567");
        assert_eq!(
            corrected.moves().map(|step| step.state).collect::<Vec<_>>(),
            [ParcelState::Packed, ParcelState::Shipped]
        );
    }

    #[test]
    fn carriers_are_known_by_their_names_and_numbers_have_one_form() {
        for (name, code) in [
            ("SF", "sf"),
            ("顺丰", "sf"),
            (" 顺丰速运 ", "sf"),
            ("fedex", "fedex"),
            ("联邦快递", "fedex"),
            ("EMS", "ems"),
        ] {
            let read = ParcelLabel::check(name, " sf 1234 5678 ").unwrap();
            assert_eq!((read.carrier.as_deref(), read.number.as_deref()), (Some(code), Some("SF12345678")), "{name}");
        }
        let sf = label("SF1234567");
        assert_eq!(
            sf.tracking_url().as_deref(),
            Some("https://www.sf-express.com/chn/sc/waybill/waybill-detail/SF1234567")
        );
        assert_eq!((sf.carrier_name(Locale::Zh), sf.carrier_name(Locale::En)), (Some("顺丰速运"), Some("SF Express")));
        let other = ParcelLabel::check("Bike  Bob", "BB-000001").unwrap();
        assert_eq!((other.carrier_name(Locale::Zh), other.tracking_url()), (Some("Bike Bob"), None));
        assert_eq!(ParcelLabel::check("", " "), Ok(ParcelLabel::default()));
        for wrong in ["12345", "1.23E+12", "ABCDEFG", "SF123/456", "SF123?456", "单号1234567", &"1".repeat(33)] {
            assert_eq!(ParcelLabel::check("sf", wrong), Err(vec![("number", "bad_tracking_number")]), "{wrong}");
        }
        assert_eq!(ParcelLabel::check("", "SF1234567"), Err(vec![("carrier", "required")]));
        assert_eq!(ParcelLabel::check(&"x".repeat(41), ""), Err(vec![("carrier", "too_long")]));
    }
}
