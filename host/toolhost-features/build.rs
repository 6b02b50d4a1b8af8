//! No work to do: Cargo resolves build dependencies only of a package that has a build script.
fn main() {}
