//! A stream on which no message of the server may be longer than a catalog's row or a refusal ever is: the library
//! makes room for whatever length a message says.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Longest message of a server, bytes.
pub(super) const MESSAGE_BYTES_MAX: usize = 256 << 10;
/// A message's head: its kind, and a length that counts itself and the body.
const HEAD_BYTES: usize = 5;
const LENGTH_BYTES: usize = 4;

/// Looks at the messages' heads as they come.
#[derive(Debug)]
pub(super) struct Bounded<S> {
    pub(super) stream: S,
    head: [u8; HEAD_BYTES],
    /// What of the head has come.
    filled: usize,
    /// What of the body is still to come.
    rest: usize,
}

impl<S> Bounded<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, head: [0; HEAD_BYTES], filled: 0, rest: 0 }
    }

    fn look(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.rest > 0 {
                let count = self.rest.min(bytes.len());
                self.rest -= count;
                bytes = bytes.get(count..).unwrap_or_default();
                continue;
            }
            let count = (HEAD_BYTES - self.filled).min(bytes.len());
            let (some, more) = bytes.split_at(count);
            if let Some(place) = self.head.get_mut(self.filled..self.filled + count) {
                place.copy_from_slice(some);
            }
            self.filled += count;
            bytes = more;
            if self.filled == HEAD_BYTES {
                let [_, length @ ..] = self.head;
                let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                if !(LENGTH_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
                    let message = format!("a message of {length} bytes came, which is no answer to what was asked");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
                (self.rest, self.filled) = (length - LENGTH_BYTES, 0);
            }
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let bounded = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut bounded.stream).poll_read(cx, buffer))?;
        Poll::Ready(bounded.look(buffer.filled().get(before..).unwrap_or_default()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(body: usize) -> Vec<u8> {
        let length = u32::try_from(body + LENGTH_BYTES).unwrap();
        [&b"D"[..], &length.to_be_bytes(), &vec![0xff; body]].concat()
    }

    proptest! {
        #[test]
        fn messages_pass_however_they_are_cut_and_one_too_long_does_not(
            bodies in prop::collection::vec(prop_oneof![0..40_usize, Just(MESSAGE_BYTES_MAX - LENGTH_BYTES)], 1..6),
            cuts in prop::collection::vec(1..5_000_usize, 1..9),
            bad in prop_oneof![0..4_u32, (256 << 10) + 1..u32::MAX],
        ) {
            let whole: Vec<u8> = bodies.into_iter().flat_map(message).collect();
            let mut bounded = Bounded::new(());
            let (mut rest, mut cuts) = (&whole[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (some, more) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                prop_assert!(bounded.look(some).is_ok());
                rest = more;
            }
            prop_assert_eq!((bounded.filled, bounded.rest), (0, 0));
            prop_assert!(bounded.look(b"D").is_ok());
            prop_assert!(bounded.look(&bad.to_be_bytes()).is_err());
        }
    }
}
