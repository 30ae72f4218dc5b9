//! Global allocator of the extension: mimalloc for small blocks, the system for large ones.
//!
//! A query allocates and frees hundreds of small blocks. In a process that has run for a while the
//! heap of the C library is fragmented, and to find a free block in it took a quarter of a query: as
//! much as all snippets. So small blocks come from mimalloc, which keeps each size class together.
//! Large ones come from the system, which takes them back when they are freed: without that, the
//! process keeps three times as much after a build.
//!
//! It is version 2 of mimalloc: version 3 (3.3.2) frees what it has for the thread that loaded it
//! when that ends, and crashes in the next one that lies at the same address.
//!
//! Nor does mimalloc support forks. A thread of a child may be given the place in memory, and with it the
//! heap, of a thread of the parent that was in the middle of a change (one child in a thousand of a
//! busy process ended by it). The C library does know of them. So a child of a process that had
//! other threads has all its memory from there and leaves the other allocator alone.

use std::alloc::{GlobalAlloc, Layout, System};
#[cfg(unix)]
use std::ffi::c_int;
use std::ffi::c_void;
#[cfg(unix)]
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use mimalloc::MiMalloc;

/// Largest small block: beyond it are pages of the index, which stay, and which rounding up to the
/// size classes of [`MiMalloc`] made a twentieth larger.
pub(crate) const SMALL: usize = 1 << 10;

/// Allocator that takes small blocks from mimalloc and large ones from the system.
#[derive(Debug, Clone, Copy)]
pub struct SplitAllocator;

/// Whether there was one thread only when this process last forked.
#[cfg(unix)]
static SINGLE_THREADED: AtomicBool = AtomicBool::new(false);
/// Whether this process is a child of one that had other threads.
pub(crate) static FORKED_WITH_THREADS: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
type Handler = Option<unsafe extern "C" fn()>;

#[cfg(unix)]
#[expect(unsafe_code, reason = "of the C library")]
unsafe extern "C" {
    fn pthread_atfork(before: Handler, in_parent: Handler, in_child: Handler) -> c_int;
}

#[expect(unsafe_code, reason = "of the allocator")]
unsafe extern "C" {
    safe fn mi_is_in_heap_region(piece: *const c_void) -> bool;
}

impl SplitAllocator {
    /// Has the system tell of forks; to be called once by whoever makes this the allocator. Windows
    /// has none.
    #[cfg(windows)]
    pub fn follow_forks() {}

    /// Has the system tell of forks; to be called once by whoever makes this the allocator.
    #[cfg(unix)]
    pub fn follow_forks() {
        static FOLLOWED: Once = Once::new();
        // SAFETY: the handlers are functions that stay, call nothing that waits for a thread, and
        // do not unwind; the one in the child stores a word and no more.
        #[expect(unsafe_code, reason = "a function of the C library")]
        FOLLOWED.call_once(|| unsafe {
            // fails for want of memory alone
            let _ = pthread_atfork(Some(before_fork), None, Some(in_child));
        });
    }
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "called by the C library")]
unsafe extern "C" fn before_fork() {
    let threads = std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    SINGLE_THREADED.store(threads == 1, Ordering::Relaxed);
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "called by the C library")]
unsafe extern "C" fn in_child() {
    FORKED_WITH_THREADS.fetch_or(!SINGLE_THREADED.load(Ordering::Relaxed), Ordering::Relaxed);
}

const fn is_small(size: usize) -> bool {
    size <= SMALL
}

fn system_only() -> bool {
    FORKED_WITH_THREADS.load(Ordering::Relaxed)
}

// SAFETY: each piece belongs to one of two allocators, which keep the contract. Which one, its size
// alone says, and whoever gives a piece back or changes its size must name the size it has now. In a
// child of a process with threads small ones come from the system too, and those that it inherited, which lie
// in regions that the other allocator knows, are never given back.
#[expect(unsafe_code, reason = "an allocator")]
unsafe impl GlobalAlloc for SplitAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract that both ask for.
        unsafe {
            match is_small(layout.size()) && !system_only() {
                true => MiMalloc.alloc(layout),
                false => System.alloc(layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            match is_small(layout.size()) && !system_only() {
                true => MiMalloc.alloc_zeroed(layout),
                false => System.alloc_zeroed(layout),
            }
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: as above; a piece of this size came from the one that takes it back.
        unsafe {
            match is_small(layout.size()) {
                true if !system_only() => MiMalloc.dealloc(piece, layout),
                true if mi_is_in_heap_region(piece.cast()) => {}
                _ => System.dealloc(piece, layout),
            }
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the piece came from the one that its size names. Where the new size names the other,
        // or the piece may be inherited, it is copied: both pieces are as long as what is copied, and they do not overlap. That a
        // layout of the new size can be had is part of the caller's contract.
        unsafe {
            match (is_small(layout.size()), is_small(size)) {
                (true, true) if !system_only() => MiMalloc.realloc(piece, layout, size),
                (false, false) => System.realloc(piece, layout, size),
                _ => {
                    let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !new.is_null() {
                        new.copy_from_nonoverlapping(piece, layout.size().min(size));
                        self.dealloc(piece, layout);
                    }
                    new
                }
            }
        }
    }
}
