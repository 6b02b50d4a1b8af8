//! Records the host calls of a call, and replays them to the component without the world.

pub(crate) mod options;
