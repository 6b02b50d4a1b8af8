//! `toolhost vendor`: copies the packages of a bundle beside its manifest.

use toolhost_manifest::bundle::package::{PackageReference, is_package};
use toolhost_package::{PackageStore, VENDOR};

use super::{Puller, open};
use crate::args::VendorArgs;
use crate::base;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn vendor(args: &VendorArgs, settings: &Settings) -> Result<Exit, Failure> {
    base::refuse(&args.bundle, "vendor")?;
    let bundle = open(&args.bundle, settings).await?;
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let puller = Puller::new(settings, &policy)?;
    let store = PackageStore::new(bundle.dir().join(VENDOR));
    let tools = bundle.bundle().tools().iter();
    let entries = tools
        .map(|tool| &tool.spec.entry)
        .filter(|entry| is_package(entry));
    let references = entries.filter_map(|entry| PackageReference::parse(entry).ok());
    let mut count = 0_usize;
    for reference in references {
        let mut pulled = puller.pull(&reference, Some(bundle.dir())).await?;
        let signatures = puller
            .source
            .signatures(&reference, Some(bundle.dir()))
            .await;
        match signatures {
            // Loads verify the first line first: the signature that the policy accepts.
            Ok(signatures) => {
                for one in signatures {
                    if !pulled.signatures.contains(&one) {
                        pulled.signatures.push(one);
                    }
                }
            }
            Err(error) if pulled.signatures.is_empty() => settings.note(&format!(
                "signatures of {reference} are not copied: {error}"
            )),
            Err(_) => {}
        }
        let store = store.clone();
        let result = puller
            .sandbox
            .threads()
            .compute(move || pulled.keep(&store))
            .await;
        let result = result?;
        result.hint("Make the directory of the bundle writable.")?;
        count += 1;
    }
    let path = text::path(store.dir());
    stdout::write(&format!("{path}: {}", text::counted(count, "package")))?;
    Ok(Exit::Done)
}
