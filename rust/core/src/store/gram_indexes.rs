//! The sieves of large transcripts: where they lie, when they are believed, who makes them.
//!
//! A sieve is made in a thread of its own after a search that had to read all of a transcript, so
//! that no answer waits for it. It is a cache as the snapshot is: written under another name and
//! renamed, never flushed, and whatever goes wrong with it only means that everything is read.

use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, OFlags};
use xxhash_rust::xxh3::xxh3_128;

use crate::error::Error;
use crate::files::open::{READ_FLAGS, is_only_name, open_regular};
use crate::files::paths::OWN;
use crate::files::racy_stat::{FsClock, is_trusted, now_ns};
use crate::files::root::Stat;
use crate::grep::gram_index::{Shape, Sieve, Source, build};
use crate::store::Store;
use crate::sync::Mutex;

/// The folder, below [`OWN`].
const FOLDER: &str = "sieve";
/// How long a file may take to come to rest: a little more than stamps are in doubt.
const REST: Duration = Duration::from_millis(2500);

/// The thread that makes sieves, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Sieves {
    queue: Arc<Mutex<Queue>>,
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<(u32, JoinHandle<()>)>>,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// The process whose thread works: after a fork there is no thread, but all the rest.
    runner: Option<u32>,
}

#[derive(Debug)]
struct Job {
    file: File,
    path: String,
    folder: OwnedFd,
    clock: FsClock,
}

impl Store {
    /// Returns what is known of a transcript, if it is of the file as it is now.
    pub(crate) fn sieve(&self, path: &str, file: &File) -> Option<Sieve> {
        let stat = stat(file, self.clock).filter(|stat| stat.size >= self.sieve_from)?;
        let side = self.root().open_own(&format!("{OWN}/{FOLDER}/{}", name(path))).ok()?;
        Sieve::read(side).filter(|sieve| sieve.fits(path, &stat))
    }

    /// Has a sieve made of a transcript, if it is large; says nothing when that cannot be.
    pub(crate) fn want_sieve(&self, path: &str) {
        let Ok(file) = self.root().open_read(path) else { return };
        if file.metadata().map_or(0, |data| data.len()) < self.sieve_from {
            return;
        }
        self.sweep_sieves();
        if let Ok(folder) = self.root().own_dir(FOLDER) {
            self.sieves.add(Job { file, path: path.to_owned(), folder, clock: self.clock });
        }
    }

    /// Waits until what earlier calls left to be done later is done.
    pub fn settle(&self) {
        self.sieves.settle();
    }

    /// Removes the sieves of files that are gone, and what a crash left of one.
    pub(crate) fn sweep_sieves(&self) {
        let folder = format!("{OWN}/{FOLDER}");
        let Ok(walk) = self.root().walk_all(&folder, &|| false, &|_| {}) else { return };
        for (place, _) in walk.files {
            let Ok(side) = self.root().open_own(&place) else { continue };
            let gone = match place.strip_suffix(".new") {
                Some(_) => {
                    rustix::fs::flock(&side, FlockOperation::NonBlockingLockExclusive).is_ok()
                }
                None => Sieve::read(side).is_none_or(|sieve| {
                    matches!(self.root().stat(sieve.path()), Err(Error::NotFound { .. }))
                }),
            };
            if let (true, Ok(place)) = (gone, self.root().path_handle(&place)) {
                let _ = place.unlink();
            }
        }
    }
}

impl Sieves {
    fn add(&self, job: Job) {
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
            let _over = Over(&jobs);
            yield_to_others();
            while let Some(job) = next(&jobs) {
                job.run(&stop);
            }
        };
        let thread = Builder::new().name("sieve".to_owned()).spawn(run).ok();
        queue.runner = thread.as_ref().map(|_| own);
        drop(queue);
        self.settle_with(thread.map(|thread| (own, thread)));
    }

    fn settle(&self) {
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

impl Drop for Sieves {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.settle();
    }
}

/// Says that no thread works any more, after a panic too.
struct Over<'q>(&'q Mutex<Queue>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().runner = None;
        }
    }
}

fn next(queue: &Mutex<Queue>) -> Option<Job> {
    let mut queue = queue.lock();
    let job = queue.jobs.pop_front();
    if job.is_none() {
        queue.runner = None;
    }
    job
}

/// Lets every other thread go first; on Linux a thread has a priority of its own.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
}

impl Job {
    /// Makes the sieve. Whatever fails, there is then none, which is no failure.
    fn run(&self, stop: &AtomicBool) {
        let interrupt = || stop.load(Ordering::Relaxed);
        let Some(stat) = self.at_rest(stop) else { return };
        let name = name(&self.path);
        let old = open_regular((self.folder.as_fd(), &name), READ_FLAGS, &self.path);
        let old = old.ok().and_then(Sieve::read);
        if old.as_ref().is_some_and(|old| old.fits(&self.path, &stat)) {
            return;
        }
        let fresh = format!("{name}.new");
        let Some(mut out) = self.begin(&fresh) else { return };
        let source = Source { file: &self.file, path: &self.path, stat };
        let built = build(source, Shape::default(), old.as_ref(), &mut out, &interrupt).is_ok();
        // What was written while it was read shows in the stamps.
        let same = self::stat(&self.file, self.clock) == Some(stat);
        let (from, to) = (&*fresh, &*name);
        let renamed =
            built && same && rustix::fs::renameat(&self.folder, from, &self.folder, to).is_ok();
        if !renamed {
            let _ = rustix::fs::unlinkat(&self.folder, from, AtFlags::empty());
        }
    }

    /// The stamps of the file once they prove something; none if it does not come to rest.
    fn at_rest(&self, stop: &AtomicBool) -> Option<Stat> {
        let begun = Instant::now();
        while begun.elapsed() < REST && !stop.load(Ordering::Relaxed) {
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
        let flags = READ_FLAGS | OFlags::RDWR | OFlags::CREATE;
        let name = (self.folder.as_fd(), name);
        let file = open_regular(name, flags, &self.path).ok()?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        // Whoever had it before may have given it its name: then it is not to be touched.
        let only = is_only_name(name, &file).unwrap_or(false);
        (only && file.set_len(0).is_ok()).then_some(file)
    }
}

fn stat(file: &File, clock: FsClock) -> Option<Stat> {
    rustix::fs::fstat(file).ok().map(|raw| clock.truncate(Stat::from_raw(&raw)))
}

fn name(path: &str) -> String {
    format!("{:032x}", xxh3_128(path.as_bytes()))
}
