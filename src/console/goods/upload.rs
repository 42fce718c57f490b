//! The multipart form of goods: texts, the gallery's pictures with their places, and uploaded files.

use std::collections::HashSet;

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use tokio::time::timeout;

use crate::goods::page::OtherChanges;
use crate::prelude::*;
use domain::goods::MAX_GALLERY_PICTURES;
use pages::pictures::MAX_PICTURE_BYTES;
use store::{AuditFilter, AuditRow};
use web::extract::text::nul_problem;
use web::extract::{MAX_UPLOAD_BYTES, UPLOAD_TIMEOUT};

/// Characters kept of a file's name, which only the complaint about the file shows.
const MAX_FILE_NAME_CHARS: usize = 120;

/// A file of the form.
#[derive(Debug)]
pub struct UploadedFile {
    /// The file's name on the sender's device. Only the complaint about the file uses it.
    pub file: String,
    /// `None` for a file above the size limit; its bytes are dropped.
    pub bytes: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub struct GoodsForm {
    /// The version of the goods that the form was filled with.
    pub version: String,
    pub name: [String; 2],
    pub description: [String; 2],
    /// The id of a category; empty for none.
    pub category: Option<String>,
    /// The id of the goods of which these are a variant; empty for none.
    pub variant_of: Option<String>,
    pub variant: [String; 2],
    /// Names of the gallery's pictures in their present order.
    pictures: Vec<String>,
    /// The place typed for each picture, by its name.
    places: HashMap<String, String>,
    removed: HashSet<String>,
    pub uploads: Vec<UploadedFile>,
    pub too_many_uploads: bool,
    pub preview: bool,
}

impl GoodsForm {
    /// The pictures that stay, in the order that the typed places give.
    pub fn arranged_pictures(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut rows: Vec<_> = self.pictures.iter().filter(|name| seen.insert(*name)).zip(1..).collect();
        rows.sort_by_cached_key(|(name, at)| {
            rank(*at, self.places.get(*name).and_then(|place| place.trim().parse().ok()).unwrap_or(*at))
        });
        let stay = rows.into_iter().map(|(name, _)| name).filter(|name| !self.removed.contains(*name));
        stay.take(MAX_GALLERY_PICTURES).cloned().collect()
    }
}

/// Sort key of a picture that moves from `at` to `place`. A picture that moves forward sorts before the one that stands
/// there, a picture that moves back sorts after it.
fn rank(at: i64, place: i64) -> i64 {
    place.clamp(-1000, 1000) * 2 + (place - at).signum()
}

impl FromRequest<Arc<Shop>> for GoodsForm {
    type Rejection = Problem;

    async fn from_request(mut request: Request, shop: &Arc<Shop>) -> Result<Self, Problem> {
        DefaultBodyLimit::max(MAX_UPLOAD_BYTES).apply(&mut request);
        let form = Multipart::from_request(request, shop).await;
        let form = form.map_err(|_| Code::UnsupportedMediaType)?;
        timeout(UPLOAD_TIMEOUT, read(form)).await.map_err(|_| Code::RequestTimeout)?
    }
}

async fn read(mut multipart: Multipart) -> Result<GoodsForm, Problem> {
    let mut form = GoodsForm::default();
    while let Some(field) = multipart.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "pictures" {
            read_file(&mut form, field).await?;
            continue;
        }
        let text = field.text().await.map_err(broken)?;
        if text.contains('\0') || name.contains('\0') {
            return Err(nul_problem(None));
        }
        match name.as_str() {
            "version" => form.version = text,
            "name_zh" => form.name[0] = text,
            "name_en" => form.name[1] = text,
            "description_zh" => form.description[0] = lines(&text),
            "description_en" => form.description[1] = lines(&text),
            "category_id" => form.category = Some(text),
            "variant_of" => form.variant_of = Some(text),
            "variant_zh" => form.variant[0] = text,
            "variant_en" => form.variant[1] = text,
            "action" => form.preview = text == "preview",
            // Up to twice the gallery's limit: a form that is shown again lists the pictures uploaded with it as well.
            "picture" if form.pictures.len() < 2 * MAX_GALLERY_PICTURES => form.pictures.push(text),
            _ => {
                if let Some(picture) = name.strip_prefix("place-") {
                    form.places.insert(picture.to_owned(), text);
                } else if let Some(picture) = name.strip_prefix("remove-") {
                    form.removed.insert(picture.to_owned());
                }
            }
        }
    }
    Ok(form)
}

/// Replaces the CR LF of a form by LF, so that texts are stored as the API stores them.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

async fn read_file(form: &mut GoodsForm, mut field: Field<'_>) -> Result<(), Problem> {
    let file: String = field.file_name().unwrap_or_default().chars().take(MAX_FILE_NAME_CHARS).collect();
    let mut bytes = Some(Vec::new());
    while let Some(chunk) = field.chunk().await.map_err(broken)? {
        bytes = bytes.filter(|so_far| so_far.len() + chunk.len() <= MAX_PICTURE_BYTES).map(|mut so_far| {
            so_far.extend_from_slice(&chunk);
            so_far
        });
    }
    // Browsers send an empty part when no file was chosen.
    if file.is_empty() && bytes.as_ref().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    match form.uploads.len() < MAX_GALLERY_PICTURES {
        true => form.uploads.push(UploadedFile { file, bytes }),
        false => form.too_many_uploads = true,
    }
    Ok(())
}

fn broken(error: MultipartError) -> Problem {
    Problem::new(match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
        _ => Code::BadRequest,
    })
}

// What others changed of goods while a form was being filled in, from the audit log.

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
pub async fn changes_since(store: &Store, id: GoodsId, version: i64) -> StoreResult<OtherChanges> {
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

    fn arranged(places: &[(&str, &str)], removed: &[&str]) -> String {
        let form = GoodsForm {
            pictures: places.iter().map(|(name, _)| (*name).to_owned()).collect(),
            places: places.iter().map(|(name, place)| ((*name).to_owned(), (*place).to_owned())).collect(),
            removed: removed.iter().map(|name| (*name).to_owned()).collect(),
            ..GoodsForm::default()
        };
        form.arranged_pictures().concat()
    }

    #[test]
    fn picture_takes_the_typed_place() {
        assert_eq!(arranged(&[("a", "1"), ("b", "2"), ("c", "3")], &[]), "abc");
        assert_eq!(arranged(&[("a", "1"), ("b", "2"), ("c", "1")], &[]), "cab", "to the front");
        assert_eq!(arranged(&[("a", "3"), ("b", "2"), ("c", "3")], &[]), "bca", "to the end");
        assert_eq!(arranged(&[("a", "2"), ("b", "1"), ("c", "3")], &[]), "bac", "two change places");
        assert_eq!(arranged(&[("a", "1"), ("b", "x"), ("c", "")], &["a"]), "bc", "nonsense stays where it is");
        assert_eq!(arranged(&[("a", "99999999999999"), ("b", "-5"), ("c", "3")], &[]), "bca");
        assert_eq!(arranged(&[("a", "1"), ("a", "1")], &[]), "a", "named twice");
    }

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
