//! Texts of people: the languages of the shop, and the characters that a text may have. A direction override (U+202E)
//! makes `gnp.exe` of `exe.png`, and a control character breaks lines of files and logs.

use crate::wire::wire_enum;

/// Whether the character changes the direction of the text around it.
pub fn reorders(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether the text is one line, such as a name or a title, which stands beside other text.
pub fn is_line(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || reorders(c) || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Whether the text has nothing worse than line breaks and tabs, such as a description.
pub fn is_paragraphs(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t') || reorders(c))
}

/// The text as one line: no control characters, and no direction marks that would reorder the text next to it.
pub fn tidy(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !reorders(*c)).map(|c| if c.is_control() { ' ' } else { c }).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text tidied line by line.
pub(crate) fn tidy_lines(text: &str) -> String {
    text.lines().map(tidy).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// A text that has to be given and has a greatest length; or the code of what is wrong with it.
pub fn required(text: String, max_chars: usize) -> Result<String, &'static str> {
    match text.chars().count() {
        0 => Err("required"),
        count if count > max_chars => Err("too_long"),
        _ => Ok(text),
    }
}

// The languages of the shop.

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
        Locale::preferred(accept_language).unwrap_or(Locale::En)
    }

    /// The same; `None` when the header names no supported language.
    pub fn preferred(accept_language: &str) -> Option<Locale> {
        let mut best = (0.0, None);
        for range in accept_language.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let tag = parts.next().unwrap_or_default().to_ascii_lowercase();
            let quality = parts.find_map(|p| p.strip_prefix("q=")).map_or(1.0, |q| q.parse().unwrap_or(0.0));
            let Ok(locale) = tag.split('-').next().unwrap_or_default().parse() else { continue };
            if quality > best.0 {
                best = (quality, Some(locale));
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_paragraphs_have_no_control_characters_and_keep_their_direction() {
        for bad in ["a\u{202e}b", "a\u{2066}b", "\u{61c}", "a\u{7}b", "a\u{9b}b", "a\0"] {
            assert!(!is_line(bad) && !is_paragraphs(bad), "{bad:?}");
        }
        for text in ["手机 5G", "هاتف", "👩‍👩‍👧", "e\u{301}"] {
            assert!(is_line(text) && is_paragraphs(text), "{text:?}");
        }
        assert!(is_paragraphs("a\r\n\tb") && !is_line("a\nb") && !is_line("a\u{2028}b"));
    }

    #[test]
    fn highest_ranked_supported_language_wins() {
        assert_eq!(Locale::negotiate("zh-CN,zh;q=0.9,en;q=0.8"), Locale::Zh);
        assert_eq!(Locale::negotiate("fr, en;q=0.3, zh-TW;q=0.7"), Locale::Zh);
        assert_eq!(Locale::negotiate("en-GB"), Locale::En);
        assert_eq!(Locale::negotiate("fr"), Locale::En);
        assert_eq!(Locale::negotiate("zh;q=nonsense"), Locale::En);
    }
}
