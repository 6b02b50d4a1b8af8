//! `toolhost add`: adds a Tool of a registry to a bundle.

use serde_json::{Value, json};
use toolhost::ResourceName;
use toolhost_package::tool_document;

use super::{Puller, reference, tool_of};
use crate::args::AddArgs;
use crate::base;
use crate::commands::manifest_file::ManifestFile;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn add(args: &AddArgs, settings: &Settings) -> Result<Exit, Failure> {
    let name_or_digest = reference(&args.reference)?;
    base::refuse(&args.bundle, "add")?;
    let manifest = ManifestFile::read(&args.bundle)?;
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let puller = Puller::new(settings, &policy)?;
    let reference = puller.with_digest(name_or_digest).await?;
    let pulled = puller.pull(&reference, None).await?;
    let resource = tool_of(&pulled)?;
    let default_name = resource
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let name = args
        .name
        .as_ref()
        .map_or(default_name, ResourceName::as_str)
        .to_owned();
    let tool = tool_document(&resource, &reference, args.name.as_ref());
    let tool = tool.hint("Nothing was changed.")?;
    let changed = match manifest.text.as_deref().map(str::trim_end) {
        None | Some("") => tool,
        Some(text) => format!("{text}\n---\n{tool}"),
    };
    manifest.write(&changed, settings)?;
    let entry = reference.to_string();
    if args.json {
        stdout::json(&json!({
            "tool": name,
            "entry": entry,
            "manifest": manifest.path().to_string_lossy(),
        }))?
    } else {
        let path = text::path(&manifest.path());
        stdout::write(&format!(
            "{path}: added the Tool {} of {entry}",
            text::line(&name)
        ))?;
        // The name comes from the package, and grants go by the name.
        if args.name.is_none() && policy.policy.names_tool(&name) {
            settings.note(&format!(
                "the policy has rules for a Tool named {}, which this package gets; --as NAME gives it another name",
                text::line(&name)
            ));
        }
        settings.note(
            "an Agent has the tool when its spec.tools names it; `toolhost check` loads the bundle",
        );
    }
    Ok(Exit::Done)
}
