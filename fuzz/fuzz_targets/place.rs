//! Kept places of files: what is read is what would be kept.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verdictd::ingest::Place;

fuzz_target!(|data: &[u8]| {
    if let Some(place) = Place::decode(data) {
        assert_eq!(Place::decode(&place.encode()), Some(place));
    }
});
