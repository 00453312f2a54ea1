//! Messages, without a server.

use super::wire::{self, MESSAGE_BYTES_MAX, TextArray};
use bytes::{Bytes, BytesMut};

#[test]
fn a_message_is_taken_when_it_is_whole_and_one_too_long_is_refused() {
    let mut inbox = BytesMut::new();
    wire::put(&mut inbox, b'C', |out| wire::put_text(out, "INSERT 0 12"));
    let whole = inbox.clone();
    for length in 0..whole.len() {
        assert!(wire::take(&mut whole[..length].into()).unwrap().is_none());
    }
    inbox.extend_from_slice(b"Z");
    let frame = wire::take(&mut inbox).unwrap().unwrap();
    assert_eq!((frame.kind, wire::affected(&frame.body), &inbox[..]), (b'C', 12, &b"Z"[..]));
    for length in [0, 3, MESSAGE_BYTES_MAX + 1, usize::try_from(u32::MAX).unwrap()] {
        let head = [&b"D"[..], &u32::try_from(length).unwrap().to_be_bytes()].concat();
        assert!(wire::take(&mut head[..].into()).is_err(), "{length}");
    }
}

#[test]
fn an_array_has_its_values_in_order_with_null_where_there_is_none() {
    let mut array = TextArray::default();
    let put = |array: &TextArray| {
        let mut out = BytesMut::new();
        array.put(&mut out);
        out.to_vec()
    };
    assert_eq!(put(&array), [0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25]);
    let text = |text: &'static str| move |out: &mut Vec<u8>| (out.extend_from_slice(text.as_bytes()), true).1;
    array.push(text("ab"));
    array.push(|out| (out.push(b'x'), false).1);
    array.push(text(""));
    let head = [0, 0, 0, 34, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 25, 0, 0, 0, 3, 0, 0, 0, 1];
    let values = [&[0, 0, 0, 2, b'a', b'b'][..], &[255; 4], &[0; 4]].concat();
    assert_eq!(put(&array), [&head[..], &values].concat());
    array.clear();
    assert_eq!(put(&array)[3], 12);
}

#[test]
fn a_row_that_is_not_whole_is_none() {
    let whole = Bytes::from_static(b"\0\x02\0\0\0\x01a\xff\xff\xff\xff");
    assert_eq!(wire::row(whole.clone()), Some(vec![Some("a".to_owned()), None]));
    for length in 0..whole.len() {
        assert_eq!(wire::row(whole.slice(..length)), None, "{length}");
    }
    assert_eq!(wire::row(Bytes::from_static(b"\0\x01\x7f\xff\xff\xff")), None);
}

proptest::proptest! {
    #[test]
    fn whatever_comes_never_panics(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let mut inbox = BytesMut::from(&bytes[..]);
        while let Ok(Some(frame)) = wire::take(&mut inbox) {
            let _ = super::fault::of_server(&frame.body);
            let _ = wire::row(frame.body.clone());
            let _ = wire::affected(&frame.body);
        }
        let bytes = Bytes::from(bytes);
        let _ = (super::fault::of_server(&bytes), wire::row(bytes.clone()), wire::affected(&bytes));
    }
}
