//! Background thread that writes gram index files.
//!
//! A gram index is a cache as the snapshot is: written under another name and renamed, never
//! flushed, and whatever goes wrong with it only means that everything is read.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_128;

use crate::files::open::{READ_FLAGS, is_only_name, open_regular};
use crate::files::platform::{
    self, AsHandle as _, FolderEntries, Handle, OpenFlags, Platform as _, System, open_at,
    remove_folder, rename, try_lock, unlink,
};
use crate::files::racy_stat::{FsClock, is_trusted, now_ns};
use crate::files::root::Stat;
use crate::grep::gram_index::{GramIndex, Layout, Transcript, build};
use crate::sync::Mutex;

/// The folder of the same files in earlier versions: it is removed.
const OLD_FOLDER: &str = "sieve";
/// How long a file may take to come to rest: a little more than stamps are in doubt.
const REST_TIME: Duration = Duration::from_millis(2500);

/// The background thread that writes gram indexes, one at a time.
#[derive(Debug, Default)]
pub(crate) struct GramIndexThread {
    queue: Arc<Mutex<BuildQueue>>,
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<(u32, JoinHandle<()>)>>,
}

#[derive(Debug, Default)]
struct BuildQueue {
    jobs: VecDeque<GramIndexJob>,
    /// The process whose thread works: after a fork there is no thread, but all the rest.
    runner: Option<u32>,
}

/// A transcript to write a gram index for.
#[derive(Debug)]
pub(crate) struct GramIndexJob {
    pub file: File,
    pub path: String,
    /// The folder of gram indexes.
    pub folder: Handle,
    /// The folder above it.
    pub own: Handle,
    pub clock: FsClock,
}

impl GramIndexThread {
    /// Queues a job, and starts the thread if none works.
    pub fn add(&self, job: GramIndexJob) {
        let mut queue = self.queue.lock();
        if queue.jobs.iter().any(|waiting| waiting.path == job.path) {
            return;
        }
        queue.jobs.push_back(job);
        let own = std::process::id();
        if queue.runner == Some(own) {
            return;
        }
        let (jobs, stop) = (self.queue.clone(), self.stop.clone());
        let run = move || {
            let _over = ClearOnPanic(&jobs);
            System::lower_thread_priority();
            while let Some(job) = next(&jobs) {
                job.run(&stop);
            }
        };
        let thread = Builder::new().name("gram_index".to_owned()).spawn(run).ok();
        queue.runner = thread.as_ref().map(|_| own);
        drop(queue);
        self.settle_with(thread.map(|thread| (own, thread)));
    }

    /// Waits until all that was queued is written.
    pub fn wait_until_written(&self) {
        self.settle_with(None);
    }

    /// Puts a thread in the place of the one before and waits for that to end.
    fn settle_with(&self, next: Option<(u32, JoinHandle<()>)>) {
        // Not held while waiting, so that others may still ask for more.
        let before = std::mem::replace(&mut *self.thread.lock(), next);
        match before {
            Some((process, thread)) if process == std::process::id() => drop(thread.join()),
            // Of the process that this one was forked from: here it is no thread.
            before => std::mem::forget(before),
        }
    }
}

impl Drop for GramIndexThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wait_until_written();
    }
}

/// Says after a panic that no thread works any more.
struct ClearOnPanic<'q>(&'q Mutex<BuildQueue>);

impl Drop for ClearOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().runner = None;
        }
    }
}

fn next(queue: &Mutex<BuildQueue>) -> Option<GramIndexJob> {
    let mut queue = queue.lock();
    let job = queue.jobs.pop_front();
    if job.is_none() {
        queue.runner = None;
    }
    job
}

impl GramIndexJob {
    /// Writes the gram index. A failure leaves none, and is not reported.
    fn run(&self, stop: &AtomicBool) {
        let interrupt = || stop.load(Ordering::Relaxed);
        let Some(stat) = self.wait_for_rest(stop) else { return };
        let name = name(&self.path);
        let old = open_regular((self.folder.as_handle(), &name), READ_FLAGS, &self.path);
        let old = old.ok().and_then(GramIndex::read);
        if old.as_ref().is_some_and(|old| old.fits(&self.path, &stat)) {
            return;
        }
        let fresh = format!("{name}.new");
        let Some(mut out) = self.begin(&fresh) else { return };
        let source = Transcript { file: &self.file, path: &self.path, stat };
        let built = build(source, Layout::default(), old.as_ref(), &mut out, &interrupt).is_ok();
        // What was written while it was read shows in the stamps.
        let same = self::stat(&self.file, self.clock) == Some(stat);
        // some file systems of Windows replace no file that is open
        drop(old);
        let in_folder = |name| (self.folder.as_handle(), name);
        let renamed = built && same && rename(in_folder(&*fresh), in_folder(&*name)).is_ok();
        if renamed {
            remove_old_folder(&self.own);
        } else {
            let _ = unlink(in_folder(&*fresh));
        }
    }

    /// The stamps of the file once they prove something; none if it does not come to rest.
    fn wait_for_rest(&self, stop: &AtomicBool) -> Option<Stat> {
        let begun = Instant::now();
        while begun.elapsed() < REST_TIME && !stop.load(Ordering::Relaxed) {
            let stat = self.clock.trusted(&stat(&self.file, self.clock)?, now_ns());
            if is_trusted(&stat) {
                return Some(stat);
            }
            sleep(Duration::from_millis(20));
        }
        None
    }

    /// Opens the file to write to, empty and ours alone; none if another process has it.
    fn begin(&self, name: &str) -> Option<File> {
        let flags = READ_FLAGS | OpenFlags::RDWR | OpenFlags::CREATE;
        let name = (self.folder.as_handle(), name);
        let file = open_regular(name, flags, &self.path).ok()?;
        try_lock(&file).ok().filter(|&taken| taken)?;
        // Whoever had it before may have given it its name: then it is not to be touched.
        let only = is_only_name(name, &file).unwrap_or(false);
        (only && file.set_len(0).is_ok()).then_some(file)
    }
}

/// Removes the folder in which earlier versions kept their files, with what they wrote there.
fn remove_old_folder(own: &Handle) {
    let flags = READ_FLAGS | OpenFlags::DIRECTORY;
    let old = (own.as_handle(), OLD_FOLDER);
    let Ok(mut entries) = open_at(old, flags).and_then(FolderEntries::new) else { return };
    while let Some(Ok(entry)) = entries.read() {
        let Some(file) = entry.name() else { continue };
        let name = file.strip_suffix(".new").unwrap_or(file);
        if name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit()) {
            let _ = entries.folder().and_then(|folder| unlink((folder, file)));
        }
    }
    // anything else that lies there keeps it
    let _ = remove_folder(old);
}

/// Returns the stamps of an open file as this clock sees them.
pub(crate) fn stat(file: &File, clock: FsClock) -> Option<Stat> {
    platform::stat(file).ok().map(|info| clock.truncate(info.stat))
}

/// Returns the name of the gram index of a transcript.
pub(crate) fn name(path: &str) -> String {
    format!("{:032x}", xxh3_128(path.as_bytes()))
}
