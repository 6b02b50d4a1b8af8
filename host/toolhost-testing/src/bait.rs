//! The names that generated cases use, and that a `CaseDir` puts in place.

/// A file of the workdir, named wherever a tool takes a text.
pub(crate) const SAMPLE: &str = "sample.txt";

/// The path from the workdir to a secret outside it.
pub(crate) const SECRET_PATH: &str = "../beside/canary.txt";

/// A link in the workdir that leads out of it.
pub(crate) const HOSTILE_LINK: &str = "out";
