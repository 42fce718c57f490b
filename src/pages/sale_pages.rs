//! The lists of sales and the page of one sale: the same bytes for all visitors.
//!
//! Any cache may keep them without limit, so nothing here may depend on the visitor, the remaining units or the clock,
//! except that times of the year in which a page is made lack their year.
//! The input is a sale's definition and state, whether it is nearly or completely sold (for the order of the list), and
//! the answered questions about its goods. Pages are rendered again when these change, and the script corrects what an
//! old copy shows.

use std::sync::Arc;

use askama::Template;
use jiff::Timestamp;
use serde_json::json;

use crate::filters::{self, breadcrumb_data, discount_label};
use crate::list_page::render_lists;
use crate::markdown::to_plain;
use crate::onward::{OnwardSale, onward};
use crate::onward::{VariantSale, variants};
use crate::{Chrome, assets, calendar};
use domain::ledger::CURRENCY;
use domain::question::{AnswersByGoods, MAX_QUESTION_CHARS, MIN_QUESTION_CHARS, OPEN_ANSWERS, ShownAnswer};
use domain::staff::ShopPageName;
use domain::{
    Category, DrawStage, EligibilityRule, Goods, Locale, ModeName, Money, Refusal, RefusalClass, Sale, SaleMode,
    SaleState, ShippingRate, ShippingTable, ShopSettings, category_of,
};
use words::{country, fill, refusals};

/// Highest choice of the quantity field. The API accepts up to the sale's limit.
const MAX_QUANTITY_CHOICE: i64 = 10;

/// Names of the calendar files below a sale's page: its start, and the result of its draw.
pub const CALENDARS: [&str; 2] = ["reminder.ics", "result.ics"];

/// The shop whose pages are made, and what they all show of it.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The public address.
    pub origin: &'a str,
    pub shop: &'a Arc<ShopSettings>,
    /// When the pages are made; only the year counts.
    pub made_at: Timestamp,
    pub categories: &'a [Category],
    pub answers: &'a AnswersByGoods,
    pub shipping: &'a ShippingTable,
}

/// All pages and calendar files of one language with their addresses. `sales` must not contain drafts. A rehearsal has a
/// page, but is not on the list and has no calendar file.
pub fn render_all(locale: Locale, site: Site<'_>, sales: &[&(Sale, Goods)]) -> askama::Result<Vec<(String, String)>> {
    let mut pages = Vec::with_capacity(2 * sales.len() + site.categories.len() + 1);
    let listed: Vec<_> = sales.iter().copied().filter(|(sale, _)| !sale.shadow).collect();
    pages.extend(render_lists(locale, site, &listed)?);
    for (sale, goods) in sales {
        let path = sale_path(locale, sale);
        let calendars =
            [calendar::start(locale, site.origin, sale, goods), calendar::result(locale, site.origin, sale, goods)];
        for (name, file) in CALENDARS.into_iter().zip(calendars).filter(|_| !sale.shadow) {
            pages.extend(file.map(|file| (format!("{path}/{name}"), file)));
        }
        let all = || listed.iter().map(|(sale, goods)| (sale, goods));
        pages.push((path, render_sale(locale, site, (sale, goods), all)?));
    }
    Ok(pages)
}

/// The page of one sale in one language, with the answers and what shipping costs. The page
/// links to the variants and to other sales of `all`.
pub fn render_sale<'a, A: Iterator<Item = (&'a Sale, &'a Goods)>>(
    locale: Locale,
    site: Site<'_>,
    (sale, goods): (&'a Sale, &'a Goods),
    all: impl Fn() -> A,
) -> askama::Result<String> {
    let (variants, onward) = links(locale, (sale, goods), all);
    let category = category_of(site.categories, goods.category_id);
    let answers = site.answers.get(&goods.id).map_or(&[][..], |answers| answers.of(locale));
    let chrome = Chrome::anonymous(site.shop, site.made_at, locale, sale_path(locale, sale));
    // Rehearsals are sent nowhere.
    let rates = site.shipping.rates_in(sale.price.currency).filter(|_| !sale.shadow).collect();
    SalePage { chrome, origin: site.origin, sale, goods, category, answers, rates, variants, onward }.render()
}

/// What the page of a sale links to: the variants of its goods, then sales of the same goods or of other products.
fn links<'a, A: Iterator<Item = (&'a Sale, &'a Goods)>>(
    locale: Locale,
    (sale, goods): (&'a Sale, &'a Goods),
    all: impl Fn() -> A,
) -> (Vec<VariantSale>, Vec<OnwardSale>) {
    let is_other_variant = |other: &Goods| other.product() == goods.product() && other.id != goods.id;
    let others = all().filter(|(_, other)| !is_other_variant(other));
    (variants(locale, (sale, goods), all()), onward(locale, (sale, goods), others))
}

/// The choices of a quantity field.
pub fn quantities(sale: &Sale) -> std::ops::RangeInclusive<i64> {
    1..=sale.per_user_limit.clamp(1, MAX_QUANTITY_CHOICE)
}

fn sale_path(locale: Locale, sale: &Sale) -> String {
    format!("/{locale}/sales/{}", sale.id)
}

#[derive(Template)]
#[template(path = "pages/sale.html")]
struct SalePage<'a> {
    chrome: Chrome,
    origin: &'a str,
    sale: &'a Sale,
    goods: &'a Goods,
    /// The category of the goods.
    category: Option<&'a Category>,
    answers: &'a [ShownAnswer],
    /// What shipping costs; empty if nothing.
    rates: Vec<&'a ShippingRate>,
    variants: Vec<VariantSale>,
    onward: Vec<OnwardSale>,
}

impl SalePage<'_> {
    fn quantities(&self) -> std::ops::RangeInclusive<i64> {
        quantities(self.sale)
    }

    /// What the shipping of one unit costs, in a few words.
    fn shipping(&self) -> String {
        let t = &self.chrome.text().shipping;
        let costs = || self.rates.iter().map(|rate| rate.cost_of(self.sale.price));
        let lowest = costs().min_by_key(|cost| cost.amount).unwrap_or(self.sale.price);
        match costs().all(|cost| cost == lowest) {
            true if lowest.amount == 0 => t.free.to_owned(),
            true => fill(t.cost, lowest),
            false => fill(t.from, lowest),
        }
    }

    /// When the shop promises to send an order.
    fn ships_within(&self) -> Option<String> {
        let t = &self.chrome.text().shipping;
        match self.chrome.shop.ships_within_days {
            _ if self.sale.shadow => None,
            0 => None,
            1 => Some(t.within_one.to_owned()),
            days => Some(fill(t.within, days)),
        }
    }

    /// The place of a rate.
    fn place(&self, rate: &ShippingRate) -> String {
        let name = match rate.country.as_str() {
            "" => self.chrome.text().shipping.elsewhere,
            code => country(self.chrome.locale, code),
        };
        std::iter::once(name).chain(rate.regions.iter().map(String::as_str)).collect::<Vec<_>>().join(" · ")
    }

    /// Whether another sale of the same goods is open or to come.
    fn comes_again(&self) -> bool {
        self.onward.first().is_some_and(OnwardSale::is_again)
    }

    /// Where an ended sale leads: the next sale of the same goods, otherwise the list of sales.
    fn next_path(&self) -> String {
        let locale = self.chrome.locale;
        match self.onward.first() {
            Some(next) if next.is_again() => format!("/{locale}/sales/{}", next.sale),
            _ => format!("/{locale}/"),
        }
    }

    /// The words for the closing time.
    fn closing(&self) -> &'static str {
        let t = self.chrome.text();
        match (self.sale.mode.is_draw(), self.is_over()) {
            (true, true) => t.script.draw_ended,
            (true, false) => t.draws.closes,
            (false, true) => t.script.phase_ended,
            (false, false) => t.shop.closes,
        }
    }

    fn is_over(&self) -> bool {
        self.sale.state == SaleState::Ended
    }

    /// Whether the sale has a start to wait for.
    fn is_awaited(&self) -> bool {
        self.sale.state == SaleState::Scheduled && self.sale.window.opens_at.is_some()
    }

    /// One line on how buyers are chosen.
    fn how_buyers_are_chosen(&self) -> &'static str {
        let t = &self.chrome.text().draws;
        match self.sale.mode {
            SaleMode::Draw(_) => t.how_draw,
            SaleMode::WaitingRoom(_) => self.chrome.text().waiting_room.how,
            SaleMode::Rush if self.sale.spread().is_some() => t.how_spread,
            SaleMode::Rush => t.how_rush,
        }
    }

    /// The moment in the text of this rule, if it has one.
    fn moment(&self, rule: &EligibilityRule) -> Option<Timestamp> {
        self.sale.eligibility.accounts_before.filter(|_| *rule == EligibilityRule::AccountsBefore)
    }

    /// The amount in the text of this rule, if it has one.
    fn deposit(&self, rule: &EligibilityRule) -> Option<Money> {
        self.sale.eligibility.deposit.filter(|_| *rule == EligibilityRule::Deposit)
    }

    /// The width of the spread, rounded up.
    fn spread_seconds(&self) -> i64 {
        (self.sale.rush.spread_ms + 999) / 1000
    }

    /// Whether there is a calendar file.
    fn has_reminder(&self) -> bool {
        self.is_awaited() && !self.sale.shadow
    }

    /// How long before the opening the sale starts for shoppers, in milliseconds.
    fn ahead_ms(&self) -> i64 {
        let times = self.sale.window.opens_at.zip(self.sale.starts_at());
        times.map_or(0, |(opens, starts)| opens.as_millisecond() - starts.as_millisecond())
    }

    /// The text of a reminder that arrives after the start.
    fn begun(&self) -> &'static str {
        let t = &self.chrome.text().script;
        match self.sale.mode.name() {
            ModeName::Rush => t.now_open,
            ModeName::Draw => t.draw_open,
            ModeName::WaitingRoom => t.phase_joining,
        }
    }

    /// Whether the sale can be paid from a wallet.
    fn is_in_wallet_currency(&self) -> bool {
        self.sale.price.currency == CURRENCY
    }

    /// The phase that the state implies, until the script knows the current one.
    fn phase(&self) -> &'static str {
        match self.sale.state {
            SaleState::Draft | SaleState::Scheduled => "upcoming",
            SaleState::Live => "open",
            SaleState::Paused => "paused",
            SaleState::Ended => "ended",
        }
    }

    /// When the result of a draw is known.
    fn result_at(&self) -> Option<Timestamp> {
        Some(self.sale.mode.draw_plan()?.result_at(self.sale.window.closes_at?))
    }

    /// The stage of a draw that the state implies, until the script knows the current one, and when the clock ends it.
    fn draw_stage(&self) -> (DrawStage, Option<Timestamp>) {
        match self.sale.state {
            SaleState::Draft | SaleState::Scheduled => (DrawStage::Announced, self.sale.window.opens_at),
            SaleState::Live => (DrawStage::Entries, self.sale.window.closes_at),
            SaleState::Paused => (DrawStage::Paused, None),
            SaleState::Ended => (DrawStage::Review, None),
        }
    }

    /// The heading of the clock, until the script replaces it.
    fn heading(&self) -> &'static str {
        let text = self.chrome.text();
        match self.sale.state {
            SaleState::Draft | SaleState::Scheduled => text.shop.opens,
            SaleState::Live if self.sale.mode.is_draw() => text.draws.open,
            SaleState::Live if self.sale.mode.is_waiting_room() => text.waiting_room.calling,
            SaleState::Live => text.shop.list_live,
            SaleState::Paused => text.script.phase_paused,
            SaleState::Ended if self.sale.mode.is_draw() => text.draws.ended,
            SaleState::Ended => text.script.phase_ended,
        }
    }

    fn url(&self) -> String {
        format!("{}{}", self.origin, self.chrome.path)
    }

    /// The page in each offered language: its tag and its address.
    fn languages(&self) -> impl Iterator<Item = (&'static str, String)> {
        let address = |locale| format!("{}{}", self.origin, sale_path(locale, self.sale));
        self.chrome.shop.languages.offered().map(move |locale| (locale.html_lang(), address(locale)))
    }

    /// The address of the cover for previews of links. `None` for pictures of unknown size.
    fn shared_picture(&self) -> Option<String> {
        let cover = self.goods.cover().filter(|cover| cover.has_copies())?;
        Some(format!("{}{}", self.origin, assets::picture(&cover.shared())))
    }

    /// The picture in previews of links, and whether it shows the goods. Pictures of goods are shown large.
    fn preview_picture(&self) -> (String, bool) {
        match self.shared_picture() {
            Some(picture) => (picture, true),
            None => (format!("{}{}", self.origin, self.chrome.icon("icon-512.png")), false),
        }
    }

    /// Price and start in one line.
    fn summary(&self) -> String {
        let t = self.chrome.text();
        let price = format!("{} {}", t.shop.sale_price, self.sale.price);
        match self.sale.window.opens_at.filter(|_| self.sale.state == SaleState::Scheduled) {
            Some(at) => format!("{price} · {} {}", t.shop.opens, self.chrome.when(&at)),
            None => price,
        }
    }

    /// The product and its offer for search engines (schema.org), as JSON in which no markup can begin. The remaining
    /// units are not known here, so an open sale says that they are limited.
    fn structured_data(&self) -> String {
        let Sale { price, window, .. } = self.sale;
        let availability = match self.sale.state {
            SaleState::Draft | SaleState::Scheduled => "PreOrder",
            SaleState::Live => "LimitedAvailability",
            SaleState::Paused | SaleState::Ended => "OutOfStock",
        };
        let mut offer = json!({
            "@type": "Offer",
            "url": self.url(),
            "price": price.decimal(),
            "priceCurrency": price.currency,
            "availability": format!("https://schema.org/{availability}"),
            "seller": {"@type": "Organization", "name": self.chrome.shop_name()},
        });
        for (key, at) in [("availabilityStarts", window.opens_at), ("availabilityEnds", window.closes_at)] {
            if let Some(at) = at {
                offer[key] = json!(at);
            }
        }
        let mut product = json!({
            "@context": "https://schema.org",
            "@type": "Product",
            "name": self.chrome.say(&self.goods.name),
            "description": to_plain(self.chrome.say(&self.goods.description)),
            "offers": offer,
        });
        if self.goods.variant_of.is_some() || !self.variants.is_empty() {
            product["inProductGroupWithID"] = json!(self.goods.product());
        }
        if let Some(category) = self.category {
            product["category"] = json!(self.chrome.say(&category.name));
        }
        if let Some(picture) = self.shared_picture() {
            product["image"] = json!(picture);
        }
        product.to_string().replace('<', "\\u003c")
    }

    /// The breadcrumb over the category to the goods, for search engines.
    fn breadcrumb_data(&self, category: &Category) -> String {
        breadcrumb_data(self.origin, &self.chrome, category, self.goods)
    }

    /// What to do now, until the script replaces it.
    fn hint(&self) -> &'static str {
        let text = self.chrome.text();
        match self.sale.state {
            SaleState::Draft | SaleState::Scheduled => text.shop.before_script,
            SaleState::Live => text.shop.open_before_script,
            SaleState::Paused => text.shop.paused_before_script,
            SaleState::Ended => text.script.hint_ended,
        }
    }

    /// Code, class and text of each problem that can answer a purchase, for the script.
    fn refusals(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        refusals().map(|problem| {
            let class = problem.code.parse().map_or(RefusalClass::Final, Refusal::class);
            (problem.code, class.as_str(), problem.text(self.chrome.locale))
        })
    }
}

#[cfg(test)]
pub mod tests;

// The part of a sale's page about questions.

impl SalePage<'_> {
    /// The answers that are shown at once, and the answers that are folded away.
    fn split_answers(&self) -> (&[ShownAnswer], &[ShownAnswer]) {
        self.answers.split_at(self.answers.len().min(OPEN_ANSWERS))
    }
}
