//! `toolhost sign`: signs packages of registries, and makes keys.

use std::path::Path;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use serde_json::json;
use toolhost_manifest::bundle::package::PackageReference;
use toolhost_package::{
    BUNDLE_MAX, BUNDLE_TYPE, Descriptor, KeyError, PackageSource, Registry, RegistryError,
    SigningKey, check_bundle,
};

use super::{Puller, reference};
use crate::args::SignArgs;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::files;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

/// Most bytes of a file with a key.
const KEY_MAX: u64 = 64 << 10;

pub(crate) async fn sign(args: &SignArgs, settings: &Settings) -> Result<Exit, Failure> {
    if let Some(path) = &args.new_key {
        return new_key(path, args.json);
    }
    let package = reference(args.reference.as_deref().unwrap_or_default())?;
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let puller = Puller::new(settings, &policy)?;
    // Before the key: a reference that does not exist is the more likely mistake.
    let package = puller.with_digest(package).await?;
    let digest = package.digest().unwrap_or_default();
    let registry = puller.source.registry();
    match (&args.key, &args.bundle) {
        (Some(key), _) => sign_with(&read_key(key)?, &puller.source, &package).await?,
        (None, Some(bundle)) => {
            let bytes = files::read("the signature", bundle, BUNDLE_MAX)?;
            let json = String::from_utf8(bytes);
            let json = json.map_err(|_| anyhow!("{} is not UTF-8", text::path(bundle)))?;
            check_bundle(&json, digest).map_err(|error| {
                let error = anyhow::Error::new(error).context(format!(
                    "{} is not a signature of {package}",
                    text::path(bundle)
                ));
                Failure::from(error)
                    .hint("Name the Sigstore bundle of this package. Nothing was written.")
            })?;
            attach(registry, &package, json).await?;
        }
        (None, None) => return Err(Failure::from(anyhow!("neither a key nor a bundle"))),
    }
    match (args.json, &args.bundle) {
        (true, _) => stdout::json(&json!({"reference": package.to_string(), "digest": digest}))?,
        (false, None) => stdout::write(&format!("signed {package}"))?,
        (false, Some(bundle)) => stdout::write(&format!(
            "attached {} to {package}; `toolhost verify` verifies it",
            text::path(bundle)
        ))?,
    }
    Ok(Exit::Done)
}

/// Reads a private key.
pub(super) fn read_key(path: &Path) -> Result<SigningKey, Failure> {
    let hint =
        "Make one with `toolhost sign --new-key FILE`, or `openssl genpkey -algorithm ed25519`.";
    let bytes = files::read("the key", path, KEY_MAX);
    let bytes = bytes.hint(hint)?;
    let bytes = zeroize::Zeroizing::new(bytes);
    let text = str::from_utf8(&bytes).map_err(|_| KeyError::Pem);
    let key = text.and_then(SigningKey::from_pem);
    key.map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("{} cannot sign", text::path(path)));
        Failure::from(error).hint(hint)
    })
}

/// Signs a package, unless the registry has a signature of it with this key.
pub(super) async fn sign_with(
    key: &SigningKey,
    source: &PackageSource,
    package: &PackageReference,
) -> Result<(), Failure> {
    let digest = package.digest().unwrap_or_default();
    let signatures = source.signatures(package, None).await.unwrap_or_default();
    if key.has_signed(digest, &signatures) {
        return Ok(());
    }
    let bundle = key.sign(digest)?;
    attach(source.registry(), package, bundle).await
}

/// Writes a signature into the registry, beside the package.
async fn attach(
    registry: &Registry,
    package: &PackageReference,
    bundle: String,
) -> Result<(), Failure> {
    let failed = |error: RegistryError| {
        let help = error.help();
        let error = anyhow::Error::new(error).context(format!("{package} cannot be signed"));
        Failure::from(error).hint(help)
    };
    let manifest = registry.resolve(package).await.map_err(failed)?;
    let subject = Descriptor::of(toolhost_package::MANIFEST_TYPE, &manifest.bytes);
    let attached = registry.attach(package, &subject, BUNDLE_TYPE, Bytes::from(bundle));
    attached.await.map_err(failed)?;
    Ok(())
}

fn new_key(path: &Path, is_json: bool) -> Result<Exit, Failure> {
    let mut public = path.as_os_str().to_owned();
    public.push(".pub");
    let public = Path::new(&public);
    if let Some(there) = [path, public].into_iter().find(|path| path.exists()) {
        let error = anyhow!("{} exists, and was not replaced", text::path(there));
        return Err(Failure::from(error).hint("Name a file that does not exist."));
    }
    let (key, pem) = SigningKey::generate()?;
    let failed = |path: &Path| format!("{} cannot be written", text::path(path));
    files::write_private(path, pem.as_bytes()).with_context(|| failed(path))?;
    files::write_over_file(public, key.public_pem().as_bytes()).with_context(|| failed(public))?;
    let fingerprint = key.fingerprint();
    if is_json {
        stdout::json(&json!({
            "key": path.to_string_lossy(),
            "public": public.to_string_lossy(),
            "fingerprint": fingerprint,
        }))?
    } else {
        stdout::write(&format!(
            "{}: the private key; keep it secret\n{}: the public key, {fingerprint}",
            text::path(path),
            text::path(public)
        ))?
    }
    Ok(Exit::Done)
}
