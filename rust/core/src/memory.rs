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

use std::alloc::{GlobalAlloc, Layout, System};

use mimalloc::MiMalloc;

/// Longest piece that is small: beyond it are pages of the index, which stay, and which sizes rounded
/// up to those of [`MiMalloc`] made a twentieth larger.
const SMALL: usize = 1 << 10;

/// The allocator of whoever links this crate into a process that is not its own.
#[derive(Debug, Clone, Copy)]
pub struct Memory;

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

const fn is_small(size: usize) -> bool {
    size <= SMALL
}

// SAFETY: each piece belongs to one of two allocators, which keep the contract. Which one, its size
// alone says, and whoever gives a piece back or changes its size must name the size it has now.
#[expect(unsafe_code, reason = "an allocator")]
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is what both ask for.
        unsafe {
            match is_small(layout.size()) {
                true => MiMalloc.alloc(layout),
                false => System.alloc(layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            match is_small(layout.size()) {
                true => MiMalloc.alloc_zeroed(layout),
                false => System.alloc_zeroed(layout),
            }
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: as above; a piece of this size came from the one that takes it back.
        unsafe {
            match is_small(layout.size()) {
                true => MiMalloc.dealloc(piece, layout),
                false => System.dealloc(piece, layout),
            }
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the piece came from the one that its size names. Where the new size names the other,
        // it is copied: both pieces are as long as what is copied, and they do not overlap. That a
        // layout of the new size can be had is the caller's promise.
        unsafe {
            match (is_small(layout.size()), is_small(size)) {
                (true, true) => MiMalloc.realloc(piece, layout, size),
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
                for &size in &sizes[1..] {
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
        }
    }
}
