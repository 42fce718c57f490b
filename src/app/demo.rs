//! Demo goods and sales: one sale that is open, a draw that takes entries for some minutes, a sale with a waiting room
//! that opens soon, two variants of one product tomorrow, and a draft to start by hand.

use std::time::Duration;

use jiff::Timestamp;

use domain::draw::Beacon;
use domain::staff::{ShopPage, ShopPageName};
use domain::{
    Bilingual, CategoryId, Currency, DrawPlan, GoodsId, Locale, Money, Picture, QuestionChange, Rush, SaleId, SaleMode,
    WaitingRoomPlan, Window,
};
use store::{AskOutcome, CategoryDraft, GoodsDraft, NewQuestion, SaleChange, SaleDraft, Store};

/// The actor in the audit log.
const ACTOR: &str = "demo";

struct Demo {
    /// The cover, the goods from another side, and a detail.
    pictures: [&'static str; 3],
    /// The name of the variant in both languages. Every variant but the first also has the cover of the first one.
    variant: (&'static str, &'static str, Option<&'static str>),
    name: (&'static str, &'static str),
    /// Index into [`CATEGORIES`].
    category: usize,
    description: (&'static str, &'static str),
    /// Price in minor units of CNY.
    price: i64,
    list_price: i64,
    total: i64,
    per_user_limit: i64,
    /// Time until the sale opens; `None` for a draft.
    opens_in: Option<Duration>,
    /// Time from the opening to the end.
    open: Duration,
    mode: SaleMode,
}

/// The names of the categories.
const CATEGORIES: [(&str, &str); 3] = [("数码", "Electronics"), ("厨房", "Kitchen"), ("运动", "Sports")];
const DAY: Duration = Duration::from_secs(24 * 3600);
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

const NO_VARIANT: (&str, &str, Option<&str>) = ("", "", None);

const DEMOS: [Demo; 6] = [
    Demo {
        pictures: ["phone.svg", "phone-2.svg", "phone-3.svg"],
        variant: NO_VARIANT,
        name: ("极光 X1 手机", "Aurora X1 phone"),
        category: 0,
        description: (
            "6.4 英寸柔光屏，两天续航，机身轻至 168 克。\n只有一百台，每人限购一台。\n\n| | |\n|---|---|\n| 屏幕 | 6.4 英寸 |\n| 重量 | 168 克 |\n| 续航 | 两天 |",
            "A 6.4-inch soft-light display, two days of battery, 168 grams.\nOne hundred of them, one per person.\n\n| | |\n|---|---|\n| Display | 6.4 inches |\n| Weight | 168 g |\n| Battery | two days |",
        ),
        price: 199_900,
        list_price: 399_900,
        total: 100,
        per_user_limit: 1,
        opens_in: Some(Duration::ZERO),
        open: WEEK,
        mode: SaleMode::Rush,
    },
    Demo {
        pictures: ["headphones.svg", "headphones-2.svg", "headphones-3.svg"],
        variant: NO_VARIANT,
        name: ("静海降噪耳机", "Stillwater headphones"),
        category: 0,
        description: (
            "主动降噪，四十小时续航，戴一整天也不压耳。\n\n| | |\n|---|---|\n| 续航 | 40 小时 |\n| 重量 | 218 克 |\n| 连接 | 蓝牙 5.3，双设备 |",
            "Active noise cancelling, forty hours of battery, light enough to forget.\n\n| | |\n|---|---|\n| Battery | 40 hours |\n| Weight | 218 g |\n| Connection | Bluetooth 5.3, two devices |",
        ),
        price: 49_900,
        list_price: 129_900,
        total: 20,
        per_user_limit: 2,
        opens_in: Some(Duration::from_secs(3 * 60)),
        open: WEEK,
        mode: SaleMode::WaitingRoom(WaitingRoomPlan::USUAL),
    },
    Demo {
        pictures: ["espresso.svg", "espresso-2.svg", "espresso-3.svg"],
        variant: ("珊瑚红", "Coral red", None),
        name: ("晨光意式咖啡机", "Daybreak espresso machine"),
        category: 1,
        description: (
            "十五秒预热，九巴恒压，奶泡细到能写字。\n\n| | |\n|---|---|\n| 压力 | 9 巴 |\n| 水箱 | 1.8 升 |\n| 尺寸 | 28 × 36 × 33 厘米 |",
            "Fifteen seconds to heat, a steady nine bars, and milk foam fine enough to write in.\n\n| | |\n|---|---|\n| Pressure | 9 bars |\n| Water tank | 1.8 litres |\n| Size | 28 × 36 × 33 cm |",
        ),
        price: 88_800,
        list_price: 188_800,
        total: 50,
        per_user_limit: 1,
        opens_in: Some(DAY),
        open: WEEK,
        mode: SaleMode::Rush,
    },
    Demo {
        pictures: ["sneakers.svg", "sneakers-2.svg", "sneakers-3.svg"],
        variant: NO_VARIANT,
        name: ("云步跑鞋", "Cloudstep sneakers"),
        category: 2,
        description: (
            "回弹中底，一体织面，雨天也抓地。\n\n| | |\n|---|---|\n| 重量 | 236 克（42 码） |\n| 落差 | 8 毫米 |\n| 鞋面 | 再生织物 |",
            "A springy sole, a knitted upper, and grip that holds in the rain.\n\n| | |\n|---|---|\n| Weight | 236 g (EU 42) |\n| Drop | 8 mm |\n| Upper | recycled knit |",
        ),
        price: 29_900,
        list_price: 69_900,
        total: 200,
        per_user_limit: 2,
        opens_in: None,
        open: WEEK,
        mode: SaleMode::Rush,
    },
    Demo {
        pictures: ["handheld.svg", "handheld-2.svg", "handheld-3.svg"],
        variant: NO_VARIANT,
        name: ("星野掌机", "Starfield handheld"),
        category: 0,
        description: (
            "口袋里的一片星空，五小时续航。\n只有三台，抽签决定。\n\n| | |\n|---|---|\n| 屏幕 | 5 英寸 |\n| 续航 | 5 小时 |\n| 重量 | 282 克 |",
            "A pocket full of stars, five hours of battery.\nThree of them, decided by draw.\n\n| | |\n|---|---|\n| Display | 5 inches |\n| Battery | 5 hours |\n| Weight | 282 g |",
        ),
        price: 129_900,
        list_price: 219_900,
        total: 3,
        per_user_limit: 1,
        opens_in: Some(Duration::ZERO),
        // So short that a visitor sees the whole draw.
        open: Duration::from_secs(5 * 60),
        mode: SaleMode::Draw(DrawPlan { window_s: 15 * 60, review_s: 20, beacon: Some(Beacon::Sandbox) }),
    },
    Demo {
        pictures: ["espresso-green.svg", "espresso-2.svg", "espresso-green-3.svg"],
        variant: ("冷杉绿", "Fir green", Some("espresso.svg")),
        name: ("晨光意式咖啡机 冷杉绿", "Daybreak espresso machine, fir green"),
        category: 1,
        description: (
            "十五秒预热，九巴恒压，奶泡细到能写字。\n冷杉绿，与珊瑚红同时开抢。\n\n| | |\n|---|---|\n| 压力 | 9 巴 |\n| 水箱 | 1.8 升 |\n| 尺寸 | 28 × 36 × 33 厘米 |",
            "Fifteen seconds to heat, a steady nine bars, and milk foam fine enough to write in.\nIn fir green, on sale together with the coral red one.\n\n| | |\n|---|---|\n| Pressure | 9 bars |\n| Water tank | 1.8 litres |\n| Size | 28 × 36 × 33 cm |",
        ),
        price: 88_800,
        list_price: 188_800,
        total: 30,
        per_user_limit: 1,
        opens_in: Some(DAY),
        open: WEEK,
        mode: SaleMode::Rush,
    },
];

/// What visitors of a demo read about the shop.
const PAGES: [(ShopPageName, &str, &str); 6] = [
    (
        ShopPageName::Returns,
        "这是演示店铺，不会真的发货，也不会真的收款。\n\n正式的店铺在这里写明配送时间、运费和退货方式。",
        "This is a demo: nothing is delivered, and no money is taken.\n\nA real shop writes here when and how it delivers, what that costs, and how to return goods.",
    ),
    (
        ShopPageName::Contact,
        "正式的店铺在这里写明客服的联系方式和服务时间。",
        "A real shop writes here how to reach its support, and when.",
    ),
    (
        ShopPageName::Terms,
        "正式的店铺在这里写明购买条款：合同何时成立，多久内付款，什么情况下会取消订单。",
        "A real shop writes its terms here: when a contract is made, how long there is to pay, and when an order is cancelled.",
    ),
    (
        ShopPageName::Privacy,
        "正式的店铺在这里写明保存哪些个人信息、保存多久，以及如何查阅和删除。",
        "A real shop writes here which personal data it keeps, for how long, and how to see and delete them.",
    ),
    (
        ShopPageName::Seller,
        "正式的店铺在这里写明经营者名称、地址和税号。",
        "A real shop names its owner, address and tax number here.",
    ),
    (
        ShopPageName::Licence,
        "正式的店铺在这里公示营业执照和许可证编号。",
        "A real shop names its business licence here.",
    ),
];

/// Questions about the goods with this cover: language, question and answer.
const ANSWERS: [(&str, Locale, &str, &str); 6] = [
    ("phone.svg", Locale::Zh, "支持双卡双待吗？", "支持，两张 nano-SIM，也可以用 eSIM。"),
    ("phone.svg", Locale::En, "Does it take two SIM cards?", "Yes: two nano-SIMs, or one of them and an eSIM."),
    ("phone.svg", Locale::Zh, "包装里有充电器吗？", "有，一个 30 W 充电器和一条 USB-C 线。"),
    ("phone.svg", Locale::En, "Is there a charger in the box?", "Yes, a 30 W charger and a USB-C cable."),
    ("headphones.svg", Locale::Zh, "可以同时连接手机和电脑吗？", "可以，同时连接两台设备，来电时自动切换。"),
    (
        "headphones.svg",
        Locale::En,
        "Can I connect a phone and a laptop at once?",
        "Yes, two devices. A call switches over by itself.",
    ),
];

/// Adds the demo to a shop without goods. Returns `false` if the shop has goods.
pub async fn create(store: &Store, now: Timestamp) -> anyhow::Result<bool> {
    if !store.goods().list().await?.is_empty() {
        return Ok(false);
    }
    let categories = add_categories(store, now).await?;
    let mut sales = Vec::with_capacity(DEMOS.len());
    for demo in &DEMOS {
        let pictures: Vec<_> = demo.pictures.into_iter().map(Picture::drawing).collect();
        for picture in &pictures {
            store.goods().put_picture(picture, now).await?;
        }
        let draft = GoodsDraft {
            name: Some(Bilingual::new(demo.name.0, demo.name.1)),
            description: Some(Bilingual::new(demo.description.0, demo.description.1)),
            category_id: Some(categories.get(demo.category).copied()),
            variant_of: Some(demo.variant.2.and_then(|first| goods_with(&sales, first))),
            variant: Some(Bilingual::new(demo.variant.0, demo.variant.1)),
            pictures: Some(pictures),
            ..GoodsDraft::default()
        };
        if let Some(goods) = store.goods().put(None, draft, ACTOR, now).await? {
            sales.push((goods.id, demo));
        }
    }
    // Draws first: of two sales that open at the same time, the one added later leads the list, and that should be the
    // rush.
    sales.sort_by_key(|(_, demo)| !demo.mode.is_draw());
    for (goods, demo) in sales {
        let sale = add_sale(store, goods, demo, now).await?;
        for (_, locale, text, answer) in ANSWERS.into_iter().filter(|(cover, ..)| *cover == demo.pictures[0]) {
            let new = NewQuestion { user: None, goods, sale, locale, text: text.to_owned() };
            if let AskOutcome::Asked(question) = store.questions().ask(&new).await? {
                store.questions().change(question.id, None, QuestionChange::Answer(answer.to_owned()), ACTOR).await?;
            }
        }
    }
    for (name, zh, en) in PAGES {
        store.shop_pages().put(&ShopPage::unwritten(name), Bilingual::new(zh, en), ACTOR, now).await?;
    }
    Ok(true)
}

/// The goods with this cover.
fn goods_with(added: &[(GoodsId, &Demo)], cover: &str) -> Option<GoodsId> {
    added.iter().find(|(_, demo)| demo.pictures[0] == cover).map(|(id, _)| *id)
}

/// Adds the categories and returns their ids in the same order.
async fn add_categories(store: &Store, now: Timestamp) -> anyhow::Result<Vec<CategoryId>> {
    let mut ids = Vec::with_capacity(CATEGORIES.len());
    for (zh, en) in CATEGORIES {
        let draft = CategoryDraft { name: Bilingual::new(zh, en), request: None, versions: None };
        ids.push(store.categories().put(None, draft, ACTOR, now).await?.id);
    }
    Ok(ids)
}

async fn add_sale(store: &Store, goods_id: GoodsId, demo: &Demo, now: Timestamp) -> anyhow::Result<SaleId> {
    let opens_at = demo.opens_in.map(|wait| now + wait);
    let draft = SaleDraft {
        goods_id,
        price: Money::new(demo.price, Currency::CNY),
        list_price: Some(Money::new(demo.list_price, Currency::CNY)),
        total: demo.total,
        per_user_limit: demo.per_user_limit,
        window: Window { opens_at, closes_at: opens_at.map(|opens| opens + demo.open) },
        rush: Rush::default(),
        mode: demo.mode,
        eligibility: Default::default(),
    };
    let sale = store.sales().create(&draft, ACTOR, now).await?;
    if opens_at == Some(now) {
        store.sales().change(sale.id, &SaleChange::Start { at: now }, ACTOR, now).await?;
    }
    Ok(sale.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pages::assets;

    #[test]
    fn every_drawing_of_the_demo_exists() {
        for picture in DEMOS.iter().flat_map(|demo| demo.pictures) {
            let (address, stem) = (assets::picture(picture), picture.trim_end_matches(".svg"));
            assert!(address.starts_with(&format!("/static/goods/{stem}.")), "{address}");
        }
    }
}
