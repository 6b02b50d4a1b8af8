//! A component: checked, compiled or mapped from the cache, and loaded.

pub(crate) mod cache;
pub(crate) mod code;
pub(crate) mod code_origin;
pub(crate) mod compiler;
pub(crate) mod digest;
pub(crate) mod facts;
pub(crate) mod initial_data;
pub(crate) mod inspect;
pub(crate) mod limits;
pub(crate) mod served_imports;
mod tree_hash;
