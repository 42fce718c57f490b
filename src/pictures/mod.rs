//! Pictures that staff upload, from somebody's bytes to files that anybody may be shown.
//!
//! [`check`] decides from the bytes themselves what they are and whether they may be decoded at all; [`develop`] decodes
//! them and makes clean copies of several widths, in which nothing of the sender's file is left but what one sees;
//! [`tidy`] removes what nobody needs any more. Names come from the content, so a file never changes and every cache may
//! keep it for ever.

pub mod cleanup;
mod resize;
mod validate;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use uuid::Uuid;

use crate::clock::Clock;
use crate::domain::Picture;
use crate::domain::picture::WIDTHS;
use crate::store::{Store, StoreError};

use resize::Developed;

/// The largest picture, in bytes.
pub const MOST_BYTES: usize = 5 * 1024 * 1024;
/// Pictures that are worked on at a time: one may need some 300 MB.
const TURNS: usize = 2;
/// How long one may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why something is not taken as a picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureRefusal {
    #[error("the file is empty")]
    Empty,
    #[error("the file has too many bytes")]
    TooLarge,
    #[error("not a PNG, JPEG or WebP")]
    OtherKind,
    #[error("too many pixels")]
    TooManyPixels,
    #[error("the file is damaged or incomplete")]
    Broken,
    #[error("too many pictures at this moment")]
    Overloaded,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Disk(#[from] io::Error),
}

impl PictureRefusal {
    /// What to say beside the field; `None` where the sender is not to blame.
    pub fn field_code(&self) -> Option<&'static str> {
        match self {
            PictureRefusal::Empty => Some("picture_empty"),
            PictureRefusal::TooLarge => Some("picture_too_large"),
            PictureRefusal::OtherKind => Some("bad_picture"),
            PictureRefusal::TooManyPixels => Some("picture_too_many_pixels"),
            PictureRefusal::Broken => Some("picture_broken"),
            PictureRefusal::Overloaded | PictureRefusal::Store(_) | PictureRefusal::Disk(_) => None,
        }
    }
}

/// Takes pictures in and gives them out.
#[derive(Clone)]
pub struct Pictures {
    store: Store,
    folder: PathBuf,
    clock: Clock,
    turns: Arc<Semaphore>,
}

impl Pictures {
    /// ReplayGrants files in `folder`, which is made when the first picture comes.
    pub fn new(store: Store, folder: PathBuf, clock: Clock) -> Pictures {
        Pictures { store, folder, clock, turns: Arc::new(Semaphore::new(TURNS)) }
    }

    /// Checks, develops and keeps a picture. Once this has begun it is finished, also when nobody waits for it.
    pub async fn take(&self, bytes: Vec<u8>) -> Result<Picture, PictureRefusal> {
        let checked = validate::check(bytes)?;
        let turn = timeout(PATIENCE, self.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(PictureRefusal::Overloaded) };
        let folder = self.folder.clone();
        let kept = tokio::task::spawn_blocking(move || {
            let _held = turn;
            let Developed { picture, files } = resize::develop(checked)?;
            // Written anew each time: a file of this age is not swept away while its row is being written.
            files.iter().try_for_each(|(name, bytes)| write(&folder, name, bytes))?;
            Ok::<_, PictureRefusal>(picture)
        });
        // A decoder that panics has met a file that it cannot read.
        let picture = kept.await.map_err(|_| PictureRefusal::Broken)??;
        self.store.put_picture(&picture, self.clock.now()).await?;
        Ok(picture)
    }

    /// A file and its type; `None` for names that are not of ours, and for files that are gone.
    pub async fn file(&self, name: &str) -> io::Result<Option<(&'static str, Vec<u8>)>> {
        let Some(content_type) = content_type(name) else { return Ok(None) };
        match tokio::fs::read(self.folder.join(name)).await {
            Ok(bytes) => Ok(Some((content_type, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Writes a file, whole or not at all.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let temporary = folder.join(format!(".{}", Uuid::new_v4()));
    let mut file = std::fs::File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, folder.join(name))
}

fn is_hash(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The type of a file that `take` wrote (`u-<hash>-640.webp`), or of one from the time before copies (`u-<hash>.png`).
fn content_type(file: &str) -> Option<&'static str> {
    let (stem, extension) = file.strip_prefix("u-")?.split_once('.')?;
    let content_type = match extension {
        "jpg" => "image/jpeg",
        "webp" => "image/webp",
        "png" => "image/png",
        _ => return None,
    };
    let ours = match stem.split_once('-') {
        Some((hash, width)) => {
            let narrow = width.parse().is_ok_and(|width: u32| (1..=WIDTHS[2]).contains(&width));
            narrow && !width.starts_with(['0', '+']) && is_hash(hash, resize::HASH_DIGITS) && extension != "png"
        }
        None => is_hash(stem, 64),
    };
    ours.then_some(content_type)
}

/// The picture to which such a file belongs.
fn picture_of(file: &str) -> Option<&str> {
    content_type(file)?;
    let hash_ends = file[2..].find('-').map(|at| at + 2);
    Some(hash_ends.map_or(file, |end| &file[..end]))
}

#[cfg(test)]
pub(crate) mod tests;
