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

/// Words that were replaced, so that one thing has one name.
const RETIRED: [&str; 14] = [
    "等候室",
    "抽取顺序",
    "本场如何决定",
    "正在和即将开售",
    "看看本场还有没有",
    "the rain",
    "-packet rain",
    "entry back",
    "taken back",
    "死信",
    "押金",
    "候场",
    "抽签登记",
    "公共随机数",
];

#[test]
fn retired_words_do_not_come_back() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let is_table = file.extension().is_some_and(|extension| extension == "rs") && !file.ends_with("tests.rs");
        let text = if is_table { std::fs::read_to_string(&file).unwrap() } else { String::new() };
        let found: Vec<&str> = RETIRED.into_iter().filter(|word| text.contains(word)).collect();
        assert!(found.is_empty(), "{}: {found:?}", file.display());
    }
}
