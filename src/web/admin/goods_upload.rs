//! The form of goods as it is sent: texts, the present pictures with their places, and files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::multipart::{Field, Multipart, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use axum::http::StatusCode;
use tokio::time::timeout;

use crate::domain::picture::MOST_PICTURES;
use crate::pictures::MOST_BYTES;
use crate::web::Shop;
use crate::web::extract::{MOST_BYTES_WITH_PICTURES, PICTURE_WITHIN};
use crate::web::problem::{Code, Problem};

/// Of a file's name, which only its sender reads again.
const MOST_NAME_CHARS: usize = 120;

/// A file as it was sent.
#[derive(Debug)]
pub struct Upload {
    /// As the sender calls it. Used for nothing but telling them about it.
    pub file: String,
    /// `None` for a file that is too large to be looked at.
    pub bytes: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub struct Sent {
    pub name: [String; 2],
    pub description: [String; 2],
    /// Names of the pictures in the form, in the order in which they stood there.
    pictures: Vec<String>,
    places: HashMap<String, String>,
    removed: HashSet<String>,
    pub uploads: Vec<Upload>,
    pub too_many_uploads: bool,
    pub preview: bool,
}

impl Sent {
    /// The pictures that stay, in the order that their places ask for.
    pub fn arranged(&self) -> Vec<String> {
        let typed = |name: &String| self.places.get(name).and_then(|place| place.trim().parse::<i64>().ok());
        let mut seen = HashSet::new();
        let rows = self.pictures.iter().filter(|name| seen.insert(*name)).zip(1..);
        let mut rows: Vec<(i64, &String)> =
            rows.map(|(name, at)| (rank(at, typed(name).unwrap_or(at)), name)).collect();
        rows.sort_by_key(|(rank, _)| *rank);
        let stay = rows.into_iter().map(|(_, name)| name).filter(|name| !self.removed.contains(*name));
        stay.take(MOST_PICTURES).cloned().collect()
    }
}

/// Whoever is moved takes the place of whoever stands there: from behind it comes before, from before behind.
fn rank(at: i64, place: i64) -> i64 {
    place.clamp(-1000, 1000) * 2 + (place - at).signum()
}

impl FromRequest<Arc<Shop>> for Sent {
    type Rejection = Problem;

    async fn from_request(mut request: Request, shop: &Arc<Shop>) -> Result<Self, Problem> {
        DefaultBodyLimit::max(MOST_BYTES_WITH_PICTURES).apply(&mut request);
        let form = Multipart::from_request(request, shop).await;
        let form = form.map_err(|_| Code::UnsupportedMediaType)?;
        timeout(PICTURE_WITHIN, read(form)).await.map_err(|_| Code::RequestTimeout)?
    }
}

async fn read(mut form: Multipart) -> Result<Sent, Problem> {
    let mut sent = Sent::default();
    while let Some(field) = form.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "pictures" {
            read_file(&mut sent, field).await?;
            continue;
        }
        let text = field.text().await.map_err(broken)?;
        match name.as_str() {
            "name_zh" => sent.name[0] = text,
            "name_en" => sent.name[1] = text,
            "description_zh" => sent.description[0] = text,
            "description_en" => sent.description[1] = text,
            "action" => sent.preview = text == "preview",
            // Twice as many as there can be: a form that is wrong is shown again with what was uploaded to it.
            "picture" if sent.pictures.len() < 2 * MOST_PICTURES => sent.pictures.push(text),
            _ => {
                if let Some(picture) = name.strip_prefix("place-") {
                    sent.places.insert(picture.to_owned(), text);
                } else if let Some(picture) = name.strip_prefix("remove-") {
                    sent.removed.insert(picture.to_owned());
                }
            }
        }
    }
    Ok(sent)
}

async fn read_file(sent: &mut Sent, mut field: Field<'_>) -> Result<(), Problem> {
    let file: String = field.file_name().unwrap_or_default().chars().take(MOST_NAME_CHARS).collect();
    let mut bytes = Some(Vec::new());
    while let Some(chunk) = field.chunk().await.map_err(broken)? {
        bytes = bytes.filter(|so_far| so_far.len() + chunk.len() <= MOST_BYTES).map(|mut so_far| {
            so_far.extend_from_slice(&chunk);
            so_far
        });
    }
    // What a browser sends when no file was chosen.
    if file.is_empty() && bytes.as_ref().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    match sent.uploads.len() < MOST_PICTURES {
        true => sent.uploads.push(Upload { file, bytes }),
        false => sent.too_many_uploads = true,
    }
    Ok(())
}

fn broken(error: MultipartError) -> Problem {
    Problem::new(match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
        _ => Code::BadRequest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arranged(places: &[(&str, &str)], removed: &[&str]) -> String {
        let sent = Sent {
            pictures: places.iter().map(|(name, _)| (*name).to_owned()).collect(),
            places: places.iter().map(|(name, place)| ((*name).to_owned(), (*place).to_owned())).collect(),
            removed: removed.iter().map(|name| (*name).to_owned()).collect(),
            ..Sent::default()
        };
        sent.arranged().concat()
    }

    #[test]
    fn a_picture_takes_the_place_that_was_typed() {
        assert_eq!(arranged(&[("a", "1"), ("b", "2"), ("c", "3")], &[]), "abc");
        assert_eq!(arranged(&[("a", "1"), ("b", "2"), ("c", "1")], &[]), "cab", "to the front");
        assert_eq!(arranged(&[("a", "3"), ("b", "2"), ("c", "3")], &[]), "bca", "to the end");
        assert_eq!(arranged(&[("a", "2"), ("b", "1"), ("c", "3")], &[]), "bac", "two change places");
        assert_eq!(arranged(&[("a", "1"), ("b", "x"), ("c", "")], &["a"]), "bc", "nonsense stays where it is");
        assert_eq!(arranged(&[("a", "99999999999999"), ("b", "-5"), ("c", "3")], &[]), "bca");
        assert_eq!(arranged(&[("a", "1"), ("a", "1")], &[]), "a", "named twice");
    }
}
