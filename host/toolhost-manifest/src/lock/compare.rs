//! What differs between a lock and the tools that are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;
use toolhost_contract::text;

use super::{Lock, LockedServer, LockedTool, Words};
use toolhost_schema::without_annotations;

/// What the name of an agent begins with in a difference: Tools and MCP servers have names without `/`.
pub const AGENT: &str = "Agent/";

/// What kind of difference it is, the most severe last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Grade {
    /// The component or its package has other bytes.
    Bytes,
    /// An import, an export, a grant or a tool was removed.
    Less,
    /// A description, or a text within a schema.
    Words,
    /// A schema, other than its texts.
    Schema,
    /// A tool that the lock does not have.
    NewTool,
    /// The component comes from elsewhere.
    Source,
    /// The policy grants more, or other limits.
    NewGrant,
    /// The component imports another interface.
    NewImport,
    /// Somebody else has signed it, or nobody.
    Signer,
}

impl Grade {
    /// All grades.
    pub const ALL: [Self; 9] = [
        Self::Bytes,
        Self::Less,
        Self::Words,
        Self::Schema,
        Self::NewTool,
        Self::Source,
        Self::NewGrant,
        Self::NewImport,
        Self::Signer,
    ];

    /// Returns the name, as policies and reports have it, such as `new-import`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Less => "less",
            Self::Words => "words",
            Self::Schema => "schema",
            Self::NewTool => "new-tool",
            Self::Source => "source",
            Self::NewGrant => "new-grant",
            Self::NewImport => "new-import",
            Self::Signer => "signer",
        }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// The Tool, the MCP server, or the agent as `Agent/NAME`.
    pub name: String,
    /// What differs, such as `description of notes__count`.
    pub what: String,
    /// How grave it is.
    pub grade: Grade,
    /// As the lock has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// As it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Longest text of a difference in a message, in characters. `toolhost lock --check` prints it whole.
const QUOTED_MAX: usize = 300;

/// `WHAT differs from the lock (GRADE): '…' before, '…' now`.
impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &Option<String>| match text {
            Some(text) => format!("'{}'", text::shorten(text, QUOTED_MAX)),
            None => "nothing".to_owned(),
        };
        write!(
            f,
            "{} differs from the lock ({}): {} before, {} now",
            self.what,
            self.grade.as_str(),
            quoted(&self.before),
            quoted(&self.after)
        )
    }
}

/// Collects the differences of one Tool, agent or MCP server.
struct Differences<'a> {
    name: &'a str,
    drifts: Vec<Drift>,
}

impl<'a> Differences<'a> {
    fn of(name: &'a str) -> Self {
        Self {
            name,
            drifts: Vec::new(),
        }
    }

    fn add(
        &mut self,
        grade: Grade,
        what: impl Into<String>,
        before: Option<&str>,
        after: Option<&str>,
    ) {
        self.drifts.push(Drift {
            name: self.name.to_owned(),
            what: what.into(),
            grade,
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        });
    }

    fn add_if_changed(
        &mut self,
        grade: Grade,
        what: impl Into<String>,
        before: Option<&str>,
        after: Option<&str>,
    ) {
        if before != after {
            self.add(grade, what, before, after);
        }
    }

    /// Returns the differences, the gravest first.
    fn sorted(mut self) -> Vec<Drift> {
        self.drifts.sort_by(|one, other| {
            let by_grade = other.grade.cmp(&one.grade);
            by_grade.then_with(|| one.what.cmp(&other.what))
        });
        self.drifts
    }

    fn tool(&mut self, before: &LockedTool, after: &LockedTool) {
        let (was, is) = (before.signer.as_deref(), after.signer.as_deref());
        self.add_if_changed(Grade::Signer, "the signer", was, is);
        self.interfaces("imports", &before.imports, &after.imports);
        self.interfaces("exports", &before.exports, &after.exports);
        for (agent, was, is) in pairs(&before.grants, &after.grants) {
            let what = format!("grants of agent {agent}");
            self.grants(&what, was.map(Vec::as_slice), is.map(Vec::as_slice));
        }
        self.limits(before, after);
        self.annotations(before, after);
        self.words(&before.words, &after.words);
        let (was, is) = (Some(&*before.source), Some(&*after.source));
        let is_moved = without_digest(&before.source) != without_digest(&after.source);
        if is_moved {
            self.add(Grade::Source, "the source", was, is);
        }
        if before.component != after.component {
            let (was, is) = (Some(&*before.component), Some(&*after.component));
            self.add(Grade::Bytes, "the component", was, is);
        } else if !is_moved {
            self.add_if_changed(Grade::Bytes, "the package", was, is);
        }
    }

    /// Compares interfaces: those that are new, those that are gone, and those that have another compatible version.
    fn interfaces(&mut self, what: &str, before: &[String], after: &[String]) {
        let mut gone: Vec<&String> = before.iter().filter(|it| !after.contains(it)).collect();
        let (mut new, mut was, mut is) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for interface in after.iter().filter(|it| !before.contains(it)) {
            match gone.iter().position(|gone| is_compatible(gone, interface)) {
                None => {
                    new.insert(interface.clone());
                }
                Some(at) => {
                    was.insert(package_of(gone.swap_remove(at)));
                    is.insert(package_of(interface));
                }
            }
        }
        let gone: BTreeSet<String> = gone.into_iter().cloned().collect();
        let lines = |names: BTreeSet<String>| {
            let lines = Vec::from_iter(names).join("\n");
            (!lines.is_empty()).then_some(lines)
        };
        let versions = format!("versions of {what}");
        for (grade, what, was, is) in [
            (Grade::NewImport, what, None, lines(new)),
            (Grade::Less, what, lines(gone), None),
            (Grade::Bytes, &versions, lines(was), lines(is)),
        ] {
            self.add_if_changed(grade, what, was.as_deref(), is.as_deref());
        }
    }

    fn grants(&mut self, what: &str, before: Option<&[String]>, after: Option<&[String]>) {
        let [was, is] =
            [before, after].map(|grants| BTreeSet::from_iter(grants.unwrap_or_default()));
        for new in is.difference(&was) {
            self.add(Grade::NewGrant, what, None, Some(new));
        }
        for gone in was.difference(&is) {
            self.add(Grade::Less, what, Some(gone), None);
        }
    }

    fn limits(&mut self, before: &LockedTool, after: &LockedTool) {
        let none = BTreeMap::new();
        for (agent, was, is) in pairs(&before.limits, &after.limits) {
            for (limit, was, is) in pairs(was.unwrap_or(&none), is.unwrap_or(&none)) {
                let what = format!("limit {limit} of agent {agent}");
                let [was, is] = [was, is].map(|it| Some(it.map_or("the default", String::as_str)));
                self.add_if_changed(Grade::NewGrant, what, was, is);
            }
        }
    }

    fn annotations(&mut self, before: &LockedTool, after: &LockedTool) {
        for (agent, was, is) in pairs(&before.annotations, &after.annotations) {
            // Another agent is a difference of the grants.
            let (Some(was), Some(is)) = (was, is) else {
                continue;
            };
            for (hint, was, is, is_more) in [
                (
                    "readOnlyHint",
                    was.read_only_hint,
                    is.read_only_hint,
                    !is.read_only_hint,
                ),
                (
                    "openWorldHint",
                    was.open_world_hint,
                    is.open_world_hint,
                    is.open_world_hint,
                ),
            ] {
                let grade = if is_more {
                    Grade::NewGrant
                } else {
                    Grade::Less
                };
                let what = format!("annotation {hint} of agent {agent}");
                let (was, is) = (was.to_string(), is.to_string());
                self.add_if_changed(grade, what, Some(&was), Some(&is));
            }
        }
    }

    fn words(&mut self, before: &BTreeMap<String, Words>, after: &BTreeMap<String, Words>) {
        let description = |words: &Words| words.description.clone().unwrap_or_default();
        for (name, was, is) in pairs(before, after) {
            let grade = match (was, is) {
                (Some(was), Some(is)) => {
                    self.words_of(name, was, is);
                    continue;
                }
                (None, _) => Grade::NewTool,
                (Some(_), None) => Grade::Less,
            };
            let (was, is) = (was.map(description), is.map(description));
            self.add(grade, format!("tool {name}"), was.as_deref(), is.as_deref());
        }
    }

    fn words_of(&mut self, name: &str, before: &Words, after: &Words) {
        let (was, is) = (before.description.as_deref(), after.description.as_deref());
        self.add_if_changed(Grade::Words, format!("description of {name}"), was, is);
        for (what, was, is) in [
            ("arguments", &before.parameters, &after.parameters),
            ("output", &before.output_schema, &after.output_schema),
        ] {
            // Without its annotations, it may accept the same values: then only what the model reads has changed.
            let keywords = |schema: &Option<String>| {
                let schema = serde_json::from_str::<Value>(schema.as_deref()?);
                Some(without_annotations(schema.unwrap_or_default()))
            };
            let grade = if was != is && keywords(was) != keywords(is) {
                Grade::Schema
            } else {
                Grade::Words
            };
            let what = format!("schema of the {what} of {name}");
            self.add_if_changed(grade, what, was.as_deref(), is.as_deref());
        }
    }
}

/// Returns what is there of a Tool, for whoever reviews it first.
fn summary(tool: &LockedTool) -> String {
    let mut lines = vec![tool.source.clone()];
    let signer = tool.signer.iter();
    lines.extend(signer.map(|signer| format!("signed by {signer}")));
    let imports = tool.imports.iter();
    lines.extend(imports.map(|import| format!("imports {import}")));
    for (agent, grants) in &tool.grants {
        lines.extend(grants.iter().map(|grant| format!("agent {agent}: {grant}")));
    }
    for (agent, limits) in &tool.limits {
        let limits = limits.iter();
        lines.extend(limits.map(|(name, value)| format!("agent {agent}: {name} {value}")));
    }
    for (name, words) in &tool.words {
        let description = words.description.as_deref().unwrap_or_default();
        lines.push(format!("{name}: {description}"));
        let schema = words.parameters.iter();
        lines.extend(schema.map(|schema| format!("{name} arguments: {schema}")));
    }
    lines.join("\n")
}

/// Whether an interface is another version of one, which is compatible as versions of components are: of the same major
/// number, or before 1.0 of the same minor number.
fn is_compatible(before: &str, after: &str) -> bool {
    let parts = |interface: &str| {
        let (name, version) = interface.rsplit_once('@')?;
        let mut numbers = version.split('.').map(|number| number.parse::<u64>().ok());
        let (major, minor) = (numbers.next()??, numbers.next()??);
        let series = if major == 0 { (0, minor) } else { (major, 0) };
        let is_release = numbers.next()?.is_some() && numbers.next().is_none();
        is_release.then(|| (name.to_owned(), series))
    };
    parts(before).is_some_and(|before| parts(after) == Some(before))
}

/// Returns the package of an interface with its version: `wasi:io@0.2.9` of `wasi:io/streams@0.2.9`.
fn package_of(interface: &str) -> String {
    let (name, version) = interface.rsplit_once('@').unwrap_or((interface, ""));
    let package = name.split('/').next().unwrap_or(name);
    format!("{package}@{version}")
}

/// The reference without its digest: the digest is the package's bytes.
fn without_digest(source: &str) -> &str {
    match source
        .strip_prefix("oci://")
        .and_then(|_| source.split_once('@'))
    {
        Some((name, _)) => name,
        None => source,
    }
}

/// Returns the names that either of two maps has, with the value in each.
fn pairs<'a, T>(
    before: &'a BTreeMap<String, T>,
    after: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = (&'a String, Option<&'a T>, Option<&'a T>)> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names
        .into_iter()
        .map(|name| (name, before.get(name), after.get(name)))
}

impl Lock {
    /// Returns the differences between this lock and the tools that are there, by name; of each Tool the gravest first.
    pub fn compare(&self, now: &Self) -> Vec<Drift> {
        let mut drifts = Vec::new();
        for (name, was, is) in pairs(&self.tools, &now.tools) {
            let mut differences = Differences::of(name);
            if let (Some(was), Some(is)) = (was, is) {
                differences.tool(was, is);
            } else if let Some(new) = is {
                differences.add(Grade::NewTool, "the Tool", None, Some(&summary(new)));
            } else if let Some(gone) = was {
                differences.add(Grade::Less, "the Tool", Some(&gone.source), None);
            }
            drifts.extend(differences.sorted());
        }
        for (name, was, is) in pairs(&self.agents, &now.agents) {
            let prefixed = format!("{AGENT}{name}");
            let mut differences = Differences::of(&prefixed);
            differences.grants("grants", was.map(Vec::as_slice), is.map(Vec::as_slice));
            drifts.extend(differences.sorted());
        }
        let none = LockedServer::default();
        for (name, was, is) in pairs(&self.mcp_servers, &now.mcp_servers) {
            let mut differences = Differences::of(name);
            let (was, is) = (was.unwrap_or(&none), is.unwrap_or(&none));
            differences.grants("grants", Some(&was.grants), Some(&is.grants));
            differences.words(&was.words, &is.words);
            drifts.extend(differences.sorted());
        }
        drifts
    }
}

/// Returns the differences of the words of one tool, the gravest first.
pub(super) fn words_of_tool(
    name: &str,
    tool: &str,
    before: Option<&Words>,
    now: &Words,
) -> Vec<Drift> {
    let mut differences = Differences::of(name);
    let of = |words: Option<&Words>| {
        let words = words.map(|words| (tool.to_owned(), words.clone()));
        words.into_iter().collect()
    };
    differences.words(&of(before), &of(Some(now)));
    differences.sorted()
}
