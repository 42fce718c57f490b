//! What others changed of goods while a form was being filled in, from the audit log.

use serde_json::Value;

use crate::goods::view::OtherChanges;
use domain::GoodsId;
use store::{AuditFilter, AuditRow, Store, StoreError};

/// Changes that are looked at, the newest ones.
const MAX_CHANGES: i64 = 20;
/// The fields of goods in the audit log, and their names in the form.
const FIELDS: [(&str, &str); 10] = [
    ("/name/zh", "name_zh"),
    ("/name/en", "name_en"),
    ("/description/zh", "description_zh"),
    ("/description/en", "description_en"),
    ("/category_id", "category_id"),
    ("/variant_of", "variant_of"),
    ("/variant/zh", "variant_zh"),
    ("/variant/en", "variant_en"),
    ("/pictures", "pictures"),
    ("/archived_at", "archived"),
];

/// Who changed which fields of goods since a version.
pub async fn changes_since(store: &Store, id: GoodsId, version: i64) -> Result<OtherChanges, StoreError> {
    let filter = AuditFilter { subject: format!("goods {id}"), ..AuditFilter::default() };
    Ok(sum_up(&store.audit_log().list(&filter, None, MAX_CHANGES).await?, version))
}

fn sum_up(rows: &[AuditRow], version: i64) -> OtherChanges {
    let (mut actors, mut changed) = (Vec::new(), [false; FIELDS.len()]);
    for row in rows {
        let (before, after) = (parsed(&row.before), parsed(&row.after));
        // The versions are the times of the changes.
        let at = after["updated_at"].as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok()).unwrap_or(row.at);
        if at.as_millisecond() <= version {
            continue;
        }
        if !actors.contains(&row.actor) {
            actors.push(row.actor.clone());
        }
        for ((pointer, _), changed) in FIELDS.iter().zip(&mut changed) {
            *changed |= before.pointer(pointer) != after.pointer(pointer);
        }
    }
    let fields = FIELDS.iter().zip(changed).filter(|(_, changed)| *changed).map(|((_, name), _)| *name);
    OtherChanges { actors, fields: fields.collect() }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_after_the_version_are_summed_up() {
        let state = |at: i64, zh: &str, en: &str| {
            let at = Timestamp::from_millisecond(at).unwrap();
            json!({"name": {"zh": zh, "en": en}, "pictures": [], "updated_at": at}).to_string()
        };
        let row = |actor: &str, before: String, after: String| AuditRow {
            id: String::new(),
            at: Timestamp::UNIX_EPOCH,
            actor: actor.to_owned(),
            action: "edit".to_owned(),
            subject: "goods 1".to_owned(),
            before,
            after,
        };
        let rows = [
            row("lan", state(20, "b", "x"), state(30, "b", "y")),
            row("gus", state(10, "a", "x"), state(20, "b", "x")),
            row("mei", String::new(), state(10, "a", "x")),
        ];
        let since = |version| sum_up(&rows, version);
        assert_eq!(
            since(10),
            OtherChanges { actors: vec!["lan".into(), "gus".into()], fields: vec!["name_zh", "name_en"] }
        );
        assert_eq!(since(20), OtherChanges { actors: vec!["lan".into()], fields: vec!["name_en"] });
        assert_eq!(since(30), OtherChanges { actors: vec![], fields: vec![] });
    }
}
