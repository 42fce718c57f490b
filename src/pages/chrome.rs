//! What surrounds every page: language, navigation, and who is signed in.

use crate::domain::{Bilingual, Locale};
use crate::i18n::{Text, text};
use crate::store::Role;

/// What surrounds every page: its language, and who looks at it.
#[derive(Debug, Clone)]
pub struct Chrome {
    pub locale: Locale,
    /// Of this page, with its query; the language switch leads to the same page.
    pub path: String,
    pub username: Option<String>,
    /// Of a stranger as well: a shopper's.
    pub role: Role,
}

impl Chrome {
    pub(crate) fn text(&self) -> &'static Text {
        text(self.locale)
    }

    pub(crate) fn is_staff(&self) -> bool {
        self.role.is_staff()
    }

    /// Whether what changes accounts and orders of shoppers is shown. Whether it may be done is decided elsewhere.
    pub(crate) fn helps_shoppers(&self) -> bool {
        matches!(self.role, Role::Admin | Role::Support)
    }

    /// Whether what changes sales and goods is shown.
    pub(crate) fn runs_sales(&self) -> bool {
        matches!(self.role, Role::Admin | Role::Operator)
    }

    /// Whether what only owners may do is shown.
    pub(crate) fn owns(&self) -> bool {
        self.role == Role::Admin
    }

    /// The console's sections that this person sees, each with its name.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let t = self.text();
        let owns = self.owns();
        let all = [
            ("/admin", t.admin.nav_sales),
            ("/admin/calendar", t.sales.calendar),
            ("/admin/goods", t.admin.nav_goods),
            ("/admin/orders", t.admin.nav_orders),
            ("/admin/packets", t.packets.nav),
            ("/admin/users", t.admin.nav_users),
            ("/admin/staff", t.admin.nav_staff),
            ("/admin/log", t.admin.nav_log),
            ("/admin/dead-letters", t.cockpit.dead),
        ];
        all.into_iter().filter(move |(path, _)| owns || *path != "/admin/staff")
    }

    /// Whether this page belongs to a section of the console.
    pub(crate) fn is_at(&self, section: &str) -> bool {
        let page = self.path.split('?').next().unwrap_or_default();
        let of =
            |section: &str| page == section || page.strip_prefix(section).is_some_and(|rest| rest.starts_with('/'));
        if section == "/admin" { page == section || of("/admin/sales") } else { of(section) }
    }

    /// A text of the catalogue in the page's language.
    pub(crate) fn say<'a>(&self, words: &'a Bilingual) -> &'a str {
        words.get(self.locale)
    }

    /// This page in the other language. Leads to the list for a path that is not one of ours.
    pub(crate) fn switch_path(&self) -> String {
        let other = self.locale.other();
        let home = format!("/{}", self.locale);
        if let Some(rest) = self.path.strip_prefix(&home).filter(|rest| rest.starts_with('/')) {
            return format!("/{other}{rest}");
        }
        match self.path.split_once('?').unwrap_or((&self.path, "")) {
            (page, _) if page == "/admin" || page.starts_with("/admin/") => format!("{page}?lang={other}"),
            _ => format!("/{other}/"),
        }
    }

    /// Whether this page is one that all share, so that the script has to fill in who looks at it.
    pub(crate) fn is_shared(&self) -> bool {
        let rest = self.path.strip_prefix(&format!("/{}/", self.locale));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("sales/") || rest.starts_with("packets/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_console_is_at_one_section() {
        let chrome = |path: &str| Chrome {
            locale: Locale::En,
            path: path.to_owned(),
            username: Some("admin".to_owned()),
            role: Role::Admin,
        };
        for (path, section) in [
            ("/admin?lang=en", "/admin"),
            ("/admin/sales/7/edit?lang=en", "/admin"),
            ("/admin/calendar?zone=UTC", "/admin/calendar"),
            ("/admin/goods/3", "/admin/goods"),
            ("/admin/users/1", "/admin/users"),
            ("/admin/dead-letters?lang=en", "/admin/dead-letters"),
        ] {
            let chrome = chrome(path);
            let at: Vec<_> =
                chrome.sections().map(|(section, _)| section).filter(|section| chrome.is_at(section)).collect();
            assert_eq!(at, [section], "{path}");
        }
    }

    #[test]
    fn the_language_switch_keeps_the_page() {
        let switch = |path: &str| {
            Chrome { locale: Locale::Zh, path: path.into(), username: None, role: Role::User }.switch_path()
        };
        assert_eq!(switch("/zh/orders?before=x"), "/en/orders?before=x");
        assert_eq!(switch("/zh/"), "/en/");
        assert_eq!(switch("/admin/log?lang=zh"), "/admin/log?lang=en");
        assert_eq!(switch("//evil.example/"), "/en/");
        assert_eq!(switch("/zhx"), "/en/");
    }
}
