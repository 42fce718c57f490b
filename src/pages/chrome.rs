//! The frame of every page: language, navigation, the user who is logged in.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::{Timestamp, Zoned};
use uuid::Uuid;

use crate::brand;
use crate::filters::category_path;
use domain::staff::ShopPageName;
use domain::{Bilingual, Category, Locale, Role, ShopSettings};
use store::PendingCounts;
use words::{Present, Text, dates, text};

/// The frame of one page: its language and its visitor.
#[derive(Debug, Clone)]
pub struct Chrome {
    pub shop: Arc<ShopSettings>,
    pub present: Present,
    pub locale: Locale,
    /// Path and query of this page, for the language switch.
    pub path: String,
    pub username: Option<String>,
    /// `Role::User` for a visitor without a session.
    pub role: Role,
    /// Whether the rows of the console's lists are dense.
    pub is_compact: bool,
    /// Whether a payment provider is in a test mode, so that orders are paid without money.
    pub is_test: bool,
    /// Whether a program has a token. Without one no other shop sells beside this one.
    pub has_programs: bool,
    /// What waits for the staff. The sidebar of the console shows it.
    pub pending: PendingCounts,
}

/// A link of the console's sidebar.
#[derive(Debug)]
pub struct ConsolePlace {
    pub path: &'static str,
    pub name: &'static str,
    /// How many items there wait for a person.
    pub waiting: i64,
    pub is_here: bool,
}

/// A tab along the bottom of a phone.
#[derive(Debug)]
pub struct DockTab {
    pub path: String,
    pub name: &'static str,
    /// The SVG path of the icon, in a view box of 24 by 24.
    pub icon: &'static str,
    pub is_here: bool,
}

impl Chrome {
    /// The frame of a page that is the same for all visitors.
    pub fn anonymous(shop: &Arc<ShopSettings>, made_at: Timestamp, locale: Locale, path: String) -> Chrome {
        Chrome {
            shop: shop.clone(),
            present: Present::InYearOf(made_at),
            locale,
            path,
            username: None,
            role: Role::User,
            is_compact: false,
            is_test: false,
            has_programs: false,
            pending: PendingCounts::default(),
        }
    }

    pub fn text(&self) -> &'static Text {
        text(self.locale)
    }

    /// A time in the shop's zone, until the script says it in the visitor's.
    pub fn when(&self, at: &Timestamp) -> String {
        dates::when(self.locale, &self.zoned(at), self.present, false)
    }

    /// The same to the second.
    pub fn when_exactly(&self, at: &Timestamp) -> String {
        dates::when(self.locale, &self.zoned(at), self.present, true)
    }

    /// A deadline. One of today is told by its time alone.
    pub fn deadline(&self, at: &Timestamp) -> String {
        let at = self.zoned(at);
        match dates::is_today(&at, self.present) {
            true => dates::time_of_day(&at, false),
            false => dates::when(self.locale, &at, self.present, false),
        }
    }

    /// A time with its year, for what is looked at on another day, such as a printed page.
    pub fn dated(&self, at: &Timestamp) -> String {
        let at = self.zoned(at);
        format!("{} {}", dates::day(self.locale, at.date(), 0), dates::time_of_day(&at, false))
    }

    /// A day of the shop.
    pub fn day(&self, date: Date) -> String {
        dates::day(self.locale, date, self.today().year())
    }

    /// The day of the shop on which the page was made.
    pub fn today(&self) -> Date {
        let (Present::At(now) | Present::InYearOf(now)) = self.present;
        self.zoned(&now).date()
    }

    fn zoned(&self, at: &Timestamp) -> Zoned {
        at.to_zoned(self.shop.zone())
    }

    /// Name and title of each of these pages that has a text in the visitor's language.
    pub fn own_pages(&self, names: &[ShopPageName]) -> Vec<(ShopPageName, &'static str)> {
        let is_written = |name: &&ShopPageName| self.shop.written.contains(&(**name, self.locale));
        names.iter().filter(is_written).map(|name| (*name, self.text().about.title_of(*name))).collect()
    }

    pub fn shop_name(&self) -> &str {
        self.shop.name(self.locale)
    }

    /// The address of the square picture before the shop's name.
    pub fn mark(&self) -> String {
        brand::mark_path(&self.shop)
    }

    pub fn icon(&self, size: &str) -> String {
        brand::icon_path(&self.shop, size)
    }

    /// The address of the style with the shop's colour; `None` for the colour of the style sheets.
    pub fn colour_style(&self) -> Option<String> {
        brand::style_path(&self.shop)
    }

    /// Whether the page leads to the other language. Staff always have both.
    pub fn offers_other_language(&self) -> bool {
        self.shop.languages.are_both() || self.is_at_console()
    }

    fn is_at_console(&self) -> bool {
        let page = self.path.split('?').next().unwrap_or_default();
        page == "/admin" || page.starts_with("/admin/")
    }

    /// An idempotency key for one form of this page: a form that is sent twice takes effect once.
    pub fn form_key(&self) -> String {
        Uuid::new_v4().simple().to_string()
    }

    pub fn is_staff(&self) -> bool {
        self.role.is_staff()
    }

    /// Whether controls for shoppers' accounts and orders are shown. The handlers check the permission themselves.
    pub fn helps_shoppers(&self) -> bool {
        matches!(self.role, Role::Admin | Role::Support)
    }

    /// Whether controls for sales and products are shown.
    pub fn runs_sales(&self) -> bool {
        matches!(self.role, Role::Admin | Role::Operator)
    }

    /// Whether the control that reveals recipients is shown.
    pub fn reads_addresses(&self) -> bool {
        matches!(self.role, Role::Admin | Role::Operator | Role::Support)
    }

    /// Whether controls for owners are shown.
    pub fn owns(&self) -> bool {
        self.role == Role::Admin
    }

    pub(crate) fn dock_tabs(&self) -> [DockTab; 4] {
        let t = self.text();
        let within = |paths: &[&str]| paths.iter().any(|path| self.is_at(&format!("/{}{path}", self.locale)));
        let tab =
            |path: &str, name, icon, is_here| DockTab { path: format!("/{}{path}", self.locale), name, icon, is_here };
        [
            tab("/", t.shop.dock_sales, "M13 3 5 14h6l-1 7 9-11h-6z", within(&["/", "/archive", "/categories"])),
            tab("/packets", t.packets.nav, "M6 3h12v18H6zM6 8q6 5 12 0M12 9.5v3.5", within(&["/packets"])),
            tab("/orders", t.shop.nav_orders, "M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6", within(&["/orders"])),
            tab(
                "/account",
                t.shop.dock_account,
                "M12 11a3.75 3.75 0 1 0 0-7.5 3.75 3.75 0 0 0 0 7.5zM4.5 20.5c1.5-7 13.5-7 15 0",
                within(&["/account", "/wallet"]),
            ),
        ]
    }

    /// The places of the console that this role sees, in the groups of the sidebar.
    pub fn places(&self) -> [(&'static str, Vec<ConsolePlace>); 4] {
        let (t, pending) = (self.text(), &self.pending);
        let to_do = pending.to_pack + pending.approvals + pending.cases + pending.returns;
        let groups = [
            (
                t.admin.group_sell,
                vec![
                    ("/admin", t.admin.nav_sales, 0),
                    ("/admin/calendar", t.sales.calendar, 0),
                    ("/admin/goods", t.admin.nav_goods, 0),
                    ("/admin/packets", t.packets.nav, 0),
                ],
            ),
            (
                t.admin.group_serve,
                vec![
                    ("/admin/orders", t.admin.nav_orders, to_do),
                    ("/admin/questions", t.questions.console, pending.questions),
                    ("/admin/users", t.admin.nav_users, 0),
                ],
            ),
            (t.admin.group_watch, vec![("/admin/orders/books", t.books.title, 0), ("/admin/log", t.admin.nav_log, 0)]),
            (
                t.admin.group_shop,
                vec![
                    ("/admin/shop", t.brand.title, 0),
                    ("/admin/pages", t.about.console, 0),
                    ("/admin/orders/shipping", t.shipping.shipping, 0),
                    ("/admin/system", t.admin.nav_system, 0),
                ],
            ),
        ];
        let all = groups.iter().flat_map(|(_, places)| places).map(|(path, ..)| *path);
        let here = all.filter(|path| self.is_at(path)).max_by_key(|path| path.len());
        groups.map(|(title, places)| {
            let places = places.into_iter().filter(|(path, ..)| self.owns() || *path != "/admin/orders/books");
            let place = |(path, name, waiting)| ConsolePlace { path, name, waiting, is_here: here == Some(path) };
            (title, places.map(place).collect())
        })
    }

    /// The densities of the console's lists: value, name, and whether it is set.
    pub fn densities(&self) -> [(&'static str, &'static str, bool); 2] {
        let t = &self.text().tables;
        [("comfortable", t.comfortable, !self.is_compact), ("compact", t.compact, self.is_compact)]
    }

    /// Whether this page belongs to a section of the console.
    pub fn is_at(&self, section: &str) -> bool {
        let page = self.path.split('?').next().unwrap_or_default();
        let below = if section == "/admin" { "/admin/sales" } else { section };
        page == section || page.strip_prefix(below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// A bilingual text in the page's language.
    pub fn say<'a>(&self, words: &'a Bilingual) -> &'a str {
        words.get(self.locale)
    }

    /// The address of a category's list of sales in the page's language.
    pub fn category_path(&self, category: &Category) -> String {
        category_path(self.locale, category.id)
    }

    /// The address of this page in the other language. For an unknown path, the address of the list of sales.
    pub fn switch_path(&self) -> String {
        let other = self.locale.other();
        let home = format!("/{}", self.locale);
        if let Some(rest) = self.path.strip_prefix(&home).filter(|rest| rest.starts_with('/')) {
            return format!("/{other}{rest}");
        }
        if !self.is_at_console() {
            return format!("/{other}/");
        }
        let (page, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let tab = query.split('&').find(|part| part.starts_with("show="));
        tab.map_or_else(|| format!("{page}?lang={other}"), |tab| format!("{page}?{tab}&lang={other}"))
    }

    /// Whether this page is cached for all visitors, so that a script fills in the user's name.
    pub fn is_shared(&self) -> bool {
        let rest = self.path.strip_prefix(&format!("/{}/", self.locale));
        rest.is_some_and(|rest| {
            rest.is_empty() || ["sales/", "categories/", "packets/"].iter().any(|page| rest.starts_with(page))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn console_page_belongs_to_one_section() {
        let chrome = |path: &str| Chrome {
            username: Some("admin".to_owned()),
            role: Role::Admin,
            ..Chrome::anonymous(&Arc::default(), Timestamp::UNIX_EPOCH, Locale::En, path.to_owned())
        };
        for (path, section) in [
            ("/admin?lang=en", "/admin"),
            ("/admin/sales/7/edit?lang=en", "/admin"),
            ("/admin/calendar?zone=UTC", "/admin/calendar"),
            ("/admin/goods/3", "/admin/goods"),
            ("/admin/users/1", "/admin/users"),
            ("/admin/orders/0193?lang=en", "/admin/orders"),
            ("/admin/orders/shipping?lang=en", "/admin/orders/shipping"),
            ("/admin/orders/books?lang=en", "/admin/orders/books"),
            ("/admin/system?show=mail&lang=en", "/admin/system"),
        ] {
            let chrome = chrome(path);
            let at: Vec<_> =
                chrome.places().into_iter().flat_map(|(_, places)| places).filter(|place| place.is_here).collect();
            let at: Vec<_> = at.iter().map(|place| place.path).collect();
            assert_eq!(at, [section], "{path}");
        }
    }

    #[test]
    fn language_switch_keeps_the_page() {
        let switch = |path: &str| {
            Chrome::anonymous(&Arc::default(), Timestamp::UNIX_EPOCH, Locale::Zh, path.into()).switch_path()
        };
        assert_eq!(switch("/zh/orders?before=x"), "/en/orders?before=x");
        assert_eq!(switch("/zh/"), "/en/");
        assert_eq!(switch("/admin/log?lang=zh"), "/admin/log?lang=en");
        assert_eq!(switch("/admin/log?show=security&lang=zh"), "/admin/log?show=security&lang=en");
        assert_eq!(switch("//evil.example/"), "/en/");
        assert_eq!(switch("/zhx"), "/en/");
    }
}
