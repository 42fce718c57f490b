//! Files of programs of the past: styles and scripts whose content, and so whose name, has changed since.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::assets;
use super::publish::Publisher;

/// Longer than any cache shows a page that names them.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 3600);
/// A running program says so often that its files are in use. Others may share the folder.
const IN_USE_EVERY: Duration = Duration::from_secs(24 * 3600);

impl Publisher {
    /// Removes files under `static/` that no program has used for [`KEPT_FOR`]; says how many.
    pub fn tidy(&self, now: Timestamp) -> io::Result<usize> {
        let mut removed = 0;
        walk(&self.dir.join("static"), &mut |file| {
            let used = match file.metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                metadata => metadata?.modified()?,
            };
            let age = SystemTime::from(now).duration_since(used).unwrap_or_default();
            if is_present(&self.dir, file) {
                if age > IN_USE_EVERY {
                    File::options().append(true).open(file)?.set_modified(now.into())?;
                }
            } else if age > KEPT_FOR {
                fs::remove_file(file)?;
                removed += 1;
            }
            Ok(())
        })?;
        Ok(removed)
    }
}

/// Whether this program has such an asset, packed or not.
fn is_present(dir: &Path, file: &Path) -> bool {
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
    use crate::pages::sale_pages::tests::{at, sample};

    #[test]
    fn only_what_no_program_uses_any_more_goes() {
        let dir = tempfile::tempdir().unwrap();
        let publisher = Publisher::new(dir.path().to_owned(), String::new());
        publisher.publish(&[sample(1, "One")]).unwrap();
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
        assert!(used > written, "what is in use says so");
    }

    #[test]
    fn a_shop_without_pages_is_tidy() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Publisher::new(dir.path().join("none"), String::new()).tidy(at("2026-11-21T12:00:00Z")).unwrap(), 0);
    }
}
