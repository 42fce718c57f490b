//! The languages that the shop speaks.

use std::fmt;
use std::str::FromStr;

/// A language; also the first segment of every page's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Locale {
    Zh,
    En,
}

impl Locale {
    pub const ALL: [Locale; 2] = [Locale::Zh, Locale::En];

    /// `zh` or `en`, as in paths.
    pub fn as_str(self) -> &'static str {
        match self {
            Locale::Zh => "zh",
            Locale::En => "en",
        }
    }

    /// The value of `<html lang>`.
    pub fn html_lang(self) -> &'static str {
        match self {
            Locale::Zh => "zh-CN",
            Locale::En => "en",
        }
    }

    /// The other language, for the switch.
    pub fn other(self) -> Locale {
        match self {
            Locale::Zh => Locale::En,
            Locale::En => Locale::Zh,
        }
    }

    /// The language that an `Accept-Language` header ranks highest among ours; English when it names neither.
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

impl FromStr for Locale {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "zh" => Ok(Locale::Zh),
            "en" => Ok(Locale::En),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_ranked_of_ours_wins() {
        assert_eq!(Locale::negotiate("zh-CN,zh;q=0.9,en;q=0.8"), Locale::Zh);
        assert_eq!(Locale::negotiate("fr, en;q=0.3, zh-TW;q=0.7"), Locale::Zh);
        assert_eq!(Locale::negotiate("en-GB"), Locale::En);
        assert_eq!(Locale::negotiate("fr"), Locale::En);
        assert_eq!(Locale::negotiate("zh;q=nonsense"), Locale::En);
    }
}
