//! The tools that can run: those of a bundle, and those that extensions add to one agent.

pub(crate) mod overlay;
mod registered_tool;

pub(crate) use registered_tool::{RegisteredTool, Runs, ToolRegistry};
