//! Where small pieces of memory come from.
//!
//! A query takes and gives back hundreds of small pieces. In a process that has run for a while the
//! heap of the C library is full of holes, and to find one among them took a quarter of a query: as
//! much as all snippets. So small pieces come from an allocator that keeps each size together. Large
//! ones come from the system, which takes them back when they are freed: without that, the
//! process keeps three times as much after a build.
//!
//! It is version 2 of that allocator: version 3 (3.3.2) frees what it has for the thread that loaded
//! it when that ends, and dies in the next one that lies at the same place in memory.
//!
//! Nor does it know of forks. A thread of a child may be given the place in memory, and with it the
//! heap, of a thread of the parent that was in the middle of a change (one child in a thousand of a
//! busy process ended by it). The C library does know of them. So a child of a process that had
//! other threads has all its memory from there and leaves the other allocator alone.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use mimalloc::MiMalloc;

/// Longest piece that is small: beyond it are pages of the index, which stay, and which sizes rounded
/// up to those of [`MiMalloc`] made a twentieth larger.
const SMALL: usize = 1 << 10;

/// The allocator of whoever links this crate into a process that is not its own.
#[derive(Debug, Clone, Copy)]
pub struct Memory;

/// Whether there was one thread only when this process last forked.
static ALONE: AtomicBool = AtomicBool::new(false);
/// Whether this process is a child of one that had other threads.
static BEREFT: AtomicBool = AtomicBool::new(false);

type Handler = Option<unsafe extern "C" fn()>;

#[expect(unsafe_code, reason = "of the C library, and of the allocator")]
unsafe extern "C" {
    fn pthread_atfork(before: Handler, in_parent: Handler, in_child: Handler) -> c_int;
    safe fn mi_is_in_heap_region(piece: *const c_void) -> bool;
}

impl Memory {
    /// Has the system tell of forks; to be called once by whoever makes this the allocator.
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

#[expect(unsafe_code, reason = "called by the C library")]
unsafe extern "C" fn before_fork() {
    let threads = std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    ALONE.store(threads == 1, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "called by the C library")]
unsafe extern "C" fn in_child() {
    BEREFT.fetch_or(!ALONE.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Lets all threads share one heap of the C library, which else reserves 64 MB of address space for
/// each: a quarter of what a process has that is limited to 256 MB.
pub(crate) fn reserve_little() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number under the allocator's own locks.
    #[expect(unsafe_code, reason = "nothing else does it")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Gives the system the memory that a large step needed. Between what is kept of it, the
/// allocator of glibc would hold a quarter of a byte for each byte of Markdown.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it looks at free memory only, under the allocator's own locks.
    #[expect(unsafe_code, reason = "nothing else does it")]
    unsafe {
        libc::malloc_trim(0);
    }
}

const fn is_small(size: usize) -> bool {
    size <= SMALL
}

fn is_bereft() -> bool {
    BEREFT.load(Ordering::Relaxed)
}

// SAFETY: each piece belongs to one of two allocators, which keep the contract. Which one, its size
// alone says, and whoever gives a piece back or changes its size must name the size it has now. Where
// a process is bereft, small ones come from the system too, and those that it inherited, which lie
// in regions that the other allocator knows, are never given back.
#[expect(unsafe_code, reason = "an allocator")]
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is what both ask for.
        unsafe {
            match is_small(layout.size()) && !is_bereft() {
                true => MiMalloc.alloc(layout),
                false => System.alloc(layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            match is_small(layout.size()) && !is_bereft() {
                true => MiMalloc.alloc_zeroed(layout),
                false => System.alloc_zeroed(layout),
            }
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: as above; a piece of this size came from the one that takes it back.
        unsafe {
            match is_small(layout.size()) {
                true if !is_bereft() => MiMalloc.dealloc(piece, layout),
                true if mi_is_in_heap_region(piece.cast()) => {}
                _ => System.dealloc(piece, layout),
            }
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the piece came from the one that its size names. Where the new size names the other,
        // or the piece may be inherited, it is copied: both pieces are as long as what is copied, and they do not overlap. That a
        // layout of the new size can be had is the caller's promise.
        unsafe {
            match (is_small(layout.size()), is_small(size)) {
                (true, true) if !is_bereft() => MiMalloc.realloc(piece, layout, size),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size() -> impl Strategy<Value = usize> {
        prop_oneof![1usize..200, SMALL - 2..SMALL + 3, 1usize..100_000]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_piece_keeps_what_is_in_it(
            sizes in prop::collection::vec(size(), 1..12),
            align in prop::sample::select(vec![1usize, 8, 16, 64, 4096]),
            zeroed: bool,
            forked_after in 0usize..24,
        ) {
            let layout = |size: usize| Layout::from_size_align(size, align).expect("it is small");
            let mut held = layout(sizes[0]);
            // SAFETY: no size is 0, and a piece is used up to the size it has and given back once.
            #[expect(unsafe_code, reason = "an allocator")]
            unsafe {
                let take = |layout| if zeroed { Memory.alloc_zeroed(layout) } else { Memory.alloc(layout) };
                let mut piece = take(held);
                prop_assert!(!piece.is_null());
                for at in 0..held.size() {
                    prop_assert!(!zeroed || *piece.add(at) == 0);
                    *piece.add(at) = at as u8;
                }
                for (at, &size) in sizes[1..].iter().enumerate() {
                    // nobody else in this program uses it
                    BEREFT.store(at >= forked_after, Ordering::Relaxed);
                    let kept = held.size().min(size);
                    piece = Memory.realloc(piece, held, size);
                    held = layout(size);
                    prop_assert!(!piece.is_null() && piece.addr() % align == 0);
                    for at in 0..kept {
                        prop_assert_eq!(*piece.add(at), at as u8);
                    }
                    (kept..size).for_each(|at| *piece.add(at) = at as u8);
                }
                Memory.dealloc(piece, held);
            }
            BEREFT.store(false, Ordering::Relaxed);
        }
    }
}
