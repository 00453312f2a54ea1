//! A PostgreSQL client: tokio-postgres, as far as statements with parameters need it, pipelined.
//!
//! - **Reaching a server** (`stream.rs`): over TCP or a Unix socket. With TLS (`tls.rs`) the server's certificate and
//!   name are always verified, and a server without TLS is refused: nothing is sent in the clear instead.
//! - **Logging in** (`login.rs`): by SCRAM-SHA-256, with TLS bound to its channel, where the server proves that it knows
//!   the password too; by certificate, or as the server trusts. A server may ask for the password in the clear: the
//!   config wants TLS for one that is not on this machine. Secrets and certificates are read anew for each connection.
//! - **Settings** of a session: a confirmation means durable, also where the server's default is otherwise; a
//!   statement ends by itself after the client's patience.
//! - **Statements** (`connection.rs`): one is a transaction of its own; several may be under way, and their answers come
//!   in their order.
//! - **Refusals** (`fault.rs`): typed by SQLSTATE. What a server quotes of a row in a refusal's details is not kept.
//! - **Limits**: a message of the server (`bounded.rs`), the rows of an answer and the text of a refusal are bounded.

mod address;
mod array;
mod bounded;
mod connection;
mod fault;
mod login;
mod stream;
mod tls;

pub use address::{Address, IDENTIFIER_BYTES_MAX, Place, TableName, is_identifier, quoted};
pub use array::TextArray;
pub use connection::{Answer, Connection};
pub use fault::{Fault, TEXT_BYTES_MAX};
pub use login::{Options, connect};
