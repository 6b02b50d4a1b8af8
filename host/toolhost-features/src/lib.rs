//! No code: the manifest of this crate enables the features that the workspace shares.
