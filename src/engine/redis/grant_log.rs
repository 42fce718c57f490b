//! Remembers every grant that this process has reported to a client, until the database has it.
//!
//! A 202 is a promise. A master that restarts without its last writes, or without any data, has forgotten the grant,
//! and [`super::replay`] sends the remembered grants to it again. Grants that were the answer to a repeated request are
//! remembered as well, because the process that first granted them may have ended.
//!
//! Memory: a grant on units takes 56 bytes, so [`MAX_GRANTS`] take 56 MB, and up to twice that while a `VecDeque`
//! grows.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fs;
use std::hash::Hash;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::redis::replay::Generation;
use base::{locked, private_files};
use domain::Bucket;

/// Bounds the memory of the log. Beyond it the oldest grants are dropped, but only if a check has just found their
/// generation on the master.
const MAX_GRANTS: usize = 1_000_000;
/// How long after a grant the first check whether the database has it is made.
const FIRST_CHECK_DELAY: Duration = Duration::from_secs(1);
/// How long after a check a grant that was not in the database is checked again. It bounds the load during a backlog.
const RECHECK_DELAY: Duration = Duration::from_secs(5);

/// The key under which grants are remembered: the bucket and the generation that has them.
pub type Place = (Bucket, Generation);

struct Remembered<G> {
    grant: G,
    check_at: Instant,
}

/// The grants of one generation of a bucket, roughly oldest first.
struct Grants<G> {
    queue: VecDeque<Remembered<G>>,
    /// Grants in `queue` that came from repeated requests, so a client that retries a hundred times is stored once.
    repeated: HashSet<G>,
}

/// The grants that this process has reported to clients and that the database does not have yet.
pub struct GrantLog<G> {
    places: Mutex<BTreeMap<Place, Grants<G>>>,
    calls: Mutex<Calls>,
}

/// Calls to the master, numbered in the order of their start.
#[derive(Default)]
struct Calls {
    started: u64,
    unanswered: BTreeSet<u64>,
}

/// A call whose answer may still contain grants. It ends on drop.
pub struct CallGuard<'a> {
    calls: &'a Mutex<Calls>,
    number: u64,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        locked(self.calls).unanswered.remove(&self.number);
    }
}

impl<G> Default for GrantLog<G> {
    fn default() -> Self {
        GrantLog { places: Mutex::default(), calls: Mutex::default() }
    }
}

impl<G> Default for Grants<G> {
    fn default() -> Self {
        Grants { queue: VecDeque::new(), repeated: HashSet::new() }
    }
}

impl<G: Copy + Eq + Hash> Grants<G> {
    fn push(&mut self, grant: G, check_at: Instant) {
        self.queue.push_back(Remembered { grant, check_at });
    }

    fn pop(&mut self) -> Option<G> {
        self.queue.pop_front().map(|oldest| oldest.grant)
    }
}

impl<G: Copy + Eq + Hash> GrantLog<G> {
    /// Begins a call to the master. The caller must remember its grants before it drops the guard.
    pub fn begin_call(&self) -> CallGuard<'_> {
        let mut calls = locked(&self.calls);
        calls.started += 1;
        let number = calls.started;
        calls.unanswered.insert(number);
        CallGuard { calls: &self.calls, number }
    }

    /// The number of calls that were started so far.
    pub(super) fn calls_started(&self) -> u64 {
        locked(&self.calls).started
    }

    /// Whether the first `number` calls have ended.
    pub(super) fn have_ended(&self, number: u64) -> bool {
        locked(&self.calls).unanswered.first().is_none_or(|oldest| *oldest > number)
    }

    /// Remembers new grants, and grants that were reported again in the answers to repeated requests.
    pub fn remember(&self, place: Place, granted: impl IntoIterator<Item = G>, repeated: impl IntoIterator<Item = G>) {
        let (mut granted, mut repeated) = (granted.into_iter().peekable(), repeated.into_iter().peekable());
        if granted.peek().is_none() && repeated.peek().is_none() {
            return;
        }
        let check_at = Instant::now() + FIRST_CHECK_DELAY;
        let mut places = locked(&self.places);
        let grants = places.entry(place).or_default();
        granted.for_each(|grant| grants.push(grant, check_at));
        for grant in repeated {
            if grants.repeated.insert(grant) {
                grants.push(grant, check_at);
            }
        }
    }

    /// The number of remembered grants.
    pub fn len(&self) -> usize {
        locked(&self.places).values().map(|grants| grants.queue.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buckets and generations with remembered grants.
    pub(super) fn places(&self) -> Vec<Place> {
        locked(&self.places).keys().copied().collect()
    }

    pub(super) fn grants(&self, place: Place) -> Vec<G> {
        let places = locked(&self.places);
        places.get(&place).into_iter().flat_map(|grants| &grants.queue).map(|one| one.grant).collect()
    }

    /// Records that generation `to` now has the first `count` grants of `from`. They are older than the grants of `to`,
    /// so they go in front.
    pub(super) fn reassign(&self, bucket: Bucket, from: Generation, to: Generation, count: usize) {
        if from == to {
            return;
        }
        let mut places = locked(&self.places);
        let Some(older) = places.get_mut(&(bucket, from)) else { return };
        let moved: Vec<Remembered<G>> = older.queue.drain(..count.min(older.queue.len())).collect();
        let repeated: Vec<G> = moved.iter().map(|one| one.grant).filter(|grant| older.repeated.remove(grant)).collect();
        if older.queue.is_empty() {
            places.remove(&(bucket, from));
        }
        let newer = places.entry((bucket, to)).or_default();
        newer.repeated.extend(repeated);
        for one in moved.into_iter().rev() {
            newer.queue.push_front(one);
        }
    }

    /// The first grants of a place whose check is due, at most `max`.
    pub(super) fn due(&self, place: Place, max: usize) -> Vec<G> {
        let now = Instant::now();
        let places = locked(&self.places);
        let queue = places.get(&place).into_iter().flat_map(|grants| &grants.queue);
        queue.take_while(|one| one.check_at <= now).take(max).map(|one| one.grant).collect()
    }

    /// Forgets grants that are in the database. `persisted` has the results for the first grants of a place. The grants
    /// that are not in the database are checked again later.
    pub(super) fn settle(&self, place: Place, persisted: &[bool]) {
        let recheck_at = Instant::now() + RECHECK_DELAY;
        let mut places = locked(&self.places);
        let Some(grants) = places.get_mut(&place) else { return };
        for persisted in persisted {
            match grants.pop() {
                Some(grant) if *persisted => drop(grants.repeated.remove(&grant)),
                Some(grant) => grants.push(grant, recheck_at),
                None => break,
            }
        }
        if grants.queue.is_empty() {
            places.remove(&place);
        }
    }

    /// Drops the oldest grants of these places beyond [`MAX_GRANTS`], and returns how many.
    pub(super) fn drop_excess(&self, verified: &[Place]) -> usize {
        let excess = self.len().saturating_sub(MAX_GRANTS);
        let mut left = excess;
        let mut places = locked(&self.places);
        for place in verified {
            let Some(grants) = places.get_mut(place) else { continue };
            while left > 0
                && let Some(grant) = grants.pop()
            {
                grants.repeated.remove(&grant);
                left -= 1;
            }
            if grants.queue.is_empty() {
                places.remove(place);
            }
        }
        excess - left
    }
}

// Files in the data directory with the grants that a stopping process still remembers, for its next start.
//
// There is one file per process and backend, with lines of JSON. Each line has grants of one bucket and generation. A
// file is deleted once the database has all its grants. Reading a file twice does no harm, because a replay changes
// nothing about grants that the master has.

/// The folder inside the data directory.
const FOLDER: &str = "grants";
/// Bounds the memory for a line to about half a megabyte.
const MAX_GRANTS_PER_LINE: usize = 4_096;

#[derive(Serialize, Deserialize)]
struct Line<G> {
    bucket: String,
    generation: Generation,
    grants: Vec<G>,
}

/// The files of one backend. All its buckets have the same kind of owner.
pub struct GrantFiles {
    folder: PathBuf,
    kind: &'static str,
    /// Files that were read. Their grants are in the log.
    read: Vec<PathBuf>,
}

impl GrantFiles {
    pub fn new(data_dir: &Path, kind: &'static str) -> GrantFiles {
        GrantFiles { folder: data_dir.join(FOLDER), kind, read: Vec::new() }
    }

    /// Adds the grants in all files to the log. Fails at a file that cannot be read and leaves it for an operator.
    pub fn load<G: DeserializeOwned + Copy + Eq + Hash>(&mut self, log: &GrantLog<G>) -> anyhow::Result<usize> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", self.folder.display())),
        };
        let suffix = format!(".{}.jsonl", self.kind);
        let mut count = 0;
        for entry in entries {
            let path = entry?.path();
            if path.to_string_lossy().ends_with(&suffix) {
                count += self.load_file(&path, log).with_context(|| format!("{} cannot be read", path.display()))?;
                self.read.push(path);
            }
        }
        Ok(count)
    }

    fn load_file<G: DeserializeOwned + Copy + Eq + Hash>(
        &self,
        path: &Path,
        log: &GrantLog<G>,
    ) -> anyhow::Result<usize> {
        let mut count = 0;
        for line in BufReader::new(fs::File::open(path)?).lines() {
            let Line { bucket, generation, grants } = serde_json::from_str::<Line<G>>(&line?)?;
            let bucket = Bucket::parse(self.kind, &bucket).context("a line names no bucket")?;
            count += grants.len();
            log.remember((bucket, generation), grants, []);
        }
        Ok(count)
    }

    /// Deletes the files that were read, once the log is empty.
    pub fn delete_when_settled<G: Copy + Eq + Hash>(&mut self, log: &GrantLog<G>) -> anyhow::Result<()> {
        if !self.read.is_empty() && log.is_empty() {
            self.delete_read()?;
        }
        Ok(())
    }

    /// Writes the remembered grants to this process's file, and deletes the files that were read. Returns the number of
    /// grants. The file is complete or absent.
    pub fn write<G: Serialize + Copy + Eq + Hash>(mut self, process: &str, log: &GrantLog<G>) -> anyhow::Result<usize> {
        let mut count = 0;
        if !log.is_empty() {
            private_files::create_folder(&self.folder)?;
            let path = self.folder.join(format!("{process}.{}.jsonl", self.kind));
            let unfinished = path.with_extension("unfinished");
            let mut file = BufWriter::new(private_files::create(&unfinished)?);
            for (bucket, generation) in log.places() {
                let grants = log.grants((bucket, generation));
                count += grants.len();
                for grants in grants.chunks(MAX_GRANTS_PER_LINE) {
                    let line = Line { bucket: bucket.to_string(), generation, grants: grants.to_vec() };
                    serde_json::to_writer(&mut file, &line)?;
                    file.write_all(b"\n")?;
                }
            }
            file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
            fs::rename(unfinished, path)?;
            fs::File::open(&self.folder)?.sync_all()?;
        }
        self.delete_read()?;
        Ok(count)
    }

    fn delete_read(&mut self) -> anyhow::Result<()> {
        for path in self.read.drain(..) {
            match fs::remove_file(&path) {
                // Another process with the same folder has read and deleted the file, too.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                deleted => deleted.with_context(|| format!("{} cannot be deleted", path.display()))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SaleId;

    fn place(sale: i64, epoch: i64) -> Place {
        let server = "ab".repeat(20).parse().unwrap();
        (Bucket::whole(SaleId(sale)), Generation { epoch, server })
    }

    #[tokio::test(start_paused = true)]
    async fn grants_move_to_a_new_generation_in_order_and_never_expire() {
        let log = GrantLog::<u32>::default();
        let ((bucket, old), (_, new)) = (place(7, 1), place(7, 2));
        log.remember((bucket, old), [1, 2], []);
        log.remember((bucket, old), [], []);
        log.remember((bucket, new), [3], []);
        assert_eq!(log.places(), [(bucket, old), (bucket, new)]);
        tokio::time::advance(Duration::from_secs(3_600)).await;
        log.reassign(bucket, old, new, 2);
        assert_eq!(log.places(), [(bucket, new)]);
        assert_eq!(log.grants((bucket, new)), [1, 2, 3]);
    }

    #[test]
    fn a_repeated_grant_is_remembered_once() {
        let log = GrantLog::<u32>::default();
        log.remember(place(7, 1), [1], [2, 2]);
        log.remember(place(7, 1), [], [2]);
        assert_eq!(log.grants(place(7, 1)), [1, 2]);
        log.settle(place(7, 1), &[true, true]);
        log.remember(place(7, 1), [], [2]);
        assert_eq!(log.grants(place(7, 1)), [2], "told again after it was settled");
    }

    #[tokio::test(start_paused = true)]
    async fn grants_are_checked_until_the_database_has_them() {
        let log = GrantLog::<u32>::default();
        log.remember(place(7, 1), [1, 2, 3], []);
        assert!(log.due(place(7, 1), 10).is_empty(), "too young");
        tokio::time::advance(FIRST_CHECK_DELAY).await;
        assert_eq!(log.due(place(7, 1), 2), [1, 2]);
        log.settle(place(7, 1), &[false, true]);
        assert_eq!(log.due(place(7, 1), 10), [3], "the first one waits");
        log.settle(place(7, 1), &[true]);
        tokio::time::advance(RECHECK_DELAY).await;
        assert_eq!(log.due(place(7, 1), 10), [1]);
        log.settle(place(7, 1), &[true]);
        assert!(log.is_empty());
        assert!(log.places().is_empty());
    }

    #[test]
    fn oldest_grants_beyond_the_maximum_are_dropped_of_verified_generations_only() {
        let log = GrantLog::<u32>::default();
        log.remember(place(1, 1), 0..MAX_GRANTS as u32, []);
        log.remember(place(2, 1), 0..10, []);
        assert_eq!(log.drop_excess(&[]), 0);
        assert_eq!(log.len(), MAX_GRANTS + 10);
        assert_eq!(log.drop_excess(&[place(1, 1)]), 10);
        assert_eq!(log.grants(place(1, 1)).first(), Some(&10));
        assert_eq!(log.grants(place(2, 1)).len(), 10);
    }

    #[test]
    fn earlier_calls_have_ended_once_each_guard_is_dropped() {
        let log = GrantLog::<u32>::default();
        assert!(log.have_ended(log.calls_started()));
        let (first, second) = (log.begin_call(), log.begin_call());
        let before = log.calls_started();
        drop(second);
        let later = log.begin_call();
        assert!(!log.have_ended(before));
        drop(first);
        assert!(log.have_ended(before), "the later call does not matter");
        drop(later);
    }

    #[test]
    fn grants_of_a_stopped_process_are_remembered_by_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let generation = Generation { epoch: 3, server: "0f".repeat(20).parse().unwrap() };
        let place = (Bucket::all(SaleId(7), 2).last().unwrap(), generation);
        let log = GrantLog::<u32>::default();
        log.remember(place, [1, 2], [3]);
        assert_eq!(GrantFiles::new(dir.path(), "goods").write("one", &log).unwrap(), 3);

        let (mut files, log) = (GrantFiles::new(dir.path(), "goods"), GrantLog::<u32>::default());
        assert_eq!(GrantFiles::new(dir.path(), "packet").load(&log).unwrap(), 0, "another backend's file");
        assert_eq!(files.load(&log).unwrap(), 3);
        assert_eq!(log.grants(place), [1, 2, 3]);
        files.delete_when_settled(&log).unwrap();
        assert_eq!(GrantFiles::new(dir.path(), "goods").load(&GrantLog::<u32>::default()).unwrap(), 3, "not settled");
        log.settle(place, &[true, true, true]);
        files.delete_when_settled(&log).unwrap();
        assert_eq!(GrantFiles::new(dir.path(), "goods").load(&log).unwrap(), 0);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(FOLDER)).unwrap();
        let path = dir.path().join(FOLDER).join("one.goods.jsonl");
        fs::write(&path, "{\"bucket\":").unwrap();
        let error = GrantFiles::new(dir.path(), "goods").load(&GrantLog::<u32>::default()).unwrap_err();
        assert!(error.to_string().contains("one.goods.jsonl"), "{error}");
        assert!(path.exists());
    }
}
