//! The console's page of categories.

use askama::Template;

use domain::{Bilingual, Category};
use pages::filters;
use web::shared::FieldError;
use web::views::Chrome;
use web::views::error_text;
use words::fill;

/// Both names of a category as entered, with what is wrong with them.
#[derive(Debug, Clone)]
pub struct CategoryForm {
    pub name: Bilingual,
    /// The version that saving replaces; empty for a new category.
    pub version: String,
    pub errors: Vec<FieldError>,
    /// The present name, if the category was changed since the form was opened. Saving again then overwrites it
    /// knowingly.
    pub now_named: Option<Bilingual>,
}

impl CategoryForm {
    pub fn blank() -> CategoryForm {
        CategoryForm { name: Bilingual::new("", ""), version: String::new(), errors: Vec::new(), now_named: None }
    }

    fn of(category: &Category) -> CategoryForm {
        let (name, version) = (category.name.clone(), category.version().to_string());
        CategoryForm { name, version, ..CategoryForm::blank() }
    }

    /// Whether the form was refused, so that the page unfolds it.
    fn is_refused(&self) -> bool {
        !self.errors.is_empty() || self.now_named.is_some()
    }

    /// The fields: name, label, value, and what is wrong.
    fn fields(&self, chrome: &Chrome) -> [(&'static str, &'static str, &str, Option<&'static str>); 2] {
        let t = &chrome.text().admin;
        [("name_zh", t.name_zh, &self.name.zh), ("name_en", t.name_en, &self.name.en)]
            .map(|(name, label, value)| (name, label, value.as_str(), error_text(chrome, &self.errors, name)))
    }
}

/// A category in the list.
#[derive(Debug)]
pub struct CategoryRow {
    pub category: Category,
    /// The number of goods in the category.
    pub goods: usize,
    pub form: CategoryForm,
    /// Whether the page asks to confirm its deletion.
    pub asks: bool,
}

impl CategoryRow {
    pub fn new(category: Category, goods: usize) -> CategoryRow {
        CategoryRow { form: CategoryForm::of(&category), category, goods, asks: false }
    }
}

#[derive(Debug, Template)]
#[template(path = "categories/categories.html")]
pub struct CategoriesPage {
    pub chrome: Chrome,
    /// In the order of the shop.
    pub rows: Vec<CategoryRow>,
    /// The form of a new category.
    pub form: CategoryForm,
    /// The action that the page reports as done, and the name of the category.
    pub done: Option<(String, String)>,
    pub warning: Option<&'static str>,
}

impl CategoriesPage {
    fn done(&self) -> Option<String> {
        let t = &self.chrome.text().categories;
        let (what, name) = self.done.as_ref()?;
        let words = match what.as_str() {
            "created" => t.done_created,
            "saved" => t.done_saved,
            "moved" => t.done_moved,
            "deleted" => t.done_deleted,
            _ => return None,
        };
        Some(fill(words, name))
    }

    fn other_name<'a>(&self, category: &'a Category) -> &'a str {
        category.name.get(self.chrome.locale.other())
    }

    /// What deleting the category does.
    fn consequence(&self, row: &CategoryRow) -> String {
        let t = &self.chrome.text().categories;
        if row.goods == 0 { t.delete_unused.to_owned() } else { fill(t.delete_used, row.goods) }
    }

    /// The moves that would change a category's place: the form's value, and the name.
    fn moves(&self, row: &CategoryRow) -> Vec<(&'static str, &'static str, &'static str)> {
        let t = &self.chrome.text().categories;
        let is = |end: Option<&CategoryRow>| end.is_some_and(|end| end.category.id == row.category.id);
        let all = [("earlier", "↑", t.earlier, is(self.rows.first())), ("later", "↓", t.later, is(self.rows.last()))];
        all.into_iter().filter(|(.., is_end)| !is_end).map(|(to, sign, words, _)| (to, sign, words)).collect()
    }
}
