//! HTTP for tools: what a policy allows, how the sandbox reaches servers, and a client under the same
//! rules for the host's own requests.

pub use toolhost_contract::http::{
    Host as HttpHost, Origin as HttpOrigin, Reach as HttpReach, Scheme as HttpScheme,
    non_public_block,
};
pub use toolhost_contract::{
    AddressBlock, HttpCredential, HttpCredentialError, HttpGrant, HttpRule, HttpRuleError,
};
pub use toolhost_sandbox::{
    HttpClient, HttpClientBody, HttpClientError, HttpConfig, HttpResolveFuture, HttpResolver,
    OriginClient,
};
