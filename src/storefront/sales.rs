//! The public state of sales, purchase tokens, and the poster of a sale.

use std::fmt::Write as _;
use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use qrcode::{Color, QrCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json_response;
use domain::{
    Bilingual, CategoryId, GoodsId, Locale, ModeName, Money, Phase, Picture, Sale, SaleId, SaleState, ShippingTable,
    Window,
};
use engine::gate::{Button, IssuedToken};
use pages::{Chrome, assets, filters, picture};
use web::extract::{AskingPage, Json, PathIds, SalePath, SignedIn, State, Visitor};
use web::shared::paths::sale_path;
use web::shared::purchase_token;
use web::{Answer, Cache, Code, Problem, Shop};
use words::Text;

/// The live state of the button: JSON text that `gate` prepared at its last refresh.
pub async fn button(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath, page: AskingPage) -> Answer {
    let text = shop.gate.button(sale).ok_or(Code::NoSuchSale)?;
    shop.metrics.button_reads.inc();
    let mut response = json_response(StatusCode::OK, text);
    response.headers_mut().insert(CACHE_CONTROL, Cache::Live.header());
    page.let_read(&shop, sale, &mut response);
    Ok(response)
}

/// A purchase token.
#[derive(Serialize, JsonSchema)]
pub struct TokenJson {
    token: String,
    expires_at: Timestamp,
    /// The account's own moment in the sale's spread, while it is still to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<Timestamp>,
}

/// A purchase token for this user. 409 before the sale is open, and in a waiting room outside the user's turn; 403 or
/// 409 for an account that may not take part.
pub async fn token(State(shop): State<Arc<Shop>>, SignedIn(session): SignedIn, SalePath(sale): SalePath) -> Answer {
    if shop.catalogue.front(sale).is_some() {
        return Err(Code::SoldElsewhere.into());
    }
    let seat = shop.waiting_rooms.seat(sale, session.user_id).await?;
    let IssuedToken { token, expires_at, not_before } = purchase_token(&shop, sale, session.user_id, seat).await?;
    let not_before = not_before.map(|moment| format!(r#","not_before":"{moment}""#)).unwrap_or_default();
    // Tokens consist of characters that need no escaping.
    Ok(json_response(StatusCode::OK, format!(r#"{{"token":"{token}","expires_at":"{expires_at}"{not_before}}}"#)))
}

#[derive(Serialize, JsonSchema)]
struct SaleSpread {
    #[schemars(range(min = 0))]
    spread_ms: i64,
    /// Whether the gate enforces it.
    enforced: bool,
    opens_at: Option<Timestamp>,
    /// SHA-256 of the seed; `None` until the seed is drawn.
    commitment: Option<String>,
    /// `None` until every account's moment has passed.
    seed: Option<String>,
}

/// The proof that a sale's moments were drawn before anyone came.
pub async fn spread(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath) -> Answer {
    let status = shop.gate.status(sale).ok_or(Code::NoSuchSale)?;
    let reveals_seed = status.reveals_seed(shop.clock.now());
    let spread = SaleSpread {
        spread_ms: status.spread_ms,
        enforced: status.spread.is_some(),
        opens_at: status.window.opens_at,
        commitment: status.spread.map(|spread| spread.seed.commitment()),
        seed: status.spread.filter(|_| reveals_seed).map(|spread| spread.seed.to_hex()),
    };
    Ok((Cache::Live, Json(spread)).into_response())
}

/// The path of every request, without any work. It is the baseline of benchmarks.
pub async fn ping() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// As [`ping`], with the check of the session.
pub async fn ping_signed_in(SignedIn(_): SignedIn) -> StatusCode {
    StatusCode::NO_CONTENT
}

#[derive(Serialize, JsonSchema)]
struct ListedSales<'a> {
    sales: Vec<ListedSale<'a>>,
    now: Timestamp,
    poll_after_ms: i64,
}

/// Bounds of the list's poll interval, which is the interval of its soonest sale. Lists may lag, because nothing is
/// bought from them.
const LIST_POLL_MS: std::ops::RangeInclusive<i64> = 2_000..=5_000;

/// A sale as lists show it.
#[derive(Serialize, JsonSchema)]
struct ListedSale<'a> {
    id: SaleId,
    goods: ListedGoods<'a>,
    price: Money,
    list_price: Option<Money>,
    #[schemars(range(min = 1))]
    total: i64,
    #[schemars(range(min = 1))]
    per_user_limit: i64,
    #[serde(flatten)]
    window: Window,
    phase: Phase,
    remaining: i64,
    /// How the buyers are chosen.
    mode: ModeName,
    /// For a draw, whether it was held.
    #[serde(skip_serializing_if = "Option::is_none")]
    drawn: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
struct ListedGoods<'a> {
    id: GoodsId,
    name: &'a Bilingual,
    /// The category
    category_id: Option<CategoryId>,
    /// The goods of which these are a variant
    variant_of: Option<GoodsId>,
    /// What tells it from other variants; empty texts where nothing does
    variant: &'a Bilingual,
    /// The URL of the cover.
    image: String,
}

/// All sales that shoppers may see. Without live state at the gate, the catalogue's state is shown.
pub async fn list(State(shop): State<Arc<Shop>>) -> Response {
    let now = shop.clock.now();
    let entries = shop.catalogue.listed();
    let mut poll_after_ms = *LIST_POLL_MS.end();
    let sales = entries.iter().map(|entry| {
        let (sale, goods) = (&entry.sale, &entry.goods);
        let status = shop.gate.status(sale.id);
        if let Some(status) = &status {
            poll_after_ms = poll_after_ms.min(status.poll_after_ms(now));
        }
        ListedSale {
            id: sale.id,
            goods: ListedGoods {
                id: goods.id,
                name: &goods.name,
                category_id: goods.category_id,
                variant_of: goods.variant_of,
                variant: &goods.variant,
                image: picture::address(goods.cover()),
            },
            price: sale.price,
            list_price: sale.list_price,
            total: status.map_or(sale.total, |s| s.total),
            per_user_limit: sale.per_user_limit,
            window: sale.window,
            phase: status.map_or_else(|| sale.phase(now), |s| s.phase),
            remaining: status.map_or(sale.total - sale.sold, |s| s.remaining),
            mode: sale.mode.name(),
            drawn: sale.mode.is_draw().then_some(entry.is_drawn),
        }
    });
    let sales = sales.collect();
    let poll_after_ms = poll_after_ms.max(*LIST_POLL_MS.start());
    (Cache::Live, Json(ListedSales { sales, now, poll_after_ms })).into_response()
}

#[derive(Serialize, JsonSchema)]
struct ListedCategories<'a> {
    categories: Vec<ListedCategory<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ListedCategory<'a> {
    id: CategoryId,
    name: &'a Bilingual,
}

/// The categories of goods, in the order of the shop.
pub async fn categories(State(shop): State<Arc<Shop>>) -> Response {
    let categories = shop.catalogue.categories();
    let categories = categories.iter().map(|category| ListedCategory { id: category.id, name: &category.name });
    (Cache::Page, Json(ListedCategories { categories: categories.collect() })).into_response()
}

/// What shipping costs.
pub async fn shipping(State(shop): State<Arc<Shop>>) -> Response {
    (Cache::Page, Json(&*shop.catalogue.shipping())).into_response()
}

/// The OpenAPI description of this API.
pub async fn openapi(State(shop): State<Arc<Shop>>) -> Response {
    (Cache::Page, json_response(StatusCode::OK, shop.document.text())).into_response()
}

/// The picture is 780 wide on the poster. A smaller one keeps the saved file small.
const PICTURE_WIDTH: u32 = 640;

pub async fn poster(State(shop): State<Arc<Shop>>, visitor: Visitor, PathIds(id): PathIds<SaleId>) -> Answer {
    let entry = shop.catalogue.known(id).filter(|entry| entry.sale.state != SaleState::Draft).ok_or(Code::NotFound)?;
    let link = format!("{}{}", shop.config.public_url, sale_path(visitor.locale, id));
    let picture = embedded(&shop, entry.goods.cover()).await?;
    let name = entry.goods.name.get(visitor.locale);
    let poster = Poster::new(&visitor.chrome(), name, entry.sale.clone(), link, picture);
    let svg = poster.render().map_err(Problem::internal)?;
    Ok((Cache::Page, [(CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}

/// A picture as a `data:` URL.
async fn embedded(shop: &Shop, cover: Option<&Picture>) -> Result<Option<String>, Problem> {
    let address = match cover.filter(|cover| cover.has_copies()) {
        Some(cover) => {
            let width = cover.widths().find(|width| *width >= PICTURE_WIDTH).unwrap_or(cover.width);
            assets::picture(&cover.copy(width, "jpg"))
        }
        None => picture::address(cover),
    };
    let (content_type, bytes) = match address.strip_prefix("/uploads/") {
        Some(name) => match shop.pictures.file(name).await.map_err(Problem::internal)? {
            Some(file) => file,
            None => return Ok(None),
        },
        None => match assets::find(&address) {
            Some(asset) => (asset.content_type, asset.bytes.to_vec()),
            None => return Ok(None),
        },
    };
    Ok(Some(format!("data:{content_type};base64,{}", STANDARD.encode(bytes))))
}

/// The most lines of the name, and the room in each, counted in Latin letters. A Chinese character takes the room of
/// two.
const MAX_NAME_LINES: usize = 2;
const LINE_ROOM: usize = 28;

#[derive(Template)]
#[template(path = "sales/poster.svg")]
pub struct Poster {
    locale: Locale,
    brand: String,
    name: String,
    lines: Vec<String>,
    sale: Sale,
    /// The start, until the script says it in the visitor's time.
    said: String,
    link: String,
    /// A `data:` URL, because a picture that was saved loads nothing.
    picture: Option<String>,
    /// The number of modules on a side, and the dark modules as a path.
    code: Option<(usize, String)>,
    t: &'static Text,
}

impl Poster {
    pub fn new(chrome: &Chrome, name: &str, sale: Sale, link: String, picture: Option<String>) -> Poster {
        let said = sale.window.opens_at.map(|at| chrome.dated(&at)).unwrap_or_default();
        let (code, brand) = (qr_path(&link), chrome.shop_name().to_owned());
        let (locale, lines, t) = (chrome.locale, lines(name), chrome.text());
        Poster { locale, brand, name: name.to_owned(), lines, sale, said, link, picture, code, t }
    }

    /// The address without its scheme.
    fn short_link(&self) -> &str {
        self.link.split_once("://").map_or(&self.link, |(_, rest)| rest)
    }
}

/// A QR code of the text.
fn qr_path(text: &str) -> Option<(usize, String)> {
    let code = QrCode::new(text).ok()?;
    let size = code.width();
    let mut path = String::new();
    for (n, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            let _ = write!(path, "M{} {}h1v1h-1z", n % size, n / size);
        }
    }
    Some((size, path))
}

/// The name in lines, because SVG does not break text by itself. A name that does not fit ends in an ellipsis.
fn lines(name: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut room = LINE_ROOM;
    for c in name.chars() {
        let width = if c.is_ascii() { 1 } else { 2 };
        if width > room {
            if lines.len() == MAX_NAME_LINES {
                if let Some(last) = lines.last_mut() {
                    last.pop();
                    last.push('…');
                }
                break;
            }
            // A Latin word goes to the next line as a whole.
            let last = lines.last_mut().map(std::mem::take).unwrap_or_default();
            let (kept, moved) = match last.rsplit_once(' ') {
                Some((kept, moved)) if c.is_ascii() && c != ' ' => (kept.to_owned(), moved.to_owned()),
                _ => (last, String::new()),
            };
            room = LINE_ROOM - moved.chars().count();
            if let Some(last) = lines.last_mut() {
                *last = kept;
            }
            lines.push(moved);
        }
        room = room.saturating_sub(width);
        if let Some(last) = lines.last_mut() {
            last.push(c);
        }
    }
    lines
}

web::operations! { "sales"
    /// This document
    GET "/api/openapi.json" showDocument = openapi;
        200 Map<String, Value>;
    /// Categories of goods, in the order of the shop
    GET "/api/categories" listCategories = categories;
        200 ListedCategories<'_>, "The categories. May be cached for five seconds.";
    /// What shipping costs by currency, country and region
    ///
    /// Empty if it costs nothing. Of the rates in an order's currency the closest one counts.
    GET "/api/shipping" showShipping = shipping;
        200 ShippingTable, "May be cached for five seconds.";
    /// Nothing
    GET "/api/ping" ping = ping, tag("benchmarks");
        204 ();
    /// Nothing, with authentication
    POST "/api/ping" pingSignedIn = ping_signed_in, tag("benchmarks");
        204 ();
    /// Sales that shoppers see: all that have not ended, and the last 50 that ended
    GET "/api/sales" listSales = list;
        200 ListedSales<'_>, "The sales, newest first. May be cached for one second.";
    /// The live state of a sale's button
    GET "/api/sales/{sale}/button" showButton = button;
        200 Button, "May be cached for one second.";
    /// How the sale spreads its accounts, and what proves it
    ///
    /// An account's moment is `opens_at` plus as many milliseconds as the first 48 bits (big-endian) of SHA-256(seed ‖
    /// user id) modulo `spread_ms`, where the seed has 32 bytes and the user id the 16 bytes of the UUID.
    GET "/api/sales/{sale}/spread" showSpread = spread;
        200 SaleSpread, "May be cached for one second.";
    /// A purchase token, once the sale is open
    POST "/api/sales/{sale}/token" createToken = token, tag("buying");
        200 TokenJson, "For this user and this sale only.";
        refuses AccountTooNew ContactNotVerified InvitationNeeded NotOpen Ended ByDraw NotCalled SoldElsewhere AddressNeeded
            AddressTaken ContactTaken DepositNeeded RateLimited;
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::samples::sample;

    #[test]
    fn name_is_broken_between_words_and_cut_after_two_lines() {
        assert_eq!(lines("Aurora X1 phone"), ["Aurora X1 phone"]);
        assert_eq!(lines("A very comfortable pair of headphones"), ["A very comfortable pair of", "headphones"]);
        assert_eq!(lines(&"长".repeat(20)), ["长".repeat(14), "长".repeat(6)]);
        assert_eq!(lines(&"长".repeat(40)), ["长".repeat(14), format!("{}…", "长".repeat(13))]);
    }

    #[test]
    fn poster_escapes_the_name_and_has_the_link() {
        let (sale, _) = sample(7, "x");
        let link = "https://shop.example/en/sales/7".to_owned();
        let chrome = Chrome::anonymous(&Arc::default(), jiff::Timestamp::UNIX_EPOCH, Locale::En, String::new());
        let svg = Poster::new(&chrome, "<script>&\"", sale, link, None).render().unwrap();
        assert!(!svg.contains("<script") && svg.contains("shop.example/en/sales/7") && svg.contains("¥1,999"), "{svg}");
        assert!(svg.contains(">Nov 21, 2026 12:00<"), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 29 29\""), "a code of this length has 29 modules: {svg}");
    }
}
