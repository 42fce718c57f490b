//! The poster of a sale.

use std::fmt::Write as _;
use std::sync::Arc;

use askama::Template;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use qrcode::{Color, QrCode};

use domain::{Locale, Picture, Sale, SaleId, SaleState};
use pages::{Chrome, assets, filters, picture};
use web::extract::{PathIds, State, Visitor};
use web::shared::paths::sale_path;
use web::{Cache, Code, Problem, Shop};
use words::Text;

/// The picture is 780 wide on the poster. A smaller one keeps the saved file small.
const PICTURE_WIDTH: u32 = 640;

pub async fn show(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    PathIds(id): PathIds<SaleId>,
) -> Result<Response, Problem> {
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
