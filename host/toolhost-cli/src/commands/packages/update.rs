//! `toolhost update`: writes the digests that tags have now.

use anyhow::anyhow;
use serde_json::{Value, json};
use toolhost_manifest::bundle::package::PackageReference;
use toolhost_package::{Pulled, tool_document};

use super::edit::ManifestFile;
use super::{Puller, open, tool_of};
use crate::args::UpdateArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::stdout;

/// What became of the descriptions and schemas of a Tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    Same,
    Replaced,
    /// They were edited in the bundle, and stay.
    Edited,
}

impl Words {
    fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Replaced => "replaced",
            Self::Edited => "edited",
        }
    }
}

pub(crate) async fn update(args: &UpdateArgs, settings: &Settings) -> Result<Exit, Failure> {
    let opened = open(&args.bundle).await?;
    let manifest = ManifestFile::read(&args.bundle)?;
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let puller = Puller::new(settings, &policy)?;
    let mut text = manifest.text.clone().unwrap_or_default();
    let mut updated = Vec::new();
    for tool in opened.bundle().tools() {
        let name = &tool.metadata.name;
        let before = PackageReference::parse(&tool.spec.entry).ok();
        let before = before.filter(|it| it.tag().is_some() && it.digest().is_some());
        let is_asked = args.tool.as_ref().is_none_or(|asked| asked == name);
        let Some(before) = before.filter(|_| is_asked && tool.spec.entry.starts_with("oci://"))
        else {
            continue;
        };
        let after = puller.resolve(&before).await?;
        if after == before {
            continue;
        }
        if !text.contains(&before.to_string()) {
            let error = anyhow!("the Tool {name} is in a manifest that this one includes");
            return Err(Failure::from(error).hint("Update that bundle. Nothing was changed."));
        }
        let new = puller.pull(&after, None).await?;
        let old = puller.pull(&before, Some(opened.dir())).await.ok();
        let (changed, words) = changed(&text, tool.metadata.name.as_str(), old.as_ref(), &new)?;
        text = changed;
        updated.push(json!({
            "tool": name,
            "before": before.to_string(),
            "after": after.to_string(),
            "words": words.as_str(),
        }));
    }
    if !updated.is_empty() {
        manifest.write(&text)?;
    }
    match args.json {
        true => stdout::json(&json!({ "updated": updated }))?,
        false => stdout::write(&lines(&updated))?,
    }
    Ok(Exit::Done)
}

/// Returns the manifest with another package of a Tool.
fn changed(
    text: &str,
    name: &str,
    old: Option<&Pulled>,
    new: &Pulled,
) -> Result<(String, Words), Failure> {
    let name = toolhost::ResourceName::parse(name).ok();
    let document = |pulled: &Pulled| {
        let tool = tool_of(pulled).ok()?;
        tool_document(&tool, &pulled.reference, name.as_ref()).ok()
    };
    let before = old.map(|old| old.reference.to_string());
    let before = before.unwrap_or_default();
    let entry_alone = || match before.is_empty() {
        true => Err(Failure::from(anyhow!(
            "the package that the bundle has now cannot be pulled"
        ))
        .hint("Remove the Tool from the manifest, and add it again with `toolhost add`.")),
        false => Ok(text.replace(&before, &new.reference.to_string())),
    };
    let (own, next) = (old.and_then(document), document(new));
    if old.map(|old| &old.tool) == Some(&new.tool) {
        return Ok((entry_alone()?, Words::Same));
    }
    match (own, next) {
        (Some(own), Some(next)) if text.contains(own.trim_end()) => Ok((
            text.replace(own.trim_end(), next.trim_end()),
            Words::Replaced,
        )),
        _ => Ok((entry_alone()?, Words::Edited)),
    }
}

fn lines(updated: &[Value]) -> String {
    if updated.is_empty() {
        return "every entry has the digest of its tag".to_owned();
    }
    let line = |one: &Value| {
        let text = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
        let words = match text("words") {
            "same" => "its descriptions and schemas are the same",
            "replaced" => "its descriptions and schemas are those of the new package",
            _ => "its descriptions and schemas differ from the package's, and were not changed",
        };
        format!(
            "{}: {} → {}; {words}",
            text("tool"),
            text("before"),
            text("after")
        )
    };
    let lines: Vec<String> = updated.iter().map(line).collect();
    lines.join("\n")
}
