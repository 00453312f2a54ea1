//! JSON, NDJSON, CloudEvents: whatever the bytes, each record is an event or a bad record, and nothing panics.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};
use verdictd::event::{Beside, Decoder, Form, IdentityRules, Item, KeyRule, LineIds, Pointer, SourceRule, TimeForm};

static DECODER: LazyLock<Arc<Decoder>> = LazyLock::new(|| {
    let pointer = |text| Pointer::parse(text).expect("a pointer");
    let rules = IdentityRules {
        id: pointer("/id"),
        time: pointer("/time"),
        time_form: TimeForm::Any,
        source: SourceRule::Pointer { pointer: pointer("/source"), otherwise: "fuzz".to_owned() },
        key: KeyRule { pointers: vec![pointer("/key"), pointer("/a/0")], ..KeyRule::default() },
    };
    Arc::new(Decoder::new(rules, [pointer("/amount"), pointer("/a/b"), pointer("")], 4096, 7))
});

fuzz_target!(|data: &[u8]| {
    let Some((form, body)) = data.split_first() else { return };
    let body = Bytes::copy_from_slice(body);
    let batch = match form % 5 {
        0 => DECODER.decode(&Form::Json, body, 0),
        1 => DECODER.decode(&Form::CloudEvent, body, 0),
        2 => DECODER.decode(&Form::CloudEventBatch, body, 0),
        3 => DECODER.decode_lines(body, 0, Some(LineIds { prefix: "p/", base: 1 << 40 })),
        _ => {
            let mut assembly = DECODER.assemble(0);
            assembly.push(&Form::Record, &body, Beside { id: Some("beside"), ..Beside::default() });
            assembly.finish()
        }
    };
    assert_eq!(batch.panics, 0);
    for item in &batch.items {
        if let Item::Event(event) = item {
            let id = batch.str(event.id);
            assert!(!id.is_empty() && id.len() <= 512);
            assert!(batch.fields_of(event, DECODER.fields()).len() == DECODER.fields());
        }
    }
});
