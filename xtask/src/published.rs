//! The crates that are published, with their dependencies before them.

/// A crate that is published.
pub(crate) struct Published {
    pub(crate) name: &'static str,
    /// Its folder, from the root of the repository.
    pub(crate) folder: &'static str,
    pub(crate) users: Users,
}

/// Who names a crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Users {
    /// Anybody: its public API is listed, and a release breaks it only as its version says.
    Anybody,
    /// Crates of this repository, at the same version.
    ThisRepository,
}

/// Crates of the host's workspace.
pub(crate) const HOST: [Published; 18] = [
    published("toolhost-contract", "host/toolhost-contract"),
    internal("toolhost-runtime", "host/toolhost-runtime"),
    published("toolhost-files", "host/toolhost-files"),
    published("toolhost-egress", "host/toolhost-egress"),
    internal("toolhost-store", "host/toolhost-store"),
    internal("toolhost-schema", "host/toolhost-schema"),
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
    published("toolhost-nats", "host/toolhost-nats"),
    published("toolhost-page", "host/toolhost-page"),
];

/// The macros of [`GUEST`].
pub(crate) const GUEST_MACROS: Published =
    internal("toolhost-guest-macros", "guest-sdk/rust/macros");

/// The crate for authors of tools.
pub(crate) const GUEST: Published = published("toolhost-guest", "guest-sdk/rust");

impl Published {
    /// Returns whether it is not of the host's workspace, and is compiled in the target directory of the SDK.
    pub(crate) fn is_guest(&self) -> bool {
        self.folder.starts_with(GUEST.folder)
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
    let users = Users::Anybody;
    Published {
        name,
        folder,
        users,
    }
}

const fn internal(name: &'static str, folder: &'static str) -> Published {
    Published {
        users: Users::ThisRepository,
        ..published(name, folder)
    }
}

/// Returns all of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Published> {
    HOST.iter().chain([&GUEST_MACROS, &GUEST])
}

/// Returns those whose public API is listed.
pub(crate) fn listed() -> impl Iterator<Item = &'static Published> {
    all().filter(|published| published.users == Users::Anybody)
}

/// Returns the arguments `--package NAME` for the crates of the host's workspace.
pub(crate) fn host_packages() -> impl Iterator<Item = &'static str> {
    HOST.iter()
        .flat_map(|published| ["--package", published.name])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{HOST, Published, Users, all};
    use crate::workspace::Workspace;

    const NO_PROMISE: &str = "Any release may change its API";

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
    fn the_page_of_published_crates_names_each_and_those_for_anybody_have_a_listing() {
        let root = Workspace::find().root().to_path_buf();
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        let page = read("docs/crates.md");
        for Published {
            name,
            folder,
            users,
        } in all()
        {
            assert!(
                page.contains(&format!("`{name}`")),
                "docs/crates.md does not name {name}"
            );
            let is_listed = *users == Users::Anybody;
            for folder in ["docs/api", "docs/api/released"] {
                let listing = root.join(folder).join(format!("{name}.txt"));
                assert_eq!(
                    listing.exists(),
                    is_listed,
                    "{name}: run `cargo xtask api --write`, or remove its listing from {folder}"
                );
            }
            let readme = read(&format!("{folder}/README.md"));
            assert_eq!(
                readme.contains(NO_PROMISE),
                !is_listed,
                "{name}: an internal crate says \"{NO_PROMISE}\""
            );
        }
    }
}
