//! Serial lines and frames: the same records however the bytes come, and no more bytes out than in.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verdictd::ingest::serial::{Framing, Piece, Splitter, decode_frame, encode_frame};

fuzz_target!(|data: &[u8]| {
    let Some(([framing, step], bytes)) = data.split_first_chunk::<2>() else { return };
    let framing = if framing % 2 == 0 { Framing::Lines } else { Framing::Frames };
    let split = |step: usize| {
        let mut splitter = Splitter::new(framing, 64);
        let mut pieces = Vec::new();
        bytes.chunks(step).for_each(|part| splitter.push(part, &mut pieces));
        (pieces, splitter.take_garbage())
    };
    let whole = split(usize::MAX);
    assert_eq!(split(usize::from(*step).max(1)), whole);
    for piece in &whole.0 {
        if let Piece::Record(record) = piece {
            assert!(record.len() <= 64 + 1);
        }
    }
    let mut frame = Vec::new();
    encode_frame(bytes, &mut frame);
    assert_eq!(frame.pop(), Some(0));
    assert_eq!(decode_frame(&frame), Some((bytes.to_vec(), 0)));
});
