//! Parameters of methods.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolhost::text;

use crate::error::RpcError;

/// Longest reason in a message, in characters.
const REASON_MAX: usize = 300;

/// The parameters of a method that has none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// Parses the parameters of a method.
pub(crate) fn parse<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    if !params.is_object() {
        return Err(RpcError::params("`params` is not an object"));
    }
    serde_json::from_value(params).map_err(|error| {
        // It may quote the parameters.
        RpcError::params(text::shorten(&error.to_string(), REASON_MAX))
    })
}
