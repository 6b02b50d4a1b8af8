//! Types and parsing of HTTP grants: rules, origins, address blocks and credentials.

mod address;
mod credential;
mod grant;
mod headers;
mod origin;
mod rule;

pub use address::{AddressBlock, AddressBlockError, non_public_block};
pub use credential::{HttpCredential, HttpCredentialError};
pub use grant::HttpGrant;
pub use headers::is_reserved_header;
pub use origin::{Host, Origin, OriginError, Scheme};
pub use rule::{HttpRule, HttpRuleError, METHOD_MAX, is_allowed_method, normalize_path};
