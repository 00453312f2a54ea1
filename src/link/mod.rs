//! What every link to another machine or device has, whether events come over it or verdicts go: its state as
//! users see it, the waits between tries, what a client needs for TLS.

mod backoff;
mod connect;
pub mod http;
pub mod kafka;
pub mod mqtt;
pub mod postgres;
mod state;
pub mod tls;

pub use backoff::{Backoff, RETRY_DELAY_MAX, RETRY_DELAY_MIN};
pub use state::{LinkState, Trouble};
pub use tls::{ClientTls, SECRET_BYTES_MAX, SecretError, read_secret};
