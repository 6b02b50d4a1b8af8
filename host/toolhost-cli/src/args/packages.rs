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
