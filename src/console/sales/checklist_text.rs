//! The checklist before a sale in words, for its page and the API.

use control::checklist::ChecklistItem;
use domain::Locale;
use words::{fill, text};

/// The name of a check or a finding; its key where a translation is missing.
pub fn checklist_words(locale: Locale, key: &'static str) -> &'static str {
    text(locale).checklist.entries().find(|(name, _)| *name == key).map_or(key, |(_, words)| words)
}

/// One sentence: what was found, and what to do about it.
pub fn finding_sentence(locale: Locale, item: &ChecklistItem) -> String {
    fill(checklist_words(locale, item.finding.as_str()), item.value.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use control::checklist::Finding;

    #[test]
    fn every_finding_has_words_in_both_languages() {
        for locale in Locale::ALL {
            for finding in Finding::ALL {
                assert_ne!(checklist_words(locale, finding.as_str()), finding.as_str());
                assert_ne!(checklist_words(locale, finding.check()), finding.check());
            }
        }
    }
}
