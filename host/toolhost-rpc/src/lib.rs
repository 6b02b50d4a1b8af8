//! Serves toolhost to programs in other languages: JSON-RPC 2.0, one message per line.
//!
//! ```text
//! {"jsonrpc":"2.0","id":1,"method":"call/execute","params":{"call":{"id":"c","name":"text__upper","args":{"text":"hi"}}}}
//! {"jsonrpc":"2.0","id":1,"result":{"toolCallId":"c","toolName":"text__upper","status":"ok","output":{"text":"HI"}}}
//! ```
//!
//! An [`RpcServer`] serves any number of connections: one over standard input and output, or those of a
//! [`UnixSocket`]. A call goes through [`Step::execute`](toolhost::Step::execute), and its ToolResult is
//! the same JSON that `toolhost call` prints. A failed call is a result; an error is a request that the
//! server could not carry out. `docs/rpc.md` lists the methods.
//!
//! What is closed:
//! - what [`RpcConfig`] sets, no request can change: the bundle, the agent, the key of the instance, the
//!   workdir; the policy is always the host's;
//! - turns, steps, bundles and requests belong to the connection that opened them, and end with it:
//!   a connection that ends drops its calls, and their guests stop;
//! - lines, nesting, requests, answers that the client does not read, open turns and steps, and
//!   connections are limited ([`RpcLimits`]), and a client cannot make the server wait for it;
//! - a Unix socket can be opened by its user alone.

mod answers;
mod bundles;
mod catalog_format;
mod config;
mod connection;
mod error;
mod events;
mod in_flight;
mod instances;
mod limits;
mod memory;
mod message;
mod methods;
mod open_turns;
mod params;
mod server;
mod session;
mod socket_error;
mod turn_id;
mod unix_socket;

pub use config::RpcConfig;
pub use connection::ConnectionEnd;
pub use limits::RpcLimits;
pub use server::RpcServer;
pub use socket_error::SocketError;
pub use unix_socket::UnixSocket;
