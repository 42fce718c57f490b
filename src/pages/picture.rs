//! The markup of a picture: the copies that a browser chooses from, and the width at which it is shown.

use askama::Template;

use super::assets;
use domain::Picture;

/// Where on a page a picture is shown. `sizes` follows the layout in the style sheets, so change both together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// A card in the list.
    Card,
    /// The first, large card of the list.
    FirstCard,
    /// The first picture of a gallery.
    Main,
    /// Further pictures of the gallery.
    More,
    /// A thumbnail in a row, or below a gallery.
    Row,
}

impl Placement {
    /// The placement by its name in templates.
    ///
    /// # Panics
    /// For an unknown name. Names are literals in templates, and the tests render all templates.
    pub fn from_name(name: &str) -> Placement {
        match name {
            "card" => Placement::Card,
            "first-card" => Placement::FirstCard,
            "main" => Placement::Main,
            "more" => Placement::More,
            "row" => Placement::Row,
            other => panic!("unknown picture placement {other:?}"),
        }
    }

    /// The shown width, from which a browser chooses a copy before it has the style sheets. A phone shows two cards beside
    /// each other. Screens with three device pixels per CSS pixel are told four fifths of a card's width: they load the copy
    /// of `DENSE_WIDTH`, about 2.5 pixels per CSS pixel, which looks as sharp. They are told two thirds of a gallery's, for
    /// two pixels per CSS pixel: the next copy is three times as many bytes. A phone also bounds the height of a gallery,
    /// whose frame is a square (`--tall` in `store.css`). Not in `svh`, which Chromium knows too late: it would load a larger
    /// copy before the right one.
    fn sizes(self) -> &'static str {
        match self {
            Placement::Card => {
                "(min-width: 72rem) 17rem, (min-width: 44rem) 50vw, (min-resolution: 2.5x) calc(40vw - 1.2rem), calc(50vw - 1.5rem)"
            }
            Placement::FirstCard => {
                "(min-width: 44rem) 17rem, (min-resolution: 2.5x) calc(40vw - 1.2rem), calc(50vw - 1.5rem)"
            }
            Placement::Main | Placement::More => {
                "(min-width: 72rem) 36rem, (min-width: 52rem) 52vw, (min-resolution: 2.5x) min(66vw - 1.3rem, 25vh), min(100vw - 2rem, 37vh)"
            }
            Placement::Row => "5.5rem",
        }
    }

    /// Width and height that are reserved for a picture of unknown size.
    fn default_size(self) -> (u32, u32) {
        match self {
            Placement::Card | Placement::FirstCard => (400, 400),
            Placement::Main | Placement::More => (800, 800),
            Placement::Row => (128, 128),
        }
    }

    fn is_above_the_fold(self) -> bool {
        matches!(self, Placement::FirstCard | Placement::Main)
    }

    fn has_placeholder(self) -> bool {
        self != Placement::Row
    }
}

/// A picture or an optional picture, as the argument of the `picture` filter.
pub trait AsPicture {
    fn as_picture(&self) -> Option<&Picture>;
}

impl AsPicture for Picture {
    fn as_picture(&self) -> Option<&Picture> {
        Some(self)
    }
}

impl<T: AsPicture> AsPicture for &T {
    fn as_picture(&self) -> Option<&Picture> {
        (*self).as_picture()
    }
}

impl<T: AsPicture> AsPicture for Option<T> {
    fn as_picture(&self) -> Option<&Picture> {
        self.as_ref().and_then(AsPicture::as_picture)
    }
}

/// One picture on a page.
#[derive(Template)]
#[template(path = "pages/picture.html")]
pub struct PictureView<'a> {
    picture: Option<&'a Picture>,
    placement: Placement,
    /// The alternative text. Empty if the text beside the picture describes it.
    alt: &'a str,
}

impl<'a> PictureView<'a> {
    pub fn new(picture: Option<&'a Picture>, placement: Placement, alt: &'a str) -> PictureView<'a> {
        PictureView { picture, placement, alt }
    }

    fn copies(&self) -> Option<&'a Picture> {
        self.picture.filter(|picture| picture.has_copies())
    }

    fn source_set(&self, picture: &Picture, extension: &str) -> String {
        let copies =
            picture.widths().map(|width| format!("{} {width}w", assets::picture(&picture.copy(width, extension))));
        copies.collect::<Vec<_>>().join(", ")
    }

    /// A copy of medium width, for browsers without `srcset`.
    fn source(&self, picture: &Picture) -> String {
        let width = picture.widths().find(|&width| width >= self.placement.default_size().0).unwrap_or(picture.width);
        assets::picture(&picture.copy(width, "jpg"))
    }

    fn address(&self) -> String {
        address(self.picture)
    }
}

/// The address of the largest file of the picture.
pub fn largest(picture: &Picture) -> String {
    let copy = picture.has_copies().then(|| picture.copy(picture.width, "jpg"));
    copy.map_or_else(|| address(Some(picture)), |copy| assets::picture(&copy))
}

/// The address of one file of the picture, an upload or a demo picture. Without a picture, the address of the
/// placeholder.
pub fn address(picture: Option<&Picture>) -> String {
    assets::picture(&picture.map(Picture::file).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn photo(width: u32, height: u32) -> Picture {
        let placeholder = "data:image/webp;base64,AAAA".to_owned();
        Picture { width, height, placeholder, ..Picture::drawing("u-00ff") }
    }

    fn html(picture: &Picture, placement: Placement) -> String {
        PictureView::new(Some(picture), placement, "a \"phone\"").render().unwrap()
    }

    #[test]
    fn browser_chooses_among_copies_and_knows_the_size() {
        let html = html(&photo(1000, 750), Placement::Main);
        for part in [
            r#"<source type="image/webp" srcset="/uploads/u-00ff-320.webp 320w, /uploads/u-00ff-640.webp 640w, /uploads/u-00ff-1000.webp 1000w" sizes="(min-width"#,
            r#"srcset="/uploads/u-00ff-320.jpg 320w, /uploads/u-00ff-640.jpg 640w, /uploads/u-00ff-1000.jpg 1000w" sizes="(min-width"#,
            r#"src="/uploads/u-00ff-1000.jpg""#,
            r#"width="1000" height="750""#,
            r#"src="data:image/webp;base64,AAAA""#,
            r#"fetchpriority="high""#,
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains("loading=\"lazy\"") && !html.contains("\"phone\"\""), "{html}");
    }

    #[test]
    fn pictures_below_the_fold_load_lazily_and_thumbnails_have_no_placeholder() {
        let main = html(&photo(1600, 900), Placement::Main);
        assert!(main.contains("min(100vw - 2rem, 37vh)"), "a phone shows it 37 vh high: {main}");
        let card = html(&photo(1280, 960), Placement::Card);
        assert!(card.contains("loading=\"lazy\"") && !card.contains("fetchpriority") && card.contains("data:image"));
        assert!(card.contains(r#"src="/uploads/u-00ff-640.jpg""#));
        assert!(
            card.contains("(min-resolution: 2.5x) calc(40vw - 1.2rem)"),
            "the densest screens take a smaller copy: {card}"
        );
        let row = html(&photo(1280, 960), Placement::Row);
        assert!(row.contains("sizes=\"5.5rem\"") && !row.contains("data:image"));
        assert!(row.contains(r#"src="/uploads/u-00ff-320.jpg""#));
        assert!(!html(&photo(1280, 960), Placement::FirstCard).contains("lazy"));
    }

    #[test]
    fn demo_picture_has_copies_in_one_format() {
        let html = html(&Picture { width: 1200, height: 1200, ..Picture::drawing("phone") }, Placement::Main);
        for width in [320, 480, 640, 1200] {
            assert!(html.contains(&format!("/static/goods/phone-{width}.")), "{width} in {html}");
        }
        assert!(!html.contains("<source") && !html.contains("placeholder"), "{html}");
        assert_eq!(html.matches(".webp").count(), 5, "{html}");
    }

    #[test]
    fn picture_is_looked_at_in_its_largest_copy() {
        assert_eq!(largest(&photo(1000, 750)), "/uploads/u-00ff-1000.jpg");
        let drawing = Picture { width: 1200, height: 1200, ..Picture::drawing("phone") };
        assert!(largest(&drawing).starts_with("/static/goods/phone-1200."));
        assert!(largest(&Picture::drawing("phone-640.webp")).starts_with("/static/goods/phone-640."));
    }

    #[test]
    fn pictures_without_copies_are_one_file_of_reserved_size() {
        let old = format!("u-{}.png", "0".repeat(64));
        for (picture, address) in [
            (Some(Picture::drawing("phone-640.webp")), "/static/goods/phone-640."),
            (Some(Picture::drawing(&old)), "/uploads/u-0000"),
            (Some(Picture::drawing("../secret")), "/static/goods/placeholder."),
            (None, "/static/goods/placeholder."),
        ] {
            let html = PictureView::new(picture.as_ref(), Placement::Card, "").render().unwrap();
            assert!(
                html.contains(&format!("src=\"{address}")) && html.contains(r#"width="400" height="400""#),
                "{html}"
            );
            assert!(!html.contains("srcset") && !html.contains("data:"), "{html}");
        }
    }
}
