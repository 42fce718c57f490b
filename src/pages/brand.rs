//! The shop's own looks: the style with its colour, and the square mark before its name.
//!
//! Both have addresses with the version of the settings, so browsers keep them, and a change has another address. A
//! shop with the program's looks has neither.

use std::fmt::Write as _;

use crate::assets;
use domain::{Colour, ShopSettings};

/// The grounds of text in the style sheets: page, card and the wash of the colour, in light and dark.
const PAGE: Colour = Colour::new(0xf7, 0xf5, 0xf1);
const DARK_PAGE: Colour = Colour::new(0x12, 0x13, 0x17);
const DARK_CARD: Colour = Colour::new(0x1b, 0x1d, 0x23);

/// How much of the colour is in a wash.
const WASH: f64 = 0.1;
const DARK_WASH: f64 = 0.16;
/// How much darker or lighter a control is under the pointer.
const HOVER: f64 = 0.16;

pub fn style_path(shop: &ShopSettings) -> Option<String> {
    (shop.colour != Colour::default()).then(|| path(shop, "css"))
}

/// The logo, the drawn mark, or the program's flash.
pub fn mark_path(shop: &ShopSettings) -> String {
    match &shop.logo {
        Some(logo) => format!("/uploads/{}", logo.copy(logo.widths().next().unwrap_or_default(), "webp")),
        None if shop.mark.is_empty() && shop.colour == Colour::default() => assets::url("logo.svg").to_owned(),
        None => path(shop, "svg"),
    }
}

/// The picture for places that take no SVG: home screens, messages and previews of links. `size` is the program's own,
/// such as `icon-192.png`.
pub fn icon_path(shop: &ShopSettings, size: &str) -> String {
    match &shop.logo {
        Some(logo) => format!("/uploads/{}", logo.file()),
        None if mark_path(shop) == assets::url("logo.svg") => assets::url(size).to_owned(),
        None => path(shop, "svg"),
    }
}

fn path(shop: &ShopSettings, extension: &str) -> String {
    format!("{}brand-{:x}.{extension}", assets::PREFIX, shop.version())
}

/// A file of the brand.
#[derive(Debug)]
pub struct BrandFile {
    pub content_type: &'static str,
    pub body: String,
    /// Whether it is the file of the current settings. An older page that is still open asks for an older one, and gets
    /// the current one.
    pub is_current: bool,
}

/// The file at an address; `None` for one of another form.
pub fn file(shop: &ShopSettings, asked: &str) -> Option<BrandFile> {
    let (version, extension) = asked.strip_prefix(assets::PREFIX)?.strip_prefix("brand-")?.split_once('.')?;
    i64::from_str_radix(version, 16).ok()?;
    let (content_type, body) = match extension {
        "css" => ("text/css; charset=utf-8", style(shop.colour)),
        "svg" => ("image/svg+xml", mark(shop)),
        _ => return None,
    };
    Some(BrandFile { content_type, body, is_current: asked == path(shop, extension) })
}

/// The tokens of `shop.css` that have the colour. Text of the colour is darkened or lightened until it is legible on
/// every ground that it stands on.
fn style(colour: Colour) -> String {
    let (white, black) = (Colour::WHITE, Colour::BLACK);
    let wash = white.mixed(colour, WASH);
    let text = colour.legible(black, &[PAGE, white, wash]);
    let dark_wash = DARK_CARD.mixed(colour, DARK_WASH);
    let dark_text = colour.legible(white, &[DARK_PAGE, DARK_CARD, dark_wash]);
    let mut css = String::new();
    let tokens = |css: &mut String, text: Colour, hover: Colour, wash: Colour| {
        let pressed = colour.mixed(black, HOVER);
        let _ = write!(
            css,
            "--price:{text};--accent-hover:{hover};--brand:{colour};--brand-hover:{pressed};--focus:{text}73;\
             --wash:{wash};--pico-progress-color:{text}"
        );
    };
    css.push_str(":root:not([data-theme]){");
    tokens(&mut css, text, text.mixed(black, HOVER), wash);
    css.push_str("}@media (prefers-color-scheme:dark){:root:not([data-theme]){");
    tokens(&mut css, dark_text, dark_text.mixed(white, HOVER), dark_wash);
    css.push_str("}}");
    css
}

/// One or two signs, or the flash, on a square of the colour.
fn mark(shop: &ShopSettings) -> String {
    let signs = match shop.mark.as_str() {
        "" => r##"<path d="M37 8 15.500 36.500q-1 1.500 .8 1.500H29l-4.200 17.200q-.6 2.200 .9 .3L48.500 27q1-1.500-.8-1.500H35.500L38.700 9q.3-2.400-1.700-1Z" fill="#fff"/>"##.to_owned(),
        mark => {
            let size = if mark.chars().count() == 1 { 40 } else { 28 };
            let escaped = mark.replace('&', "&amp;").replace('<', "&lt;");
            format!(
                r##"<text x="32" y="33" fill="#fff" font-size="{size}" font-weight="700" text-anchor="middle" dominant-baseline="central" font-family="system-ui, 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif">{escaped}</text>"##
            )
        }
    };
    let colour = shop.colour;
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="16" fill="{colour}"/>{signs}</svg>"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::shop::MIN_CONTRAST;

    #[test]
    fn text_of_any_legible_colour_is_legible_on_every_ground() {
        for colour in ["#0a5bff", "#000000", "#767676", "#00695c", "#6a1b9a", "#8a5a00"] {
            let css = style(colour.parse().unwrap());
            let (light, dark) = css.split_once("@media").unwrap();
            for (part, page) in [(light, PAGE), (dark, DARK_CARD)] {
                let token = |name: &str| -> Colour { part.split_once(name).unwrap().1[..7].parse().unwrap() };
                let (text, wash) = (token("--price:"), token("--wash:"));
                for ground in [page, wash] {
                    assert!(text.contrast(ground) >= MIN_CONTRAST, "{colour}: {text} on {ground}");
                }
            }
        }
    }

    #[test]
    fn shop_with_the_looks_of_the_program_has_no_files_of_its_own() {
        let mut shop = ShopSettings::default();
        assert_eq!((style_path(&shop), mark_path(&shop).as_str()), (None, assets::url("logo.svg")));
        shop.mark = "<鲸".into();
        assert!(mark_path(&shop).ends_with(".svg") && style_path(&shop).is_none());
        let drawn = file(&shop, &mark_path(&shop)).unwrap();
        assert!(drawn.is_current && drawn.body.contains(">&lt;鲸<"), "{}", drawn.body);
        assert!(!file(&shop, "/static/brand-7.svg").unwrap().is_current);
        assert!(file(&shop, "/static/brand-x.svg").is_none() && file(&shop, "/static/brand-7.js").is_none());
    }
}
