//! Formats other than JSON. What a format cannot say is an error.

pub(crate) mod csv;
pub(crate) mod toml;
pub(crate) mod yaml;
