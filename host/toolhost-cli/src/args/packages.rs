//! The arguments of `toolhost publish`, `add`, `update` and `vendor`.

use std::path::PathBuf;

use clap::Args;
use toolhost::ResourceName;

use super::bundle::BUNDLE;

#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// Where to: HOST[:PORT]/REPOSITORY[:TAG]; without a tag, latest
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    /// Bundle file, or directory that holds a goondan.yaml
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// The Tool to publish; required if the bundle has several
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<ResourceName>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// The package: HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGEST]
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    /// Bundle file, or directory that holds a goondan.yaml; a new one is made in a directory without
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// Name of the Tool in the bundle [default: that of the package]
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<ResourceName>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Bundle file, or directory that holds a goondan.yaml
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// Only this Tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<ResourceName>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VendorArgs {
    /// Bundle file, or directory that holds a goondan.yaml
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
}

pub(crate) const PUBLISH: &str = "\
Examples:
  toolhost publish ghcr.io/me/notes:1.0
  toolhost publish localhost:5000/me/notes:1.0 my-bundle --tool notes

Checks that the bundle loads, and writes the component of a Tool into an OCI registry, with the Tool resource as an
annotation of its manifest. Prints the reference with the digest. The same Tool has the same digest each time.

Credentials are those of Docker's configuration file, $DOCKER_CONFIG/config.json or ~/.docker/config.json.
Registries are reached by https; those of this machine (localhost, 127.0.0.1, [::1]) by http.

With --json: {\"reference\", \"digest\"}.

Exit codes: 0 published · 2 the bundle does not load, or the registry refuses";

pub(crate) const ADD: &str = "\
Examples:
  toolhost add ghcr.io/me/notes:1.0
  toolhost add ghcr.io/me/notes:1.0 my-bundle --as my-notes

Pulls a package, checks it, and adds its Tool to the end of the manifest, with an entry that has the digest:
oci://ghcr.io/me/notes:1.0@sha256:… What is there stays as it is. Nothing is written if the bundle would be invalid.

The package is kept in the cache; loads need no network afterwards.

With --json: {\"tool\", \"entry\"}.

Exit codes: 0 added · 2 the package cannot be pulled, or the bundle would be invalid";

pub(crate) const UPDATE: &str = "\
Examples:
  toolhost update
  toolhost update my-bundle --tool notes

For each entry oci://…:TAG@sha256:…, asks the registry which digest the tag has now, pulls that package, and writes
its digest, and the descriptions and schemas of the package unless they were edited. Review the change before you
commit it.

With --json: {\"updated\": [{\"tool\", \"before\", \"after\", \"words\": \"same\" | \"replaced\" | \"edited\"}]}.

Exit codes: 0 updated, or nothing to update · 2 a package cannot be pulled, or the bundle would be invalid";

pub(crate) const VENDOR: &str = "\
Examples:
  toolhost vendor my-bundle

Copies the packages of a bundle to vendor/ beside its manifest, where loads find them first, without network and
cache. Each file is named by its digest and compared with it whenever it is read.

Exit codes: 0 copied · 2 a package cannot be pulled or written";
