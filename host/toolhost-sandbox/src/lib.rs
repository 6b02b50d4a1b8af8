//! The cell: runs one handler of a WASI component under given grants and limits.

mod grants;
mod limits;

pub use grants::{Grants, WorkdirAccess};
pub use limits::Limits;
