//! A sale and its goods.

use domain::sale::SaleState;
use domain::{Bilingual, Currency, Goods, GoodsId, Money, Picture, Rush, Sale, SaleId, SaleMode, Window};
use jiff::Timestamp;

/// The instant of a text in RFC 3339.
pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A scheduled sale of 100 units of goods with this name in both languages.
pub fn sample(id: i64, name: &str) -> (Sale, Goods) {
    let goods = Goods {
        id: GoodsId(id),
        name: Bilingual::new(name, name),
        description: Bilingual::new("介绍", "About it"),
        category_id: None,
        variant_of: None,
        variant: Bilingual::new("", ""),
        pictures: vec![Picture::drawing("phone-640.webp")],
        updated_at: at("2026-11-01T00:00:00Z"),
        archived_at: None,
    };
    let sale = Sale {
        id: SaleId(id),
        goods_id: goods.id,
        price: Money::new(199_900, Currency::CNY),
        list_price: Some(Money::new(299_900, Currency::CNY)),
        total: 100,
        sold: 0,
        granted: 0,
        per_user_limit: 2,
        window: Window { opens_at: Some(at("2026-11-21T12:00:00Z")), closes_at: None },
        rush: Rush::default(),
        mode: SaleMode::Rush,
        state: SaleState::Scheduled,
        version: 1,
        epoch: 1,
        shadow: false,
        eligibility: Default::default(),
        spread_seed: None,
    };
    (sale, goods)
}
