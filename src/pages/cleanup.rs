//! Writes the assets to disk, and removes assets of earlier versions of the program, which have other names because
//! their content differed.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use jiff::Timestamp;

use super::assets;
use super::publish::{PageFolder, Publisher, with_suffix};

/// How long unused assets stay: longer than any cache keeps a page that refers to them.
const ASSET_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);
/// How often a running program renews the modification time of its own assets. Processes of other versions may share
/// the folder and keep renewed files.
const TOUCH_INTERVAL: Duration = Duration::from_secs(24 * 3600);

impl Publisher {
    /// Writes the files below `static/` that are missing on disk. Blocks on compression and the disk.
    pub fn publish_assets(&self) -> anyhow::Result<()> {
        let folder = PageFolder::new(&self.dir).context("preparing the folder of pages")?;
        for asset in assets::all() {
            write_asset(&folder, asset).with_context(|| format!("writing {}", asset.path))?;
        }
        Ok(())
    }

    /// Removes assets that no program has renewed within [`ASSET_RETENTION`]. Returns their number.
    pub fn tidy(&self, now: Timestamp) -> io::Result<usize> {
        let mut removed = 0;
        walk(&self.dir.join("static"), &mut |file| {
            let used = match file.metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                metadata => metadata?.modified()?,
            };
            let age = SystemTime::from(now).duration_since(used).unwrap_or_default();
            if is_current(&self.dir, file) {
                if age > TOUCH_INTERVAL {
                    File::options().append(true).open(file)?.set_modified(now.into())?;
                }
            } else if age > ASSET_RETENTION {
                fs::remove_file(file)?;
                removed += 1;
            }
            Ok(())
        })?;
        Ok(removed)
    }
}

fn write_asset(folder: &PageFolder<'_>, asset: &assets::Asset) -> io::Result<()> {
    let file = folder.dir.join(asset.path.trim_start_matches('/'));
    write_missing(folder, &file, &asset.bytes)?;
    if let Some(forms) = asset.compressed() {
        write_missing(folder, &with_suffix(&file, "br"), &forms.br)?;
        write_missing(folder, &with_suffix(&file, "gz"), &forms.gzip)?;
    }
    Ok(())
}

/// Writes a file unless it is there with the right length. It is not read, because the content at an address never
/// changes.
fn write_missing(folder: &PageFolder<'_>, file: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(file).is_ok_and(|old| old.len() == bytes.len() as u64) {
        return Ok(());
    }
    folder.write(file, bytes).map(drop)
}

/// Whether the file is an asset of this program, compressed or not.
fn is_current(dir: &Path, file: &Path) -> bool {
    let Some(path) = file.strip_prefix(dir).ok().and_then(Path::to_str) else { return false };
    let plain = path.strip_suffix(".br").or_else(|| path.strip_suffix(".gz")).unwrap_or(path);
    assets::find(&format!("/{plain}")).is_some()
}

fn walk(folder: &Path, visit: &mut impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), visit)?;
        } else {
            visit(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::clock::Clock;
    use testing::samples::at;

    #[test]
    fn assets_that_no_program_renews_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let publisher = Publisher::new(dir.path().to_owned(), String::new(), Clock::system());
        publisher.publish_assets().unwrap();
        let at = |name: &str| dir.path().join("static").join(name);
        let present = dir.path().join(assets::url("shop.css").trim_start_matches('/'));
        let past = ["shop.00000000.css", "shop.00000000.css.br", "vendor/pico.min.00000000.css"];
        past.iter().for_each(|name| fs::write(at(name), "old").unwrap());
        let written = Timestamp::try_from(fs::metadata(&present).unwrap().modified().unwrap()).unwrap();

        assert_eq!(publisher.tidy(written + Duration::from_secs(6 * 24 * 3600)).unwrap(), 0);
        assert_eq!(publisher.tidy(written + Duration::from_secs(8 * 24 * 3600)).unwrap(), past.len());
        assert!(past.iter().all(|name| !at(name).exists()));
        assert!(present.exists() && present.with_extension("css.br").exists());
        let used = Timestamp::try_from(fs::metadata(&present).unwrap().modified().unwrap()).unwrap();
        assert!(used > written, "assets in use are renewed");
    }

    #[test]
    fn missing_and_incomplete_assets_are_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let publisher = Publisher::new(dir.path().to_owned(), String::new(), Clock::system());
        publisher.publish_assets().unwrap();
        let style = assets::find(assets::url("shop.css")).unwrap();
        let file = dir.path().join(&style.path[1..]);
        let written = fs::metadata(&file).unwrap().modified().unwrap();
        fs::remove_file(with_suffix(&file, "gz")).unwrap();
        fs::write(with_suffix(&file, "br"), "").unwrap();
        publisher.publish_assets().unwrap();
        assert_eq!(fs::read(with_suffix(&file, "gz")).unwrap(), style.compressed().unwrap().gzip);
        assert_eq!(fs::read(with_suffix(&file, "br")).unwrap(), style.compressed().unwrap().br);
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written, "the others stay");
    }

    #[test]
    fn missing_folder_needs_no_cleanup() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            Publisher::new(dir.path().join("none"), String::new(), Clock::system())
                .tidy(at("2026-11-21T12:00:00Z"))
                .unwrap(),
            0
        );
    }
}
