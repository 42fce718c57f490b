//! The demo: goods with pictures, and a shop in the middle of its day. A rush opens two minutes after the start, one is
//! nearly gone, one is sold out, a waiting room and a draw are on, others follow tomorrow, and one is a draft. The orders
//! of the demo's shoppers wait for payment, are packed, under way or delivered.

use std::time::Duration;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use base::counters::{OPENING_SLOT_MS, SaleCounters};
use domain::claim::{Decision, Refusal};
use domain::draw::{Beacon, EntryId};
use domain::parcel::{ParcelLabel, ParcelMove};
use domain::staff::{ShopPage, ShopPageName};
use domain::{
    Address, Bilingual, CategoryId, Currency, DrawPlan, GoodsId, Locale, Money, OrderId, OrderStatus, ParcelState,
    PaymentId, Picture, QuestionChange, Reservation, Role, Rush, Sale, SaleMode, UserId, WaitingRoomPlan, Window,
};
use store::{
    AskOutcome, CategoryDraft, GoodsDraft, NewPayment, NewQuestion, ParcelActor, PaymentPurpose, SaleChange, SaleDraft,
    SandboxPayment, SandboxWebhook, Store, User,
};

/// The actor in the audit log.
const ACTOR: &str = "demo";

struct Demo {
    /// The cover and what else there is, as scenes of `scripts/pictures` name them.
    pictures: &'static [&'static str],
    /// The name of the variant in both languages. Every variant but the first also has the cover of the first one.
    variant: (&'static str, &'static str, Option<&'static str>),
    name: (&'static str, &'static str),
    /// Index into [`CATEGORIES`].
    category: usize,
    description: (&'static str, &'static str),
    /// Price and list price in whole yuan.
    prices: (i64, i64),
    total: i64,
    per_user_limit: i64,
    /// Seconds until the sale opens, below zero if it has opened; `None` for a draft.
    opens_in: Option<i64>,
    /// Seconds from the opening to the end.
    open: i64,
    mode: SaleMode,
    /// Units sold so far, and the milliseconds from the opening in which they were sold.
    sold: (i64, i64),
}

/// The names of the categories.
const CATEGORIES: [(&str, &str); 4] =
    [("数码", "Electronics"), ("厨房", "Kitchen"), ("运动", "Sports"), ("家居出行", "Home and travel")];
/// Requests that come to the sold-out sale in vain.
const LATE_REQUESTS: usize = 731;
const MINUTE: i64 = 60;
const DAY: i64 = 24 * 3600;

/// Goods with what most of them have in common: their sale opens tomorrow.
const fn goods(pictures: &'static [&'static str], category: usize, name: (&'static str, &'static str)) -> Demo {
    Demo {
        pictures,
        variant: ("", "", None),
        name,
        category,
        description: ("", ""),
        prices: (0, 0),
        total: 100,
        per_user_limit: 1,
        opens_in: Some(DAY),
        open: 7 * DAY,
        mode: SaleMode::Rush,
        sold: (0, 0),
    }
}

static DEMOS: [Demo; 13] = [
    Demo {
        description: (
            "6.4 英寸柔光屏，两天续航，机身轻至 168 克。\n只有一百台，每人限购一台。\n\n| | |\n|---|---|\n| 屏幕 | 6.4 英寸 |\n| 重量 | 168 克 |\n| 续航 | 两天 |",
            "A 6.4-inch soft-light display, two days of battery, 168 grams.\nOne hundred of them, one per person.\n\n| | |\n|---|---|\n| Display | 6.4 inches |\n| Weight | 168 g |\n| Battery | two days |",
        ),
        prices: (1_999, 3_999),
        opens_in: Some(2 * MINUTE),
        ..goods(&["phone", "phone-back"], 0, ("极光 X1 手机", "Aurora X1 phone"))
    },
    Demo {
        description: (
            "主动降噪，四十小时续航，戴一整天也不压耳。\n\n| | |\n|---|---|\n| 续航 | 40 小时 |\n| 重量 | 218 克 |\n| 连接 | 蓝牙 5.3，双设备 |",
            "Active noise cancelling, forty hours of battery, light enough to forget.\n\n| | |\n|---|---|\n| Battery | 40 hours |\n| Weight | 218 g |\n| Connection | Bluetooth 5.3, two devices |",
        ),
        prices: (499, 1_299),
        total: 20,
        per_user_limit: 2,
        opens_in: Some(0),
        mode: SaleMode::WaitingRoom(WaitingRoomPlan::USUAL),
        ..goods(&["headphones"], 0, ("静海降噪耳机", "Stillwater headphones"))
    },
    Demo {
        variant: ("珊瑚红", "Coral red", None),
        description: (
            "十五秒预热，九巴恒压，奶泡细到能写字。\n\n| | |\n|---|---|\n| 压力 | 9 巴 |\n| 水箱 | 1.8 升 |\n| 尺寸 | 28 × 36 × 33 厘米 |",
            "Fifteen seconds to heat, a steady nine bars, and milk foam fine enough to write in.\n\n| | |\n|---|---|\n| Pressure | 9 bars |\n| Water tank | 1.8 litres |\n| Size | 28 × 36 × 33 cm |",
        ),
        prices: (888, 1_888),
        total: 50,
        ..goods(&["espresso", "espresso-detail"], 1, ("晨光意式咖啡机", "Daybreak espresso machine"))
    },
    Demo {
        description: (
            "回弹中底，一体织面，雨天也抓地。\n\n| | |\n|---|---|\n| 重量 | 236 克（42 码） |\n| 落差 | 8 毫米 |\n| 鞋面 | 再生织物 |",
            "A springy sole, a knitted upper, and grip that holds in the rain.\n\n| | |\n|---|---|\n| Weight | 236 g (EU 42) |\n| Drop | 8 mm |\n| Upper | recycled knit |",
        ),
        prices: (299, 699),
        total: 200,
        per_user_limit: 2,
        opens_in: None,
        ..goods(&["sneakers"], 2, ("云步跑鞋", "Cloudstep sneakers"))
    },
    Demo {
        description: (
            "口袋里的一片星空，五小时续航。\n只有三台，抽签决定。\n\n| | |\n|---|---|\n| 屏幕 | 5 英寸 |\n| 续航 | 5 小时 |\n| 重量 | 282 克 |",
            "A pocket full of stars, five hours of battery.\nThree of them, decided by draw.\n\n| | |\n|---|---|\n| Display | 5 inches |\n| Battery | 5 hours |\n| Weight | 282 g |",
        ),
        prices: (1_299, 2_199),
        total: 3,
        opens_in: Some(0),
        // So short that a visitor sees the whole draw.
        open: 10 * MINUTE,
        mode: SaleMode::Draw(DrawPlan { window_s: 15 * 60, review_s: 20, beacon: Some(Beacon::Sandbox) }),
        ..goods(&["handheld"], 0, ("星野掌机", "Starfield handheld"))
    },
    Demo {
        variant: ("冷杉绿", "Fir green", Some("espresso")),
        description: (
            "十五秒预热，九巴恒压，奶泡细到能写字。\n冷杉绿，与珊瑚红同时开抢。\n\n| | |\n|---|---|\n| 压力 | 9 巴 |\n| 水箱 | 1.8 升 |\n| 尺寸 | 28 × 36 × 33 厘米 |",
            "Fifteen seconds to heat, a steady nine bars, and milk foam fine enough to write in.\nIn fir green, on sale together with the coral red one.\n\n| | |\n|---|---|\n| Pressure | 9 bars |\n| Water tank | 1.8 litres |\n| Size | 28 × 36 × 33 cm |",
        ),
        prices: (888, 1_888),
        total: 30,
        ..goods(
            &["espresso-green", "espresso-detail"],
            1,
            ("晨光意式咖啡机 冷杉绿", "Daybreak espresso machine, fir green"),
        )
    },
    Demo {
        description: ("手工拉坯，蓝灰釉，350 毫升。", "Thrown by hand, glazed in blue-grey. Holds 350 ml."),
        prices: (39, 99),
        per_user_limit: 9,
        opens_in: Some(-20 * MINUTE),
        sold: (81, 1_100_000),
        ..goods(&["mug"], 1, ("远山手作马克杯", "Far Hills stoneware mug"))
    },
    Demo {
        description: ("双层真空，早上的热茶晚上还烫嘴。", "Tea from the morning is still hot at night. 750 ml."),
        prices: (89, 179),
        total: 50,
        per_user_limit: 6,
        opens_in: Some(-5 * MINUTE),
        sold: (17, 280_000),
        ..goods(&["bottle"], 3, ("长风保温杯", "Long Wind thermos bottle"))
    },
    Demo {
        description: ("羊毛混纺网面，二十小时续航。", "Wool-blend cloth, and twenty hours of music."),
        prices: (499, 899),
        total: 200,
        opens_in: Some(30 * MINUTE),
        ..goods(&["speaker"], 0, ("静谷便携音箱", "Quiet Valley portable speaker"))
    },
    Demo {
        description: ("自动上链，蓝色太阳纹，防水 50 米。", "Self-winding, water-resistant to 50 m."),
        prices: (1_499, 2_999),
        total: 40,
        opens_in: Some(2 * 3600),
        mode: SaleMode::WaitingRoom(WaitingRoomPlan::USUAL),
        ..goods(&["watch"], 0, ("灵犀自动机械表", "Lingxi automatic watch"))
    },
    Demo {
        description: ("黄铜灯臂，三档暖光。", "A brass arm, and warm light in three steps."),
        prices: (199, 399),
        total: 60,
        per_user_limit: 2,
        ..goods(&["lamp"], 3, ("归巢台灯", "Homecoming desk lamp"))
    },
    Demo {
        description: ("全画幅，35 毫米 f/2，一次放完。", "Full frame, 35 mm f/2. All of them at once."),
        prices: (5_999, 8_999),
        total: 24,
        per_user_limit: 3,
        opens_in: Some(-40 * MINUTE),
        sold: (24, 490),
        ..goods(&["camera"], 0, ("米拉旁轴相机", "Mira rangefinder camera"))
    },
    Demo {
        description: ("静音万向轮，20 寸可登机。", "Silent wheels, 55 cm high: it flies in the cabin."),
        prices: (399, 899),
        total: 80,
        opens_in: Some(DAY + 2 * 3600),
        ..goods(&["suitcase"], 3, ("云游登机箱", "Cloud Rover cabin case"))
    },
];

/// The demo's shoppers with their names. They have no password, so they cannot sign in.
const SHOPPERS: [(&str, &str); 14] = [
    ("xiaoman", "林小满"),
    ("jiahe", "陈嘉禾"),
    ("zhiyuan", "周知远"),
    ("ruoxi", "沈若溪"),
    ("yichen", "王一辰"),
    ("siqi", "何思齐"),
    ("muyang", "李沐阳"),
    ("wanqing", "苏晚晴"),
    ("haoran", "徐浩然"),
    ("yutong", "张雨桐"),
    ("anran", "叶安然"),
    ("zeyu", "黄泽宇"),
    ("mengfei", "唐梦菲"),
    ("boyan", "赵博言"),
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
    ("phone", Locale::Zh, "支持双卡双待吗？", "支持，两张 nano-SIM，也可以用 eSIM。"),
    ("phone", Locale::En, "Does it take two SIM cards?", "Yes: two nano-SIMs, or one of them and an eSIM."),
    ("phone", Locale::Zh, "包装里有充电器吗？", "有，一个 30 W 充电器和一条 USB-C 线。"),
    ("phone", Locale::En, "Is there a charger in the box?", "Yes, a 30 W charger and a USB-C cable."),
    ("headphones", Locale::Zh, "可以同时连接手机和电脑吗？", "可以，同时连接两台设备，来电时自动切换。"),
    (
        "headphones",
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
    let shoppers = add_shoppers(store, now).await?;
    // Draws first: of two sales that open at the same time, the one added later leads the list, and that should be the
    // rush. Those with orders last, by their start, so that orders are numbered as they were placed.
    let mut added = add_goods(store, now).await?;
    added.sort_by_key(|(_, demo)| (!demo.mode.is_draw(), demo.opens_in.filter(|_| demo.sold.0 > 0)));
    for (goods, demo) in added {
        let sale = add_sale(store, goods, demo, now).await?;
        let orders = sell(store, &sale, demo, &shoppers).await?;
        // Without an unpaid order a sold-out sale stays sold out.
        let unpaid = usize::from(demo.sold.0 < demo.total).min(orders.len());
        pay_and_send(store, &sale, &orders[unpaid..], now).await?;
        if demo.mode.is_draw() {
            for (shopper, _) in &shoppers {
                store.draws().enter(sale.id, *shopper, EntryId::new(*Uuid::new_v4().as_bytes())).await?;
            }
        }
        for (_, locale, text, answer) in ANSWERS.into_iter().filter(|(cover, ..)| *cover == demo.pictures[0]) {
            let new = NewQuestion { user: None, goods, sale: sale.id, locale, text: text.to_owned() };
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

/// Adds accounts that registered in the course of half a year. The administrator, who is there already, buys as well: so
/// the own orders of the one who looks at the demo are not empty.
async fn add_shoppers(store: &Store, now: Timestamp) -> anyhow::Result<Vec<(UserId, &'static str)>> {
    let mut shoppers = Vec::with_capacity(SHOPPERS.len() + 1);
    if let Some(admin) = store.accounts().user_named("admin").await? {
        shoppers.push((admin.id, "店主"));
    }
    for (n, (username, name)) in (1..=14).rev().zip(SHOPPERS) {
        let registered = now - SignedDuration::from_hours(n * 13 * 24);
        let user = User::new(UserId(Uuid::now_v7()), username, "none".into(), Role::User, registered);
        store.accounts().add_user(&user).await?;
        shoppers.push((user.id, name));
    }
    Ok(shoppers)
}

async fn add_goods(store: &Store, now: Timestamp) -> anyhow::Result<Vec<(GoodsId, &'static Demo)>> {
    let categories = add_categories(store, now).await?;
    let mut added = Vec::with_capacity(DEMOS.len());
    for demo in &DEMOS {
        let picture = |name: &&str| Picture { width: 1200, height: 1200, ..Picture::drawing(*name) };
        let pictures: Vec<_> = demo.pictures.iter().map(picture).collect();
        for picture in &pictures {
            store.goods().put_picture(picture, now).await?;
        }
        let draft = GoodsDraft {
            name: Some(Bilingual::new(demo.name.0, demo.name.1)),
            description: Some(Bilingual::new(demo.description.0, demo.description.1)),
            category_id: Some(categories.get(demo.category).copied()),
            variant_of: Some(demo.variant.2.and_then(|first| goods_with(&added, first))),
            variant: Some(Bilingual::new(demo.variant.0, demo.variant.1)),
            pictures: Some(pictures),
            ..GoodsDraft::default()
        };
        let goods = store.goods().put(None, draft, ACTOR, now).await?.context("goods of the demo")?;
        added.push((goods.id, demo));
    }
    Ok(added)
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

async fn add_sale(store: &Store, goods_id: GoodsId, demo: &Demo, now: Timestamp) -> anyhow::Result<Sale> {
    let after = |seconds| SignedDuration::from_secs(seconds);
    let opens_at = demo.opens_in.map(|wait| now + after(wait));
    let draft = SaleDraft {
        goods_id,
        price: Money::new(demo.prices.0 * 100, Currency::CNY),
        list_price: Some(Money::new(demo.prices.1 * 100, Currency::CNY)),
        total: demo.total,
        per_user_limit: demo.per_user_limit,
        window: Window { opens_at, closes_at: opens_at.map(|opens| opens + after(demo.open)) },
        rush: Rush::default(),
        mode: demo.mode,
        eligibility: Default::default(),
    };
    let sale = store.sales().create(&draft, ACTOR, now).await?;
    match opens_at.filter(|opens| *opens <= now) {
        Some(at) => Ok(store.sales().change(sale.id, &SaleChange::Start { at }, ACTOR, now).await?),
        None => Ok(sale),
    }
}

/// An order of the demo: its id, its amount, and the name of its buyer.
type DemoOrder = (OrderId, Money, &'static str);

/// Sells what is sold so far, as many units to each shopper as one may have.
async fn sell(
    store: &Store,
    sale: &Sale,
    demo: &Demo,
    shoppers: &[(UserId, &'static str)],
) -> anyhow::Result<Vec<DemoOrder>> {
    let ((mut left, within), Some(opened)) = (demo.sold, sale.window.opens_at) else { return Ok(Vec::new()) };
    if left == 0 {
        return Ok(Vec::new());
    }
    let (mut reservations, mut orders, counters) = (Vec::new(), Vec::new(), SaleCounters::default());
    for (n, &(user_id, name)) in (1..).zip(shoppers) {
        let quantity = u32::try_from(left.min(demo.per_user_limit))?;
        if quantity == 0 {
            break;
        }
        left -= i64::from(quantity);
        let late = within * n * demo.per_user_limit / demo.sold.0;
        let reserved_at = opened + SignedDuration::from_millis(late);
        let order_id = OrderId(Uuid::now_v7());
        reservations.push(Reservation { order_id, sale_id: sale.id, user_id, quantity, reserved_at });
        orders.push((order_id, sale.price.times(quantity).context("an amount of the demo")?, name));
        let wait = Duration::from_millis(3 + late.unsigned_abs() % 9);
        count_requests(&counters, &Decision::Granted(OrderStatus::Unpaid), 1, (wait, late));
    }
    if demo.sold.0 == demo.total {
        count_requests(&counters, &Decision::Refused(Refusal::SoldOut), LATE_REQUESTS, (Duration::ZERO, within));
    }
    let users: Vec<UserId> = reservations.iter().map(|reservation| reservation.user_id).collect();
    let window = Duration::from_secs(15 * 60);
    store.orders().reserve(sale.id, &users, window, |_, _, _| (reservations, ())).await?;
    store.sales().save_counters(ACTOR, &[(sale.id, counters.read().trimmed())], opened).await?;
    Ok(orders)
}

/// Counts requests as the shop would have, so many milliseconds after the opening.
fn count_requests(counters: &SaleCounters, decision: &Decision, number: usize, (wait, late): (Duration, i64)) {
    for _ in 0..number {
        counters.record_admission(None);
        counters.record_decision(Some(decision), wait);
    }
    counters.record_opening(usize::try_from((late - 1) / OPENING_SLOT_MS).ok());
}

/// Pays orders at the sandbox, with the addresses of their buyers. Of four paid orders one is delivered, one under way, one
/// packed, and one waits for the staff.
async fn pay_and_send(store: &Store, sale: &Sale, orders: &[DemoOrder], now: Timestamp) -> anyhow::Result<()> {
    let (mut first, mut then) = (Vec::new(), Vec::new());
    for (n, &(order, amount, name)) in orders.iter().enumerate() {
        let address = Address {
            recipient: name.to_owned(),
            phone: format!("1380013{:04}", 8000 + n),
            country: "CN".to_owned(),
            region: "上海市".to_owned(),
            city: "上海市".to_owned(),
            line1: format!("浦东新区世纪大道 {} 号", 100 + 8 * n),
            ..Address::default()
        };
        store.orders().set_address(sale.id, order, &address, &[]).await?;
        let (id, expires_at) = (PaymentId(Uuid::now_v7()), now + SignedDuration::from_mins(15));
        let purpose = PaymentPurpose::Order(order);
        store.payments().add(&NewPayment { id, purpose, amount, provider: "sandbox" }, expires_at, now).await?;
        let (return_path, status) = (format!("/orders/{order}"), "open".to_owned());
        let payment = SandboxPayment { id, amount, return_path, status, expires_at: Some(expires_at) };
        store.sandbox().open_payment(&payment).await?;
        // The shop hears of the payment here and not by the webhook, because it does not listen yet.
        let webhook = SandboxWebhook { id: format!("demo_{id}"), body: String::new(), attempts: 0 };
        store.sandbox().settle(id, "captured", &webhook).await?;
        store.sandbox().webhook_delivered(&webhook.id).await?;
        store.payments().apply_capture(&webhook.id, id, amount, now).await?;

        let step = |to, label| ParcelMove { order, to, label, seen: None };
        let number = Some(format!("SF13900045{:05}", 771 * (n + 1)));
        let sent = step(ParcelState::Shipped, ParcelLabel { carrier: Some("sf".to_owned()), number });
        match n % 4 {
            0 => then.push(step(ParcelState::Delivered, ParcelLabel::default())),
            2 => first.push(step(ParcelState::Packed, ParcelLabel::default())),
            _ => {}
        }
        first.extend((n % 4 < 2).then_some(sent));
    }
    for moves in [first, then] {
        store.orders().move_parcels(&moves, ParcelActor::Staff(ACTOR), false).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pages::assets;

    #[test]
    fn every_picture_of_the_demo_exists() {
        for cover in DEMOS.iter().filter_map(|demo| demo.pictures.first()) {
            let shared = assets::picture(&domain::Picture::drawing(*cover).shared());
            assert!(shared.ends_with(".jpg") && assets::find(&shared).is_some(), "previews know no WebP: {shared}");
        }
        for picture in DEMOS.iter().flat_map(|demo| demo.pictures) {
            for width in [320, 480, 640, 1200] {
                let address = assets::picture(&format!("{picture}-{width}.webp"));
                assert!(address.starts_with(&format!("/static/goods/{picture}-{width}.")), "{address}");
            }
        }
    }
}
