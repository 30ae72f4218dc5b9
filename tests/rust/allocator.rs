//! Tests of the extension's global allocator: blocks keep their content before and after a fork.
//!
//! They are tested here because the extension itself needs an interpreter to be linked with.

#[allow(dead_code, reason = "forks are followed in the extension only")]
#[path = "../../rust/python/src/allocator.rs"]
mod allocator;

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::Ordering;

use proptest::prelude::*;

use allocator::{FORKED_WITH_THREADS, SMALL, SplitAllocator};

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![1usize..200, SMALL - 2..SMALL + 3, 1usize..100_000]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_block_keeps_its_content(
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
            let take = |layout| if zeroed { SplitAllocator.alloc_zeroed(layout) } else { SplitAllocator.alloc(layout) };
            let mut piece = take(held);
            prop_assert!(!piece.is_null());
            for at in 0..held.size() {
                prop_assert!(!zeroed || *piece.add(at) == 0);
                *piece.add(at) = at as u8;
            }
            for (at, &size) in sizes[1..].iter().enumerate() {
                // nobody else in this program uses it
                FORKED_WITH_THREADS.store(at >= forked_after, Ordering::Relaxed);
                let kept = held.size().min(size);
                piece = SplitAllocator.realloc(piece, held, size);
                held = layout(size);
                prop_assert!(!piece.is_null() && piece.addr() % align == 0);
                for at in 0..kept {
                    prop_assert_eq!(*piece.add(at), at as u8);
                }
                (kept..size).for_each(|at| *piece.add(at) = at as u8);
            }
            SplitAllocator.dealloc(piece, held);
        }
        FORKED_WITH_THREADS.store(false, Ordering::Relaxed);
    }
}
