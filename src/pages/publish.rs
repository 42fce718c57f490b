//! Renders the pages that are the same for all visitors into memory and onto disk.
//!
//! On disk they can be served by nginx or a CDN without a request to this program. Several processes may publish into
//! one folder. Each process writes under a temporary name and renames, so a reader sees a complete old or a complete
//! new page. Each process compares with the disk, so the last publication repairs what a process with older data wrote.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use arc_swap::ArcSwap;
use axum::body::Bytes;

use crate::compression::{self, Compressed, Effort};
use crate::sale_pages::{CALENDARS, Site, render_all};
use base::clock::Clock;
use domain::question::AnswersByGoods;
use domain::{Category, Goods, Locale, Sale, SaleState, ShippingTable, ShopSettings};

/// Temporary files that are older than this were left by a process that died.
const MAX_TEMPORARY_AGE: Duration = Duration::from_secs(3600);
/// Attempts to write a file while another process removes its folder.
const MAX_WRITE_ATTEMPTS: u32 = 20;

/// One rendered page, or a calendar file that belongs to it.
#[derive(Debug)]
pub struct Published {
    pub content_type: &'static str,
    pub body: Bytes,
    pub compressed: Compressed,
    pub etag: String,
}

impl Published {
    fn new(path: &str, body: String) -> io::Result<Published> {
        let compressed = Compressed::new(body.as_bytes(), Effort::Page)?;
        let content_type = match path.ends_with(".ics") {
            true => "text/calendar; charset=utf-8",
            false => "text/html; charset=utf-8",
        };
        Ok(Published { content_type, etag: compression::etag(body.as_bytes()), body: body.into(), compressed })
    }
}

/// Numbers of pages that a publication changed on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PublishReport {
    pub written: usize,
    pub unchanged: usize,
    pub removed: usize,
}

type Pages = HashMap<String, Arc<Published>>;

/// Holds the rendered pages in memory for this program's server, and in a folder for other servers.
#[derive(Debug)]
pub struct Publisher {
    pub(super) dir: PathBuf,
    /// The public address of the shop, for calendar files.
    origin: String,
    clock: Clock,
    pages: ArcSwap<Pages>,
    /// Serializes publications. Readers never wait for it.
    publishing: Mutex<()>,
}

impl Publisher {
    /// Publishes into `dir`, which the first publication creates.
    pub fn new(dir: PathBuf, origin: String, clock: Clock) -> Publisher {
        Publisher { dir, origin, clock, pages: ArcSwap::default(), publishing: Mutex::new(()) }
    }

    /// The page at an address such as `/zh/` or `/en/sales/7`.
    pub fn get(&self, path: &str) -> Option<Arc<Published>> {
        self.pages.load().get(path).cloned()
    }

    /// Whether the file of a page is identical to its last rendering. Blocks on the disk.
    pub fn is_on_disk(&self, path: &str) -> bool {
        let file = self.dir.join(path.trim_matches('/')).join("index.html");
        self.get(path).is_some_and(|page| fs::read(file).is_ok_and(|bytes| bytes == page.body))
    }

    /// Renders all pages and writes the changed ones. Drafts are left out. Blocks on compression and the disk.
    ///
    /// Pages are replaced in memory before anything is written, so this program's server shows them even on a full
    /// disk.
    pub fn publish(
        &self,
        sales: &[(Sale, Goods)],
        categories: &[Category],
        answers: &AnswersByGoods,
        shipping: &ShippingTable,
        shop: &Arc<ShopSettings>,
    ) -> anyhow::Result<PublishReport> {
        let _publishing = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        let (origin, made_at) = (self.origin.as_str(), self.clock.now());
        let site = Site { origin, shop, made_at, categories, answers, shipping };
        let pages = Arc::new(self.render(site, sales)?);
        self.pages.store(pages.clone());

        let folder = PageFolder::new(&self.dir).context("preparing the folder of pages")?;
        let mut report = PublishReport::default();
        for (path, page) in pages.iter() {
            match folder.write_page(path, page).with_context(|| format!("writing the page {path}"))? {
                true => report.written += 1,
                false => report.unchanged += 1,
            }
        }
        report.removed = folder.remove_gone(&pages).context("removing pages of sales and categories that are gone")?;
        Ok(report)
    }

    /// All pages by address. Unchanged pages are reused, because compression costs more than rendering.
    fn render(&self, site: Site<'_>, sales: &[(Sale, Goods)]) -> anyhow::Result<Pages> {
        let shown: Vec<_> = sales.iter().filter(|(sale, _)| sale.state != SaleState::Draft).collect();
        let before = self.pages.load();
        let mut pages = Pages::with_capacity(before.len());
        for locale in Locale::ALL {
            for (path, body) in render_all(locale, site, &shown)? {
                let page = match before.get(&path) {
                    Some(same) if same.body == body => same.clone(),
                    _ => Arc::new(Published::new(&path, body)?),
                };
                pages.insert(path, page);
            }
        }
        Ok(pages)
    }
}

/// Folders of each language whose entries are pages.
const FOLDERS: [&str; 2] = ["sales", "categories"];

/// The folder of pages.
pub(super) struct PageFolder<'a> {
    pub(super) dir: &'a Path,
    temporary: PathBuf,
}

impl PageFolder<'_> {
    pub(super) fn new(dir: &Path) -> io::Result<PageFolder<'_>> {
        let temporary = dir.join(".tmp");
        fs::create_dir_all(&temporary)?;
        for entry in fs::read_dir(&temporary)?.flatten() {
            let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age > MAX_TEMPORARY_AGE) {
                ignore(ErrorKind::NotFound, fs::remove_file(entry.path()))?;
            }
        }
        Ok(PageFolder { dir, temporary })
    }

    /// Returns whether anything was written.
    fn write_page(&self, path: &str, page: &Published) -> io::Result<bool> {
        let file = self.file(path);
        let plain = self.write(&file, &page.body)?;
        let br = self.write(&with_suffix(&file, "br"), &page.compressed.br)?;
        let gzip = self.write(&with_suffix(&file, "gz"), &page.compressed.gzip)?;
        Ok(plain | br | gzip)
    }

    /// The file of an address. An address without a file name is a folder with an index.
    fn file(&self, path: &str) -> PathBuf {
        let file = self.dir.join(path.trim_matches('/'));
        if path.ends_with(".ics") { file } else { file.join("index.html") }
    }

    /// Writes a file unless it is identical, through a unique temporary name. Returns whether it was written.
    pub(super) fn write(&self, file: &Path, bytes: &[u8]) -> io::Result<bool> {
        if fs::read(file).is_ok_and(|old| old == bytes) {
            return Ok(false);
        }
        let temporary = self.temporary.join(uuid::Uuid::new_v4().to_string());
        fs::write(&temporary, bytes)?;
        let mut attempt = 1;
        loop {
            // Another process may be removing the folder at this moment.
            let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
            match folder.and_then(|()| fs::rename(&temporary, file)) {
                // The folder was removed, or existed when it was created and was removed before the rename.
                Err(e)
                    if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists)
                        && attempt < MAX_WRITE_ATTEMPTS =>
                {
                    attempt += 1;
                }
                done => return done.map(|()| true),
            }
        }
    }

    /// Removes a calendar file that its sale no longer has.
    fn remove_calendar(&self, pages: &Pages, path: &str) -> io::Result<()> {
        if pages.contains_key(path) {
            return Ok(());
        }
        let file = self.file(path);
        for file in [&file, &with_suffix(&file, "br"), &with_suffix(&file, "gz")] {
            ignore(ErrorKind::NotFound, fs::remove_file(file))?;
        }
        Ok(())
    }

    /// Removes the folders of sales and categories that no longer have a page. Returns their number.
    fn remove_gone(&self, pages: &Pages) -> io::Result<usize> {
        let mut removed = 0;
        for (locale, kind) in Locale::ALL.into_iter().flat_map(|locale| FOLDERS.map(|kind| (locale, kind))) {
            let Ok(entries) = fs::read_dir(self.dir.join(locale.as_str()).join(kind)) else { continue };
            for entry in entries.flatten() {
                let path = format!("/{locale}/{kind}/{}", entry.file_name().to_string_lossy());
                if pages.contains_key(&path) {
                    for name in CALENDARS {
                        self.remove_calendar(pages, &format!("{path}/{name}"))?;
                    }
                    continue;
                }
                // The folder is not empty if another process, which still knows the sale, writes into it.
                ignore(ErrorKind::DirectoryNotEmpty, ignore(ErrorKind::NotFound, fs::remove_dir_all(entry.path())))?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

pub(super) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{suffix}"));
    name.into()
}

/// Treats one kind of error as success, because another process may have done the same first.
fn ignore(kind: ErrorKind, result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == kind => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets;
    use testing::samples::sample;

    const ORIGIN: &str = "https://shop.example";

    /// A folder of a test, removed with it, in which the publisher creates its own.
    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let pages = folder.path().join("pages");
        (folder, pages)
    }

    fn publish(publisher: &Publisher, sales: &[(Sale, Goods)]) -> anyhow::Result<PublishReport> {
        publisher.publish(sales, &[], &HashMap::new(), &ShippingTable::default(), &Arc::default())
    }

    fn report(written: usize, unchanged: usize, removed: usize) -> PublishReport {
        PublishReport { written, unchanged, removed }
    }

    #[test]
    fn changed_pages_are_written_and_old_ones_removed() {
        let (_folder, dir) = scratch();
        let publisher = Publisher::new(dir.clone(), ORIGIN.into(), Clock::system());
        let (one, mut two) = (sample(1, "One"), sample(2, "Two"));
        assert_eq!(publish(&publisher, &[one.clone(), two.clone()]).unwrap(), report(10, 0, 0));
        assert_eq!(publish(&publisher, &[one.clone(), two.clone()]).unwrap(), report(0, 10, 0));

        two.0.sold = 50;
        assert_eq!(
            publish(&publisher, &[one.clone(), two.clone()]).unwrap(),
            report(0, 10, 0),
            "sold units change no page"
        );
        two.1.description.en = "New words".into();
        assert_eq!(publish(&publisher, &[one.clone(), two.clone()]).unwrap(), report(1, 9, 0));

        two.0.window.opens_at = None;
        publish(&publisher, &[one.clone(), two.clone()]).unwrap();
        assert!(!dir.join("en/sales/2/reminder.ics").exists(), "no start time, no calendar file");
        assert!(dir.join("en/sales/1/reminder.ics").exists());

        two.0.state = SaleState::Draft;
        assert_eq!(
            publish(&publisher, &[one, two]).unwrap(),
            report(4, 2, 2),
            "the lists and the pages that led on to it change, its own go"
        );
        assert!(publisher.get("/en/sales/2").is_none() && !dir.join("en/sales/2/index.html").exists());
    }

    #[test]
    fn memory_and_disk_have_the_same_pages() {
        let (_folder, dir) = scratch();
        let publisher = Publisher::new(dir.clone(), ORIGIN.into(), Clock::system());
        publisher.publish_assets().unwrap();
        publish(&publisher, &[sample(1, "One")]).unwrap();
        let page = publisher.get("/zh/sales/1").unwrap();
        assert_eq!(fs::read(dir.join("zh/sales/1/index.html")).unwrap(), page.body);
        assert_eq!(fs::read(dir.join("zh/sales/1/index.html.br")).unwrap(), page.compressed.br);
        assert_eq!(fs::read(dir.join("zh/sales/1/index.html.gz")).unwrap(), page.compressed.gzip);
        assert_eq!(page.etag, compression::etag(&page.body));
        let style = assets::url("shop.css");
        assert!(std::str::from_utf8(&page.body).unwrap().contains(style));
        let style = assets::find(style).unwrap();
        assert_eq!(fs::read(dir.join(&style.path[1..])).unwrap(), style.bytes);
        assert_eq!(fs::read(dir.join(format!("{}.br", &style.path[1..]))).unwrap(), style.compressed().unwrap().br);
        assert_eq!(fs::read_dir(dir.join(".tmp")).unwrap().count(), 0);
    }

    #[test]
    fn next_publication_repairs_the_folder() {
        let (_folder, dir) = scratch();
        let publisher = Publisher::new(dir.clone(), ORIGIN.into(), Clock::system());
        publish(&publisher, &[sample(1, "One")]).unwrap();
        fs::write(dir.join("en/index.html.br"), "older").unwrap();
        fs::create_dir_all(dir.join("zh/sales/99")).unwrap();
        assert_eq!(publish(&publisher, &[sample(1, "One")]).unwrap(), report(1, 5, 1));
    }

    #[test]
    fn several_processes_may_publish_into_one_folder() {
        let (_folder, dir) = scratch();
        let sales: Vec<_> = (1..8).map(|id| sample(id, "Goods")).collect();
        std::thread::scope(|scope| {
            for shown in [7, 3, 7, 5] {
                let (sales, dir) = (&sales[..shown], dir.clone());
                scope.spawn(move || {
                    let publisher = Publisher::new(dir, ORIGIN.into(), Clock::system());
                    (0..5).for_each(|_| {
                        assert_eq!(publish(&publisher, sales).map(drop).map_err(|e| format!("{e:#}")), Ok(()))
                    });
                });
            }
        });
        let last = Publisher::new(dir.clone(), ORIGIN.into(), Clock::system());
        publish(&last, &sales).unwrap();
        assert_eq!(publish(&last, &sales).unwrap(), report(0, 30, 0));
    }

    #[test]
    fn pages_are_in_memory_even_if_the_disk_fails() {
        let (_folder, dir) = scratch();
        fs::write(&dir, "a file where a folder is needed").unwrap();
        let publisher = Publisher::new(dir.clone(), ORIGIN.into(), Clock::system());
        assert!(publish(&publisher, &[sample(1, "One")]).is_err());
        assert!(publisher.get("/en/sales/1").is_some());
    }
}
