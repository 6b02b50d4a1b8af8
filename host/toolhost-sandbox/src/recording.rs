//! Records the host calls of a call, and replays them to the component without the world.
//!
//! Both run the component with imports that are made for its own import types (`dynamic`), so that no
//! function has code of its own here. Resources are numbered handles. While a call is recorded, the answers
//! come from the host's functions in a second store, through a component made for this (`forwarder`). In a
//! replay they come from the recording (`player`).

pub(crate) mod call_imports;
pub(crate) mod dynamic;
pub(crate) mod forward;
pub(crate) mod forwarder;
pub(crate) mod guest;
pub(crate) mod imports;
pub(crate) mod options;
pub(crate) mod outcome;
pub(crate) mod player;
pub(crate) mod tape;
pub(crate) mod values;
