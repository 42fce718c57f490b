//! User names: which ones may be given, and which look like another one.
//!
//! A new name is stored in Unicode's form NFKC, so that `ａｄｍｉｎ` is `admin`. Its letters come from one alphabet, to
//! which Chinese, Japanese and Korean characters may be added. Names with the same *skeleton* as a reserved name cannot
//! be registered: the skeleton replaces letters and digits by the Latin letter that they look like.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfkc};

use super::ADMIN;

const NAME_CHARS: std::ops::RangeInclusive<usize> = 3..=32;

/// Skeletons of names that stand for the shop itself. A name that begins with one of them is reserved.
const RESERVED_PREFIXES: [&str; 2] = [ADMIN, "seckiii"];

/// The beginning of the names of deleted accounts.
const DELETED_PREFIX: &str = "deleted-";

/// A typed name in the form in which new names are stored. Names of earlier versions may have another form.
pub fn normalized(name: &str) -> Cow<'_, str> {
    if is_nfkc(name) { Cow::Borrowed(name) } else { Cow::Owned(name.nfkc().collect()) }
}

/// One text for all spellings of a name that find the same account.
pub fn key(name: &str) -> String {
    normalized(name).to_lowercase()
}

/// 3 to 32 letters or digits, or `_-.`, so that a name is readable within a line of text. The letters are of one
/// alphabet, because a Cyrillic `а` among Latin letters deceives readers.
pub fn is_valid(name: &str) -> bool {
    NAME_CHARS.contains(&name.chars().count())
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        && is_of_one_alphabet(name)
}

/// Whether the name belongs to the administrator or to deleted accounts. No other account can have it.
pub(super) fn is_taken_by_shop(name: &str) -> bool {
    let name = name.to_lowercase();
    name == ADMIN || name.starts_with(DELETED_PREFIX) || skeleton(&name) == ADMIN
}

/// Whether shoppers cannot register the name because it looks like the shop's own. Owners may give such names to staff.
pub(super) fn is_reserved(name: &str) -> bool {
    let skeleton = skeleton(name);
    is_taken_by_shop(name) || RESERVED_PREFIXES.iter().any(|prefix| skeleton.starts_with(prefix))
}

/// What remains of a name when letters that look alike are the same letter, and separators are dropped.
pub(super) fn skeleton(name: &str) -> String {
    let letters = name.chars().flat_map(char::to_lowercase).filter(|c| !matches!(c, '_' | '-' | '.'));
    // Marks on Latin letters are dropped: `ádmin` is read as `admin`.
    letters.nfkd().filter(|c| c.is_alphanumeric()).map(latin_lookalike).collect()
}

#[rustfmt::skip]
fn latin_lookalike(c: char) -> char {
    match c {
        'а' | 'α' => 'a', 'в' | 'β' | 'ь' => 'b', 'с' | 'ϲ' => 'c', 'ԁ' => 'd', 'е' | 'ε' => 'e', 'ɡ' | 'ց' => 'g',
        'һ' | 'н' | 'հ' => 'h', 'і' | 'ι' | 'ı' | 'ӏ' | 'l' | '1' => 'i', 'ј' | 'ϳ' => 'j', 'к' | 'κ' => 'k',
        'м' | 'μ' => 'm', 'п' | 'ո' | 'η' => 'n', 'о' | 'ο' | 'օ' | '0' => 'o', 'р' | 'ρ' => 'p', 'ԛ' => 'q',
        'г' | 'ɾ' => 'r', 'ѕ' | '5' => 's', 'т' | 'τ' => 't', 'υ' | 'ս' => 'u', 'ν' | 'ѵ' => 'v', 'ԝ' | 'ω' => 'w',
        'х' | 'χ' => 'x', 'у' | 'γ' | 'ү' => 'y', '3' => 'e', '4' => 'a', other => other,
    }
}

/// An alphabet whose letters look like letters of another alphabet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Cherokee,
    Coptic,
}

/// `None` for characters that mix with any alphabet: digits, separators, and scripts that look like none of these.
fn alphabet(c: char) -> Option<Alphabet> {
    Some(match c {
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{2af}' | '\u{1e00}'..='\u{1eff}' | '\u{2c60}'..='\u{2c7f}' => {
            Alphabet::Latin
        }
        '\u{370}'..='\u{3e1}' | '\u{3f0}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Alphabet::Greek,
        '\u{3e2}'..='\u{3ef}' | '\u{2c80}'..='\u{2cff}' => Alphabet::Coptic,
        '\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{a640}'..='\u{a69f}' => Alphabet::Cyrillic,
        '\u{530}'..='\u{58f}' => Alphabet::Armenian,
        '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => Alphabet::Cherokee,
        _ => return None,
    })
}

fn is_of_one_alphabet(name: &str) -> bool {
    let mut alphabets = name.chars().filter(|c| c.is_alphabetic()).filter_map(alphabet);
    alphabets.next().is_none_or(|first| alphabets.all(|other| other == first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_are_letters_of_any_script() {
        for good in ["mei", "小美的店", "a.b-c_9", "Ömer", "Мария", "小美Mei", "Ελένη", &"x".repeat(32)]
        {
            assert!(is_valid(good), "{good}");
        }
        let bad = ["", "ab", "小美", "a b", "a\tbc", "<b>", "abc\u{202e}", "a/b", "mei@x", "😀😀😀", &"x".repeat(33)];
        for bad in bad {
            assert!(!is_valid(bad), "{bad}");
        }
    }

    #[test]
    fn letters_of_two_alphabets_are_refused() {
        for mixed in ["аdmin", "admіn", "mеi", "Ωmega", "օwner"] {
            assert!(!is_valid(mixed), "{mixed}");
        }
    }

    #[test]
    fn wide_letters_become_plain_ones() {
        assert_eq!(normalized("ａｄｍｉｎ"), "admin");
        assert_eq!(normalized("O\u{308}mer"), "Ömer");
        assert_eq!(normalized("小美的店"), "小美的店");
    }

    #[test]
    fn names_that_look_like_those_of_the_shop_are_reserved() {
        for name in ["admin", "ADMIN", "adm1n", "a.d-m_in", "аԁміո", "ádmín", "administrator", "admin2", "Seck1ll"]
        {
            assert!(is_reserved(name), "{name}");
        }
        for name in ["deleted-12345678", "Deleted-x"] {
            assert!(is_taken_by_shop(name) && is_reserved(name), "{name}");
        }
        for name in ["mei", "badminton", "小美的店", "adam", "deleted"] {
            assert!(!is_reserved(name), "{name}");
        }
        assert!(!is_taken_by_shop("admin2"), "an owner may give it to staff");
    }
}
