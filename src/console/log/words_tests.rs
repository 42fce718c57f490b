use super::*;

fn row(action: &str, subject: &str, before: &str, after: &str) -> AuditRow {
    AuditRow {
        id: "1".into(),
        at: Timestamp::UNIX_EPOCH,
        actor: "mei".into(),
        action: action.into(),
        subject: subject.into(),
        before: before.into(),
        after: after.into(),
    }
}

fn names() -> LogNames {
    LogNames {
        sales: HashMap::from([(SaleId(7), "iPhone 17".to_owned())]),
        categories: HashMap::from([(CategoryId(3), "Phones".to_owned())]),
        users: HashMap::new(),
    }
}

fn shown(piece: &Piece) -> String {
    match piece {
        Piece::Words(text) => text.clone(),
        Piece::Link(link) => format!("[{}]", link.name),
        Piece::Time(at) => format!("<{at}>"),
        Piece::Value(text) => format!("*{text}*"),
    }
}

fn in_words(locale: Locale, row: AuditRow) -> (String, Vec<String>) {
    let names = names();
    let line = LogWords::new(locale, &names).line(row);
    let piece = |piece: &Option<Piece>| piece.as_ref().map(shown).unwrap_or_default();
    let facts = line.facts.iter().map(|f| format!("{}: {} → {}", f.label, piece(&f.before), piece(&f.after)));
    (line.sentence.iter().map(shown).collect(), facts.collect())
}

#[test]
fn questions_and_pages_are_told_in_words() {
    let answered = row("answer", "question 8", r#"{"status":"open"}"#, r#"{"status":"answered","answer":"两张"}"#);
    assert_eq!(in_words(Locale::Zh, answered), ("答复了[提问 8]".to_owned(), vec!["答复:  → *两张*".to_owned()]));
    let edited = row("edit", "page contact", r#"{"text":{"en":"a"}}"#, r#"{"text":{"en":"b"}}"#);
    assert!(in_words(Locale::En, edited).0.contains("[Page “Contact”]"));
}

#[test]
fn categories_are_told_by_their_names() {
    let moved = |from: &str, to: &str| {
        in_words(
            Locale::En,
            row("edit", "goods 5", &format!(r#"{{"category_id":{from}}}"#), &format!(r#"{{"category_id":{to}}}"#)),
        )
    };
    assert_eq!(moved("null", r#""3""#).0, "Category of [Product 5] set to [Phones]");
    assert_eq!(moved(r#""3""#, r#""4""#).0, "Category of [Product 5] changed from [Phones] to [Category 4]");
    let ordered =
        row("edit", "categories", r#"{"order":"鞋 / Shoes, 灯 / Lamps"}"#, r#"{"order":"灯 / Lamps, 鞋 / Shoes"}"#);
    assert_eq!(
        in_words(Locale::En, ordered).0,
        "Order of [The categories] changed from *鞋 / Shoes, 灯 / Lamps* to *灯 / Lamps, 鞋 / Shoes*"
    );
    let deleted = row("delete", "category 4", r#"{"name":{"zh":"灯","en":"Lamps"},"goods":2}"#, "");
    let (sentence, facts) = in_words(Locale::Zh, deleted);
    assert_eq!((sentence.as_str(), facts), ("删除了[灯]", vec!["商品数: *2* → ".to_owned()]));
}

#[test]
fn one_changed_field_is_a_sentence_with_old_and_new_value() {
    let (before, after) = (
        r#"{"price":{"amount":1050,"currency":"CNY"},"version":1,"state":"draft"}"#,
        r#"{"price":{"amount":990,"currency":"CNY"},"version":2,"state":"draft"}"#,
    );
    let edit = || row("edit", "sale 7", before, after);
    let english = in_words(Locale::En, edit());
    assert_eq!(english, ("Sale price of [iPhone 17 (sale 7)] changed from *¥10.50* to *¥9.90*".to_owned(), vec![]));
    let chinese = in_words(Locale::Zh, edit());
    assert_eq!(chinese.0, "[“iPhone 17”（场次 7）]的“秒杀价”由 *¥10.50* 改为 *¥9.90*");
}

#[test]
fn several_changes_are_listed_and_times_are_instants() {
    let (before, after) = (
        r#"{"opens_at":null,"total":10}"#,
        r#"{"opens_at":"2026-11-21T12:00:00Z","total":20,"verified_contact":true}"#,
    );
    let (sentence, facts) = in_words(Locale::En, row("edit", "sale 7", before, after));
    assert_eq!(sentence, "[iPhone 17 (sale 7)] was edited");
    assert_eq!(
        facts,
        ["Total units: *10* → *20*", "Start:  → <2026-11-21T12:00:00Z>", "Confirmed email address needed:  → *yes*"]
    );
}

#[test]
fn action_that_tells_the_state_does_not_repeat_it() {
    let (before, after) = (r#"{"state":"live","version":1}"#, r#"{"state":"paused","version":2}"#);
    assert_eq!(in_words(Locale::En, row("pause", "sale 7", before, after)).1, Vec::<String>::new());
    let after = r#"{"status":"cancelled","reason":"fraud","message":null}"#;
    let (sentence, facts) = in_words(Locale::En, row("cancel", "order 12", r#"{"status":"unpaid"}"#, after));
    assert_eq!((sentence.as_str(), facts), ("[Order 12] was cancelled", vec!["Reason:  → *fraud*".to_owned()]));
}

#[test]
fn raw_fields_are_the_values_that_differ() {
    let changes = |before: &str, after: &str| raw_changes(&record(before), &record(after));
    let changed = |key: &str, before: &str, after: &str| RawChange {
        key: key.into(),
        before: before.into(),
        after: after.into(),
    };
    let (before, after) = (r#"{"a":1,"b":"x","c":null}"#, r#"{"a":1,"b":"y","c":null,"d":{"e":2}}"#);
    assert_eq!(changes(before, after), [changed("b", "x", "y"), changed("d.e", "", "2")]);
    assert_eq!(changes("", r#"{"a":1}"#), [changed("a", "", "1")]);
    assert_eq!(changes("", ""), []);
    assert_eq!(changes("not json", "7"), [changed("", "", "7")]);
}

#[test]
fn every_action_makes_a_sentence_about_its_subject() {
    for action in AuditAction::ALL {
        for locale in Locale::ALL {
            let (sentence, _) = in_words(locale, row(action.as_str(), "sale 7", "", ""));
            assert!(sentence.contains("iPhone 17") && !sentence.contains(['{', '}']), "{sentence}");
        }
    }
    assert_eq!(in_words(Locale::En, row("teleport", "planet 9", "", "")).0, "teleport [planet 9]");
}

#[test]
fn lines_name_the_accounts_that_they_mention() {
    let user = "019a0000-0000-7000-8000-000000000001";
    let rows = [row("refund", "order 1", &format!(r#"{{"user_id":"{user}"}}"#), ""), row("edit", "sale 7", "", "")];
    let (sales, users) = LogNames::wanted(&rows);
    assert_eq!(sales, [SaleId(7)]);
    assert_eq!(users, [user.parse::<UserId>().unwrap()]);
}
