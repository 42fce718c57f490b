//! What lies under `static/`, built into the program.
//!
//! An address carries a part of the content's hash (`/static/shop.3f2a91bc.css`), so a browser may keep the answer for
//! ever, and a new version of the program is a new address.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use axum::body::Bytes;
use rust_embed::RustEmbed;

use crate::pages::compression;
use crate::pages::compression::{Effort, Packed};

/// Where all assets live.
pub const PREFIX: &str = "/static/";

#[derive(RustEmbed)]
#[folder = "static/"]
struct Files;

/// One file, ready to be answered.
#[derive(Debug)]
pub struct Asset {
    /// With the hash: `/static/shop.3f2a91bc.css`.
    pub path: String,
    pub content_type: &'static str,
    pub etag: String,
    pub bytes: Bytes,
    packed: OnceLock<Option<Packed>>,
}

impl Asset {
    fn new(name: &str, content_type: &'static str, bytes: Bytes) -> Asset {
        Asset {
            path: address(name, &bytes),
            content_type,
            etag: compression::etag(&bytes),
            bytes,
            packed: OnceLock::new(),
        }
    }

    /// Compressed with brotli; `None` for kinds that do not gain from it.
    pub fn br(&self) -> Option<&Bytes> {
        self.packed().map(|p| &p.br)
    }

    /// Compressed with gzip; `None` for kinds that do not gain from it.
    pub fn gzip(&self) -> Option<&Bytes> {
        self.packed().map(|p| &p.gzip)
    }

    /// Compressed at the first request for it.
    fn packed(&self) -> Option<&Packed> {
        let gains = self.content_type.starts_with("text/") || self.content_type == "image/svg+xml";
        self.packed.get_or_init(|| gains.then(|| Packed::new(&self.bytes, Effort::Asset).ok()).flatten()).as_ref()
    }
}

struct Table {
    by_name: HashMap<String, &'static Asset>,
    by_path: HashMap<&'static str, &'static Asset>,
}

/// Made once and kept for as long as the program runs, so that addresses can be `&'static str`.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { by_name: HashMap::new(), by_path: HashMap::new() };
    for name in Files::iter() {
        let (Some(content_type), Some(content)) = (content_type(&name), content(&name)) else { continue };
        let asset = &*Box::leak(Box::new(Asset::new(&name, content_type, content)));
        table.by_path.insert(&asset.path, asset);
        table.by_name.insert(name.into_owned(), asset);
    }
    table
});

/// A file as it is served: a script's imports (`from './lib.js'`) name the addresses of what they import. Scripts must
/// not import each other in circles.
fn content(name: &str) -> Option<Bytes> {
    let bytes = Files::get(name)?.data.into_owned();
    if !name.ends_with(".js") {
        return Some(bytes.into());
    }
    let mut script = String::from_utf8(bytes).ok()?;
    for other in Files::iter().filter(|other| other.ends_with(".js")) {
        let import = format!("from './{other}'");
        if script.contains(&import) {
            let address = address(&other, &content(&other)?);
            script = script.replace(&import, &format!("from '{address}'"));
        }
    }
    Some(script.into())
}

/// With a part of the content's hash.
fn address(name: &str, content: &[u8]) -> String {
    let (stem, kind) = name.rsplit_once('.').unwrap_or((name, "bin"));
    format!("{PREFIX}{stem}.{}.{kind}", compression::fingerprint(content, 8))
}

/// The kinds that are served; notes and licences that lie beside them are not.
fn content_type(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        "webp" => Some("image/webp"),
        _ => None,
    }
}

/// The address of a file, named as under `static/`.
///
/// # Panics
/// If there is no such file. Names are written in templates, all of which the tests render.
pub fn url(name: &str) -> &'static str {
    match TABLE.by_name.get(name) {
        Some(asset) => &asset.path,
        None => panic!("there is no static/{name}"),
    }
}

/// What to answer at an address such as `/static/shop.3f2a91bc.css`.
pub fn find(path: &str) -> Option<&'static Asset> {
    TABLE.by_path.get(path).copied()
}

/// All assets.
pub fn all() -> impl Iterator<Item = &'static Asset> {
    TABLE.by_path.values().copied()
}

/// The address of a picture of goods: a demo picture under `static/goods/`, an upload (`u-<sha256>.png`), or, for
/// anything else, a drawing that stands in for it.
pub fn picture(image: &str) -> String {
    let is_upload = image.starts_with("u-") && image.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    if is_upload {
        return format!("/uploads/{image}");
    }
    let asset = TABLE.by_name.get(&format!("goods/{image}")).or_else(|| TABLE.by_name.get("goods/placeholder.svg"));
    asset.map(|a| a.path.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_its_file() {
        let path = url("shop.css");
        let asset = find(path).unwrap();
        assert!(
            path.starts_with("/static/shop.")
                && path.ends_with(".css")
                && path.len() == "/static/shop.12345678.css".len()
        );
        assert_eq!(asset.content_type, "text/css; charset=utf-8");
        assert!(asset.br().unwrap().len() < asset.gzip().unwrap().len());
        assert!(find("/static/shop.css").is_none());
        assert!(find("/static/../Cargo.toml").is_none());
    }

    #[test]
    fn scripts_import_each_other_by_address() {
        let script = std::str::from_utf8(&find(url("sale.js")).unwrap().bytes).unwrap();
        assert!(script.contains(&format!("from '{}'", url("lib.js"))));
        assert!(!script.contains("from './"), "an import that leads nowhere");
    }

    #[test]
    fn notes_and_licences_are_not_served() {
        assert!(all().all(|a| !a.path.contains("README") && !a.path.contains("LICENSE")));
        assert!(all().count() >= 9);
    }

    #[test]
    fn every_name_of_a_picture_leads_to_a_picture() {
        assert!(picture("phone.svg").starts_with("/static/goods/phone."));
        assert_eq!(picture("u-00ff.png"), "/uploads/u-00ff.png");
        for odd in ["", "../secret", "u-/../x", "u-\"onerror=", "https://elsewhere.example/x.png"] {
            assert!(picture(odd).starts_with("/static/goods/placeholder."), "{odd}");
        }
    }
}
