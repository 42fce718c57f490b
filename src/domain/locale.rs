//! The languages of the shop.

use super::wire::wire_enum;

wire_enum! {
    /// A language. Its text is the first segment of every page's path.
    pub enum Locale {
        Zh = "zh",
        En = "en",
    }
}

impl Locale {
    /// The value of `<html lang>`.
    pub fn html_lang(self) -> &'static str {
        match self {
            Locale::Zh => "zh-CN",
            Locale::En => "en",
        }
    }

    /// The other language, for the language switch.
    pub fn other(self) -> Locale {
        match self {
            Locale::Zh => Locale::En,
            Locale::En => Locale::Zh,
        }
    }

    /// The supported language that an `Accept-Language` header ranks highest; English when it names none.
    pub fn negotiate(accept_language: &str) -> Locale {
        let mut best = (0.0, Locale::En);
        for range in accept_language.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let tag = parts.next().unwrap_or_default().to_ascii_lowercase();
            let quality = parts.find_map(|p| p.strip_prefix("q=")).map_or(1.0, |q| q.parse().unwrap_or(0.0));
            let Ok(locale) = tag.split('-').next().unwrap_or_default().parse() else { continue };
            if quality > best.0 {
                best = (quality, locale);
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_ranked_supported_language_wins() {
        assert_eq!(Locale::negotiate("zh-CN,zh;q=0.9,en;q=0.8"), Locale::Zh);
        assert_eq!(Locale::negotiate("fr, en;q=0.3, zh-TW;q=0.7"), Locale::Zh);
        assert_eq!(Locale::negotiate("en-GB"), Locale::En);
        assert_eq!(Locale::negotiate("fr"), Locale::En);
        assert_eq!(Locale::negotiate("zh;q=nonsense"), Locale::En);
    }
}
