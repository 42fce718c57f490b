//! The service worker, `/sw.js`: the template `sw.js`, filled with the files that it keeps and its texts. It runs in
//! browsers; the template explains what it does.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use askama::Template;
use axum::body::Bytes;
use serde_json::{Map, json};

use crate::compression::{self, Compressed, Effort};
use crate::{assets, brand};
use domain::{Locale, ShopSettings};
use words::text;

/// Styles and scripts of the list, of the pages of sales and of the offline page. Pictures are kept once they have been
/// shown.
const SHELL: [&str; 26] = [
    "vendor/pico.min.css",
    "shop.css",
    "gallery.css",
    "cards.css",
    "store.css",
    "onward.css",
    "questions.css",
    "lib.js",
    "shop.js",
    "list.js",
    "sale.js",
    "lost.js",
    "onward.js",
    "purchase.js",
    "ready.js",
    "reminder.js",
    "push.js",
    "spread.js",
    "share.js",
    "poster.js",
    "gallery.js",
    "draw.js",
    "waiting_room.js",
    "waiting_room.css",
    "place.js",
    "offline.js",
];

/// The worker's script, ready to be served.
#[derive(Debug)]
pub struct WorkerScript {
    shop: Arc<ShopSettings>,
    pub etag: String,
    pub body: Bytes,
    pub compressed: Option<Compressed>,
}

/// The last script that was built. It depends on the program and on the settings only.
static LAST: ArcSwapOption<WorkerScript> = ArcSwapOption::const_empty();

/// The script of a shop with these settings.
pub fn worker(shop: &Arc<ShopSettings>) -> Arc<WorkerScript> {
    if let Some(last) = LAST.load_full().filter(|last| last.shop == *shop) {
        return last;
    }
    let body = Bytes::from(source(shop));
    let (etag, compressed) = (compression::etag(&body), Compressed::new(&body, Effort::Asset).ok());
    let script = Arc::new(WorkerScript { shop: shop.clone(), etag, compressed, body });
    LAST.store(Some(script.clone()));
    script
}

#[derive(Template)]
#[template(path = "pages/sw.js", escape = "none")]
struct Script<'a> {
    version: &'a str,
    icon: String,
    shell: String,
    words: String,
}

fn source(shop: &ShopSettings) -> String {
    let mut shell: Vec<_> = SHELL.into_iter().map(|name| assets::url(name).to_owned()).collect();
    shell.extend(brand::style_path(shop));
    shell.push(brand::mark_path(shop));
    let words: Map<_, _> = Locale::ALL
        .into_iter()
        .map(|locale| {
            let t = text(locale);
            let (brand, offline) = (shop.name(locale), &t.offline);
            let words = json!({
                "language": locale.html_lang(), "brand": brand, "kept": offline.kept, "button": offline.button,
            });
            (locale.to_string(), words)
        })
        .collect();
    let render = |version: &str| {
        let script = Script {
            version,
            icon: brand::icon_path(shop, "icon-192.png"),
            shell: json!(shell).to_string(),
            words: json!(words).to_string(),
        };
        script.render().expect("the script has no fallible parts")
    };
    // Include all files, because kept pages load files that `SHELL` does not name.
    let mut all: Vec<_> = assets::all().map(|asset| asset.path.as_str()).collect();
    all.sort_unstable();
    let version = compression::fingerprint((render("") + &all.concat()).as_bytes(), 12);
    render(&version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Bilingual;

    #[test]
    fn version_changes_with_the_files_and_is_the_same_each_time() {
        let shop = ShopSettings::default();
        let script = source(&shop);
        assert_eq!(script, source(&shop));
        let version = script.split("const VERSION = '").nth(1).unwrap().split('\'').next().unwrap();
        assert_eq!(version.len(), 12);
        let renamed = source(&ShopSettings { name: Bilingual::new("鲸", "Whale"), ..shop });
        assert!(renamed.contains("Whale") && !renamed.contains(version), "{renamed}");
        assert!(script.contains(assets::url("shop.css")), "a changed style changes the script, and so the version");
    }

    #[test]
    fn every_style_and_script_of_a_sale_is_kept() {
        let templates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates");
        for template in [
            "shared/base.html",
            "pages/list.html",
            "pages/sale.html",
            "waiting_room/sale_waiting_room.html",
            "site/offline.html",
        ] {
            let template = std::fs::read_to_string(templates.join(template)).unwrap();
            let names = template.split("{{ \"").skip(1).filter_map(|rest| rest.split_once("\"|asset }}"));
            for (name, _) in names.filter(|(name, _)| !name.ends_with(".png")) {
                assert!(SHELL.contains(&name), "{name} is missing without a connection");
            }
        }
    }
}
