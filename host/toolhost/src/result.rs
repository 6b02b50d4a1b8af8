//! What leaves the host: error messages within their limit, error fields within theirs, codes that
//! no guest can forge, and no control characters.
//!
//! Pure: values in, values out. Applied where a call ends and once more at the exit; every function
//! here is idempotent.

mod normalise;
pub(crate) mod text;
mod truncate;

pub(crate) use normalise::{guard_error, limit_error, normalise_error};
