//! The files under `static/`, built into the program.
//!
//! An address carries a part of the content's hash (`/static/shop.3f2a91bc.css`). So browsers may cache the answer
//! without limit, and changed content has a new address.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use axum::body::Bytes;

use crate::compression::{self, Compressed, Effort};

/// The path prefix of all assets.
pub const PREFIX: &str = "/static/";

/// Defines `NAMES` and `read` for the listed files below `static/`, and for the copies of the demo's pictures of goods.
macro_rules! embed {
    ($($name:literal)* goods { $($goods:literal)* }) => {
        embed! {
            $($name,)*
            $(
                concat!("goods/", $goods, "-320.webp"),
                concat!("goods/", $goods, "-480.webp"),
                concat!("goods/", $goods, "-640.webp"),
                concat!("goods/", $goods, "-1200.webp"),
                concat!("goods/", $goods, "-800.jpg"),
            )*
        }
    };
    ($($name:expr,)*) => {
        /// The files that are served, without the notes and licenses that lie beside them.
        const NAMES: &[&str] = &[$($name),*];

        /// The content of a listed file.
        #[cfg(not(debug_assertions))]
        fn read(name: &str) -> Option<Bytes> {
            let bytes: &'static [u8] = match name {
                $($name => include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../static/", $name)),)*
                _ => return None,
            };
            Some(Bytes::from_static(bytes))
        }
    };
}

embed! {
    "address_paste.js"
    "admin.css"
    "admin.js"
    "admin_gallery.js"
    "brand.js"
    "cards.css"
    "chime.js"
    "cockpit.js"
    "cockpit_tiles.js"
    "console_cards.css"
    "density.js"
    "draw.css"
    "draw.js"
    "draw_check.js"
    "draw_verify.js"
    "gallery.css"
    "gallery.js"
    "goods/espresso-detail-1200.webp"
    "goods/espresso-detail-320.webp"
    "goods/espresso-detail-480.webp"
    "goods/espresso-detail-640.webp"
    "goods/phone-back-1200.webp"
    "goods/phone-back-320.webp"
    "goods/phone-back-480.webp"
    "goods/phone-back-640.webp"
    "goods/placeholder.svg"
    "icon-192.png"
    "icon-512.png"
    "lib.js"
    "line.js"
    "list.js"
    "logo.svg"
    "lost.js"
    "offline.js"
    "onward.css"
    "onward.js"
    "outcome.css"
    "own_account.css"
    "packet.png"
    "packet_watch.js"
    "packets.css"
    "packets.js"
    "palette.js"
    "passkeys.js"
    "pause_key.js"
    "place.js"
    "poster.js"
    "preview.js"
    "proof.js"
    "purchase.js"
    "push.js"
    "push_switch.js"
    "questions.css"
    "ready.js"
    "receipt.css"
    "regions.js"
    "register.js"
    "reminder.js"
    "report.css"
    "sale.js"
    "secret.js"
    "share.js"
    "shop.css"
    "shop.js"
    "shortcuts.js"
    "sign_in.css"
    "spread.js"
    "store.css"
    "tables.js"
    "vendor/pico.min.css"
    "vendor/regions.json"
    "vendor/uPlot.iife.min.js"
    "vendor/uPlot.min.css"
    "waiting_room.css"
    "waiting_room.js"
    "waitlist.js"
    "wallet.css"
    "win_picture.js"
    goods {
        "bottle" "camera" "espresso" "espresso-green" "handheld" "headphones" "lamp" "mug" "phone" "sneakers" "speaker"
        "suitcase" "watch"
    }
}

/// The content of a listed file. A debug build reads it at each start, so that a changed file needs no build.
#[cfg(debug_assertions)]
fn read(name: &str) -> Option<Bytes> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../static");
    std::fs::read(folder.join(name)).ok().map(Bytes::from)
}

/// One file, ready to be served.
#[derive(Debug)]
pub struct Asset {
    /// The path with the hash: `/static/shop.3f2a91bc.css`.
    pub path: String,
    pub content_type: &'static str,
    pub etag: String,
    pub bytes: Bytes,
    compressed: OnceLock<Option<Compressed>>,
}

impl Asset {
    fn new(name: &str, content_type: &'static str, bytes: Bytes) -> Asset {
        let (stem, kind) = name.rsplit_once('.').unwrap_or((name, "bin"));
        // Eight digits of it are in the path, all in the entity tag.
        let fingerprint = compression::fingerprint(&bytes, 16);
        Asset {
            path: format!("{PREFIX}{stem}.{}.{kind}", &fingerprint[..8]),
            content_type,
            etag: compression::etag_of(&fingerprint),
            bytes,
            compressed: OnceLock::new(),
        }
    }

    /// Compresses at the first call. `None` for content types that do not get smaller.
    pub fn compressed(&self) -> Option<&Compressed> {
        let is_text = self.content_type.starts_with("text/")
            || ["application/json", "image/svg+xml"].contains(&self.content_type);
        let compress = || is_text.then(|| Compressed::new(&self.bytes, Effort::Asset).ok()).flatten();
        self.compressed.get_or_init(compress).as_ref()
    }
}

#[derive(Default)]
struct Table {
    by_name: HashMap<&'static str, &'static Asset>,
    by_path: HashMap<&'static str, &'static Asset>,
}

impl Table {
    /// Adds a file and the scripts that it imports, unless they are there. `None` for files that are not served.
    ///
    /// A script's imports (`from './lib.js'`) are replaced by the addresses of the imported scripts. Circular imports
    /// do not terminate.
    fn add(&mut self, name: &'static str) -> Option<&'static Asset> {
        if let Some(asset) = self.by_name.get(name) {
            return Some(asset);
        }
        let content_type = content_type(name)?;
        let mut bytes = read(name)?;
        if name.ends_with(".js") {
            let script = String::from_utf8(bytes.into()).ok()?;
            bytes = self.with_addresses(&script)?.into();
        }
        let asset = &*Box::leak(Box::new(Asset::new(name, content_type, bytes)));
        self.by_path.insert(&asset.path, asset);
        self.by_name.insert(name, asset);
        Some(asset)
    }

    fn with_addresses(&mut self, script: &str) -> Option<String> {
        let mut parts = script.split("from './");
        let mut addressed = parts.next()?.to_owned();
        for part in parts {
            let (file, rest) = part.split_once('\'')?;
            let imported = NAMES.iter().find(|name| **name == file)?;
            addressed.extend(["from '", &self.add(imported)?.path, "'", rest]);
        }
        Some(addressed)
    }
}

/// The table of all files. It is built once and leaked, so that addresses are `&'static str`.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for name in NAMES {
        table.add(name);
    }
    table
});

/// The content type by extension; `None` for files that are not served, such as licenses.
fn content_type(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "json" => Some("application/json"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        "webp" => Some("image/webp"),
        "jpg" => Some("image/jpeg"),
        _ => None,
    }
}

/// The address of a file by its name under `static/`.
///
/// # Panics
/// For an unknown name. Names are literals in templates, and the tests render all templates.
pub fn url(name: &str) -> &'static str {
    match TABLE.by_name.get(name) {
        Some(asset) => &asset.path,
        None => panic!("there is no static/{name}"),
    }
}

/// The asset at an address such as `/static/shop.3f2a91bc.css`.
pub fn find(path: &str) -> Option<&'static Asset> {
    TABLE.by_path.get(path).copied()
}

/// All assets.
pub fn all() -> impl Iterator<Item = &'static Asset> {
    TABLE.by_path.values().copied()
}

/// The address of a product picture by name: an upload (`u-<sha256>.png`), a demo picture under `static/goods/`, and
/// the placeholder for any other name.
pub fn picture(image: &str) -> String {
    let is_upload = image.starts_with("u-") && image.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    if is_upload {
        return format!("/uploads/{image}");
    }
    let asset =
        TABLE.by_name.get(format!("goods/{image}").as_str()).or_else(|| TABLE.by_name.get("goods/placeholder.svg"));
    asset.map(|a| a.path.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_of_a_file_is_served() {
        let path = url("shop.css");
        let asset = find(path).unwrap();
        assert!(
            path.starts_with("/static/shop.")
                && path.ends_with(".css")
                && path.len() == "/static/shop.12345678.css".len()
        );
        assert_eq!(asset.content_type, "text/css; charset=utf-8");
        let forms = asset.compressed().unwrap();
        assert!([&forms.br, &forms.gzip].iter().all(|form| form.len() < asset.bytes.len() / 2));
        assert!(find(url("vendor/regions.json")).unwrap().compressed().is_some());
        assert!(find("/static/shop.css").is_none());
        assert!(find("/static/../Cargo.toml").is_none());
    }

    #[test]
    fn scripts_import_each_other_by_address() {
        let script = std::str::from_utf8(&find(url("sale.js")).unwrap().bytes).unwrap();
        assert!(script.contains(&format!("from '{}'", url("lib.js"))));
        assert!(!script.contains("from './"), "an import without an address");
    }

    #[test]
    fn every_rule_of_a_style_sheet_has_a_selector() {
        for asset in all().filter(|asset| asset.path.ends_with(".css")) {
            let css = std::str::from_utf8(&asset.bytes).unwrap();
            let after_comments = css.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, rest)| rest));
            let rules: String = after_comments.collect();
            for (at, _) in rules.match_indices('{') {
                let before = rules[..at].trim_end();
                let near: String = rules[at..].chars().take(80).collect();
                assert!(!before.is_empty() && !before.ends_with(['{', '}', ';']), "{}: {near}", asset.path);
            }
        }
    }

    #[test]
    fn every_file_below_static_is_embedded() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../static");
        let (mut folders, mut files) = (vec![root.clone()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    files.push(entry.path().strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        files.retain(|name| !name.ends_with(".md"));
        files.sort();
        let mut names = NAMES.to_vec();
        names.sort_unstable();
        assert_eq!(files, names);
    }

    #[test]
    fn licenses_are_not_served() {
        assert!(all().all(|a| !a.path.contains("README") && !a.path.contains("LICENSE")));
        assert!(all().count() >= 9);
    }

    #[test]
    fn unknown_picture_names_lead_to_the_placeholder() {
        assert!(picture("phone-640.webp").starts_with("/static/goods/phone-640."));
        assert_eq!(picture("u-00ff.png"), "/uploads/u-00ff.png");
        for odd in ["", "../secret", "u-/../x", "u-\"onerror=", "https://elsewhere.example/x.png"] {
            assert!(picture(odd).starts_with("/static/goods/placeholder."), "{odd}");
        }
    }
}
