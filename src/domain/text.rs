//! Characters that a text of people may have. A direction override (U+202E) makes `gnp.exe` of `exe.png`, and a control
//! character breaks lines of files and logs.

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
}
