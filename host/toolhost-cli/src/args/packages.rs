//! The arguments of `toolhost publish`, `add`, `update`, `vendor`, `sign` and `verify`.

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
    /// Sign it with this private key, as `toolhost sign` does
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// The operator's policy: at which addresses that are not public registries may be
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
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
    /// The operator's policy: whose signatures packages must have
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
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
    /// The operator's policy: whose signatures packages must have
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VendorArgs {
    /// Bundle file, or directory that holds a goondan.yaml
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// The operator's policy: whose signatures packages must have
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// The package: HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGEST]
    #[arg(value_name = "REF", required_unless_present = "new_key")]
    pub(crate) reference: Option<String>,
    /// Sign with this private key: PEM, of P-256 or Ed25519
    #[arg(long, value_name = "FILE", required_unless_present_any = ["bundle", "new_key"])]
    pub(crate) key: Option<PathBuf>,
    /// Attach a signature of the package that another program has made: a Sigstore bundle
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    pub(crate) bundle: Option<PathBuf>,
    /// Make a key of P-256: writes FILE and FILE.pub
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reference", "key", "bundle"])]
    pub(crate) new_key: Option<PathBuf>,
    /// The operator's policy: at which addresses that are not public registries may be
    #[arg(long, value_name = "FILE", conflicts_with = "new_key")]
    pub(crate) policy: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// A bundle, or a package: HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGEST]
    #[arg(value_name = "BUNDLE|REF")]
    pub(crate) what: String,
    /// The operator's policy, with `packages: {signers: …}`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "identity"])]
    pub(crate) policy: Option<PathBuf>,
    /// Accept the signatures of this public key: PEM
    #[arg(long, value_name = "FILE", conflicts_with = "identity")]
    pub(crate) key: Option<PathBuf>,
    /// Accept the signatures of this identity: a mail address, or the URI of a workflow
    #[arg(long, value_name = "ID", requires_all = ["issuer", "trusted_root"])]
    pub(crate) identity: Option<String>,
    /// Who has checked the identity: the URL of the OpenID Connect issuer
    #[arg(long, value_name = "URL", requires = "identity")]
    pub(crate) issuer: Option<String>,
    /// The certificate authorities and logs: trusted_root.json of Sigstore
    #[arg(long, value_name = "FILE", requires = "identity")]
    pub(crate) trusted_root: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
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

With --json: {\"tool\", \"entry\", \"manifest\"}.

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

pub(crate) const SIGN: &str = "\
Examples:
  toolhost sign --new-key acme.key                 writes acme.key and acme.key.pub
  toolhost sign --key acme.key ghcr.io/acme/notes:1.0
  toolhost sign --bundle notes.sigstore.json ghcr.io/acme/notes:1.0

Writes a Sigstore bundle into the registry, as an artifact that refers to the package: where `cosign verify` looks for
it. It says that the holder of the key has signed the digest of the package, which covers the component and the Tool
resource. The key stays on this machine, and no other service is asked.

Who signs with an identity of a continuous-integration service signs there, with `cosign sign` 3 or the build
attestations of GitHub, which write into the registry by themselves; --bundle attaches what was written into a file.

With --json: {\"reference\", \"digest\"}, or with --new-key {\"key\", \"public\", \"fingerprint\"}.

Exit codes: 0 signed · 2 the package or the key cannot be read, or the registry refuses";

pub(crate) const VERIFY: &str = "\
Examples:
  toolhost verify my-bundle --policy policy.yaml
  toolhost verify ghcr.io/acme/notes:1.0 --key acme.key.pub
  toolhost verify ghcr.io/acme/notes:1.0 --trusted-root trusted_root.json \\
    --identity https://github.com/acme/notes/.github/workflows/release.yml@refs/heads/main \\
    --issuer https://token.actions.githubusercontent.com

Reads packages and their signatures as a load does, and prints who has signed each. Loads verify signatures whenever
the policy has the key `packages`: docs/packages.md describes it.

With --json: {\"packages\": [{\"package\", \"accepted\", \"signers\"?, \"reason\"?}]}.

Exit codes: 0 each is accepted · 1 one is not · 2 a package cannot be read, or the trust is invalid";
