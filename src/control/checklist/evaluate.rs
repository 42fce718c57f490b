//! Pure functions from a sale and its environment to findings.

use jiff::Timestamp;

use super::{ChecklistItem, Environment, Finding};
use domain::spread::{LONG_SPREAD_MS, fair_accounts};
use domain::{Goods, Sale, SaleState};
use engine::stock::probe::ProbeReport;

/// With this many outbox entries the pipeline counts as busy.
const MIN_BUSY_OUTBOX: i64 = 1000;
/// Differences from the clock by which the sale opens, the master's: from the first on it is a warning, from the second
/// a failure.
const MIN_ODD_CLOCK_MS: i64 = 500;
const MIN_WRONG_CLOCK_MS: i64 = 2000;
/// A per-user limit that lets this many users buy everything is probably a mistake.
const FEW_USERS: i64 = 3;

/// Evaluates what was entered about the sale.
pub(super) fn evaluate_sale(sale: &Sale, goods: Option<&Goods>, now: Timestamp) -> Vec<ChecklistItem> {
    let text = match goods {
        None => Finding::GoodsGone,
        Some(goods) => {
            let texts = [&goods.name.zh, &goods.name.en, &goods.description.zh, &goods.description.en];
            let missing = texts.into_iter().any(|text| text.trim().is_empty());
            if missing { Finding::TextMissing } else { Finding::TextGiven }
        }
    };
    let pictured = goods.is_some_and(|goods| !goods.pictures.is_empty());
    let picture = if pictured { Finding::PictureGiven } else { Finding::PictureMissing };
    let price = match sale.list_price {
        _ if sale.price.amount == 0 => Finding::PriceZero,
        None => Finding::PriceAlone,
        Some(list) if sale.price.amount >= list.amount => Finding::PriceNotLower,
        Some(_) => Finding::PriceGood,
    };
    let wide = sale.total > FEW_USERS && sale.per_user_limit.saturating_mul(FEW_USERS) >= sale.total;
    let limits = if wide { Finding::LimitsWide } else { Finding::LimitsGood };
    vec![text.into(), picture.into(), price.into(), limits.into(), spread(sale), window(sale, now).into()]
}

/// Whether scripts gain from being fast, and up to how many accounts the spread prevents that.
fn spread(sale: &Sale) -> ChecklistItem {
    let width_ms = sale.rush.spread_ms;
    if !sale.rush.enforces_spread() {
        return Finding::SpreadOff.into();
    }
    let finding = if width_ms > LONG_SPREAD_MS { Finding::SpreadLong } else { Finding::SpreadFair };
    finding.with(fair_accounts(width_ms, sale.total))
}

fn window(sale: &Sale, now: Timestamp) -> Finding {
    match (sale.window.opens_at, sale.window.closes_at) {
        (_, Some(closes)) if closes <= now => Finding::WindowPast,
        _ if !sale.state.is_planned() => Finding::WindowBegun,
        (Some(opens), _) if opens <= now => Finding::WindowPast,
        _ if sale.state == SaleState::Draft => Finding::WindowDraft,
        (None, _) => Finding::WindowByHand,
        (Some(_), None) => Finding::WindowEndless,
        (Some(_), Some(_)) => Finding::WindowGood,
    }
}

/// Evaluates the services and processes that the sale depends on.
pub(super) fn evaluate_environment(sale: &Sale, environment: &Environment) -> Vec<ChecklistItem> {
    let page = match environment.page {
        _ if sale.state == SaleState::Draft => Finding::PageDraft,
        true => Finding::PageCurrent,
        false => Finding::PageOld,
    };
    let mut checks = vec![page.into()];
    checks.push(match &environment.redis {
        None => Finding::StockNotNeeded.into(),
        Some(reading) => stock(sale, reading).into(),
    });
    if let Some(reading) = &environment.redis {
        checks.push(replica(reading));
        checks.push(clock(reading));
    }
    checks.push(match environment.unavailable.as_slice() {
        [] => Finding::ServicesWell.into(),
        names => Finding::ServicesAway.with(names.join(", ")),
    });
    if let Some(entries) = environment.outbox {
        let finding = if entries < MIN_BUSY_OUTBOX { Finding::OutboxQuiet } else { Finding::OutboxBusy };
        checks.push(finding.with(entries));
    }
    checks.push(if environment.control { Finding::ControlWorks } else { Finding::ControlMissing }.into());
    match environment.consumers {
        None => {}
        Some(Some(count)) if count > 0 => checks.push(Finding::ConsumerPresent.with(count)),
        Some(_) => checks.push(Finding::ConsumerMissing.into()),
    }
    checks
}

fn stock(sale: &Sale, reading: &ProbeReport) -> Finding {
    match reading.master {
        None => Finding::StockUnknown,
        Some(None) => Finding::StockNotLoaded,
        Some(Some(loaded)) if loaded.version < sale.version => Finding::StockBehind,
        Some(Some(_)) => Finding::StockLoaded,
    }
}

/// Compares replicas with the master, as both may lag behind the database for a moment.
fn replica(reading: &ProbeReport) -> ChecklistItem {
    let master = reading.master.flatten().map(|loaded| loaded.version);
    let behind = reading.replicas.iter().filter(|replica| **replica != Some(master)).count();
    match (reading.replicas.len(), behind) {
        (0, _) => Finding::ReplicaNone.into(),
        (all, 0) => Finding::ReplicaInStep.with(all),
        (_, behind) => Finding::ReplicaBehind.with(behind),
    }
}

fn clock(reading: &ProbeReport) -> ChecklistItem {
    match reading.clock_ahead_ms {
        Some(ahead) if ahead.abs() >= MIN_WRONG_CLOCK_MS => Finding::ClockWrong.with(ahead),
        Some(ahead) if ahead.abs() >= MIN_ODD_CLOCK_MS => Finding::ClockOdd.with(ahead),
        Some(ahead) => Finding::ClockTrue.with(ahead),
        None => Finding::ClockOdd.with("?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::CheckState;
    use domain::{Bilingual, Currency, GoodsId, Money, Rush, SaleId, SaleMode, Window};
    use engine::redis::generation::{Generation, LoadedGeneration, ServerId};
    use engine::stock::load::StockCounters;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn sale() -> Sale {
        Sale {
            id: SaleId(7),
            goods_id: GoodsId(1),
            price: Money::new(5, Currency::CNY),
            list_price: Some(Money::new(9, Currency::CNY)),
            total: 100,
            sold: 0,
            granted: 0,
            per_user_limit: 1,
            window: Window { opens_at: Some(at(100)), closes_at: Some(at(200)) },
            rush: Rush::default(),
            mode: SaleMode::Rush,
            state: SaleState::Scheduled,
            version: 3,
            epoch: 1,
            shadow: false,
            eligibility: Default::default(),
            spread_seed: None,
        }
    }

    fn goods() -> Goods {
        let text = Bilingual::new("手机", "Phone");
        Goods {
            id: GoodsId(1),
            name: text.clone(),
            description: text,
            category_id: None,
            variant_of: None,
            variant: Bilingual::new("", ""),
            pictures: vec![domain::Picture::drawing("phone.svg")],
            updated_at: at(0),
            archived_at: None,
        }
    }

    fn counters(version: i64) -> StockCounters {
        let server = ServerId::parse(&"0".repeat(40)).unwrap();
        let generation = LoadedGeneration { present: Generation { epoch: 1, server }, open: true };
        StockCounters { generation, version, state: SaleState::Scheduled, booked: 0, share: 100, outbox: 0 }
    }

    fn reading(version: i64, replica: i64, ahead: i64) -> ProbeReport {
        ProbeReport {
            master: Some(Some(counters(version))),
            replicas: vec![Some(Some(replica))],
            clock_ahead_ms: Some(ahead),
        }
    }

    fn problems(checks: &[ChecklistItem]) -> Vec<&'static str> {
        checks.iter().filter(|c| c.state != CheckState::Ok).map(|c| c.finding.as_str()).collect()
    }

    #[test]
    fn mistakes_in_a_sale_are_found() {
        assert_eq!(problems(&evaluate_sale(&sale(), Some(&goods()), at(50))), [""; 0]);
        let mut incomplete = goods();
        incomplete.pictures.clear();
        incomplete.description.en = " ".into();
        let mispriced = Sale { price: Money::new(9, Currency::CNY), per_user_limit: 50, ..sale() };
        assert_eq!(
            problems(&evaluate_sale(&mispriced, Some(&incomplete), at(150))),
            ["text_missing", "picture_missing", "price_not_lower", "limits_wide", "window_past"]
        );
        assert_eq!(problems(&evaluate_sale(&sale(), None, at(50)))[0], "goods_gone");
    }

    #[test]
    fn spread_says_for_how_many_accounts_it_is_long_enough() {
        let found = |spread_ms: i64| {
            let item = super::spread(&Sale { rush: Rush { spread_ms, ..Rush::default() }, ..sale() });
            (item.finding.as_str(), item.value)
        };
        assert_eq!(found(600), ("spread_off", None));
        assert_eq!(found(60_000), ("spread_fair", Some("2000".into())));
        assert_eq!(found(600_000), ("spread_long", Some("20000".into())));
    }

    #[test]
    fn window_is_evaluated_by_state_and_time() {
        let finding = |opens: Option<i64>, closes: Option<i64>, state| {
            let window = Window { opens_at: opens.map(at), closes_at: closes.map(at) };
            super::window(&Sale { window, state, ..sale() }, at(50)).as_str()
        };
        assert_eq!(finding(Some(100), Some(200), SaleState::Scheduled), "window_good");
        assert_eq!(finding(Some(100), None, SaleState::Scheduled), "window_endless");
        assert_eq!(finding(None, None, SaleState::Scheduled), "window_by_hand");
        assert_eq!(finding(Some(100), None, SaleState::Draft), "window_draft");
        assert_eq!(finding(Some(50), None, SaleState::Draft), "window_past");
        assert_eq!(finding(Some(10), Some(90), SaleState::Live), "window_begun");
        assert_eq!(finding(Some(10), Some(50), SaleState::Live), "window_past");
    }

    #[test]
    fn problems_of_the_environment_are_found() {
        let healthy = Environment {
            page: true,
            redis: Some(reading(3, 3, 4)),
            control: true,
            outbox: Some(3),
            consumers: Some(Some(2)),
            ..Environment::default()
        };
        assert_eq!(problems(&evaluate_environment(&sale(), &healthy)), [""; 0]);
        let broken = Environment {
            redis: Some(reading(2, 1, -600)),
            unavailable: vec!["rabbitmq"],
            outbox: Some(5000),
            consumers: Some(None),
            ..Environment::default()
        };
        assert_eq!(
            problems(&evaluate_environment(&sale(), &broken)),
            [
                "page_old",
                "stock_behind",
                "replica_behind",
                "clock_odd",
                "services_away",
                "outbox_busy",
                "control_missing",
                "consumer_missing"
            ]
        );
        let lost = ProbeReport { master: Some(None), replicas: vec![None], clock_ahead_ms: None };
        let checks = evaluate_environment(&sale(), &Environment { redis: Some(lost), ..Environment::default() });
        assert!(problems(&checks).contains(&"stock_not_loaded"));
        let unreachable = Environment { redis: Some(ProbeReport::default()), ..Environment::default() };
        assert!(problems(&evaluate_environment(&sale(), &unreachable)).contains(&"stock_unknown"));
        let without_services =
            evaluate_environment(&sale(), &Environment { page: true, control: true, ..Environment::default() });
        assert_eq!(problems(&without_services), [""; 0], "the lowest rung needs neither Redis nor RabbitMQ");
        assert_eq!(without_services.len(), 4);
    }
}
