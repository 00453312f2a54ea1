//! Models made to break their reader: refused with what was expected and where, in bounded memory.
//!
//! An allocator that keeps count, alone in its own test binary: every case says how much it may take at most.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

mod bundle;
mod graphs;
mod lightgbm;
mod onnx;
mod runs;
mod sizes;
mod trees;
mod ubj;
mod wire;
mod xgboost;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, keeping count of what each thread holds.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    HELD.with(|held| {
        held.set(held.get() + bytes);
        MOST.with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: every call goes to the system's allocator as it came; the counters are plain thread-local numbers that need
// no allocation themselves.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old block may stand beside the new one.
        count(size.cast_signed());
        count(-layout.size().cast_signed());
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` gives, and the most bytes that it held at once.
fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    MOST.set(before);
    let made = work();
    (made, usize::try_from(MOST.get() - before).unwrap_or_default())
}

/// The error of `load`, which may take `bytes` at most.
#[track_caller]
fn refused<T>(bytes: usize, load: impl FnOnce() -> Result<T, String>) -> String {
    let (made, most) = measured(load);
    let Err(error) = made else { panic!("it loads") };
    assert!(most <= bytes, "{most} bytes for: {error}");
    assert!(error.len() < 2000, "{} bytes of error: {}", error.len(), &error[..200]);
    error
}

/// Some of the places of `len` bytes: all of few, else those at both ends and a thousand between.
fn places(len: usize) -> impl Iterator<Item = usize> {
    let step = (len / 1000).max(1);
    (0..len).filter(move |at| at % step == 0 || *at < 100 || len - at < 100)
}

#[test]
fn the_counter_counts() {
    let ((), most) = measured(|| {
        drop(std::hint::black_box(vec![1u8; 1000]));
        drop(std::hint::black_box(vec![1u8; 500]));
    });
    assert_eq!(most, 1000);
}
