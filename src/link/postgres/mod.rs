//! A PostgreSQL client: protocol 3.0, as far as statements with parameters need it, pipelined.
//!
//! - **Reaching a server** (`stream.rs`): over TCP or a Unix socket. With TLS the server's certificate and name are
//!   always verified, and a server without TLS is refused: nothing is sent in the clear instead.
//! - **Logging in** (`login.rs`, `scram.rs`): by SCRAM-SHA-256, where the server proves that it knows the password too;
//!   in the clear only over TLS or a Unix socket; by certificate, or as the server trusts. MD5 is refused. A password
//!   goes as its bytes are, without the normalisation of SASLprep: letters beyond ASCII must stand in the form NFKC.
//!   Secrets and certificates are read anew for each connection.
//! - **Settings** of a session: a confirmation means durable, also where the server's default is otherwise; a
//!   statement ends by itself after the client's patience.
//! - **Statements** (`connection.rs`): one is a transaction of its own; several may be under way, and their answers come
//!   in their order.
//! - **Refusals** (`fault.rs`): typed by SQLSTATE. What a server quotes of a row in a refusal's details is not kept.
//! - **Limits**: a message of the server, the rows of an answer and the text of a refusal are bounded.
//!
//! It is one of our own because the usual library would add 0.6 MB to the binary, for a second set of hashes and the
//! tables of Unicode normalisation among other things, and keeps no limit on what a server may send.

mod address;
mod connection;
mod fault;
mod login;
mod scram;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub use address::{Address, IDENTIFIER_BYTES_MAX, Place, TableName, is_identifier, quoted};
pub use connection::{Answer, Connection};
pub use fault::{Fault, TEXT_BYTES_MAX};
pub use login::{Options, connect};
pub use wire::TextArray;
