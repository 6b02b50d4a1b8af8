//! The crates that are published, with their dependencies before them.

/// A crate that is published.
pub(crate) struct Published {
    pub(crate) name: &'static str,
    /// Its folder, from the root of the repository.
    pub(crate) folder: &'static str,
}

/// Crates of the host's workspace.
pub(crate) const HOST: [Published; 9] = [
    published("toolhost-contract", "host/toolhost-contract"),
    published("toolhost-store", "host/toolhost-store"),
    published("toolhost-manifest", "host/toolhost-manifest"),
    published("toolhost-sandbox", "host/toolhost-sandbox"),
    published("toolhost-agents", "host/toolhost-agents"),
    published("toolhost", "host/toolhost"),
    published("toolhost-mcp", "host/toolhost-mcp"),
    published("toolhost-mcp-client", "host/toolhost-mcp-client"),
    published("toolhost-otel", "host/toolhost-otel"),
];

/// The crate for authors of tools.
pub(crate) const GUEST: Published = published("toolhost-guest", "guest-sdk/rust");

impl Published {
    /// Returns whether it has a workspace and a target directory of its own.
    pub(crate) fn is_guest(&self) -> bool {
        self.name == GUEST.name
    }

    /// Returns the manifest that holds its version.
    pub(crate) fn manifest(&self) -> &'static str {
        if self.is_guest() {
            "guest-sdk/rust/Cargo.toml"
        } else {
            "Cargo.toml"
        }
    }
}

const fn published(name: &'static str, folder: &'static str) -> Published {
    Published { name, folder }
}

/// Returns all of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Published> {
    HOST.iter().chain([&GUEST])
}

/// Returns the arguments `--package NAME` for the crates of the host's workspace.
pub(crate) fn host_packages() -> impl Iterator<Item = &'static str> {
    HOST.iter()
        .flat_map(|published| ["--package", published.name])
}
