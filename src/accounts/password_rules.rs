//! Refuses new passwords that guessing programs try first. Existing passwords stay valid.
//!
//! A common or leaked password is also refused if it is surrounded by digits and signs, has the usual replacements of
//! letters, or is written twice, because long passwords are often made from short ones: `Password2026!`,
//! `p@ssw0rd-123`, `!!!!welcome!!!!`.

use secrecy::{ExposeSecret, SecretString};
use unicode_normalization::UnicodeNormalization;

const PASSWORD_CHARS: std::ops::RangeInclusive<usize> = 12..=256;
/// A password has at least this many different characters.
const MIN_DIFFERENT_CHARS: usize = 4;
/// Rows of keyboards and counting. A password that is a piece of one of them, in either direction, is refused.
const SEQUENCES: [&str; 9] = [
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890123456789",
    "qwertyuiopasdfghjklzxcvbnm",
    "qwertzuiopasdfghjklyxcvbnm",
    "azertyuiopqsdfghjklmwxcvbn",
    "1234567890qwertyuiopasdfghjklzxcvbnm",
    "1q2w3e4r5t6y7u8i9o0p",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "qazwsxedcrfvtgbyhnujmikolp",
];

/// Common passwords and words at the core of common passwords, in lower case, separated by spaces.
const COMMON: &str = include_str!("common_passwords.txt");
/// The most frequent passwords in leaked collections, and given names: some 30,000 of six characters and more, in lower
/// case, one a line. Source: the lists of zxcvbn 4.4.2, whose license is beside them.
const LEAKED: &str = include_str!("leaked_passwords/list.txt");

/// Whether a user of this name may choose the password.
pub fn is_acceptable(password: &SecretString, username: &str) -> bool {
    let text: String = password.expose_secret().nfkc().flat_map(char::to_lowercase).collect();
    // Characters are counted as typed: a ligature is one character for the user.
    PASSWORD_CHARS.contains(&password.expose_secret().chars().count())
        && !has_few_chars(text.trim())
        && !is_repetition(&text)
        && !is_sequence(&text)
        && !is_name(&text, username)
        && !is_common(&text)
}

/// Whether the administrator's password from the settings is one that a user could choose.
pub fn is_acceptable_for_admin(password: &SecretString) -> bool {
    is_acceptable(password, super::ADMIN)
}

fn has_few_chars(text: &str) -> bool {
    let mut different: Vec<char> = text.chars().collect();
    different.sort_unstable();
    different.dedup();
    different.len() < MIN_DIFFERENT_CHARS
}

/// Whether a piece of at most half the length is repeated to the end: `abcdabcd`, `mei2mei2me`.
fn is_repetition(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    (1..=chars.len() / 2).any(|period| chars.iter().zip(&chars[period..]).all(|(a, b)| a == b))
}

fn is_sequence(text: &str) -> bool {
    let backwards: String = text.chars().rev().collect();
    SEQUENCES.iter().any(|sequence| sequence.contains(text) || sequence.contains(&backwards))
}

/// Whether the password is only the user name, apart from digits and signs around it.
fn is_name(text: &str, username: &str) -> bool {
    let name: String = username.nfkc().flat_map(char::to_lowercase).collect();
    let rest = text.replace(&name, "");
    !name.is_empty() && rest.len() < text.len() && !rest.chars().any(char::is_alphabetic)
}

fn is_common(text: &str) -> bool {
    let plain: String = text.chars().map(replaced_letter).collect();
    // `replaced_letter` turns digits at the ends into letters, so the ends are removed before it as well.
    let core = core_of(text);
    let plain_core: String = core.chars().map(replaced_letter).collect();
    let candidates = [text, core, &plain, &plain_core, core_of(&plain)];
    COMMON.split_ascii_whitespace().chain(LEAKED.lines()).any(|word| candidates.contains(&word) || is_twice(core, word))
}

/// Strips everything that is not a letter from both ends.
fn core_of(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphabetic())
}

fn is_twice(text: &str, word: &str) -> bool {
    text.strip_prefix(word) == Some(word)
}

/// The letter that a digit or sign usually replaces.
fn replaced_letter(c: char) -> char {
    match c {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(password: &str) -> bool {
        is_acceptable(&SecretString::from(password.to_owned()), "mei-lin")
    }

    /// `1km 2km 3km …` of this length.
    fn counted(chars: usize) -> String {
        (1..).flat_map(|n: u32| format!("{n}km ").into_bytes()).map(char::from).take(chars).collect()
    }

    #[test]
    fn password_length_is_counted_in_characters() {
        assert!(accepts("kq7-mt4v-b9x") && accepts("春眠不觉晓，处处闻啼鸟。") && accepts(&counted(256)));
        assert!(!accepts("kq7-mt4v-b9") && !accepts("春眠不觉晓，处处闻啼鸟") && !accepts(&counted(257)));
    }

    #[test]
    fn passwords_that_are_tried_first_are_refused() {
        let refused = [
            "123456789012",
            "210987654321",
            "Password2026!",
            "p@ssw0rd2026",
            "P4$$w0rd-2026",
            "            ",
            "aaaaaaaaaaaa",
            "abcdefghijkl",
            "qwertyuiopasdf",
            "1qaz2wsx3edc",
            "abcdabcdabcd",
            "mei-lin12345",
            "!!!MEI-LIN!!!",
            "iloveyou-1314",
            "ｐａｓｓｗｏｒｄ２０２６",
            "woaini520131",
            "administrator",
            "letmein!!!!!",
            "monkeymonkey",
            "liverpool-2026",
            "butterfly1234",
            "Elizabeth#1990",
            "111222333444555",
        ];
        for password in refused {
            assert!(!accepts(password), "{password}");
        }
    }

    #[test]
    fn phrases_and_random_passwords_are_accepted() {
        let accepted =
            ["correct horse", "battery staple", "my own password", "a long password", "password of the tests"];
        for password in accepted {
            assert!(accepts(password), "{password}");
        }
        for _ in 0..100 {
            assert!(accepts(&crate::password::generate()));
        }
    }
}
