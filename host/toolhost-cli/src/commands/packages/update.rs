//! `toolhost update`: writes the digests that tags have now.

use std::ops::Range;

use anyhow::anyhow;
use serde_json::{Value, json};
use toolhost::ResourceName;
use toolhost::manifest::{Place, ToolResource};
use toolhost_manifest::bundle::OpenBundle;
use toolhost_manifest::bundle::package::{PackageReference, is_package};
use toolhost_package::{Pulled, tool_document};

use super::{Puller, open, tool_of};
use crate::args::UpdateArgs;
use crate::base;
use crate::commands::manifest_file::ManifestFile;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::stdout;

/// What is done with the descriptions and schemas of a Tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Descriptions {
    Same,
    Replaced,
    /// They were edited in the bundle, and stay.
    Edited,
}

impl Descriptions {
    fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Replaced => "replaced",
            Self::Edited => "edited",
        }
    }
}

/// A change of a text: what replaces a range of it.
struct Edit {
    range: Range<usize>,
    new: String,
}

pub(crate) async fn update(args: &UpdateArgs, settings: &Settings) -> Result<Exit, Failure> {
    base::refuse(&args.bundle, "update")?;
    let manifest = ManifestFile::read(&args.bundle)?;
    let bundle = open(&args.bundle, settings).await?;
    check_name(&bundle, args.tool.as_ref())?;
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let puller = Puller::new(settings, &policy)?;
    let text = manifest.text.clone().unwrap_or_default();
    let (mut edits, mut updated) = (Vec::new(), Vec::new());
    for tool in bundle.bundle().tools() {
        let name = &tool.metadata.name;
        let before = PackageReference::parse(&tool.spec.entry).ok();
        let before = before.filter(|it| it.tag().is_some() && it.digest().is_some());
        let is_asked = args.tool.as_ref().is_none_or(|tool| tool == name);
        let Some(before) = before.filter(|_| is_asked && is_package(&tool.spec.entry)) else {
            continue;
        };
        let after = puller.resolve(&before).await?;
        if after == before {
            continue;
        }
        let at = entry_in(&text, &bundle, tool)?;
        let new = puller.pull(&after, None).await?;
        let old = puller.pull(&before, Some(bundle.dir())).await.ok();
        let (edit, descriptions) = edit(&text, at, tool, old.as_ref(), &new);
        edits.push(edit);
        updated.push(json!({
            "tool": name,
            "before": before.to_string(),
            "after": after.to_string(),
            "words": descriptions.as_str(),
        }));
    }
    if !updated.is_empty() {
        manifest.write(&with_edits(text, edits), settings)?;
    }
    if args.json {
        stdout::json(&json!({ "updated": updated }))?
    } else {
        stdout::write(&lines(&updated))?
    }
    Ok(Exit::Done)
}

fn check_name(bundle: &OpenBundle, tool: Option<&ResourceName>) -> Result<(), Failure> {
    let names = bundle.bundle().tools().iter();
    let names: Vec<&str> = names.map(|tool| tool.metadata.name.as_str()).collect();
    match tool.filter(|tool| !names.contains(&tool.as_str())) {
        None => Ok(()),
        Some(tool) => {
            let error = anyhow!("the bundle has no Tool '{tool}'");
            Err(Failure::from(error).hint(format!("It has {}.", names.join(", "))))
        }
    }
}

/// Returns where the entry of a Tool is in the text of the bundle's own manifest.
fn entry_in(text: &str, bundle: &OpenBundle, tool: &ToolResource) -> Result<Range<usize>, Failure> {
    let name = &tool.metadata.name;
    let Place { file, position, .. } = bundle.entry_place(tool);
    let range = position.map(|at| at.span.offset..at.span.offset.saturating_add(at.span.length));
    let is_there = |range: &Range<usize>| {
        let entry = text.get(range.clone());
        entry.is_some_and(|entry| entry.contains(&tool.spec.entry))
    };
    if file != bundle.name() {
        let error = anyhow!("the Tool {name} is in a manifest that this one includes: {file}");
        return Err(Failure::from(error).hint("Update that bundle. Nothing was changed."));
    }
    range.filter(is_there).ok_or_else(|| {
        let error = anyhow!("the entry of the Tool {name} is not written in one piece");
        Failure::from(error).hint("Write it as `entry: oci://…`. Nothing was changed.")
    })
}

/// Returns what changes for another package of a Tool, whose entry is at this range.
fn edit(
    text: &str,
    entry: Range<usize>,
    tool: &ToolResource,
    old: Option<&Pulled>,
    new: &Pulled,
) -> (Edit, Descriptions) {
    let document = |pulled: &Pulled| {
        let resource = tool_of(pulled).ok()?;
        tool_document(&resource, &pulled.reference, Some(&tool.metadata.name)).ok()
    };
    let entry_alone = || {
        let entry_text = text.get(entry.clone()).unwrap_or_default();
        Edit {
            new: entry_text.replace(&tool.spec.entry, &new.reference.to_string()),
            range: entry.clone(),
        }
    };
    if old.is_some_and(|old| old.tool == new.tool) {
        return (entry_alone(), Descriptions::Same);
    }
    // The document as `toolhost add` has written it, around the entry.
    let entry_text = old.and_then(document).and_then(|document| {
        let document = document.trim_end();
        let mut ranges = text
            .match_indices(document)
            .map(|(at, _)| at..at + document.len());
        ranges.find(|range| range.contains(&entry.start))
    });
    match (entry_text, document(new)) {
        (Some(range), Some(next)) => {
            let new = next.trim_end().to_owned();
            (Edit { range, new }, Descriptions::Replaced)
        }
        _ => (entry_alone(), Descriptions::Edited),
    }
}

/// Returns a text with changes, which do not overlap.
fn with_edits(mut text: String, mut edits: Vec<Edit>) -> String {
    // From the end, so that the other ranges stay.
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start));
    for Edit { range, new } in edits {
        text.replace_range(range, &new);
    }
    text
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
