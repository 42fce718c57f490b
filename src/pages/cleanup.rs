//! Removes assets of earlier versions: styles and scripts whose content, and therefore name, has changed since.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::assets;
use super::publish::Publisher;

/// Longer than any cache keeps a page that refers to them.
const ASSET_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);
/// How often a running program renews the modification time of its own assets. Processes of other versions may share the
/// folder and keep renewed files.
const TOUCH_INTERVAL: Duration = Duration::from_secs(24 * 3600);

impl Publisher {
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
    use crate::pages::sale_pages::tests::at;

    #[test]
    fn assets_that_no_program_renews_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let publisher = Publisher::new(dir.path().to_owned(), String::new());
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
    fn missing_folder_needs_no_cleanup() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Publisher::new(dir.path().join("none"), String::new()).tidy(at("2026-11-21T12:00:00Z")).unwrap(), 0);
    }
}
