//! Packages of tools: a component and its manifest in an OCI registry, pulled by digest and kept in a cache,
//! and the signatures that a policy requires of them.
