//! Removes what nobody needs any more: uploads that hang nowhere, and styles and scripts of programs of the past.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Pictures, picture_of};
use crate::pages::Publisher;

/// How long an upload may wait to be hung somewhere, and how long one that came down is still there for pages that
/// somebody has open or a cache holds.
pub const UNUSED_FOR: Duration = Duration::from_secs(24 * 3600);
/// Often enough that a day is about a day.
const EVERY: Duration = Duration::from_secs(3600);

impl Pictures {
    /// Removes pictures that have hung nowhere for [`UNUSED_FOR`], and files that belong to no picture; says how many
    /// files went.
    pub async fn tidy(&self) -> anyhow::Result<usize> {
        let since = self.clock.now() - UNUSED_FOR;
        self.store.forget_pictures(since).await?;
        let old = files_older_than(&self.folder, since)?;
        if old.is_empty() {
            return Ok(0);
        }
        // Read after the files: what is uploaded anew from here on has young files.
        let known = self.store.picture_names().await?;
        let gone = |name: &&String| picture_of(name).is_none_or(|picture| !known.contains(picture));
        let mut removed = 0;
        for name in old.iter().filter(gone) {
            let file = self.folder.join(name);
            if modified(&file)?.is_some_and(|at| at < SystemTime::from(since)) {
                std::fs::remove_file(file)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Our own files only, temporary ones of a process that died included: nothing else in the folder is touched.
fn files_older_than(folder: &Path, since: Timestamp) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut old = Vec::new();
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let ours =
            picture_of(&name).is_some() || name.strip_prefix('.').is_some_and(|n| n.parse::<uuid::Uuid>().is_ok());
        if ours && modified(&entry.path())?.is_some_and(|at| at < SystemTime::from(since)) {
            old.push(name);
        }
    }
    Ok(old)
}

/// `None` for a file that another process has removed.
fn modified(file: &Path) -> io::Result<Option<SystemTime>> {
    match file.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        metadata => metadata?.modified().map(Some),
    }
}

/// Tidies the data directory of this machine until it is stopped.
pub async fn keep_tidy(pictures: Pictures, pages: Arc<Publisher>, stop: CancellationToken) -> anyhow::Result<()> {
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        match pictures.tidy().await {
            Ok(0) => {}
            Ok(removed) => info!(removed, "files of unused pictures removed"),
            Err(error) => warn!(error = format!("{error:#}"), "cannot tidy the uploads; trying again"),
        }
        let (pages, now) = (pages.clone(), pictures.clock.now());
        match tokio::task::spawn_blocking(move || pages.tidy(now)).await? {
            Ok(0) => {}
            Ok(removed) => info!(removed, "files of programs of the past removed"),
            Err(error) => warn!(%error, "cannot tidy the folder of pages; trying again"),
        }
    }
    Ok(())
}
