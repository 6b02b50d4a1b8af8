//! `toolhost publish`: writes a Tool of a bundle into a registry.

use anyhow::anyhow;
use bytes::Bytes;
use serde_json::json;
use toolhost_manifest::bundle::package::is_package;
use toolhost_package::{PackageContents, RegistryError, tool_json};

use super::sign::{read_key, sign_with};
use super::{open, reference};
use crate::args::PublishArgs;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::host_context::{self, HostContext};
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::progress::Progress;
use crate::terminal::stdout;

pub(crate) async fn publish(args: &PublishArgs, settings: &Settings) -> Result<Exit, Failure> {
    let reference = reference(&args.reference)?.or_tag("latest");
    if reference.digest().is_some() {
        let error = anyhow!("{reference} has a digest, which is that of other bytes");
        return Err(Failure::from(error).hint("Name a tag alone."));
    }
    let key = args.key.as_deref().map(read_key).transpose()?;
    // Everything that would keep others from loading it is found here.
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let context = HostContext::open_ignoring_lock(settings, policy.clone())?;
    let loaded = context.load(&args.bundle).await?;
    let mut tools = loaded.bundle().tools().iter();
    let tool = match &args.tool {
        Some(name) => tools.find(|tool| tool.metadata.name == *name),
        None => tools.next().filter(|_| tools.next().is_none()),
    };
    let Some(tool) = tool else {
        let names = loaded.bundle().tools().iter();
        let names: Vec<&str> = names.map(|tool| tool.metadata.name.as_str()).collect();
        let error = anyhow!("the bundle has the Tools {}", names.join(", "));
        return Err(Failure::from(error).hint("Name one with --tool NAME."));
    };
    if is_package(&tool.spec.entry) {
        let error = anyhow!("the Tool {} is a package of a registry", tool.metadata.name);
        return Err(Failure::from(error).hint("Publish it from the bundle with its component."));
    }
    if !tool.spec.oauth_apps.is_empty() {
        let error = anyhow!(
            "the Tool {} refers to OAuthApps, which a package does not have",
            tool.metadata.name
        );
        return Err(Failure::from(error).hint("Publish the bundle's directory in another way."));
    }
    let sandbox = host_context::sandbox(settings)?;
    let max = sandbox.compile_limits().bytes;
    let (opened, owned) = (open(&args.bundle, settings).await?, tool.clone());
    let entry = sandbox
        .threads()
        .compute(move || opened.read_entry(&owned, max))
        .await?;
    let entry = entry.map_err(|finding| Failure::from(anyhow!("{finding}")).hint(finding.help))?;
    let mut components = loaded.components().iter();
    let facts = components.find(|(name, _)| *name == tool.metadata.name.as_str());
    let Some((_, facts)) = facts else {
        return Err(Failure::from(anyhow!(
            "the Tool {} has no component",
            tool.metadata.name
        )));
    };
    let contents = PackageContents::new(
        &entry.component,
        &tool_json(tool).to_string(),
        &facts.imports,
        &facts.exports,
        Default::default(),
    );
    let contents = contents.hint("Shorten the descriptions and schemas.")?;
    // It was read a second time.
    if contents.component.digest != format!("sha256:{}", facts.sha256) {
        let name = &tool.metadata.name;
        let error = anyhow!("the component of the Tool {name} was changed meanwhile");
        return Err(Failure::from(error).hint("Run the command again."));
    }
    let packages = host_context::packages(&sandbox, settings, &policy.policy)?;
    let registry = packages.registry();
    let progress = Progress::start(settings.verbosity);
    let phase = progress.waiting(&format!("publishing {reference}"));
    let failed = |error: RegistryError| {
        let help = error.help();
        Failure::from(anyhow::Error::new(error).context(format!("{reference} cannot be published")))
            .hint(help)
    };
    let component = Bytes::from(entry.component);
    registry
        .push_blob(&reference, &contents.component.media_type, component)
        .await
        .map_err(failed)?;
    registry
        .push_blob(&reference, contents.config_type(), contents.config.clone())
        .await
        .map_err(failed)?;
    // What has a manifest is complete, and what has a tag is signed.
    let pushed = registry.push_manifest(&reference, contents.manifest.clone(), None);
    let digest = pushed.await.map_err(failed)?;
    let published = reference
        .clone()
        .with_digest(&digest)
        .unwrap_or(reference.clone());
    if let Some(key) = key {
        sign_with(&key, &packages, &published).await?;
    }
    let tagged = registry.push_manifest(&reference, contents.manifest, reference.tag());
    tagged.await.map_err(failed)?;
    drop(phase);
    if args.json {
        stdout::json(&json!({"reference": published.to_string(), "digest": digest}))?
    } else {
        stdout::write(&published.to_string())?
    }
    Ok(Exit::Done)
}
