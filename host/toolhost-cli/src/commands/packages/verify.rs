//! `toolhost verify`: verifies the signatures of packages.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::anyhow;
use serde_json::{Value, json};
use toolhost::ResourceName;
use toolhost_manifest::bundle::package::{PackageReference, is_package};
use toolhost_manifest::policy::{PackageRules, PackageSigner, SignerTrust};
use toolhost_package::{PullError, Signers};

use super::{Puller, failure, open, reference};
use crate::args::VerifyArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::host_context;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::stdout;

/// Most bytes of a file with a public key or a trusted root.
const TRUST_MAX: u64 = 1 << 20;

pub(crate) async fn verify(args: &VerifyArgs, settings: &Settings) -> Result<Exit, Failure> {
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let mut puller = Puller::new(settings, &policy)?;
    if policy.policy.packages().is_none() {
        let rules = rules(args)?;
        let signers = Signers::new(&rules).map_err(host_context::signers_failed)?;
        puller.source = puller.source.require(signers);
    }
    let path = Path::new(&args.what);
    if path.exists() && PackageReference::parse(&args.what).is_ok() {
        let error = anyhow!("'{}' names a package and a file", args.what);
        return Err(Failure::from(error).hint("For the file, begin the path with ./"));
    }
    let (packages, folder) = if path.exists() {
        let bundle = open(path, settings).await?;
        let tools = bundle.bundle().tools().iter();
        let entries = tools.map(|tool| &tool.spec.entry);
        let packages = entries.filter(|entry| is_package(entry));
        let packages: Result<Vec<_>, _> = packages.map(|entry| reference(entry)).collect();
        (packages?, Some(bundle.dir().to_owned()))
    } else {
        let package = puller.with_digest(reference(&args.what)?).await?;
        (vec![package], None)
    };
    let (mut verified, mut is_accepted) = (Vec::new(), true);
    for package in packages {
        let pulled = puller.try_pull(&package, folder.as_deref()).await;
        let result = match pulled {
            Ok(pulled) => Ok(pulled.signers),
            Err(PullError::Signature(error)) => Err(error.to_string()),
            Err(error) => return Err(failure(&package, error)),
        };
        is_accepted &= result.is_ok();
        verified.push((package, result));
    }
    print(args.json, &verified)?;
    Ok(Exit::done_if(is_accepted))
}

/// Returns the rules of the command line.
fn rules(args: &VerifyArgs) -> Result<PackageRules, Failure> {
    let read = |what: &str, path: &Path| {
        let bytes = files::read(what, path, TRUST_MAX)?;
        String::from_utf8(bytes).map_err(|_| Failure::from(anyhow!("{what} is not UTF-8")))
    };
    let trust = match (&args.key, &args.identity, &args.issuer) {
        (Some(key), None, None) => SignerTrust::Key(read("the public key", key)?),
        (None, Some(identity), Some(issuer)) => SignerTrust::Identity {
            identity: identity.clone(),
            issuer: issuer.clone(),
        },
        _ => {
            let error = anyhow!("nothing says whose signature is accepted");
            let hint = "Pass --policy FILE with `packages: {signers: …}`, --key FILE, or --identity, --issuer and --trusted-root.";
            return Err(Failure::from(error).hint(hint));
        }
    };
    let root = args.trusted_root.as_deref();
    let trusted_root = root
        .map(|path| read("the trusted root", path))
        .transpose()?;
    let mut rules = PackageRules::default();
    let name = ResourceName::parse("signer")?;
    rules.signers = BTreeMap::from([(
        name,
        PackageSigner {
            trust,
            packages: None,
        },
    )]);
    rules.trusted_root = trusted_root;
    Ok(rules)
}

fn print(
    is_json: bool,
    verified: &[(PackageReference, Result<Vec<String>, String>)],
) -> anyhow::Result<()> {
    if is_json {
        let one = |(package, result): &(PackageReference, Result<Vec<String>, String>)| {
            let package = package.to_string();
            match result {
                Ok(signers) => json!({"package": package, "accepted": true, "signers": signers}),
                Err(reason) => json!({"package": package, "accepted": false, "reason": reason}),
            }
        };
        let packages: Vec<Value> = verified.iter().map(one).collect();
        return stdout::json(&json!({ "packages": packages }));
    }
    if verified.is_empty() {
        return stdout::write("no entry is a package of a registry");
    }
    let lines = verified.iter().map(|(package, result)| match result {
        Ok(signers) if signers.is_empty() => {
            format!("{package}: the policy requires no signature")
        }
        Ok(signers) => format!("{package}: signed by {}", signers.join(" and by ")),
        Err(reason) => format!("{package}: refused: {reason}"),
    });
    stdout::write(&lines.collect::<Vec<_>>().join("\n"))
}
