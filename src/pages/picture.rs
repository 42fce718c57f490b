//! How a picture stands in a page: which copies a browser may choose from, and how wide it will be shown there.

use askama::Template;

use super::assets;
use crate::domain::Picture;

/// Where a picture stands. What each place needs is one table, because layouts and `sizes` belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a card of the list.
    Card,
    /// In a card that is seen first.
    FirstCard,
    /// Large, on the page of a sale.
    Main,
    /// Further pictures of the gallery.
    More,
    /// In a row, or below the gallery: a thumbnail.
    Row,
}

impl Place {
    /// As templates name it.
    ///
    /// # Panics
    /// For any other name. Templates name places literally, and the tests render all of them.
    pub fn named(name: &str) -> Place {
        match name {
            "card" => Place::Card,
            "first-card" => Place::FirstCard,
            "main" => Place::Main,
            "more" => Place::More,
            "row" => Place::Row,
            other => panic!("no pictures stand at {other}"),
        }
    }

    /// How wide it is shown, for the browser to choose a copy before it knows the style.
    fn sizes(self) -> &'static str {
        match self {
            Place::Card | Place::FirstCard => "(min-width: 72rem) 17rem, (min-width: 36rem) 50vw, 100vw",
            Place::Main | Place::More => "(min-width: 72rem) 36rem, (min-width: 52rem) 52vw, 100vw",
            Place::Row => "8rem",
        }
    }

    /// The room that is kept for a picture without a size.
    fn room(self) -> (u32, u32) {
        match self {
            Place::Card | Place::FirstCard => (400, 300),
            Place::Main | Place::More => (800, 600),
            Place::Row => (128, 96),
        }
    }

    fn is_seen_first(self) -> bool {
        matches!(self, Place::FirstCard | Place::Main)
    }

    fn has_placeholder(self) -> bool {
        self != Place::Row
    }
}

/// What templates may ask to be shown: a picture, or perhaps one.
pub trait Shown {
    fn shown(&self) -> Option<&Picture>;
}

impl Shown for Picture {
    fn shown(&self) -> Option<&Picture> {
        Some(self)
    }
}

impl<T: Shown> Shown for &T {
    fn shown(&self) -> Option<&Picture> {
        (*self).shown()
    }
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> Option<&Picture> {
        self.as_ref().and_then(Shown::shown)
    }
}

/// One picture in a page.
#[derive(Template)]
#[template(path = "picture.html")]
pub struct Shot<'a> {
    picture: Option<&'a Picture>,
    place: Place,
    /// Empty where words beside the picture say what it shows.
    alt: &'a str,
}

impl<'a> Shot<'a> {
    pub fn new(picture: Option<&'a Picture>, place: Place, alt: &'a str) -> Shot<'a> {
        Shot { picture, place, alt }
    }

    fn copies(&self) -> Option<&'a Picture> {
        self.picture.filter(|picture| picture.has_copies())
    }

    fn source_set(&self, picture: &Picture, extension: &str) -> String {
        let copy = |width| format!("/uploads/{} {width}w", picture.copy(width, extension));
        picture.widths().map(copy).collect::<Vec<_>>().join(", ")
    }

    /// For browsers that choose nothing: a copy of middling width.
    fn source(&self, picture: &Picture) -> String {
        let width = picture.widths().find(|&width| width >= self.place.room().0).unwrap_or(picture.width);
        format!("/uploads/{}", picture.copy(width, "jpg"))
    }

    fn address(&self) -> String {
        address(self.picture)
    }
}

/// The address of one file that shows the picture: of an upload, or a drawing; where there is none, of the drawing that
/// stands in.
pub fn address(picture: Option<&Picture>) -> String {
    match picture {
        Some(picture) if picture.has_copies() => format!("/uploads/{}", picture.file()),
        other => assets::picture(other.map_or("", |picture| &picture.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn photo(width: u32, height: u32) -> Picture {
        let placeholder = "data:image/webp;base64,AAAA".to_owned();
        Picture { width, height, placeholder, ..Picture::drawing("u-00ff") }
    }

    fn html(picture: &Picture, place: Place) -> String {
        Shot::new(Some(picture), place, "a \"phone\"").render().unwrap()
    }

    #[test]
    fn a_browser_chooses_among_copies_and_knows_the_size_beforehand() {
        let html = html(&photo(1000, 750), Place::Main);
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
    fn what_is_further_down_waits_and_small_ones_do_without_placeholder() {
        let card = html(&photo(1280, 960), Place::Card);
        assert!(card.contains("loading=\"lazy\"") && !card.contains("fetchpriority") && card.contains("data:image"));
        assert!(card.contains(r#"src="/uploads/u-00ff-640.jpg""#));
        let row = html(&photo(1280, 960), Place::Row);
        assert!(row.contains("sizes=\"8rem\"") && !row.contains("data:image"));
        assert!(row.contains(r#"src="/uploads/u-00ff-320.jpg""#));
        assert!(!html(&photo(1280, 960), Place::FirstCard).contains("lazy"));
    }

    #[test]
    fn drawings_old_uploads_and_nothing_are_one_file_with_room_kept() {
        let old = format!("u-{}.png", "0".repeat(64));
        for (picture, address) in [
            (Some(Picture::drawing("phone.svg")), "/static/goods/phone."),
            (Some(Picture::drawing(&old)), "/uploads/u-0000"),
            (Some(Picture::drawing("../secret")), "/static/goods/placeholder."),
            (None, "/static/goods/placeholder."),
        ] {
            let html = Shot::new(picture.as_ref(), Place::Card, "").render().unwrap();
            assert!(
                html.contains(&format!("src=\"{address}")) && html.contains(r#"width="400" height="300""#),
                "{html}"
            );
            assert!(!html.contains("srcset") && !html.contains("data:"), "{html}");
        }
    }
}
