//! Pictures that staff upload.
//!
//! `resize` determines the format from the bytes alone and refuses what must not be decoded. It decodes a
//! picture and encodes clean copies of several widths, without the upload's metadata. [`run_cleanup`] removes unused files.
//! File names are derived from the content, so a file never changes and caches may keep it for ever.

mod resize;
#[cfg(test)]
pub mod tests;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::info;
use uuid::Uuid;

use crate::Publisher;
use crate::pictures::resize::EncodedPicture;
use base::clock::Clock;
use base::periodic::run_every;
use base::private_files;
use domain::Picture;
use domain::goods::COPY_WIDTHS;
use store::{Store, StoreError};

/// The largest upload, in bytes.
pub const MAX_PICTURE_BYTES: usize = 5 * 1024 * 1024;
/// Pictures that are processed at a time. One may need about 300 MB of memory.
const MAX_CONCURRENT: usize = 2;
/// How long an upload may wait before it is processed.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// Why an upload is refused.
#[derive(Debug, thiserror::Error)]
pub enum PictureRefusal {
    #[error("the file is empty")]
    Empty,
    #[error("the file is too large")]
    TooLarge,
    #[error("not a PNG, JPEG or WebP")]
    OtherKind,
    #[error("too many pixels")]
    TooManyPixels,
    #[error("the file is damaged or incomplete")]
    Broken,
    #[error("too many pictures are being processed")]
    Overloaded,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Disk(#[from] io::Error),
}

impl PictureRefusal {
    /// The code of the form field's error. `None` when the upload is not the cause.
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

/// Stores uploads and serves their files.
#[derive(Clone)]
pub struct Pictures {
    store: Store,
    folder: PathBuf,
    clock: Clock,
    permits: Arc<Semaphore>,
}

impl Pictures {
    /// Files are stored in `folder`, which is created by the first upload.
    pub fn new(store: Store, folder: PathBuf, clock: Clock) -> Pictures {
        Pictures { store, folder, clock, permits: Arc::new(Semaphore::new(MAX_CONCURRENT)) }
    }

    /// Validates, encodes and stores an upload. The files are written even if the caller is dropped.
    pub async fn add(&self, bytes: Vec<u8>) -> Result<Picture, PictureRefusal> {
        let validated = resize::validate(bytes)?;
        let permit = timeout(QUEUE_TIMEOUT, self.permits.clone().acquire_owned()).await;
        let Ok(Ok(permit)) = permit else { return Err(PictureRefusal::Overloaded) };
        let folder = self.folder.clone();
        let stored = tokio::task::spawn_blocking(move || {
            let _held = permit;
            let EncodedPicture { picture, files } = resize::encode(validated)?;
            // Rewrite existing files: cleanup does not remove a fresh file before its row is written.
            files.iter().try_for_each(|(name, bytes)| write(&folder, name, bytes))?;
            Ok::<_, PictureRefusal>(picture)
        });
        // A decoder panics on a file that it cannot read.
        let picture = stored.await.map_err(|_| PictureRefusal::Broken)??;
        self.store.goods().put_picture(&picture, self.clock.now()).await?;
        Ok(picture)
    }

    /// A file with its content type. `None` for foreign names and for missing files.
    pub async fn file(&self, name: &str) -> io::Result<Option<(&'static str, Vec<u8>)>> {
        let Some(content_type) = content_type(name) else { return Ok(None) };
        match tokio::fs::read(self.folder.join(name)).await {
            Ok(bytes) => Ok(Some((content_type, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Writes a file atomically.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    private_files::create_folder(folder)?;
    let temporary = folder.join(format!(".{}", Uuid::new_v4()));
    let mut file = private_files::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, folder.join(name))
}

fn is_hash(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The content type of a file that `add` wrote (`u-<hash>-640.webp`), or of an upload of older versions
/// (`u-<hash>.png`).
fn content_type(file: &str) -> Option<&'static str> {
    let (stem, extension) = file.strip_prefix("u-")?.split_once('.')?;
    let content_type = match extension {
        "jpg" => "image/jpeg",
        "webp" => "image/webp",
        "png" => "image/png",
        _ => return None,
    };
    let is_upload = match stem.split_once('-') {
        Some((hash, width)) => {
            let is_width = width.parse().is_ok_and(|width: u32| (1..=COPY_WIDTHS[3]).contains(&width));
            is_width && !width.starts_with(['0', '+']) && is_hash(hash, resize::NAME_DIGITS) && extension != "png"
        }
        None => is_hash(stem, 64),
    };
    is_upload.then_some(content_type)
}

/// The name of the picture to which a file belongs.
fn picture_of(file: &str) -> Option<&str> {
    content_type(file)?;
    let hash_ends = file[2..].find('-').map(|at| at + 2);
    Some(hash_ends.map_or(file, |end| &file[..end]))
}

/// How long a picture is kept while it is in no gallery: before its form is submitted, and after its removal, for pages
/// that are open or cached.
pub const UNUSED_PICTURE_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// How often unused files are removed. It is short compared with [`UNUSED_PICTURE_RETENTION`].
const CLEANUP_INTERVAL: Duration = Duration::from_secs(3600);

impl Pictures {
    /// Removes pictures that have been in no gallery for [`UNUSED_PICTURE_RETENTION`], and files without a picture.
    /// Returns the number of removed files.
    pub async fn remove_unused(&self) -> anyhow::Result<usize> {
        let since = self.clock.now() - UNUSED_PICTURE_RETENTION;
        self.store.goods().delete_unused_pictures(since).await?;
        let old = files_older_than(&self.folder, since)?;
        if old.is_empty() {
            return Ok(0);
        }
        // Read the names after the files: an upload from here on has young files.
        let known = self.store.goods().picture_names().await?;
        let mut removed = 0;
        for name in old.iter().filter(|name| picture_of(name).is_none_or(|picture| !known.contains(picture))) {
            let file = self.folder.join(name);
            if modified(&file)?.is_some_and(|at| at < SystemTime::from(since)) {
                std::fs::remove_file(file)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Files of uploads that are older than `since`, including temporary files of crashed processes. Other files in the
/// folder are not touched.
fn files_older_than(folder: &Path, since: Timestamp) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut old = Vec::new();
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_own =
            picture_of(&name).is_some() || name.strip_prefix('.').is_some_and(|n| n.parse::<uuid::Uuid>().is_ok());
        if is_own && modified(&entry.path())?.is_some_and(|at| at < SystemTime::from(since)) {
            old.push(name);
        }
    }
    Ok(old)
}

/// The time of modification; `None` when another process has removed the file.
fn modified(file: &Path) -> io::Result<Option<SystemTime>> {
    match file.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        metadata => metadata?.modified().map(Some),
    }
}

/// Removes unused files of the data directory until `stop` is cancelled.
pub async fn run_cleanup(pictures: Pictures, pages: Arc<Publisher>, stop: CancellationToken) -> anyhow::Result<()> {
    tokio::join!(
        run_every(CLEANUP_INTERVAL, &stop, "picture cleanup", || remove_pictures(&pictures)),
        run_every(CLEANUP_INTERVAL, &stop, "asset cleanup", || remove_assets(&pages, pictures.clock.now())),
    );
    Ok(())
}

async fn remove_pictures(pictures: &Pictures) -> anyhow::Result<()> {
    let removed = pictures.remove_unused().await?;
    if removed > 0 {
        info!(removed, "removed files of unused pictures");
    }
    Ok(())
}

async fn remove_assets(pages: &Arc<Publisher>, now: Timestamp) -> anyhow::Result<()> {
    let pages = pages.clone();
    let removed = tokio::task::spawn_blocking(move || pages.tidy(now)).await??;
    if removed > 0 {
        info!(removed, "removed styles and scripts of older versions");
    }
    Ok(())
}
