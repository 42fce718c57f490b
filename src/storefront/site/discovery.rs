//! The files that search engines and home screens ask for: `robots.txt`, the site map, the manifest, and
//! `security.txt` for who finds a weakness.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use serde_json::json;

use domain::{Locale, SaleState};
use pages::assets;
use pages::filters::categories_of;
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

/// The list, the open and upcoming sales, and their categories, each in both languages.
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
    for path in paths {
        let address = |locale: Locale| format!("{}/{locale}/{path}", shop.config.public_url);
        let languages: String = Locale::ALL
            .into_iter()
            .map(|other| {
                let (lang, href) = (other.html_lang(), address(other));
                format!("<xhtml:link rel=\"alternate\" hreflang=\"{lang}\" href=\"{href}\"/>")
            })
            .collect();
        for locale in Locale::ALL {
            body += &format!("<url><loc>{}</loc>{languages}</url>\n", address(locale));
        }
    }
    answer("application/xml; charset=utf-8", body + "</urlset>\n")
}

/// The shop as an app on a home screen, in the language of `?lang=`. Its identity is the same in both languages.
pub async fn manifest(uri: Uri, headers: HeaderMap) -> Response {
    let locale = locale(&uri, &headers);
    let t = text(locale);
    let shortcut = |name: &str, path: &str| json!({"name": name, "url": format!("/{locale}/{path}")});
    let manifest = json!({
        "id": "/",
        "name": t.shop.brand,
        "short_name": t.shop.brand,
        "description": t.shop.tagline,
        "lang": locale.html_lang(),
        "start_url": format!("/{locale}/"),
        "scope": "/",
        "display": "minimal-ui",
        "background_color": "#f7f5f1",
        "theme_color": "#c9301d",
        "icons": [
            {"src": assets::url("logo.svg"), "sizes": "any", "type": "image/svg+xml"},
            {"src": assets::url("icon-192.png"), "sizes": "192x192", "type": "image/png", "purpose": "any maskable"},
            {"src": assets::url("icon-512.png"), "sizes": "512x512", "type": "image/png", "purpose": "any maskable"},
        ],
        "shortcuts": [
            shortcut(t.shop.nav_orders, "orders"),
            shortcut(t.wallet.title, "wallet"),
            shortcut(t.member.title, "account"),
        ],
    });
    let vary = [(CONTENT_TYPE, "application/manifest+json"), (VARY, "accept-language")];
    (Cache::Page, vary, manifest.to_string()).into_response()
}
