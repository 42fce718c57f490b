//! Pages for shoppers and visitors. They need no scripts. Pages that are the same for every visitor, static files, and the
//! files that search engines and home screens ask for are served from here as well: `robots.txt`, the site map, the
//! manifest, and `security.txt` for who finds a weakness.

pub mod archive;

use std::sync::Arc;

use askama::Template;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::header::{ACCEPT_LANGUAGE, CONTENT_TYPE, LOCATION, VARY};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Redirect, Response};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::sign_in::page::payment_minutes;
use domain::staff::ShopPage;
use domain::{Locale, SaleId, SaleState, ShopSettings};
use pages::filters::categories_of;
use pages::onward::OnwardSale;
use pages::sale_pages::Site;
use pages::{Chrome, assets, brand, compression, filters, sale_pages};
use web::extract::{State, Visitor, locale};
use web::shared::current_sales;
use web::shared::negotiation::Content;
use web::{Answer, Cache, Code, Problem, Shop, personal};
use words::text;

/// A pre-rendered page of a list or of a sale, or a sale's calendar reminder, from memory. The page of a sale that
/// ended long ago is rendered now.
pub async fn shared(State(shop): State<Arc<Shop>>, uri: Uri, headers: HeaderMap) -> Answer {
    let Some(page) = shop.pages.get(uri.path()) else { return archived(&shop, &uri, &headers) };
    Ok(Content::new(page.content_type, &page.etag, &page.body, Some(&page.compressed)).answer(&headers, Cache::Page))
}

fn archived(shop: &Shop, uri: &Uri, headers: &HeaderMap) -> Answer {
    let (locale, id) = archived_sale(uri.path()).ok_or(Code::NotFound)?;
    let entry = shop.catalogue.known(id).filter(|entry| entry.sale.state == SaleState::Ended).ok_or(Code::NotFound)?;
    let listed = shop.catalogue.listed();
    let site = Site {
        origin: &shop.config.public_url,
        shop: &shop.catalogue.settings(),
        made_at: shop.clock.now(),
        categories: &shop.catalogue.categories(),
        answers: &shop.catalogue.answers(),
        shipping: &shop.catalogue.shipping(),
    };
    let of_sale = (&entry.sale, &entry.goods);
    let all = || listed.iter().map(|other| (&other.sale, &other.goods));
    let body = Bytes::from(sale_pages::render_sale(locale, site, of_sale, all)?);
    let etag = compression::etag(&body);
    Ok(Content::new("text/html; charset=utf-8", &etag, &body, None).answer(headers, Cache::Page))
}

/// The sale of a path such as `/en/sales/7`.
fn archived_sale(path: &str) -> Option<(Locale, SaleId)> {
    Locale::ALL.into_iter().find_map(|locale| {
        let rest = path.strip_prefix('/')?.strip_prefix(locale.as_str())?.strip_prefix("/sales/")?;
        Some((locale, rest.parse().ok()?))
    })
}

/// Redirects `/` to the list in the offered language that the browser prefers.
pub async fn redirect_to_language(State(shop): State<Arc<Shop>>, headers: HeaderMap) -> Response {
    let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let list = format!("/{}/", shop.catalogue.settings().languages.negotiate(accepted));
    (StatusCode::FOUND, Cache::Redirect, [(LOCATION, list), (VARY, "accept-language".to_owned())]).into_response()
}

/// Redirects `/zh` to `/zh/`.
pub async fn to_list(uri: Uri) -> Response {
    (Cache::Redirect, Redirect::permanent(&format!("{}/", uri.path()))).into_response()
}

/// A file of `static/`, or the shop's own style or mark, at a URL that changes with its content.
pub async fn asset(State(shop): State<Arc<Shop>>, uri: Uri, headers: HeaderMap) -> Answer {
    if let Some(file) = brand::file(&shop.catalogue.settings(), uri.path()) {
        let cache = if file.is_current { Cache::Forever } else { Cache::Page };
        return Ok((cache, [(CONTENT_TYPE, file.content_type)], file.body).into_response());
    }
    let asset = assets::find(uri.path()).ok_or(Code::NotFound)?;
    let content = Content::new(asset.content_type, &asset.etag, &asset.bytes, asset.compressed());
    Ok(content.answer(&headers, Cache::Forever))
}

/// An uploaded picture in one of its sizes. The name contains the hash of its content.
pub async fn upload(State(shop): State<Arc<Shop>>, Path(name): Path<String>) -> Answer {
    let (content_type, bytes) = shop.pictures.file(&name).await.map_err(Problem::internal)?.ok_or(Code::NotFound)?;
    Ok((Cache::Forever, [(CONTENT_TYPE, content_type)], bytes).into_response())
}

/// The page with the shop's own texts.
pub async fn about(State(shop): State<Arc<Shop>>, visitor: Visitor) -> Answer {
    let mut pages = shop.store.shop_pages().list().await?;
    pages.retain(|page| page.is_written(visitor.locale));
    pages.sort_by_key(|page| page.name);
    let (payment_minutes, onward) = (payment_minutes(&shop), current_sales(&shop.catalogue, visitor.locale));
    personal(StatusCode::OK, &AboutPage { chrome: visitor.chrome(), pages, payment_minutes, onward })
}

/// The pages that are written, one below the other.
#[derive(Debug, Template)]
#[template(path = "site/about.html")]
struct AboutPage {
    chrome: Chrome,
    /// In the order of [`ShopPageName::ALL`].
    pages: Vec<ShopPage>,
    /// How long an order waits for its payment, in minutes. `None` for a time of other parts.
    payment_minutes: Option<u64>,
    onward: Vec<OnwardSale>,
}

impl AboutPage {
    fn title(&self, page: &ShopPage) -> &'static str {
        self.chrome.text().about.title_of(page.name)
    }
}

// What lets the shop work without a connection: the service worker, and the page that it then shows.

/// The service worker. Browsers ask for it at every visit. A cached copy would hold an old version of the shop.
pub async fn worker(State(shop): State<Arc<Shop>>, headers: HeaderMap) -> Response {
    let script = pages::worker::worker(&shop.catalogue.settings());
    let content_type = "text/javascript; charset=utf-8";
    let content = Content::new(content_type, &script.etag, &script.body, script.compressed.as_ref());
    content.answer(&headers, Cache::Revalidate)
}

/// The page that the worker shows without a connection. It is the same for all visitors, because the worker stores it.
pub async fn offline(State(shop): State<Arc<Shop>>, uri: Uri, headers: HeaderMap) -> Answer {
    let (settings, now) = (shop.catalogue.settings(), shop.clock.now());
    let chrome = Chrome::anonymous(&settings, now, locale(&uri, &headers), uri.path().to_owned());
    Ok((Cache::Page, Html(OfflinePage { chrome }.render()?)).into_response())
}

#[derive(Debug, Template)]
#[template(path = "site/offline.html")]
struct OfflinePage {
    chrome: Chrome,
}

fn answer(content_type: &'static str, body: String) -> Response {
    (Cache::Page, [(CONTENT_TYPE, content_type)], body).into_response()
}

/// Keeps crawlers off the API, the console and the pages of single visitors. Packets stay readable for previews of
/// links.
pub async fn robots(State(shop): State<Arc<Shop>>) -> Response {
    let mut body = "User-agent: *\nDisallow: /api/\nDisallow: /admin\n".to_owned();
    for locale in Locale::ALL {
        for page in ["account", "orders", "wallet", "login", "register", "recovery"] {
            body += &format!("Disallow: /{locale}/{page}\n");
        }
    }
    body += &format!("Sitemap: {}/sitemap.xml\n", shop.config.public_url);
    answer("text/plain; charset=utf-8", body)
}

/// How long [`security`] says that it is right. RFC 9116 recommends less than a year.
const SECURITY_LIFETIME: SignedDuration = SignedDuration::from_hours(180 * 24);

/// Where to report a weakness of this shop (RFC 9116): the page that says how to reach it.
pub async fn security(State(shop): State<Arc<Shop>>) -> Response {
    let url = &shop.config.public_url;
    let expires = (shop.clock.now() + SECURITY_LIFETIME).strftime("%Y-%m-%dT00:00:00Z");
    let body = format!(
        "Contact: {url}/en/about\nExpires: {expires}\nPreferred-Languages: zh, en\nCanonical: {url}/.well-known/security.txt\n"
    );
    answer("text/plain; charset=utf-8", body)
}

/// The list, the open and upcoming sales, and their categories, each in the offered languages.
pub async fn sitemap(State(shop): State<Arc<Shop>>) -> Response {
    let sales = shop.catalogue.listed();
    let current = || sales.iter().filter(|entry| entry.sale.state != SaleState::Ended);
    let categories = shop.catalogue.categories();
    let categories = categories_of(&categories, current().map(|entry| entry.goods.category_id));
    let paths = std::iter::once(String::new())
        .chain(categories.into_iter().map(|category| format!("categories/{}", category.id)))
        .chain(current().map(|entry| format!("sales/{}", entry.sale.id)));
    let mut body = concat!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:xhtml=\"http://www.w3.org/1999/xhtml\">\n",
    )
    .to_owned();
    let offered: Vec<Locale> = shop.catalogue.settings().languages.offered().collect();
    for path in paths {
        let address = |locale: Locale| format!("{}/{locale}/{path}", shop.config.public_url);
        let languages: String = offered
            .iter()
            .map(|&other| {
                let (lang, href) = (other.html_lang(), address(other));
                format!("<xhtml:link rel=\"alternate\" hreflang=\"{lang}\" href=\"{href}\"/>")
            })
            .collect();
        for &locale in &offered {
            body += &format!("<url><loc>{}</loc>{languages}</url>\n", address(locale));
        }
    }
    answer("application/xml; charset=utf-8", body + "</urlset>\n")
}

/// The shop as an app on a home screen, in the language of `?lang=`. Its identity is the same in both languages.
pub async fn manifest(State(shop): State<Arc<Shop>>, uri: Uri, headers: HeaderMap) -> Response {
    let (locale, settings) = (locale(&uri, &headers), shop.catalogue.settings());
    let name = settings.name(locale);
    let t = text(locale);
    let shortcut = |name: &str, path: &str| json!({"name": name, "url": format!("/{locale}/{path}")});
    let manifest = json!({
        "id": "/",
        "name": name,
        "short_name": name,
        "description": t.shop.tagline,
        "lang": locale.html_lang(),
        "start_url": format!("/{locale}/"),
        "scope": "/",
        "display": "minimal-ui",
        "background_color": "#f7f5f1",
        "theme_color": settings.colour.to_string(),
        "icons": icons(&settings),
        "shortcuts": [
            shortcut(t.shop.nav_orders, "orders"),
            shortcut(t.wallet.title, "wallet"),
            shortcut(t.member.title, "account"),
        ],
    });
    let vary = [(CONTENT_TYPE, "application/manifest+json"), (VARY, "accept-language")];
    (Cache::Page, vary, manifest.to_string()).into_response()
}

/// The icons of the app. A shop with a mark of its own has that one, in its own size.
fn icons(settings: &ShopSettings) -> Value {
    let mark = brand::mark_path(settings);
    if let Some(logo) = &settings.logo {
        let sizes = format!("{}x{}", logo.width, logo.height);
        return json!([{"src": brand::icon_path(settings, ""), "sizes": sizes, "type": "image/jpeg"}]);
    }
    let drawn = json!({"src": mark, "sizes": "any", "type": "image/svg+xml"});
    if mark != assets::url("logo.svg") {
        return json!([drawn]);
    }
    let png =
        |name, sizes| json!({"src": assets::url(name), "sizes": sizes, "type": "image/png", "purpose": "any maskable"});
    json!([drawn, png("icon-192.png", "192x192"), png("icon-512.png", "512x512")])
}
