//! The console's pages of goods.

use askama::Template;

use crate::label;
use crate::lists::saved_views_view::ListBar;
use domain::{Category, Goods, GoodsId, Locale, Picture};
use pages::filters;
use web::shared::FieldError;
use web::views::Chrome;
use web::views::error_text;
use words::{field_error, fill};

/// The goods that match a search.
#[derive(Debug, Template)]
#[template(path = "goods/goods.html")]
pub struct AdminGoodsList {
    pub chrome: Chrome,
    pub goods: Vec<Goods>,
    pub query: String,
    /// The category that is shown, as in the query; empty for all, `none` for goods without a category.
    pub category: String,
    pub categories: Vec<Category>,
    /// Whether archived goods are among them.
    pub with_archived: bool,
    pub archived: usize,
    /// Whether more goods match than are listed.
    pub more: bool,
    /// The action that the page reports as done, and the name of the goods.
    pub done: Option<(String, String)>,
    pub warning: Option<&'static str>,
    pub bar: ListBar,
}

impl AdminGoodsList {
    /// The orders of the list: name, link, and whether it is the present one.
    fn orders(&self) -> [(&'static str, String, bool); 3] {
        let t = &self.chrome.text().tables;
        [("", t.newest), ("oldest", t.oldest), ("name", t.by_name)].map(|(sort, words)| {
            (words, self.bar.query.with("sort", sort).path(self.chrome.locale), self.bar.query.get("sort") == sort)
        })
    }

    /// The choices of the category: value, words, and whether it is the current one.
    fn category_choices(&self) -> Vec<(String, &str, bool)> {
        let t = &self.chrome.text().categories;
        let named = self.categories.iter().map(|category| (category.id.to_string(), self.chrome.say(&category.name)));
        let ends = [(String::new(), t.any), ("none".to_owned(), t.none)];
        let [any, none] = ends;
        let all = std::iter::once(any).chain(named).chain([none]);
        all.map(|(value, words)| (value.clone(), words, value == self.category)).collect()
    }

    /// The address of the list with or without archived goods.
    fn archived_path(&self, archived: &str) -> String {
        self.bar.query.with("archived", archived).path(self.chrome.locale)
    }

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

    /// Archiving or unarchiving: label, explanation, and last segment of the path.
    fn archive_action(&self, goods: &Goods) -> (&'static str, &'static str, &'static str) {
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

/// An uploaded file that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadError {
    /// The file's name on the sender's device.
    pub file: String,
    pub code: &'static str,
}

/// What others changed since the form was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherChanges {
    pub actors: Vec<String>,
    /// The names of the changed fields.
    pub fields: Vec<&'static str>,
}

/// The form of new or existing goods.
#[derive(Debug, Template)]
#[template(path = "goods/goods_form.html")]
pub struct AdminGoodsForm {
    pub chrome: Chrome,
    /// `None` for new goods.
    pub id: Option<GoodsId>,
    /// The values as entered, with the pictures accepted so far: an error elsewhere does not lose them.
    pub goods: Goods,
    /// The categories to choose from.
    pub categories: Vec<Category>,
    /// The goods of which these can be a variant.
    pub products: Vec<Goods>,
    /// The goods that are variants of these.
    pub variants: Vec<Goods>,
    /// The version that saving replaces; empty for new goods.
    pub version: String,
    /// What others changed, if the goods no longer have that version. Saving again then overwrites it knowingly.
    pub others: Option<OtherChanges>,
    /// Whether to show what shoppers will see.
    pub preview: bool,
    pub errors: Vec<FieldError>,
    pub uploads: Vec<UploadError>,
}

impl AdminGoodsForm {
    fn error_text(&self, field: &str) -> Option<&'static str> {
        error_text(&self.chrome, &self.errors, field)
    }

    fn label<'a>(&self, field: &'a str) -> &'a str {
        match field {
            "category_id" => self.chrome.text().categories.field,
            "variant_of" => self.chrome.text().goods.variant_of,
            "variant_zh" => self.chrome.text().goods.variant_zh,
            "variant_en" => self.chrome.text().goods.variant_en,
            "pictures" => self.chrome.text().goods.pictures,
            "archived" => self.chrome.text().goods.archived,
            _ => label(&self.chrome, field),
        }
    }

    /// Says who changed which fields.
    fn others_text(&self, others: &OtherChanges) -> String {
        let t = &self.chrome.text().goods;
        let separator = if self.chrome.locale == Locale::Zh { "、" } else { ", " };
        let fields: Vec<&str> = others.fields.iter().map(|field| self.label(field)).collect();
        match others.actors.is_empty() {
            true => t.changed_unknown.to_owned(),
            false => {
                let who = fill(t.changed_by, others.actors.join(separator));
                format!("{who} {}", fill(t.changed_fields, fields.join(separator)))
            }
        }
    }

    fn is_chosen(&self, category: &Category) -> bool {
        self.goods.category_id == Some(category.id)
    }

    fn is_product(&self, goods: &Goods) -> bool {
        self.goods.variant_of == Some(goods.id)
    }

    fn upload_error_text(&self, code: &&'static str) -> &'static str {
        field_error(self.chrome.locale, code)
    }

    fn is_wrong(&self) -> bool {
        !self.errors.is_empty() || !self.uploads.is_empty()
    }

    /// The pictures with their places in the gallery.
    fn rows(&self) -> impl Iterator<Item = (usize, &Picture)> {
        (1..).zip(&self.goods.pictures)
    }

    /// The chrome of the preview in each language.
    fn each_language(&self) -> impl Iterator<Item = Chrome> {
        Locale::ALL.into_iter().map(|locale| Chrome { locale, ..self.chrome.clone() })
    }
}
