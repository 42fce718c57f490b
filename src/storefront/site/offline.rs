//! What lets the shop work without a connection: the service worker, and the page that it then shows.

use axum::http::{HeaderMap, Uri};
use axum::response::{Html, IntoResponse, Response};

use crate::site::offline_view::OfflinePage;
use askama::Template;
use pages::Chrome;
use pages::worker::WORKER;
use web::cache_policy::Cache;
use web::extract::visitor::locale;
use web::problem::Problem;
use web::shared::negotiation::Content;

/// The service worker. Browsers ask for it at every visit. A cached copy would hold an old version of the shop.
pub async fn worker(headers: HeaderMap) -> Response {
    let compressed = WORKER.compressed.as_ref();
    let content = Content {
        content_type: "text/javascript; charset=utf-8",
        etag: &WORKER.etag,
        plain: &WORKER.body,
        br: compressed.map(|forms| &forms.br),
        gzip: compressed.map(|forms| &forms.gzip),
    };
    content.answer(&headers, Cache::Revalidate)
}

/// The same for all visitors, because the worker stores it.
pub async fn page(uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    let chrome = Chrome::anonymous(locale(&uri, &headers), uri.path().to_owned());
    Ok((Cache::Page, Html(OfflinePage { chrome }.render()?)).into_response())
}
