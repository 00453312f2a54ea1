//! Whatever bytes come, the server stays up and serves the next connection.

use super::{super::Limits, fake::server, peer::event};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn near_http() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"POST /v1/events HTTP/1.1\r\n".to_vec()),
        Just(b"GET /v1/verdicts?source=a&id=%zz+%C3 HTTP/1.1\r\n".to_vec()),
        Just(b"content-type: application/json\r\n".to_vec()),
        Just(b"content-type: application/x-ndjson\r\n".to_vec()),
        Just(b"content-length: 10\r\n".to_vec()),
        Just(b"content-length: 99999999999999999999\r\n".to_vec()),
        Just(b"transfer-encoding: chunked\r\n".to_vec()),
        Just(b"expect: 100-continue\r\n".to_vec()),
        Just(b"ce-id: \"%F0%9F\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"{\"id\":\"1\"}".to_vec()),
        Just(b"a\r\n{\"id\":\"1\"}\r\n0\r\n\r\n".to_vec()),
        Just(b"ffffffffffffffff\r\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_bytes_end_at_most_their_own_connection(
        bytes in prop_oneof![near_http(), proptest::collection::vec(any::<u8>(), 0..2000)],
        cut in 1usize..200,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let server = server(Limits::default());
            let mut peer = server.connect();
            for piece in bytes.chunks(cut) {
                if peer.stream.write_all(piece).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            let _ = peer.stream.shutdown().await;
            // Time is virtual: a connection that hangs would be cut off here, and one that never ends would
            // hang the test.
            let mut answers = Vec::new();
            let _ = peer.stream.read_to_end(&mut answers).await;
            assert!(answers.is_empty() || answers.starts_with(b"HTTP/1.1 "));
            assert_eq!(server.connect().ask(&event("next")).await.status, 200);
            drop(peer);
            while server.budget.used() > 0 {
                tokio::task::yield_now().await;
            }
        });
    }
}
