//! The crates that are published, with their dependencies before them.

/// A crate that is published.
pub(crate) struct Published {
    pub(crate) name: &'static str,
    /// Its folder, from the root of the repository.
    pub(crate) folder: &'static str,
}

/// Crates of the host's workspace.
pub(crate) const HOST: [Published; 15] = [
    published("toolhost-contract", "host/toolhost-contract"),
    published("toolhost-files", "host/toolhost-files"),
    published("toolhost-runtime", "host/toolhost-runtime"),
    published("toolhost-store", "host/toolhost-store"),
    published("toolhost-schema", "host/toolhost-schema"),
    published("toolhost-manifest", "host/toolhost-manifest"),
    published("toolhost-sandbox", "host/toolhost-sandbox"),
    published("toolhost-agents", "host/toolhost-agents"),
    published("toolhost-oauth", "host/toolhost-oauth"),
    published("toolhost-package", "host/toolhost-package"),
    published("toolhost", "host/toolhost"),
    published("toolhost-mcp", "host/toolhost-mcp"),
    published("toolhost-mcp-client", "host/toolhost-mcp-client"),
    published("toolhost-changesets", "host/toolhost-changesets"),
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{HOST, all};
    use crate::workspace::Workspace;

    #[test]
    fn every_crate_of_the_host_is_published_or_says_that_it_is_not() {
        let root = Workspace::find().root().to_path_buf();
        for entry in fs::read_dir(root.join("host")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let manifest =
                fs::read_to_string(root.join(format!("host/{name}/Cargo.toml"))).unwrap();
            let is_private = manifest.contains("publish.workspace = true");
            let is_listed = HOST.iter().any(|published| published.name == name);
            assert!(
                is_private != is_listed,
                "{name}: `publish` or xtask/src/published.rs is wrong"
            );
        }
    }

    #[test]
    fn the_page_of_published_crates_names_each_and_each_has_a_listing() {
        let root = Workspace::find().root().to_path_buf();
        let page = fs::read_to_string(root.join("docs/crates.md")).unwrap();
        for published in all() {
            let name = published.name;
            assert!(
                page.contains(&format!("`{name}`")),
                "docs/crates.md does not name {name}"
            );
            assert!(
                root.join(format!("docs/api/{name}.txt")).exists(),
                "run `cargo xtask api --write`"
            );
        }
    }
}
