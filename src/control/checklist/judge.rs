//! From evidence to findings.

use jiff::Timestamp;

use super::{Check, Finding, Surroundings};
use crate::domain::{Goods, Sale, SaleState};
use crate::stock::probe::Reading;

/// Entries of the outbox below which orders are simply on their way.
const OUTBOX_BUSY: i64 = 1000;
/// Clocks that differ more open the sale at an odd moment, in milliseconds.
const CLOCK_ODD_MS: i64 = 500;
const CLOCK_WRONG_MS: i64 = 2000;
/// A sale that so many users could empty is hardly one for a crowd.
const FEW_USERS: i64 = 3;

/// Judges what was entered.
pub(super) fn entered(sale: &Sale, goods: Option<&Goods>, now: Timestamp) -> Vec<Check> {
    let given = |text: &str| !text.trim().is_empty();
    let text = match goods {
        None => Finding::GoodsGone,
        Some(goods) => {
            let texts = [&goods.name.zh, &goods.name.en, &goods.description.zh, &goods.description.en];
            if texts.into_iter().all(|text| given(text)) { Finding::TextGiven } else { Finding::TextMissing }
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
    vec![text.into(), picture.into(), price.into(), limits.into(), window(sale, now).into()]
}

fn window(sale: &Sale, now: Timestamp) -> Finding {
    let passed = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    match (sale.window.opens_at, sale.window.closes_at) {
        (_, closes) if passed(closes) => Finding::WindowPast,
        _ if !sale.state.is_planned() => Finding::WindowBegun,
        (opens, _) if passed(opens) => Finding::WindowPast,
        _ if sale.state == SaleState::Draft => Finding::WindowDraft,
        (None, _) => Finding::WindowByHand,
        (Some(_), None) => Finding::WindowEndless,
        (Some(_), Some(_)) => Finding::WindowGood,
    }
}

/// Judges what carries the sale.
pub(super) fn carried(sale: &Sale, around: &Surroundings) -> Vec<Check> {
    let page = match around.page {
        _ if sale.state == SaleState::Draft => Finding::PageDraft,
        true => Finding::PageCurrent,
        false => Finding::PageOld,
    };
    let mut checks = vec![page.into()];
    checks.push(match &around.redis {
        None => Finding::StockNotNeeded.into(),
        Some(reading) => stock(sale, reading).into(),
    });
    if let Some(reading) = &around.redis {
        checks.push(replica(reading));
        checks.push(clock(reading));
    }
    checks.push(match around.unwell.as_slice() {
        [] => Finding::ServicesWell.into(),
        names => Finding::ServicesAway.with(names.join(", ")),
    });
    if let Some(entries) = around.outbox {
        let finding = if entries < OUTBOX_BUSY { Finding::OutboxQuiet } else { Finding::OutboxBusy };
        checks.push(finding.with(entries));
    }
    checks.push(if around.control { Finding::ControlWorks } else { Finding::ControlMissing }.into());
    match around.consumers {
        None => {}
        Some(Some(count)) if count > 0 => checks.push(Finding::ConsumerPresent.with(count)),
        Some(_) => checks.push(Finding::ConsumerMissing.into()),
    }
    checks
}

fn stock(sale: &Sale, reading: &Reading) -> Finding {
    match reading.master {
        None => Finding::StockUnknown,
        Some(None) => Finding::StockNotLoaded,
        Some(Some(loaded)) if loaded.version < sale.version => Finding::StockBehind,
        Some(Some(_)) => Finding::StockLoaded,
    }
}

/// Replicas against the master, since both may be behind the database for a moment.
fn replica(reading: &Reading) -> Check {
    let master = reading.master.flatten().map(|loaded| loaded.version);
    let behind = reading.replicas.iter().filter(|replica| **replica != Some(master)).count();
    match (reading.replicas.len(), behind) {
        (0, _) => Finding::ReplicaNone.into(),
        (all, 0) => Finding::ReplicaInStep.with(all),
        (_, behind) => Finding::ReplicaBehind.with(behind),
    }
}

fn clock(reading: &Reading) -> Check {
    match reading.clock_ahead_ms {
        Some(ahead) if ahead.abs() >= CLOCK_WRONG_MS => Finding::ClockWrong.with(ahead),
        Some(ahead) if ahead.abs() >= CLOCK_ODD_MS => Finding::ClockOdd.with(ahead),
        Some(ahead) => Finding::ClockTrue.with(ahead),
        None => Finding::ClockOdd.with("?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::checklist::CheckState;
    use crate::domain::{Bilingual, Currency, GoodsId, Money, SaleId, Window};
    use crate::stock::load::Loaded;

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
            rush: crate::domain::Rush::default(),
            state: SaleState::Scheduled,
            version: 3,
            epoch: 1,
            shadow: false,
        }
    }

    fn goods() -> Goods {
        let text = Bilingual::new("手机", "Phone");
        Goods {
            id: GoodsId(1),
            name: text.clone(),
            description: text,
            pictures: vec![crate::domain::Picture::drawing("phone.svg")],
            updated_at: at(0),
            archived_at: None,
        }
    }

    fn reading(version: i64, replica: i64, ahead: i64) -> Reading {
        Reading {
            master: Some(Some(Loaded { epoch: 1, version, booked: 0, share: 100, outbox: 0 })),
            replicas: vec![Some(Some(replica))],
            clock_ahead_ms: Some(ahead),
        }
    }

    fn bad(checks: &[Check]) -> Vec<&'static str> {
        checks.iter().filter(|c| c.state != CheckState::Ok).map(|c| c.finding.as_str()).collect()
    }

    #[test]
    fn what_was_entered_is_judged() {
        assert_eq!(bad(&entered(&sale(), Some(&goods()), at(50))), [""; 0]);
        let mut poor = goods();
        poor.pictures.clear();
        poor.description.en = " ".into();
        let dear = Sale { price: Money::new(9, Currency::CNY), per_user_limit: 50, ..sale() };
        assert_eq!(
            bad(&entered(&dear, Some(&poor), at(150))),
            ["text_missing", "picture_missing", "price_not_lower", "limits_wide", "window_past"]
        );
        assert_eq!(bad(&entered(&sale(), None, at(50)))[0], "goods_gone");
    }

    #[test]
    fn windows_are_judged_by_state_and_time() {
        let judged = |opens: Option<i64>, closes: Option<i64>, state| {
            let window = Window { opens_at: opens.map(at), closes_at: closes.map(at) };
            super::window(&Sale { window, state, ..sale() }, at(50)).as_str()
        };
        assert_eq!(judged(Some(100), Some(200), SaleState::Scheduled), "window_good");
        assert_eq!(judged(Some(100), None, SaleState::Scheduled), "window_endless");
        assert_eq!(judged(None, None, SaleState::Scheduled), "window_by_hand");
        assert_eq!(judged(Some(100), None, SaleState::Draft), "window_draft");
        assert_eq!(judged(Some(50), None, SaleState::Draft), "window_past");
        assert_eq!(judged(Some(10), Some(90), SaleState::Live), "window_begun");
        assert_eq!(judged(Some(10), Some(50), SaleState::Live), "window_past");
    }

    #[test]
    fn what_carries_the_sale_is_judged() {
        let well = Surroundings {
            page: true,
            redis: Some(reading(3, 3, 4)),
            control: true,
            outbox: Some(3),
            consumers: Some(Some(2)),
            ..Surroundings::default()
        };
        assert_eq!(bad(&carried(&sale(), &well)), [""; 0]);
        let ill = Surroundings {
            redis: Some(reading(2, 1, -600)),
            unwell: vec!["rabbitmq"],
            outbox: Some(5000),
            consumers: Some(None),
            ..Surroundings::default()
        };
        assert_eq!(
            bad(&carried(&sale(), &ill)),
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
        let lost = Reading { master: Some(None), replicas: vec![None], clock_ahead_ms: None };
        let checks = carried(&sale(), &Surroundings { redis: Some(lost), ..Surroundings::default() });
        assert!(bad(&checks).contains(&"stock_not_loaded"));
        let away = Surroundings { redis: Some(Reading::default()), ..Surroundings::default() };
        assert!(bad(&carried(&sale(), &away)).contains(&"stock_unknown"));
        let small = carried(&sale(), &Surroundings { page: true, control: true, ..Surroundings::default() });
        assert_eq!(bad(&small), [""; 0], "the lowest rung needs neither Redis nor RabbitMQ");
        assert_eq!(small.len(), 4);
    }
}
