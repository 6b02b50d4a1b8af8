//! The handles of a runtime: an instance of an agent, its turns and their steps.

pub(crate) mod instance;
pub(crate) mod script;
pub(crate) mod step;
pub(crate) mod turn;
mod undo;
