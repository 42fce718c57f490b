//! The console's pages about goods.

use askama::Template;

use super::{FieldError, complaint, label};
use crate::domain::{Goods, GoodsId, Locale, Picture};
use crate::i18n::{field_error, fill};
use crate::pages::filters;
use crate::web::views::Chrome;

/// Goods that match a search.
#[derive(Debug, Template)]
#[template(path = "admin/goods.html")]
pub struct AdminGoodsList {
    pub chrome: Chrome,
    pub goods: Vec<Goods>,
    pub query: String,
    /// Whether archived goods are among them.
    pub with_archived: bool,
    pub archived: usize,
    /// More match than are shown.
    pub more: bool,
    /// What was just done, and to what.
    pub done: Option<(String, String)>,
    pub warning: Option<String>,
}

impl AdminGoodsList {
    fn done(&self) -> Option<String> {
        let t = &self.chrome.text().goods;
        let (what, name) = self.done.as_ref()?;
        let words = match what.as_str() {
            "created" => t.done_created,
            "saved" => t.done_saved,
            "archived" => t.done_archived,
            "unarchived" => t.done_unarchived,
            _ => return None,
        };
        Some(fill(words, name))
    }

    /// What can be done about being archived: its name, what it means, and the end of its address.
    fn archiving(&self, goods: &Goods) -> (&'static str, &'static str, &'static str) {
        let t = &self.chrome.text().goods;
        match goods.is_archived() {
            true => (t.unarchive, t.unarchive_text, "unarchive"),
            false => (t.archive, t.archive_text, "archive"),
        }
    }

    fn other_name<'a>(&self, goods: &'a Goods) -> &'a str {
        goods.name.get(self.chrome.locale.other())
    }
}

/// What is wrong with an uploaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadComplaint {
    /// As the sender calls it.
    pub file: String,
    pub code: &'static str,
}

/// A picture in the form, with its place as typed.
#[derive(Debug)]
pub struct GalleryRow {
    pub picture: Picture,
    pub place: usize,
}

/// Making or changing goods.
#[derive(Debug, Template)]
#[template(path = "admin/goods_form.html")]
pub struct AdminGoodsForm {
    pub chrome: Chrome,
    /// `None` for new goods.
    pub id: Option<GoodsId>,
    /// As typed, with the pictures that were accepted so far: they survive a mistake elsewhere.
    pub goods: Goods,
    /// Whether to show what shoppers will see.
    pub preview: bool,
    pub errors: Vec<FieldError>,
    pub uploads: Vec<UploadComplaint>,
}

impl AdminGoodsForm {
    fn complaint(&self, field: &str) -> Option<&'static str> {
        complaint(&self.chrome, &self.errors, field)
    }

    fn label<'a>(&self, field: &'a str) -> &'a str {
        if field == "pictures" { self.chrome.text().goods.pictures } else { label(&self.chrome, field) }
    }

    fn says(&self, code: &&'static str) -> &'static str {
        field_error(self.chrome.locale, code)
    }

    fn is_wrong(&self) -> bool {
        !self.errors.is_empty() || !self.uploads.is_empty()
    }

    fn rows(&self) -> impl Iterator<Item = GalleryRow> {
        let pictures = self.goods.pictures.iter().cloned();
        pictures.zip(1..).map(|(picture, place)| GalleryRow { picture, place })
    }

    /// The page in each language.
    fn each_language(&self) -> impl Iterator<Item = Chrome> {
        Locale::ALL.into_iter().map(|locale| Chrome { locale, ..self.chrome.clone() })
    }
}
