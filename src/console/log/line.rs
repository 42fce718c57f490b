//! A line of the audit log in words: a sentence with a link to its subject, what changed with old and new values, and
//! the raw fields, which the page folds away.

use serde_json::Map;

use crate::log::fields::{Field, FieldKind, field, plain, value_words};
use crate::prelude::*;
use store::AuditRow;
use words::{audit_action, text};

/// The names that the lines of a page mention.
#[derive(Debug, Default)]
pub struct LogNames {
    pub sales: HashMap<SaleId, String>,
    /// All categories that exist.
    pub categories: HashMap<CategoryId, String>,
    pub users: HashMap<UserId, String>,
    pub orders: HashMap<OrderId, OrderNumber>,
}

impl LogNames {
    /// The sales, the accounts and the orders that lines are about.
    pub fn wanted(rows: &[AuditRow]) -> (Vec<SaleId>, Vec<UserId>, Vec<OrderId>) {
        let (mut sales, mut users, mut orders) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            match row.subject.split_once(' ') {
                Some(("sale", id)) => sales.extend(id.parse::<SaleId>()),
                Some(("user", id)) => users.extend(id.parse::<UserId>()),
                Some(("order", id)) => orders.extend(id.parse::<OrderId>()),
                _ => {}
            }
            for value in [&row.before, &row.after].into_iter().flat_map(|json| record(json).into_iter()) {
                match (value.0.as_str(), &value.1) {
                    ("user_id" | "account", Value::String(id)) => users.extend(id.parse::<UserId>()),
                    ("order", Value::String(id)) => orders.extend(id.parse::<OrderId>()),
                    _ => {}
                }
            }
        }
        sales.sort_unstable();
        sales.dedup();
        users.sort_unstable();
        users.dedup();
        (sales, users, orders)
    }
}

/// A name that may lead to a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLink {
    pub path: Option<String>,
    pub name: String,
}

/// A part of a sentence, or a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Words(String),
    Link(LogLink),
    Time(Timestamp),
    /// A value that changed.
    Value(String),
}

/// A field that an action set, changed or removed.
#[derive(Debug, PartialEq, Eq)]
pub struct Fact {
    pub label: &'static str,
    pub before: Option<Piece>,
    pub after: Option<Piece>,
}

/// A value that differs, as it stands in the record. An absent value is empty.
#[derive(Debug, PartialEq, Eq)]
pub struct RawChange {
    pub key: String,
    pub before: String,
    pub after: String,
}

/// A line of the log as the page shows it.
#[derive(Debug)]
pub struct LogLine {
    pub at: Timestamp,
    pub actor: String,
    /// Action and subject as programs know them.
    pub code: String,
    pub sentence: Vec<Piece>,
    pub facts: Vec<Fact>,
    pub raw: Vec<RawChange>,
}

/// Turns rows into lines of one language.
#[derive(Debug)]
pub struct LogWords<'a> {
    locale: Locale,
    text: &'static Text,
    names: &'a LogNames,
}

impl<'a> LogWords<'a> {
    pub fn new(locale: Locale, names: &'a LogNames) -> LogWords<'a> {
        LogWords { locale, text: text(locale), names }
    }

    pub fn line(&self, row: AuditRow) -> LogLine {
        let [before, after] = [&row.before, &row.after].map(|json| record(json));
        let action: Option<AuditAction> = row.action.parse().ok();
        let (kind, id) = row.subject.split_once(' ').unwrap_or((&row.subject, ""));
        let subject = Piece::Link(self.link(kind, id, [&after, &before]));
        let mut facts = self.facts(kind, action, &before, &after);
        let is_change = matches!(
            action,
            Some(
                AuditAction::Edit
                    | AuditAction::TopUp
                    | AuditAction::Pace
                    | AuditAction::SetRole
                    | AuditAction::StaffPolicy
            )
        );
        let sentence = match facts.as_slice() {
            [Fact { label, before, after }] if is_change && before != after => {
                let one = self.one_change(&subject, label, before.as_ref(), after.as_ref());
                facts.clear();
                one
            }
            _ => {
                // An action of another version of the program has no sentence, so its name replaces it.
                let other = format!("{} {{subject}}", row.action);
                let sentence = action.map_or(other.as_str(), |action| audit_action(self.locale, action).sentence);
                compose(sentence, |_| Some(subject.clone()))
            }
        };
        let code = format!("{} · {}", row.action, row.subject);
        LogLine { at: row.at, actor: row.actor, code, sentence, facts, raw: raw_changes(&before, &after) }
    }

    fn one_change(&self, subject: &Piece, label: &str, before: Option<&Piece>, after: Option<&Piece>) -> Vec<Piece> {
        let t = &self.text.audit;
        let sentence = match (before, after) {
            (Some(_), None) => t.one_unset,
            (None, _) => t.one_set,
            (Some(_), Some(_)) => t.one_change,
        };
        compose(sentence, |place| match place {
            "subject" => Some(subject.clone()),
            "field" => Some(Piece::Words(label.to_owned())),
            "old" => before.cloned(),
            "new" => after.cloned(),
            _ => None,
        })
    }

    fn facts(
        &self,
        kind: &str,
        action: Option<AuditAction>,
        before: &Map<String, Value>,
        after: &Map<String, Value>,
    ) -> Vec<Fact> {
        let is_whole = before.is_empty() || after.is_empty();
        let known = keys(before, after).filter_map(|key| Some((key, field(&self.text.audit, kind, key)?)));
        let mut known: Vec<_> = known.collect();
        known.sort_by_key(|(_, field)| field.place);
        let mut facts = Vec::new();
        for (key, field) in known {
            let [old, new] = [before.get(key), after.get(key)].map(|value| value.filter(|value| !value.is_null()));
            // Fields that a new record does not mention have their defaults.
            let is_default = is_whole && [old, new].into_iter().flatten().all(is_off);
            let is_state =
                matches!(field.kind, FieldKind::SaleState | FieldKind::OrderStatus | FieldKind::QuestionStatus);
            let is_told = is_state && action.is_some_and(AuditAction::tells_state);
            if old == new || is_default || is_told || is_whole && !field.is_main {
                continue;
            }
            let piece = |value: Option<&Value>| value.map(|value| self.piece(&field, value));
            let before = piece(old.filter(|_| field.kind != FieldKind::Long));
            facts.push(Fact { label: field.label, before, after: piece(new) });
        }
        facts
    }

    fn piece(&self, field: &Field, value: &Value) -> Piece {
        let words = value_words(self.text, field.kind, value);
        match field.kind {
            FieldKind::Time => words.parse().map_or(Piece::Value(words), Piece::Time),
            FieldKind::Link(subject) => Piece::Link(self.link(subject, &words, [&Map::new(); 2])),
            _ => Piece::Value(words),
        }
    }

    /// The name of a subject and its page. `records` may know a name that the shop no longer has.
    fn link(&self, kind: &str, id: &str, records: [&Map<String, Value>; 2]) -> LogLink {
        let (t, lang) = (&self.text.audit, self.locale);
        let of = |path: String, name: String| LogLink { path: Some(path), name };
        let recorded = |key: &str| records.into_iter().find_map(|record| record.get(key)).map(plain);
        match kind {
            "sale" => {
                let name = id.parse().ok().and_then(|id| self.names.sales.get(&id));
                let name =
                    name.map_or_else(|| fill(self.text.admin.sale_number, id), |name| fill(&fill(t.sale_of, name), id));
                of(format!("/admin/sales/{id}?lang={lang}"), name)
            }
            "goods" => {
                let name = recorded(&format!("name.{lang}")).filter(|name| !name.is_empty());
                of(format!("/admin/goods/{id}?lang={lang}"), name.unwrap_or_else(|| fill(t.goods, id)))
            }
            "category" => {
                let known = id.parse().ok().and_then(|id| self.names.categories.get(&id));
                let path = known.map(|_| format!("/admin/goods/categories?lang={lang}#category-{id}"));
                let name = recorded(&format!("name.{lang}")).or(known.cloned());
                LogLink { path, name: name.unwrap_or_else(|| fill(t.category, id)) }
            }
            "categories" => of(format!("/admin/goods/categories?lang={lang}"), t.all_categories.to_owned()),
            "user" => {
                let name = id.parse().ok().and_then(|id| self.names.users.get(&id)).cloned();
                of(format!("/admin/users/{id}?lang={lang}"), name.unwrap_or_else(|| t.deleted_user.to_owned()))
            }
            "order" => {
                let number = id.parse().ok().and_then(|id| self.names.orders.get(&id)).map(ToString::to_string);
                let name = fill(t.order, number.unwrap_or_else(|| "–".to_owned()));
                of(format!("/admin/orders/{id}?lang={lang}"), name)
            }
            "packet" => of(format!("/admin/packets/{id}?lang={lang}"), fill(t.packet, id)),
            "question" => of(format!("/admin/questions/{id}?lang={lang}"), t.question.to_owned()),
            "token" => {
                let name = recorded("name").map_or_else(|| fill(t.token, "–"), |name| fill(t.token_of, &name));
                of(format!("/admin/system?show=tokens&lang={lang}"), name)
            }
            "page" => {
                let title = id.parse().ok().map(|page| self.text.about.title_of(page));
                of(format!("/admin/pages?lang={lang}#{id}"), fill(t.page, title.unwrap_or(id)))
            }
            "payment" => of(format!("/admin/orders?show=payments&lang={lang}"), t.payment.to_owned()),
            "dead-letter" => LogLink { path: None, name: fill(t.letter, id) },
            "staff" => of(format!("/admin/users?show=staff&lang={lang}"), t.all_staff.to_owned()),
            "orders" => of(format!("/admin/orders?lang={lang}"), t.all_orders.to_owned()),
            "invoices" => of(format!("/admin/orders/invoices?lang={lang}"), t.all_invoices.to_owned()),
            "shipping" => of(format!("/admin/orders/shipping?lang={lang}"), t.shipping.to_owned()),
            "front" => of(format!("/admin/sales/{id}/front?lang={lang}"), fill(t.front, id)),
            "shop" => of(format!("/admin/shop?lang={lang}"), self.text.brand.title.to_owned()),
            "endpoint" => {
                let url = recorded("url").unwrap_or_else(|| "–".to_owned());
                of(format!("/admin/webhooks/{id}?lang={lang}"), fill(t.endpoint, url))
            }
            "books" => of(format!("/admin/orders/books?lang={lang}"), t.journal.to_owned()),
            _ => LogLink { path: None, name: format!("{kind} {id}").trim().to_owned() },
        }
    }
}

/// A sentence with its places filled. A place without a piece stays empty.
fn compose(sentence: &str, piece: impl Fn(&str) -> Option<Piece>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = sentence;
    while let Some((words, from)) = rest.split_once('{') {
        let Some((place, after)) = from.split_once('}') else { break };
        pieces.extend(Some(words).filter(|words| !words.is_empty()).map(|words| Piece::Words(words.to_owned())));
        pieces.extend(piece(place));
        rest = after;
    }
    pieces.extend(Some(rest).filter(|words| !words.is_empty()).map(|words| Piece::Words(words.to_owned())));
    pieces
}

fn is_off(value: &Value) -> bool {
    matches!(value, Value::Bool(false)) || value.as_i64() == Some(0)
}

fn keys<'m>(before: &'m Map<String, Value>, after: &'m Map<String, Value>) -> impl Iterator<Item = &'m String> {
    before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)))
}

fn raw_changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<RawChange> {
    let changed = keys(before, after).filter(|key| before.get(*key) != after.get(*key)).map(|key| {
        let [before, after] = [before, after].map(|record| record.get(key).map(plain).unwrap_or_default());
        RawChange { key: key.clone(), before, after }
    });
    changed.filter(|change| !(change.before.is_empty() && change.after.is_empty())).collect()
}

/// The fields of a record by their paths. Amounts of money stay whole. A text that is not JSON counts as empty.
fn record(json: &str) -> Map<String, Value> {
    let mut flat = Map::new();
    match serde_json::from_str(json) {
        Ok(Value::Object(record)) => flatten(&mut flat, "", record),
        Ok(value) => drop(flat.insert(String::new(), value)),
        Err(_) => {}
    }
    flat
}

fn flatten(flat: &mut Map<String, Value>, prefix: &str, record: Map<String, Value>) {
    for (key, value) in record {
        let path = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
        match value {
            Value::Object(inner) if !inner.contains_key("currency") => flatten(flat, &path, inner),
            value => drop(flat.insert(path, value)),
        }
    }
}

#[cfg(test)]
mod tests {
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
            orders: HashMap::new(),
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
        assert_eq!(in_words(Locale::Zh, answered), ("答复了[提问]".to_owned(), vec!["答复:  → *两张*".to_owned()]));
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
            [
                "Total units: *10* → *20*",
                "Start:  → <2026-11-21T12:00:00Z>",
                "Confirmed email address needed:  → *yes*"
            ]
        );
    }

    #[test]
    fn action_that_tells_the_state_does_not_repeat_it() {
        let (before, after) = (r#"{"state":"live","version":1}"#, r#"{"state":"paused","version":2}"#);
        assert_eq!(in_words(Locale::En, row("pause", "sale 7", before, after)).1, Vec::<String>::new());
        let after = r#"{"status":"cancelled","reason":"fraud","message":null}"#;
        let (sentence, facts) = in_words(Locale::En, row("cancel", "order 12", r#"{"status":"unpaid"}"#, after));
        assert_eq!((sentence.as_str(), facts), ("[Order –] was cancelled", vec!["Reason:  → *fraud*".to_owned()]));
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
        let (sales, users, _) = LogNames::wanted(&rows);
        assert_eq!(sales, [SaleId(7)]);
        assert_eq!(users, [user.parse::<UserId>().unwrap()]);
    }
}
