//! `toolhost add`: adds a Tool of a registry to a bundle.

use serde_json::json;
use toolhost_package::tool_document;

use super::edit::ManifestFile;
use super::{Puller, reference, tool_of};
use crate::args::AddArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn add(args: &AddArgs, settings: &Settings) -> Result<Exit, Failure> {
    let asked = reference(&args.reference)?;
    let manifest = ManifestFile::read(&args.bundle)?;
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let puller = Puller::new(settings, &policy)?;
    let reference = match asked.digest() {
        Some(_) => asked,
        None => puller.resolve(&asked).await?,
    };
    let pulled = puller.pull(&reference, None).await?;
    let tool = tool_document(&tool_of(&pulled)?, &reference, args.name.as_ref());
    let tool = tool.map_err(|error| Failure::of(error).hint("Nothing was changed."))?;
    let changed = match manifest.text.as_deref().map(str::trim_end) {
        None | Some("") => tool,
        Some(text) => format!("{text}\n---\n{tool}"),
    };
    manifest.write(&changed)?;
    let entry = reference.to_string();
    match args.json {
        true => stdout::json(&json!({"entry": entry, "manifest": manifest.path()}))?,
        false => {
            let path = text::line(&manifest.path().to_string_lossy());
            stdout::write(&format!("{path}: added {entry}"))?;
            settings.note("an Agent has the tool when its spec.tools names it; `toolhost check` loads the bundle");
        }
    }
    Ok(Exit::Done)
}
