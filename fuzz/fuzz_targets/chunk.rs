//! Chunks of the log: damaged bytes are an error, never a panic, and what is read can be walked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verdictd::store::Chunk;

fuzz_target!(|data: &[u8]| {
    if let Ok(chunk) = Chunk::decode(data.into()) {
        let count = chunk.records().count() as u64;
        assert!(count <= chunk.next() - chunk.first());
        assert!(chunk.get(chunk.first()).is_some() || count == 0);
    }
});
