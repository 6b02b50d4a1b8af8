//! Where a tool may send HTTP requests, and what the host adds to them: types and parsing. The
//! sandbox resolves names and sends.

mod address;
mod credential;
mod grant;
mod headers;
mod origin;
mod rule;

pub use address::{AddressBlock, AddressBlockError, not_public};
pub use credential::{HttpCredential, HttpCredentialError};
pub use grant::HttpGrant;
pub use headers::is_the_hosts;
pub use origin::{Host, Origin, OriginError, Scheme};
pub use rule::{HttpRule, HttpRuleError, METHOD_MAX, is_served, plain};
