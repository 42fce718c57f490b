//! Removal of unused files: uploads that are in no gallery, and styles and scripts of older versions of the program.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{Pictures, picture_of};
use crate::Publisher;
use base::periodic::run_every;

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
