//! The parts that all pages share. Each is a template of its own, so it is compiled once and not again with every page.

use askama::filters::Safe;
use askama::{Result, Template};

use crate::{Chrome, filters};
use domain::staff::ShopPageName;

#[derive(Template)]
enum Part<'a> {
    #[template(path = "frame/head.html")]
    Head { chrome: &'a Chrome },
    #[template(path = "frame/top.html")]
    Top { chrome: &'a Chrome, has_search: bool },
    #[template(path = "frame/bottom.html")]
    Bottom { chrome: &'a Chrome },
    #[template(path = "frame/dock.html")]
    Dock { chrome: &'a Chrome },
    #[template(path = "frame/words.html")]
    Words { chrome: &'a Chrome },
    #[template(path = "frame/console_side.html")]
    ConsoleSide { chrome: &'a Chrome },
    #[template(path = "frame/console_find.html")]
    ConsoleFind { chrome: &'a Chrome },
    #[template(path = "frame/console_shortcuts.html")]
    ConsoleShortcuts { chrome: &'a Chrome },
}

impl Part<'_> {
    fn html(&self) -> Result<Safe<String>> {
        self.render().map(Safe)
    }
}

/// HTML for templates.
impl Chrome {
    /// What every page has in its head after the title.
    pub fn head(&self) -> Result<Safe<String>> {
        Part::Head { chrome: self }.html()
    }

    /// The bar at the top of a page for shoppers, with or without a field to search for products.
    pub fn top(&self, has_search: bool) -> Result<Safe<String>> {
        Part::Top { chrome: self, has_search }.html()
    }

    pub fn bottom(&self) -> Result<Safe<String>> {
        Part::Bottom { chrome: self }.html()
    }

    /// The tabs along the bottom of a phone.
    pub fn dock(&self) -> Result<Safe<String>> {
        Part::Dock { chrome: self }.html()
    }

    /// The texts that scripts show.
    pub fn script_words(&self) -> Result<Safe<String>> {
        Part::Words { chrome: self }.html()
    }

    /// The sidebar of the console.
    pub fn console_side(&self) -> Result<Safe<String>> {
        Part::ConsoleSide { chrome: self }.html()
    }

    /// The link to the console's search, which a script opens as a palette.
    pub fn console_find(&self) -> Result<Safe<String>> {
        Part::ConsoleFind { chrome: self }.html()
    }

    /// The list of keys, and the texts that scripts of the console show.
    pub fn console_shortcuts(&self) -> Result<Safe<String>> {
        Part::ConsoleShortcuts { chrome: self }.html()
    }
}
