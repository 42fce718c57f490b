//! The service worker, `/sw.js`: the template `sw.js`, filled with the files that it keeps and its texts. It runs in
//! browsers; the template explains what it does.

use std::sync::LazyLock;

use askama::Template;
use axum::body::Bytes;
use serde_json::{Map, json};

use crate::assets;
use crate::compression::{self, Compressed, Effort};
use domain::Locale;
use words::text;

/// Styles and scripts of the list, of the pages of sales and of the offline page. Pictures are kept once they have been
/// shown.
const SHELL: [&str; 27] = [
    "vendor/pico.min.css",
    "shop.css",
    "gallery.css",
    "cards.css",
    "store.css",
    "onward.css",
    "questions.css",
    "logo.svg",
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
pub struct WorkerScript {
    pub etag: String,
    pub body: Bytes,
    pub compressed: Option<Compressed>,
}

/// Built once, because it depends only on the program.
pub static WORKER: LazyLock<WorkerScript> = LazyLock::new(|| {
    let body = Bytes::from(source());
    WorkerScript { etag: compression::etag(&body), compressed: Compressed::new(&body, Effort::Asset).ok(), body }
});

#[derive(Template)]
#[template(path = "pages/sw.js", escape = "none")]
struct Script<'a> {
    version: &'a str,
    icon: &'a str,
    shell: String,
    words: String,
}

fn source() -> String {
    let shell: Vec<_> = SHELL.into_iter().map(assets::url).collect();
    let words: Map<_, _> = Locale::ALL
        .into_iter()
        .map(|locale| {
            let t = text(locale);
            let (brand, offline) = (t.shop.brand, &t.offline);
            let words = json!({
                "language": locale.html_lang(), "brand": brand, "kept": offline.kept, "button": offline.button,
            });
            (locale.to_string(), words)
        })
        .collect();
    let render = |version: &str| {
        let icon = assets::url("icon-192.png");
        let script = Script { version, icon, shell: json!(shell).to_string(), words: json!(words).to_string() };
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

    #[test]
    fn version_changes_with_the_files_and_is_the_same_each_time() {
        let script = source();
        assert_eq!(script, source());
        let version = script.split("const VERSION = '").nth(1).unwrap().split('\'').next().unwrap();
        assert_eq!(version.len(), 12);
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
