use super::*;

#[test]
fn both_languages_have_all_texts_with_the_same_placeholders() {
    let (zh, en) = (ZH.entries(), EN.entries());
    assert_eq!(zh.len(), en.len());
    for ((key, zh), (same, en)) in zh.into_iter().zip(en) {
        assert_eq!(key, same);
        assert!(!zh.is_empty() && !en.is_empty(), "{key} is empty");
        assert_eq!(zh.matches("{}").count(), en.matches("{}").count(), "placeholders of {key}");
    }
}

#[test]
fn every_status_reason_and_phase_has_a_text() {
    for locale in Locale::ALL {
        let text = text(locale);
        for status in OrderStatus::ALL {
            assert_ne!(text.status(&status), text.status_means(&status));
        }
        assert!(text.reason("unpaid").is_some() && text.reason("x").is_none());
        assert_ne!(text.phase(&Phase::Open), text.phase(&Phase::Paused));
        assert_ne!(text.state(&SaleState::Live), text.state(&SaleState::Draft));
    }
}

#[test]
fn fill_replaces_the_first_placeholder_only() {
    assert_eq!(fill("{} of {}", 3), "3 of {}");
}
