//! The form of a sale as entered, and how it is read.

use jiff::{RoundMode, TimestampRound, Unit};

use crate::prelude::*;
use domain::draw::Beacon;
use domain::spread::advised_spread_ms;
use domain::{EligibilityRules, Rush, SalePatch, Window, ledger};
use store::{Announce, MAX_SALE_UNITS, OverlapPolicy, SaleDraft, SaveOptions};
use web::shared::validation::{check_sale, check_window, doubts, failed};

inputs! {
    /// All values as entered.
    SaleForm {
        goods_id, price, list_price, currency, total, per_user_limit,
        /// RFC 3339 in UTC from the script; without the script `2026-11-21T20:00`, which also means UTC.
        opens_at,
        closes_at, buckets, lot, spread_ms,
        /// `queue` or `draw`; anything else is a rush.
        mode,
        queue_prequeue_s, queue_gather_s, queue_seat_s, draw_window_s,
        /// A hidden field, passed on unchanged. Only the API sets it.
        draw_review_s,
        /// `yes` bounds the age of accounts by the time that follows.
        old_accounts,
        /// Empty for the moment of saving.
        accounts_before,
        verified_contact, one_per_contact, one_per_address, invitation,
        /// An amount in the currency of wallets; empty for no deposit.
        deposit,
        /// The shop's beacon, for a new draw. The form does not send it.
        #[serde(skip)]
        draw_beacon: Option<Beacon>,
        /// How many accounts are expected to want a unit. The advised spread follows from it. Not stored.
        expected_accounts,
        /// The button that was pressed: `draft`, `schedule`, or none.
        r#as,
        /// `yes` confirms a price that is not below the list price.
        price_ok,
        /// Identifies the rendered form: sent twice, it creates one sale.
        key,
        /// The version of the sale that the form shows.
        version,
    }
}

/// Units of a time as people write it, in seconds, with what they write behind the number.
const UNITS: [(i64, &[&str]); 4] = [
    (86_400, &["d", "day", "days", "天", "日"]),
    (3_600, &["h", "hour", "hours", "小时"]),
    (60, &["min", "m", "minute", "minutes", "分钟", "分"]),
    (1, &["s", "second", "seconds", "秒", ""]),
];

/// The seconds of a time such as `10 min`, `2 小时` or `90`, which are seconds.
fn seconds(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = text[digits..].trim().to_lowercase();
    let (length, _) = UNITS.iter().find(|(_, names)| names.contains(&unit.as_str()))?;
    text[..digits].parse::<i64>().ok()?.checked_mul(*length)
}

/// The same in the largest unit that divides it.
fn duration(locale: Locale, seconds: i64) -> String {
    let t = &words::text(locale).sales;
    let names = [t.unit_day, t.unit_hour, t.unit_minute, t.unit_second];
    let units = UNITS.iter().zip(names).find(|((length, _), _)| seconds != 0 && seconds % length == 0);
    let (length, name) = units.map_or((1, t.unit_second), |((length, _), name)| (*length, name));
    words::fill(name, seconds / length)
}

impl SaleForm {
    pub fn of(sale: &Sale, locale: Locale) -> SaleForm {
        let time = |seconds: Option<i64>| seconds.map(|seconds| duration(locale, seconds)).unwrap_or_default();
        let window = [sale.window.opens_at, sale.window.closes_at];
        let [opens_at, closes_at] = window.map(|at| at.map(|at| at.to_string()).unwrap_or_default());
        let (queue, rules) = (sale.mode.waiting_room_plan(), sale.eligibility);
        let ticked = |rule: bool| if rule { "yes".to_owned() } else { String::new() };
        SaleForm {
            goods_id: sale.goods_id.to_string(),
            price: sale.price.decimal(),
            list_price: sale.list_price.map(Money::decimal).unwrap_or_default(),
            currency: sale.price.currency.as_str().to_owned(),
            total: sale.total.to_string(),
            per_user_limit: sale.per_user_limit.to_string(),
            opens_at,
            closes_at,
            buckets: sale.rush.buckets.to_string(),
            lot: sale.rush.lot.to_string(),
            spread_ms: sale.rush.spread_ms.to_string(),
            mode: sale.mode.name().to_string(),
            queue_prequeue_s: time(queue.map(|plan| plan.prequeue_s)),
            queue_gather_s: time(queue.map(|plan| plan.gather_s)),
            queue_seat_s: time(queue.map(|plan| plan.seat_s)),
            draw_window_s: time(sale.mode.draw_plan().map(|plan| plan.window_s)),
            draw_review_s: sale.mode.draw_plan().map(|plan| plan.review_s.to_string()).unwrap_or_default(),
            old_accounts: ticked(rules.accounts_before.is_some()),
            accounts_before: rules.accounts_before.map(|at| at.to_string()).unwrap_or_default(),
            verified_contact: ticked(rules.verified_contact),
            one_per_contact: ticked(rules.one_per_contact),
            one_per_address: ticked(rules.one_per_address),
            invitation: ticked(rules.invitation),
            deposit: rules.deposit.map(Money::decimal).unwrap_or_default(),
            version: sale.version.to_string(),
            ..SaleForm::default()
        }
    }

    /// Without a time, accounts that are registered by now may take part. The time is truncated to the minute, so that
    /// a form that is sent twice says the same.
    fn eligibility(&self, before: Option<Timestamp>, deposit: Option<Money>, now: Timestamp) -> EligibilityRules {
        let is_ticked = |field: &str| field == "yes";
        let minute = TimestampRound::new().smallest(Unit::Minute).mode(RoundMode::Trunc);
        let this_minute = now.round(minute).unwrap_or(now);
        EligibilityRules {
            accounts_before: is_ticked(&self.old_accounts).then(|| before.unwrap_or(this_minute)),
            verified_contact: is_ticked(&self.verified_contact),
            one_per_contact: is_ticked(&self.one_per_contact),
            one_per_address: is_ticked(&self.one_per_address),
            invitation: is_ticked(&self.invitation),
            deposit,
        }
    }

    fn announce(&self) -> Announce {
        match self.r#as.as_str() {
            "draft" => Announce::Draft,
            "schedule" => Announce::Schedule,
            _ => Announce::ByWindow,
        }
    }

    pub fn save_options(&self) -> SaveOptions {
        SaveOptions {
            announce: self.announce(),
            overlap: OverlapPolicy::Refuse,
            form_key: Uuid::try_parse(&self.key).ok().map(|key| key.to_string()),
            versions: self.version.parse().ok().map(|version| vec![version]),
            shadow: false,
        }
    }

    /// The sale, or every field with an error.
    pub fn parse(&self, now: Timestamp) -> Result<SaleDraft, Vec<FieldError>> {
        let (draft, mut errors) = self.read(now);
        let has_price = errors.iter().all(|error| error.field != "price");
        errors.extend(check_sale(&draft));
        errors.extend(check_window(draft.window, self.announce() == Announce::Draft, now));
        if has_price && self.price_ok != "yes" {
            errors.extend(doubts(&draft));
        }
        if errors.is_empty() { Ok(draft) } else { Err(errors) }
    }

    /// What the fields say, and those that cannot be read. A valid value in their place lets the other checks run.
    pub fn read(&self, now: Timestamp) -> (SaleDraft, Vec<FieldError>) {
        let currency = Currency::known(&self.currency).unwrap_or(Currency::CNY);
        let goods_id = self.goods_id.parse::<GoodsId>();
        let sale_price = price(&self.price, currency);
        let bad_price = if self.price.trim().is_empty() { "required" } else { "bad_price" };
        let [total, limit] = [&self.total, &self.per_user_limit].map(|text| text.trim().parse::<i64>());
        let mut errors = Vec::from_iter(failed([
            (goods_id.is_ok(), "goods_id", "required"),
            (sale_price.is_some(), "price", bad_price),
        ]));
        let of = &mut errors;
        let list_price = read_field(of, ("list_price", "bad_price"), &self.list_price, |text| price(text, currency));
        of.extend(failed([(total.is_ok(), "total", "bad_number"), (limit.is_ok(), "per_user_limit", "bad_number")]));
        let opens_at = read_field(of, ("opens_at", "bad_time"), &self.opens_at, time);
        let closes_at = read_field(of, ("closes_at", "bad_time"), &self.closes_at, time);
        let number = |text: &str| text.parse::<i64>().ok();
        let buckets = read_field(of, ("buckets", "bad_buckets"), &self.buckets, |text| text.parse::<u8>().ok());
        let lot = read_field(of, ("lot", "bad_lot"), &self.lot, number);
        let spread_ms = read_field(of, ("spread_ms", "bad_spread"), &self.spread_ms, number);
        let mut length = |field, code, text| read_field(of, (field, code), text, seconds);
        let prequeue = length("queue_prequeue_s", "bad_queue_prequeue", &self.queue_prequeue_s);
        let gather = length("queue_gather_s", "bad_queue_gather", &self.queue_gather_s);
        let seat = length("queue_seat_s", "bad_queue_seat", &self.queue_seat_s);
        let draw_window = length("draw_window_s", "bad_draw_window", &self.draw_window_s);
        let draw_review = length("draw_review_s", "bad_draw_review", &self.draw_review_s);
        let accounts = |text: &str| number(text).filter(|accounts| *accounts > 0);
        let expected = read_field(of, ("expected_accounts", "bad_number"), &self.expected_accounts, accounts);
        let accounts_before = read_field(of, ("accounts_before", "bad_time"), &self.accounts_before, time);
        let in_wallet = |text: &str| price(text, ledger::CURRENCY);
        let deposit = read_field(of, ("deposit", "bad_deposit"), &self.deposit, in_wallet);
        // Only a rush is spread. In the other modes the shop determines the order.
        let mode = self.mode.parse::<ModeName>().ok();
        let of_rush = expected.filter(|_| mode.is_none_or(|mode| mode == ModeName::Rush));
        let advised = of_rush.zip(total.as_ref().ok()).map(|(accounts, units)| {
            advised_spread_ms(accounts, *units).clamp(Rush::MIN_ENFORCED_SPREAD_MS, Rush::MAX_SPREAD_MS)
        });
        let draft = SaleDraft {
            goods_id: goods_id.unwrap_or(GoodsId(1)),
            price: sale_price.unwrap_or(Money::new(0, currency)),
            list_price,
            total: total.unwrap_or(MAX_SALE_UNITS),
            per_user_limit: limit.unwrap_or(1),
            window: Window { opens_at, closes_at },
            rush: Rush::default().with(buckets, lot, advised.or(spread_ms)),
            mode: SaleMode::Rush.with(&SalePatch {
                mode,
                queue_prequeue_s: prequeue,
                queue_gather_s: gather,
                queue_seat_s: seat,
                draw_window_s: draw_window,
                draw_review_s: draw_review,
                draw_beacon: self.draw_beacon,
                ..SalePatch::default()
            }),
            eligibility: self.eligibility(accounts_before, deposit, now),
        };
        (draft, errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> SaleForm {
        SaleForm {
            goods_id: "1".into(),
            price: "1999.00".into(),
            total: "100".into(),
            per_user_limit: "2".into(),
            opens_at: "2026-11-21T20:00".into(),
            ..SaleForm::default()
        }
    }

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    fn errors(form: &SaleForm) -> Vec<(&'static str, &'static str)> {
        form.parse(now()).unwrap_err().iter().map(|e| (e.field, e.code)).collect()
    }

    #[test]
    fn sale_form_is_parsed_as_entered() {
        let draft = form().parse(now()).unwrap();
        assert_eq!((draft.price.amount, draft.total, draft.list_price), (199_900, 100, None));
        assert_eq!(draft.window.opens_at, "2026-11-21T20:00:00Z".parse().ok());
        assert_eq!(draft.window.closes_at, None);
    }

    #[test]
    fn times_are_read_and_written_as_people_say_them() {
        for (text, read) in
            [("90", 90), (" 10 min ", 600), ("10分钟", 600), ("2 小时", 7_200), ("3 D", 259_200), ("0", 0)]
        {
            assert_eq!(seconds(text), Some(read), "{text}");
        }
        for wrong in ["", "min", "1.5 h", "-5", "10 moons", "9223372036854775807 d"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
        for (length, en, zh) in
            [(1_800, "30 min", "30 分钟"), (86_400, "1 d", "1 天"), (90, "90 s", "90 秒"), (0, "0 s", "0 秒")]
        {
            let written = Locale::ALL.map(|locale| duration(locale, length));
            assert!(written.contains(&en.to_owned()) && written.contains(&zh.to_owned()), "{written:?}");
            assert_eq!(written.map(|text| seconds(&text)), [Some(length); 2]);
        }
    }

    #[test]
    fn every_wrong_field_is_named_once() {
        let wrong = SaleForm { total: "many".into(), closes_at: "later".into(), list_price: "cheap".into(), ..form() };
        assert_eq!(errors(&wrong), [("list_price", "bad_price"), ("total", "bad_number"), ("closes_at", "bad_time")]);
        let early = SaleForm { closes_at: "2026-11-21T19:00".into(), ..form() };
        assert_eq!(errors(&early), [("closes_at", "window_order")]);
        assert_eq!(SaleForm::default().parse(now()).unwrap_err().len(), 4);
    }

    #[test]
    fn rush_settings_have_bounds_and_defaults() {
        let rush = |buckets: &str, lot: &str, spread: &str| {
            let (buckets, lot, spread_ms) = (buckets.into(), lot.into(), spread.into());
            SaleForm { buckets, lot, spread_ms, ..form() }
        };
        assert_eq!(rush("", "", "").parse(now()).unwrap().rush, Rush::default());
        let most = rush(" 64 ", "5", "600000").parse(now()).unwrap().rush;
        assert_eq!(most, Rush { buckets: 64, lot: 5, spread_ms: 600_000 });
        let wrong = [("buckets", "bad_buckets"), ("lot", "bad_lot"), ("spread_ms", "bad_spread")];
        for form in [rush("0", "-1", "600001"), rush("65", "x", "-1"), rush("300", "1000000001", "1.5")] {
            let mut found = errors(&form);
            found.sort_unstable();
            assert_eq!(found, wrong, "{form:?}");
        }
    }

    #[test]
    fn expected_accounts_set_the_advised_spread() {
        let spread = |expected: &str, spread: &str| {
            let (expected_accounts, spread_ms) = (expected.into(), spread.into());
            SaleForm { expected_accounts, spread_ms, ..form() }.parse(now()).map(|draft| draft.rush.spread_ms)
        };
        assert_eq!(spread("2000", ""), Ok(60_000));
        assert_eq!(spread("2000", "600"), Ok(60_000), "it replaces what the field shows");
        assert_eq!((spread("1", ""), spread("9999999", "")), (Ok(1_000), Ok(600_000)));
        assert_eq!(spread("", "7"), Ok(7));
        let queue = SaleForm { expected_accounts: "2000".into(), mode: "queue".into(), ..form() };
        assert_eq!(
            queue.parse(now()).unwrap().rush.spread_ms,
            Rush::default().spread_ms,
            "its order decides, not a moment"
        );
        for wrong in ["many", "0", "-5"] {
            let error = spread(wrong, "").unwrap_err();
            assert_eq!((error[0].field, error[0].code), ("expected_accounts", "bad_number"), "{wrong}");
        }
    }

    #[test]
    fn rules_are_ticked_and_default_to_the_minute_of_saving() {
        assert!(form().parse(now()).unwrap().eligibility.are_none());
        let ticked = SaleForm { old_accounts: "yes".into(), invitation: "yes".into(), ..form() };
        let saved = ticked.parse(now() + jiff::SignedDuration::from_secs(59)).unwrap().eligibility;
        assert_eq!((saved.accounts_before, saved.invitation, saved.one_per_address), (Some(now()), true, false));
        let before = |text: &str| SaleForm { accounts_before: text.into(), ..ticked.clone() };
        let saved = before("2026-11-20T08:00").parse(now()).unwrap().eligibility;
        assert_eq!(saved.accounts_before, "2026-11-20T08:00:00Z".parse().ok());
        assert_eq!(errors(&before("2026-11-22T08:00")), [("accounts_before", "after_opening")]);
        assert_eq!(errors(&before("soon")), [("accounts_before", "bad_time")]);
    }

    #[test]
    fn deposit_has_bounds_and_the_currency_of_wallets() {
        let form = |deposit: &str, currency: &str| {
            let (deposit, currency) = (deposit.into(), currency.into());
            SaleForm { deposit, currency, ..form() }
        };
        let deposit = |text: &str| form(text, "CNY").parse(now()).unwrap().eligibility.deposit_amount();
        assert_eq!((deposit(""), deposit("1"), deposit(" 10000.00 ")), (None, Some(100), Some(1_000_000)));
        for (text, currency) in [("0", "CNY"), ("0.99", "CNY"), ("10000.01", "CNY"), ("ten", "CNY"), ("10", "USD")] {
            assert_eq!(errors(&form(text, currency)), [("deposit", "bad_deposit")], "{text} {currency}");
        }
    }

    #[test]
    fn price_not_below_list_price_needs_confirmation() {
        let dear = SaleForm { list_price: "1999".into(), ..form() };
        assert_eq!(errors(&dear), [("price", "not_lower")]);
        assert!(SaleForm { price_ok: "yes".into(), ..dear }.parse(now()).is_ok());
    }

    #[test]
    fn draft_may_have_a_window_in_the_past() {
        let past = SaleForm { opens_at: "2026-11-21T11:00".into(), ..form() };
        assert_eq!(errors(&past), [("opens_at", "in_past")]);
        assert!(SaleForm { r#as: "draft".into(), ..past }.parse(now()).is_ok());
    }
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn any_form_is_a_valid_sale_or_has_errors() {
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        let valid = [
            "goods_id=1&price=1999.00&list_price=2999&currency=CNY&total=100&per_user_limit=2&opens_at=2026-11-21T20:00:00Z&\
             closes_at=2026-11-22T20:00%2B08:00&buckets=8&lot=10&spread_ms=600&as=schedule&price_ok=yes&key=1&version=3",
            "goods_id=1&price=0.01&total=1&per_user_limit=1",
        ];
        texts(&valid, |text| {
            let Ok(form) = serde_html_form(text) else { return };
            match form.parse(now) {
                Ok(draft) => assert!(check_sale(&draft).is_empty(), "{draft:?}"),
                Err(errors) => assert!(!errors.is_empty()),
            }
        });
    }

    fn serde_html_form(text: &str) -> Result<SaleForm, impl Sized> {
        let uri = format!("/?{}", text.replace([' ', '\n'], "")).parse::<axum::http::Uri>().map_err(drop)?;
        axum::extract::Query::<SaleForm>::try_from_uri(&uri).map(|form| form.0).map_err(drop)
    }
}
