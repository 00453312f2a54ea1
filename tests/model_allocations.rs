//! Scoring allocates nothing: an allocator that counts, alone in its own test binary.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use verdictd::event::{Field, Span};
use verdictd::model::{Kernel, LoadOptions, load};

/// The system's allocator, counting what each thread asks of it.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came; the counter is a plain thread-local number
// that needs no allocation itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1u8; 100]))), 1);
}

#[test]
fn features_scores_decisions_and_reasons_allocate_nothing() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/card-fraud");
    for kernel in Kernel::available() {
        let bundle = load(&dir, &LoadOptions { kernel: Some(kernel), ..LoadOptions::default() }).unwrap();
        let width = bundle.features().width();
        let text = "2026-03-01T02:03:04Zecommerce";
        let fields: Vec<Field> = bundle
            .features()
            .pointers()
            .iter()
            .map(|pointer| match pointer.to_string().as_str() {
                "/TX_AMOUNT" => Field::Number(1.2),
                "/TX_DATETIME" => Field::Text(Span { start: 0, end: 20 }),
                "/ENTRY_MODE" => Field::Text(Span { start: 20, end: 29 }),
                _ => Field::Missing,
            })
            .collect();
        let mut scorer = bundle.scorer(256);
        let mut rows = vec![0.0; 256 * width];
        let mut out = vec![0.0; 256];
        let count = allocations(|| {
            for row in rows.chunks_mut(width) {
                bundle.features().fill(&fields, text, None, row).unwrap();
            }
            for batch in [1, 3, 8, 256] {
                scorer.score(&rows[..batch * width], &mut out[..batch]);
            }
            let decision = bundle.decide(out[0]);
            assert!(bundle.wants_reasons(decision), "{} is {decision}", out[0]);
            assert!(!scorer.reasons(&rows[..width]).is_empty());
            // A refusal costs none either: it is what a flood of bad events makes.
            assert!(bundle.features().fill(&[], text, None, &mut rows[..width]).is_err());
        });
        assert_eq!(count, 0, "{kernel:?}");
    }
}
