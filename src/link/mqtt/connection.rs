//! One connection: the handshake, then turns of writing and reading, with pings where nothing else is said.

use super::frame::Frames;
use super::packet::{self, BYE, Decoded, PING};
use super::stream::Stream;
use super::{ClientOptions, Inbound, MqttError, Outgoing, Protocol, Session, write_publish};
use crate::link::read_secret;
use bytes::{Buf, BytesMut};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, Sleep, sleep, timeout};

/// How long a farewell may take.
const BYE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection that the broker has accepted. Dropping it ends it.
pub struct Connection {
    stream: Stream,
    protocol: Protocol,
    address: String,
    frames: Frames,
    out: BytesMut,
    keep_alive: Duration,
    wrote: Instant,
    /// A ping that nothing has answered.
    pinged: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

/// What the broker lets its client do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// It has kept the session.
    pub session_present: bool,
    /// Messages it may be sent without having confirmed them; 65,535 where it does not say.
    pub receive_max: u16,
    /// The largest packet it takes.
    pub packet_bytes_max: Option<usize>,
    /// Whether messages can be retained.
    pub retain: bool,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Bytes came: see [`Connection::take`].
    Came,
    /// All that was put is written.
    Written,
}

impl Connection {
    /// Connects. `packet_max`: the largest packet, behind its head, that is kept whole.
    ///
    /// # Errors
    /// When there is no connection within the time, or the broker refuses.
    pub async fn connect(
        options: &ClientOptions,
        session: Session,
        packet_max: usize,
    ) -> Result<(Self, Granted), MqttError> {
        let limit = options.connect_timeout;
        let late = |what| MqttError::Timeout { address: options.broker.to_string(), limit, what };
        let end = Instant::now() + limit;
        let stream = tokio::time::timeout_at(end, Stream::connect(options))
            .await
            .map_err(|_| late("name, connection, TLS"))??;
        let mut connection = Self::over(stream, options, packet_max);
        let password = options.password_file.as_deref().map(read_secret).transpose()?;
        packet::write_connect(options, session, password, &mut connection.out)?;
        let granted = tokio::time::timeout_at(end, connection.accepted()).await.map_err(|_| late("CONNACK"))??;
        Ok((connection, granted))
    }

    fn over(stream: Stream, options: &ClientOptions, packet_max: usize) -> Self {
        let keep_alive = Duration::from_secs(options.keep_alive_s().into());
        Self {
            stream,
            protocol: options.protocol,
            address: options.broker.to_string(),
            frames: Frames::new(packet_max),
            out: BytesMut::new(),
            keep_alive,
            wrote: Instant::now(),
            pinged: None,
            timer: Box::pin(sleep(keep_alive * 3 / 4)),
        }
    }

    async fn accepted(&mut self) -> Result<Granted, MqttError> {
        loop {
            self.turn(true).await?;
            let Some(frame) = self.frames.next()? else { continue };
            let accepted = match packet::decode(self.protocol, frame)? {
                Decoded::Accepted(accepted) => accepted,
                Decoded::End(reason) => return Err(MqttError::Refused(reason)),
                _ => return Err(MqttError::Protocol("another packet before CONNACK".to_owned())),
            };
            if accepted.max_qos == Some(0) {
                return Err(MqttError::Unfit("it takes QoS 0 alone"));
            }
            // The broker's wish stands above ours; 0 is no limit of its own.
            if let Some(seconds) = accepted.keep_alive_s.filter(|seconds| *seconds > 0) {
                self.keep_alive = self.keep_alive.min(Duration::from_secs(seconds.into()));
                let due = self.wrote + self.quiet();
                self.timer.as_mut().reset(due);
            }
            return Ok(Granted {
                session_present: accepted.session_present,
                receive_max: accepted.receive_max.unwrap_or(u16::MAX).max(1),
                packet_bytes_max: accepted.packet_bytes_max.and_then(|bytes| usize::try_from(bytes).ok()),
                retain: accepted.retain_available != Some(0),
            });
        }
    }

    /// The next packet of what came; none where [`Connection::turn`] must bring more.
    ///
    /// # Errors
    /// When the broker ends the connection, or does not keep to MQTT.
    pub fn take(&mut self) -> Result<Option<Inbound>, MqttError> {
        while let Some(frame) = self.frames.next()? {
            match packet::decode(self.protocol, frame)? {
                Decoded::Inbound(inbound) => return Ok(Some(inbound)),
                Decoded::Pong => {}
                Decoded::End(reason) => return Err(MqttError::Disconnected(reason)),
                Decoded::Accepted(_) => return Err(MqttError::Protocol("a second CONNACK".to_owned())),
            }
        }
        Ok(None)
    }

    /// Bytes to be paid for, by [`Connection::allow`], before the packet that is coming can be read.
    #[must_use]
    pub fn wanted(&self) -> Option<usize> {
        self.frames.wanted()
    }

    /// They are paid for until that packet is taken.
    pub fn allow(&mut self, bytes: usize) {
        self.frames.allow(bytes);
    }

    /// Puts a message; see [`write_publish`].
    #[must_use]
    pub fn publish(&mut self, packet_id: u16, message: &Outgoing<'_>) -> bool {
        write_publish(self.protocol, packet_id, message, &mut self.out)
    }

    /// Puts an acknowledgement.
    pub fn confirm(&mut self, packet_id: u16) {
        packet::write_confirm(packet_id, &mut self.out);
    }

    /// Puts SUBSCRIBE for topic filters, at QoS 1.
    pub fn subscribe(&mut self, packet_id: u16, filters: &[String]) {
        packet::write_subscribe(self.protocol, packet_id, filters, &mut self.out);
    }

    /// Puts UNSUBSCRIBE.
    pub fn unsubscribe(&mut self, packet_id: u16, filters: &[String]) {
        packet::write_unsubscribe(self.protocol, packet_id, filters, &mut self.out);
    }

    /// Bytes that were put and are not written.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.out.len()
    }

    /// Writes what was put and, if `reading`, reads what comes, until one of both is done. Pings, also while it
    /// is not reading. May be dropped and called again at any time.
    ///
    /// # Errors
    /// When the connection is broken or silent.
    pub async fn turn(&mut self, reading: bool) -> Result<Turn, MqttError> {
        poll_fn(|cx| self.poll_turn(cx, reading)).await
    }

    /// Writes what was put and a good-bye, and waits, for at most a second, until the broker has read it and closes.
    ///
    /// A socket closed with bytes unread is reset, and a reset takes what was written before it from a peer that
    /// has not read it yet: the last acknowledgements, say.
    pub async fn bye(&mut self) {
        self.out.extend_from_slice(&BYE);
        let farewell = async {
            loop {
                self.frames.clear();
                if self.turn(true).await.is_err() {
                    return;
                }
            }
        };
        let _ = timeout(BYE_TIMEOUT, farewell).await;
    }

    fn poll_turn(&mut self, cx: &mut Context<'_>, reading: bool) -> Poll<Result<Turn, MqttError>> {
        loop {
            let written = match self.poll_write(cx) {
                Ok(written) => written,
                Err(error) => return Poll::Ready(Err(error)),
            };
            if reading && self.frames.has_space() {
                let read = pin!(self.stream.read_buf(self.frames.space())).poll(cx);
                match read {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(MqttError::Closed)),
                    Poll::Ready(Ok(_)) => {
                        self.pinged = None;
                        return Poll::Ready(Ok(Turn::Came));
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(self.broken(error))),
                    Poll::Pending => {}
                }
            }
            if written {
                return Poll::Ready(Ok(Turn::Written));
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if let Err(error) = self.keep_alive(reading) {
                return Poll::Ready(Err(error));
            }
        }
    }

    /// True where something was written and nothing is left.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<bool, MqttError> {
        let mut any = false;
        while !self.out.is_empty() {
            match self.stream.poll_write_bytes(cx, &self.out) {
                Poll::Ready(Ok(0)) => return Err(MqttError::Closed),
                Poll::Ready(Ok(count)) => {
                    self.out.advance(count);
                    any = true;
                }
                Poll::Ready(Err(error)) => return Err(self.broken(error)),
                Poll::Pending => break,
            }
        }
        if any {
            self.wrote = Instant::now();
        }
        Ok(any && self.out.is_empty())
    }

    /// So long nothing need be said, and so long an answer may take.
    fn quiet(&self) -> Duration {
        self.keep_alive * 3 / 4
    }

    /// The timer is due: a ping, or the end of a silence.
    fn keep_alive(&mut self, reading: bool) -> Result<(), MqttError> {
        let now = Instant::now();
        if !reading {
            // An answer cannot be heard, so none is missed.
            self.pinged = None;
        }
        let next = match self.pinged {
            Some(since) if now >= since + self.quiet() => return Err(MqttError::Silent(self.quiet())),
            Some(since) => since + self.quiet(),
            None if now >= self.wrote + self.quiet() => {
                self.out.extend_from_slice(&PING);
                self.pinged = Some(now);
                now + self.quiet()
            }
            None => self.wrote + self.quiet(),
        };
        self.timer.as_mut().reset(next);
        Ok(())
    }

    fn broken(&self, error: io::Error) -> MqttError {
        match crate::link::tls::refused_later(&error) {
            Some(reason) => MqttError::Tls { address: self.address.clone(), reason },
            None => MqttError::Io(error),
        }
    }
}
