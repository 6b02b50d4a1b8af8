//! The handles of a runtime: an agent, an instance of it, its turns and their steps.

pub(crate) mod agent;
pub(crate) mod instance;
pub(crate) mod step;
pub(crate) mod tool_access;
pub(crate) mod turn;
mod undo;
