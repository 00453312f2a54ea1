//! Chunks of the log and of observations: damaged bytes are an error, never a panic, and what is read can be walked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verdictd::store::{Chunk, ObservationChunk};

fuzz_target!(|data: &[u8]| {
    if let Ok(chunk) = Chunk::decode(data.into()) {
        let count = chunk.records().count() as u64;
        assert!(count <= chunk.next() - chunk.first());
        assert!(chunk.get(chunk.first()).is_some() || count == 0);
    }
    if let Ok(chunk) = ObservationChunk::decode(data) {
        assert_eq!(chunk.place(chunk.first), Some(0));
        assert!((0..chunk.rows.len()).all(|n| chunk.row(n).is_some()));
        assert!(chunk.rows.is_sorted_by(|a, b| a.sequence < b.sequence));
    }
});
