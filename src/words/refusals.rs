//! Words of refusals, one row each: for the shopper who is refused, and for the cockpit, which counts them.

use crate::problems::{Problem, problem};
use domain::{Ineligible, Locale, Refusal};

/// In each language title and text for the shopper, and a few words for the cockpit.
const fn row(refusal: Refusal, zh: [&'static str; 3], en: [&'static str; 3]) -> (Problem, [&'static str; 2]) {
    (Problem::new(refusal.as_str(), [zh[0], zh[1]], [en[0], en[1]]), [zh[2], en[2]])
}

/// In the order of the lines in the cockpit's plot, whose first six differ in color. New rows go to the end.
#[rustfmt::skip]
pub(crate) static REFUSALS: [(Problem, [&str; 2]); Refusal::ALL.len()] = [
    row(Refusal::SoldOut, ["已售罄", "商品已抢光。退回的商品先给候补的人，可到商品页加入候补。", "售罄"],
        ["Sold out", "Everything is taken. Items that come back go to the waitlist first: you can join it on the page of the sale.", "sold out"]),
    row(Refusal::Busy, ["抢购火爆", "排队人数较多，可能还有库存，请再试一次。", "排队已满"],
        ["High demand", "Many people are ahead of you. There may still be stock, so please try again.", "busy"]),
    row(Refusal::NotOpen, ["尚未开始", "秒杀还没开始，请留意开抢时间。", "未开始"],
        ["Not open yet", "The sale hasn’t started. Please check the start time.", "not open"]),
    row(Refusal::RateLimited, ["操作太频繁", "请稍等几秒再试。", "请求过于频繁"],
        ["Too many requests", "Please wait a few seconds and try again.", "rate limited"]),
    row(Refusal::BadToken, ["请重新抢购", "抢购凭证已过期，请再点一次按钮。", "凭证无效"],
        ["Please try again", "Your turn has expired. Please press the button again.", "invalid token"]),
    row(Refusal::OverLimit, ["超过限购", "购买数量超过每人限购数。", "超过限购"],
        ["Over the limit", "That’s more than the limit per person.", "over the limit"]),
    row(Refusal::Ended, ["已结束", "本场秒杀已结束。", "已结束"],
        ["Sale ended", "This sale has ended.", "ended"]),
    row(Refusal::Overloaded, ["系统繁忙", "当前访问人数过多，请稍后再试。", "系统繁忙"],
        ["The shop is busy", "We can’t keep up right now. Please try again shortly.", "overloaded"]),
    row(Refusal::BadQuantity, ["数量无效", "请选择有效的购买数量。", "数量无效"],
        ["Invalid quantity", "Please choose a valid quantity.", "invalid quantity"]),
    row(Refusal::NoSuchSale, ["活动不存在", "该秒杀不存在或已下架。", "场次不存在"],
        ["No such sale", "This sale doesn’t exist or has been taken down.", "no such sale"]),
    row(Refusal::TooEarly, ["还没轮到你", "开抢后每个账号各有一个随机时刻，抢得快不占便宜。到你的时刻再点即可。", "未到个人时刻"],
        ["Not your moment yet", "After the start each account has a random moment of its own, so speed wins nothing. Press again at yours.", "before their moment"]),
    row(Refusal::ByDraw, ["本场为抽签", "本场不抢购：开放期间报名，结束后抽签决定谁能购买。", "抽签场次"],
        ["This sale is a draw", "There is nothing to rush for: enter while it is open, and a draw decides who may buy.", "a draw"]),
    row(Refusal::NotCalled, ["还没轮到你", "本场按随机顺序排队叫号，叫到你时才能购买。", "未叫到号"],
        ["Not your turn", "This sale has a waiting room with a random order. You can buy once you are called.", "not their turn"]),
];

/// The problems that can answer a purchase, for the script of a sale's page.
pub fn refusals() -> impl Iterator<Item = &'static Problem> {
    // `paused` is the script's own: the shop answers `not_open`.
    let others = Ineligible::ALL.into_iter().map(Ineligible::as_str).chain(["paused", "cross_site", "internal"]);
    REFUSALS.iter().map(|(problem, _)| problem).chain(others.map(problem))
}

/// Code and name of each refusal, for the cockpit, in the order of its plot.
pub fn refusal_reasons(locale: Locale) -> impl Iterator<Item = (&'static str, &'static str)> {
    REFUSALS.iter().map(move |(problem, [zh, en])| (problem.code, if locale == Locale::Zh { *zh } else { *en }))
}
