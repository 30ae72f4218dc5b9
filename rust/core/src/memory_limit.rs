//! Memory limit of a store, checked before large allocations.
//!
//! An allocation that fails ends the process, so what a step needs is compared with the limit
//! first.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(unix)]
use rustix::process::{Resource, getrlimit};

use crate::error::{Error, Result, megabytes};

/// Bytes that are always taken to be there.
pub(crate) const ALWAYS_THERE: u64 = 16 << 20;
/// Least limit.
const MIN_LIMIT: u64 = ALWAYS_THERE;
/// Copies of a file's text that a call may hold at the same time: as bytes, as text, as changed
/// text.
const TEXT_COPIES: u64 = 3;
/// Stacks and allocator segments of the two threads that build an index: most of it is never
/// touched, but a limit of data or address space counts it.
const THREAD_OVERHEAD: u64 = 68 << 20;
/// Address space below which none is to be reserved that is not used.
const SMALL_ADDRESS_SPACE: u64 = 2 << 30;

/// How much memory a store may take, and how much its indexes take of it.
///
/// Clones share what is held, and so all parts of a store are counted together.
#[derive(Debug, Clone)]
pub struct MemoryLimit {
    /// The bytes that the caller allows.
    given: Option<u64>,
    /// The limit as messages show it.
    limit: u64,
    /// The bytes that may be planned for: some are left for what is too small to be counted.
    usable: Arc<AtomicU64>,
    /// Bytes of the two indexes of a store.
    held: Arc<[AtomicU64; 2]>,
}

impl Default for MemoryLimit {
    fn default() -> Self {
        let usable = Arc::new(AtomicU64::new(u64::MAX));
        Self { given: None, limit: u64::MAX, usable, held: Arc::default() }
    }
}

impl MemoryLimit {
    /// Makes a limit of so many bytes, or of what the system leaves to this process if that is
    /// less.
    ///
    /// # Errors
    /// [`Error::Memory`] for a limit with which no store works.
    pub fn new(given: Option<u64>) -> Result<Self> {
        if let Some(limit) = given.filter(|&limit| limit < MIN_LIMIT) {
            let what = format!("a store with a memory_limit of {limit} bytes");
            return Err(Error::Memory { what, needed: MIN_LIMIT, limit: Some(limit) });
        }
        let limit = limit_now(given);
        let usable = Arc::new(AtomicU64::new(usable_of(limit)));
        Ok(Self { given, limit, usable, held: Arc::default() })
    }

    /// Takes into account what this process has taken by now: a part of it is never given back. To
    /// be called while no index is held.
    pub(crate) fn measure_again(&self) {
        if self.is_set() {
            self.usable.fetch_min(usable_of(limit_now(self.given)), Ordering::Relaxed);
        }
    }

    fn usable(&self) -> u64 {
        self.usable.load(Ordering::Relaxed)
    }

    /// Returns the same limit for another process, of which nothing is held yet.
    #[must_use]
    pub(crate) fn for_child(&self) -> Self {
        let usable = Arc::new(AtomicU64::new(self.usable()));
        Self { usable, held: Arc::default(), ..*self }
    }

    /// Returns whether there is a limit.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.usable() < u64::MAX
    }

    /// Notes how much the index with this number holds.
    pub(crate) fn set_held(&self, index: usize, bytes: u64) {
        self.held[index].store(bytes, Ordering::Relaxed);
    }

    /// Returns whether an index may take so much, beside the other one.
    pub(crate) fn allows(&self, index: usize, bytes: u64) -> bool {
        let other = self.held[1 - index].load(Ordering::Relaxed);
        bytes.saturating_add(other) <= self.usable()
    }

    /// Returns the limit in words.
    #[must_use]
    pub fn shown(&self) -> String {
        megabytes(self.limit)
    }

    /// Makes sure that so many bytes may be taken, beside the indexes.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn check(&self, what: &str, needed: u64) -> Result<()> {
        let held: u64 = self.held.iter().map(|held| held.load(Ordering::Relaxed)).sum();
        // what is always there may be asked for beside a full index
        if needed <= ALWAYS_THERE || needed.saturating_add(held) <= self.usable() {
            return Ok(());
        }
        Err(Error::Memory { what: what.to_owned(), needed, limit: Some(self.limit) })
    }

    /// Makes sure that a file of so many bytes may be read as a whole.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn check_whole(&self, path: &str, size: u64) -> Result<()> {
        self.check(&format!("reading {path:?} as a whole"), size.saturating_mul(TEXT_COPIES))
    }

    /// Returns how long a line may be to be read as a message, of at most `most` bytes: while it
    /// is decoded there are several copies of it.
    #[must_use]
    pub fn longest_line(&self, most: usize) -> usize {
        most.min(usize::try_from(self.usable() / 32).unwrap_or(most))
    }
}

/// Returns an empty array with room for so many bytes.
///
/// # Errors
/// [`Error::Memory`] when the system does not give them.
pub(crate) fn try_with_capacity(what: impl FnOnce() -> String, bytes: u64) -> Result<Vec<u8>> {
    let mut room = Vec::new();
    let asked = usize::try_from(bytes).map(|bytes| room.try_reserve_exact(bytes));
    match asked {
        Ok(Ok(())) => Ok(room),
        _ => Err(Error::Memory { what: what(), needed: bytes, limit: None }),
    }
}

/// Returns the limit: what the caller allows, or what the system leaves to this process.
fn limit_now(given: Option<u64>) -> u64 {
    given.unwrap_or(u64::MAX).min(system_limit().unwrap_or(u64::MAX)).max(MIN_LIMIT)
}

fn usable_of(limit: u64) -> u64 {
    if limit == u64::MAX { limit } else { MIN_LIMIT.max(limit / 6 * 5) }
}

/// Returns how many more bytes the system lets this process take, if it sets a limit.
#[must_use]
pub fn memory_left() -> Option<u64> {
    left_by_limit().into_iter().flatten().min()
}

/// Returns how many more bytes a store may take, of what the system lets this process take.
fn system_limit() -> Option<u64> {
    let [data, space, cgroup] = left_by_limit();
    let [data, space] =
        [data, space].map(|left| left.map(|left| left.saturating_sub(THREAD_OVERHEAD)));
    if space.is_some_and(|left| left < SMALL_ADDRESS_SPACE) {
        share_one_arena();
    }
    [data, space, cgroup].into_iter().flatten().min()
}

/// Returns what is left of the data and the address space of this process, and of the memory of its
/// control groups, where these are limited.
fn left_by_limit() -> [Option<u64>; 3] {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let [data, space] = process_limits();
    let status = if data.or(space).is_some() { read("/proc/self/status") } else { String::new() };
    let left = |limit: Option<u64>, taken: &str| {
        Some(limit?.saturating_sub(kilobytes(&status, taken).unwrap_or(0)))
    };
    let cgroup = cgroup(&read("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    [left(data, "VmData:"), left(space, "VmSize:"), cgroup]
}

/// Returns whether the system limits the data or the address space of this process, of which each
/// thread takes some for its stack.
pub(crate) fn is_process_limited() -> bool {
    process_limits().iter().any(Option::is_some)
}

/// Returns how much data and how much address space this process may have.
#[cfg(unix)]
fn process_limits() -> [Option<u64>; 2] {
    [Resource::Data, Resource::As].map(|resource| getrlimit(resource).current)
}

/// Returns none: the limits of a job are not asked for on Windows.
#[cfg(windows)]
fn process_limits() -> [Option<u64>; 2] {
    [None, None]
}

/// Lets all threads share one heap of the C library, which else reserves 64 MB of address space for
/// each: a quarter of what a process has that is limited to 256 MB.
fn share_one_arena() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets a number under the allocator's own locks.
    #[expect(unsafe_code, reason = "nothing else does it")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Returns free heap memory to the system, after a large step. Between what is kept of it, the
/// allocator of glibc would hold a quarter of a byte for each byte of Markdown.
pub(crate) fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it touches free memory only, under the allocator's own locks.
    #[expect(unsafe_code, reason = "nothing else does it")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns the value of a line such as `VmData:   1234 kB`, in bytes.
fn kilobytes(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// Returns how many more bytes the control groups of this process let it take, of version 1 and 2;
/// `own` says which they are. Every group above sets a limit, too.
fn cgroup(own: &str, base: &Path) -> Option<u64> {
    let left = |group: &Path, limit: &str, used: &str| {
        let limit: u64 = fs::read_to_string(group.join(limit)).ok()?.trim().parse().ok()?;
        // the page cache counts as used, but the kernel takes it back
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let used = stat.lines().find_map(|line| line.strip_prefix(used)?.trim().parse().ok());
        // version 1 writes no limit as the largest number of pages
        (limit < 1 << 62).then(|| limit.saturating_sub(used.unwrap_or(0)))
    };
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (folder, limit, used) = match controllers {
            "" => ("", "memory.max", "anon "),
            some if some.split(',').any(|name| name == "memory") => {
                ("memory", "memory.limit_in_bytes", "total_rss ")
            }
            _ => return None,
        };
        let groups = Path::new(path.trim_start_matches('/')).ancestors();
        groups.filter_map(|group| left(&base.join(folder).join(group), limit, used)).min()
    };
    own.lines().filter_map(of_line).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(base: &Path, path: &str, text: &str) {
        fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
        fs::write(base.join(path), text).unwrap();
    }

    #[test]
    fn the_least_of_all_groups_is_what_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        let second = "0::/app/worker\n";
        assert_eq!(cgroup(second, base), None);
        put(base, "app/worker/memory.max", "max\n");
        assert_eq!(cgroup(second, base), None);
        put(base, "app/memory.max", "1000\n");
        put(base, "app/memory.stat", "anon 300\nfile 600\n");
        assert_eq!(cgroup(second, base), Some(700));
        put(base, "app/worker/memory.max", "500\n");
        assert_eq!(cgroup(second, base), Some(500));
        // a container sees its own group as the uppermost one
        put(base, "memory.max", "400\n");
        assert_eq!(cgroup("0::/\n", base), Some(400));

        let first = "5:cpu:/x\n4:hugetlb,memory:/box\n0::/\n";
        put(base, "memory.max", "max\n");
        put(base, "memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(cgroup(first, base), None);
        put(base, "memory/box/memory.limit_in_bytes", "2000\n");
        put(base, "memory/box/memory.stat", "cache 900\ntotal_rss 1500\n");
        assert_eq!(cgroup(first, base), Some(500));
    }

    #[test]
    fn more_than_the_limit_is_refused_with_what_was_needed() {
        let limit = MemoryLimit::new(Some(256 << 20)).unwrap();
        assert!(limit.check("this", 200 << 20).is_ok());
        limit.set_held(0, 100 << 20);
        let refused = limit.check("this", 200 << 20).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "this needs 200 MB of memory, and the limit is 256 MB; raise memory_limit, or split \
             what is too large"
        );
        assert!(limit.allows(0, 200 << 20) && !limit.allows(1, 200 << 20));
        assert!(limit.check("a little", 1 << 20).is_ok());
        assert!(matches!(
            try_with_capacity(|| "all".to_owned(), u64::MAX),
            Err(Error::Memory { limit: None, .. })
        ));
        assert!(MemoryLimit::default().check("all", u64::MAX).is_ok());
    }

    #[test]
    fn a_limit_with_which_nothing_works_is_refused() {
        for given in [0, 256, MIN_LIMIT - 1] {
            let refused = MemoryLimit::new(Some(given)).unwrap_err().to_string();
            assert!(refused.contains(&format!("{given} bytes needs 16 MB")), "{refused}");
        }
        assert!(MemoryLimit::new(Some(MIN_LIMIT)).is_ok());
    }
}
