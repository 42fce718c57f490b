//! The files that search engines and home screens ask for: `robots.txt`, the site map, the manifest, and
//! `security.txt` for who finds a weakness.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use serde_json::{Value, json};

use domain::{Locale, SaleState, ShopSettings};
use pages::filters::categories_of;
use pages::{assets, brand};
use web::Shop;
use web::cache_policy::Cache;
use web::extract::visitor::locale;
use words::text;

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
