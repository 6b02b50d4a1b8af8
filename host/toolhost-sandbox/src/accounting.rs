//! What a call prints and logs.

pub(crate) mod output;
