//! What the shop takes for shipping: a table of rates by currency, country and region.
//!
//! Only rates in the order's currency are used. The rate of the address's region wins over the rate of its country, and
//! both win over the rate for everywhere else, which each currency must have.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::{COUNTRIES, is_cjk, normalized};
use crate::{Address, Currency, Money};

/// The highest cost in minor units, so that an order's amount stays far from overflowing.
const MAX_COST: i64 = 1_000_000_000;
const MAX_RATES: usize = 100;
const MAX_REGIONS: usize = 50;
const MAX_REGION_CHARS: usize = 60;

/// What shipping costs to a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShippingRate {
    /// Two letters of ISO 3166. Empty: every country without a rate of its own.
    #[serde(default)]
    pub country: String,
    /// Provinces or states of the country, in each spelling that addresses have. Empty: all without a rate of their own.
    #[serde(default)]
    #[schemars(length(max = 50), inner(length(min = 1, max = 60)))]
    pub regions: Vec<String>,
    pub cost: Money,
    /// Free of charge if the goods of the order cost at least this.
    #[serde(default)]
    pub free_from: Option<Money>,
}

/// How closely a rate fits an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Everywhere,
    Country,
    Region,
}

impl ShippingRate {
    /// What the shipping of goods for this amount costs.
    pub fn cost_of(&self, goods: Money) -> Money {
        match self.free_from {
            Some(from) if goods.amount >= from.amount => Money::new(0, goods.currency),
            _ => self.cost,
        }
    }

    fn fit(&self, address: &Address) -> Option<Fit> {
        if self.country.is_empty() {
            return Some(Fit::Everywhere);
        }
        if self.country != address.country {
            return None;
        }
        match self.regions.is_empty() {
            true => Some(Fit::Country),
            false => self.regions.iter().any(|name| is_in(address, name)).then_some(Fit::Region),
        }
    }

    fn mistake(&self) -> Option<(&'static str, &'static str)> {
        let is_name = |name: &String| !key_of(name).is_empty() && name.chars().count() <= MAX_REGION_CHARS;
        let is_free = |from: Money| from.currency == self.cost.currency && (1..=i64::MAX).contains(&from.amount);
        let checks = [
            (self.country.is_empty() || COUNTRIES.contains(&&*self.country), "country", "bad_country"),
            (self.regions.is_empty() || !self.country.is_empty(), "regions", "region_without_country"),
            (self.regions.len() <= MAX_REGIONS && self.regions.iter().all(is_name), "regions", "bad_regions"),
            ((0..=MAX_COST).contains(&self.cost.amount), "cost", "bad_price"),
            (self.free_from.is_none_or(is_free), "free_from", "bad_price"),
        ];
        checks.into_iter().find(|(is_right, ..)| !is_right).map(|(_, field, code)| (field, code))
    }
}

/// For the log: `CN 新疆, 西藏 ¥18, ¥0 ≥ ¥199`.
impl fmt::Display for ShippingRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let country = if self.country.is_empty() { "*" } else { &self.country };
        let separator = if self.regions.is_empty() { "" } else { " " };
        write!(f, "{country}{separator}{} {}", self.regions.join(", "), self.cost)?;
        self.free_from.map_or(Ok(()), |from| write!(f, ", {} ≥ {from}", Money::new(0, from.currency)))
    }
}

fn key_of(name: &str) -> String {
    normalized(&[name], char::is_alphanumeric)
}

/// Whether an address is in a region of its country. Addresses have names that people typed: 新疆 is 新疆维吾尔自治区. Other
/// scripts are compared whole, because `CA` begins many names.
fn is_in(address: &Address, region: &str) -> bool {
    let (place, region) = (key_of(&address.region), key_of(region));
    let is_short_form =
        |short: &str, long: &str| short.chars().count() > 1 && short.chars().all(is_cjk) && long.starts_with(short);
    place == region || is_short_form(&place, &region) || is_short_form(&region, &place)
}

/// The shop's rates. Without any in an order's currency, its shipping is free of charge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShippingTable {
    #[schemars(length(max = 100))]
    pub rates: Vec<ShippingRate>,
}

impl ShippingTable {
    pub fn rates_in(&self, currency: Currency) -> impl Iterator<Item = &ShippingRate> {
        self.rates.iter().filter(move |rate| rate.cost.currency == currency)
    }

    /// Whether shipping may cost something, so that an order needs an address before it is paid.
    pub fn charges(&self, currency: Currency) -> bool {
        self.rates_in(currency).next().is_some()
    }

    /// What the shipping of goods for this amount to an address costs.
    pub fn cost(&self, goods: Money, address: &Address) -> Money {
        let fitting = self.rates_in(goods.currency).filter_map(|rate| Some((rate.fit(address)?, rate)));
        let closest = fitting.max_by_key(|(fit, _)| *fit);
        closest.map_or(Money::new(0, goods.currency), |(_, rate)| rate.cost_of(goods))
    }

    /// What is wrong, each with the index of a rate, a field of it, and a code.
    pub fn mistakes(&self) -> Vec<(usize, &'static str, &'static str)> {
        let mut places = BTreeSet::new();
        let mut mistakes = Vec::new();
        for (index, rate) in self.rates.iter().enumerate() {
            let currency = rate.cost.currency;
            let mut is_new = |place: &str| places.insert(format!("{} {} {place}", currency.as_str(), rate.country));
            let is_twice = match rate.regions.is_empty() {
                true => !is_new(""),
                false => !rate.regions.iter().all(|region| is_new(&key_of(region))),
            };
            let needs_rest = !self.rates_in(currency).any(|rate| rate.country.is_empty());
            let mistake = match rate.mistake() {
                None if index >= MAX_RATES => Some(("country", "too_many_rates")),
                None if is_twice => Some((if rate.regions.is_empty() { "country" } else { "regions" }, "rate_twice")),
                None if needs_rest => Some(("country", "no_rate_elsewhere")),
                mistake => mistake,
            };
            mistakes.extend(mistake.map(|(field, code)| (index, field, code)));
        }
        mistakes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fen(amount: i64) -> Money {
        Money::new(amount, Currency::CNY)
    }

    fn rate(country: &str, regions: &[&str], cost: i64, free_from: Option<i64>) -> ShippingRate {
        let regions = regions.iter().map(|name| (*name).to_owned()).collect();
        ShippingRate { country: country.into(), regions, cost: fen(cost), free_from: free_from.map(fen) }
    }

    fn table() -> ShippingTable {
        let rates = vec![
            rate("", &[], 20_000, None),
            rate("CN", &["新疆", "西藏自治区", "Xinjiang"], 1800, None),
            rate("CN", &[], 800, Some(9900)),
            rate("US", &["CA", "California"], 9000, Some(100_000)),
        ];
        ShippingTable { rates }
    }

    fn to(country: &str, region: &str, city: &str) -> Address {
        Address { country: country.into(), region: region.into(), city: city.into(), ..Address::default() }
    }

    #[test]
    fn closest_rate_counts_in_each_spelling_of_a_region() {
        for (country, region, city, cost) in [
            ("CN", "浙江省", "杭州市", 800),
            ("CN", "新疆维吾尔自治区", "乌鲁木齐市", 1800),
            ("CN", "新疆", "乌鲁木齐市", 1800),
            ("CN", "西藏", "拉萨市", 1800),
            ("CN", "XINJIANG", "Urumqi", 1800),
            ("CN", "西", "安", 800),
            ("US", "ca", "San Francisco", 9000),
            ("US", "California", "San Francisco", 9000),
            ("US", "Carolina", "Charlotte", 20_000),
            ("SG", "", "Singapore", 20_000),
        ] {
            assert_eq!(table().cost(fen(9899), &to(country, region, city)), fen(cost), "{country} {region} {city}");
        }
    }

    #[test]
    fn shipping_is_free_from_the_amount_of_its_own_rate_and_in_other_currencies() {
        let cost = |goods, country, region| table().cost(goods, &to(country, region, "x"));
        assert_eq!(cost(fen(9900), "CN", "浙江省"), fen(0));
        assert_eq!(cost(fen(9900), "CN", "新疆"), fen(1800), "the region has no limit of its own");
        assert_eq!(cost(fen(99_999), "US", "CA"), fen(9000));
        assert_eq!(cost(fen(100_000), "US", "CA"), fen(0));
        let dollars = Money::new(5, Currency::known("USD").unwrap());
        assert_eq!(cost(dollars, "US", "CA").amount, 0);
        assert!(table().charges(Currency::CNY) && !table().charges(dollars.currency));
        assert_eq!(ShippingTable::default().cost(fen(1), &to("CN", "新疆", "x")), fen(0));
    }

    /// For any table without mistakes: the cost is that of one of its rates, never more for more goods, and adding a rate of
    /// another country changes nothing.
    #[test]
    fn cost_is_one_of_the_rates_and_falls_with_the_amount() {
        let mut seed = 7_u64;
        let mut pick = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..2000 {
            let mut rates = vec![rate("", &[], pick(3000) as i64, (pick(2) == 0).then(|| 1 + pick(5000) as i64))];
            for (country, region) in [("CN", "新疆"), ("CN", "浙江"), ("US", "CA"), ("CN", ""), ("DE", "")] {
                let regions = if region.is_empty() { &[][..] } else { &[region][..] };
                if pick(2) == 0 {
                    let free_from = (pick(2) == 0).then(|| 1 + pick(5000) as i64);
                    rates.push(rate(country, regions, pick(3000) as i64, free_from));
                }
            }
            let table = ShippingTable { rates };
            assert_eq!(table.mistakes(), []);
            let address = to(["CN", "US", "FR"][pick(3) as usize], ["新疆", "浙江省", "CA", ""][pick(4) as usize], "x");
            let (less, more) = (pick(6000) as i64, pick(6000) as i64);
            let (less, more) = (fen(less.min(more)), fen(less.max(more)));
            let (of_less, of_more) = (table.cost(less, &address), table.cost(more, &address));
            assert!(of_more.amount <= of_less.amount, "{table:?} {address:?}");
            assert!(table.rates.iter().any(|rate| rate.cost_of(less) == of_less), "{table:?} {address:?}");
            let mut wider = table.clone();
            wider.rates.push(rate("JP", &[], 1, None));
            assert_eq!(wider.cost(less, &address), of_less);
        }
    }

    #[test]
    fn table_with_a_mistake_names_the_rate_and_the_field() {
        let with = |more: ShippingRate| ShippingTable { rates: [table().rates, vec![more]].concat() }.mistakes();
        assert_eq!(table().mistakes(), []);
        assert_eq!(with(rate("XX", &[], 1, None)), [(4, "country", "bad_country")]);
        assert_eq!(with(rate("", &["新疆"], 1, None)), [(4, "regions", "region_without_country")]);
        assert_eq!(with(rate("CN", &["-"], 1, None)), [(4, "regions", "bad_regions")]);
        assert_eq!(with(rate("CN", &["新 疆"], 1, None)), [(4, "regions", "rate_twice")]);
        assert_eq!(with(rate("CN", &[], 1, None)), [(4, "country", "rate_twice")]);
        assert_eq!(with(rate("JP", &[], -1, None)), [(4, "cost", "bad_price")]);
        assert_eq!(with(rate("JP", &[], 1, Some(0))), [(4, "free_from", "bad_price")]);
        let dollars = Money::new(500, Currency::known("USD").unwrap());
        let other = |free_from| ShippingRate { cost: dollars, free_from, ..rate("US", &[], 0, None) };
        assert_eq!(with(other(Some(fen(1)))), [(4, "free_from", "bad_price")]);
        assert_eq!(with(other(None)), [(4, "country", "no_rate_elsewhere")]);
        let many = (0..=MAX_RATES).map(|n| rate("CN", &[&format!("r{n}")], 1, None));
        let many = ShippingTable { rates: std::iter::once(rate("", &[], 1, None)).chain(many).collect() };
        assert_eq!(many.mistakes()[0], (MAX_RATES, "country", "too_many_rates"));
    }
}
