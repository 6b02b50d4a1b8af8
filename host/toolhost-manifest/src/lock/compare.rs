//! What differs between a lock and the tools that are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};
use toolhost_contract::text;

use super::schema_change::{self, SchemaChange};
use super::{Lock, LockedTool, Words};

/// What the name of an agent begins with in a difference: Tools and MCP servers have names without `/`.
pub const AGENT: &str = "Agent/";

/// What kind of difference it is, the most severe last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Grade {
    /// The component or its package has other bytes.
    Bytes,
    /// An import, an export, a grant or a tool was removed.
    Less,
    /// A description, or a text within a schema.
    Words,
    /// A schema accepts less.
    SchemaNarrower,
    /// A schema accepts more.
    SchemaWider,
    /// A schema accepts other values.
    SchemaChanged,
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
    pub const ALL: [Self; 11] = [
        Self::Bytes,
        Self::Less,
        Self::Words,
        Self::SchemaNarrower,
        Self::SchemaWider,
        Self::SchemaChanged,
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
            Self::SchemaNarrower => "schema-narrower",
            Self::SchemaWider => "schema-wider",
            Self::SchemaChanged => "schema-changed",
            Self::NewTool => "new-tool",
            Self::Source => "source",
            Self::NewGrant => "new-grant",
            Self::NewImport => "new-import",
            Self::Signer => "signer",
        }
    }
}

/// As [`Grade::as_str`].
impl serde::Serialize for Grade {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
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

/// Collects the differences of one Tool.
struct Differences<'a> {
    name: &'a str,
    found: Vec<Drift>,
}

impl<'a> Differences<'a> {
    fn of(name: &'a str) -> Self {
        Self {
            name,
            found: Vec::new(),
        }
    }

    fn add(
        &mut self,
        grade: Grade,
        what: impl Into<String>,
        before: Option<&str>,
        after: Option<&str>,
    ) {
        self.found.push(Drift {
            name: self.name.to_owned(),
            what: what.into(),
            grade,
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        });
    }

    fn tool(&mut self, before: &LockedTool, after: &LockedTool) {
        if before.signer != after.signer {
            let (was, is) = (before.signer.as_deref(), after.signer.as_deref());
            self.add(Grade::Signer, "the signer", was, is);
        }
        self.interfaces("imports", &before.imports, &after.imports);
        self.interfaces("exports", &before.exports, &after.exports);
        self.grants(&before.grants, &after.grants);
        self.limits(before, after);
        self.annotations(before, after);
        self.words(&before.words, &after.words);
        let (was, is) = (
            without_digest(&before.source),
            without_digest(&after.source),
        );
        if was != is {
            self.add(
                Grade::Source,
                "the source",
                Some(&before.source),
                Some(&after.source),
            );
        }
        if before.component != after.component {
            self.add(
                Grade::Bytes,
                "the component",
                Some(&before.component),
                Some(&after.component),
            );
        } else if before.source != after.source && was == is {
            self.add(
                Grade::Bytes,
                "the package",
                Some(&before.source),
                Some(&after.source),
            );
        }
    }

    /// Compares interfaces: those that are new, those that are gone, and those that have another compatible version.
    fn interfaces(&mut self, what: &str, before: &[String], after: &[String]) {
        let (was, is): (BTreeSet<_>, BTreeSet<_>) =
            (before.iter().collect(), after.iter().collect());
        let mut gone: Vec<&String> = was.difference(&is).copied().collect();
        let (mut new, mut versions) = (Vec::new(), (BTreeSet::new(), BTreeSet::new()));
        for interface in is.difference(&was) {
            match gone.iter().position(|gone| is_compatible(gone, interface)) {
                None => new.push(interface.as_str()),
                Some(at) => {
                    versions.0.insert(package_of(gone.swap_remove(at)));
                    versions.1.insert(package_of(interface));
                }
            }
        }
        gone.sort_unstable();
        let gone: Vec<&str> = gone.into_iter().map(String::as_str).collect();
        if !new.is_empty() {
            self.add(Grade::NewImport, what, None, Some(&new.join("\n")));
        }
        if !gone.is_empty() {
            self.add(Grade::Less, what, Some(&gone.join("\n")), None);
        }
        if !versions.0.is_empty() {
            let lines = |packages: BTreeSet<String>| Vec::from_iter(packages).join("\n");
            let (was, is) = (lines(versions.0), lines(versions.1));
            let what = format!("versions of {what}");
            self.add(Grade::Bytes, what, Some(&was), Some(&is));
        }
    }

    fn list(&mut self, what: &str, more: Grade, before: &[String], after: &[String]) {
        let (was, is): (BTreeSet<_>, BTreeSet<_>) =
            (before.iter().collect(), after.iter().collect());
        for new in is.difference(&was) {
            self.add(more, what, None, Some(new));
        }
        for gone in was.difference(&is) {
            self.add(Grade::Less, what, Some(gone), None);
        }
    }

    fn grants(
        &mut self,
        before: &BTreeMap<String, Vec<String>>,
        after: &BTreeMap<String, Vec<String>>,
    ) {
        let agents: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for agent in agents {
            let of = |grants: &BTreeMap<String, Vec<String>>| {
                grants.get(agent).cloned().unwrap_or_default()
            };
            self.list(
                &format!("grants of agent {agent}"),
                Grade::NewGrant,
                &of(before),
                &of(after),
            );
        }
    }

    fn limits(&mut self, before: &LockedTool, after: &LockedTool) {
        let flat = |tool: &LockedTool| -> BTreeMap<String, String> {
            let of_agents = tool.limits.iter().flat_map(|(agent, limits)| {
                limits.iter().map(move |(name, value)| {
                    (format!("limit {name} of agent {agent}"), value.clone())
                })
            });
            of_agents.collect()
        };
        let (was, is) = (flat(before), flat(after));
        let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        for name in names {
            let of = |limits: &BTreeMap<String, String>| limits.get(name).cloned();
            let (was, is) = (of(&was), of(&is));
            if was != is {
                let text =
                    |value: Option<String>| value.unwrap_or_else(|| "the default".to_owned());
                self.add(Grade::NewGrant, name, Some(&text(was)), Some(&text(is)));
            }
        }
    }

    fn annotations(&mut self, before: &LockedTool, after: &LockedTool) {
        for (agent, now) in &after.annotations {
            // Another agent is a difference of the grants.
            let Some(was) = before.annotations.get(agent) else {
                continue;
            };
            for (hint, was, is, more) in [
                (
                    "readOnlyHint",
                    was.read_only_hint,
                    now.read_only_hint,
                    false,
                ),
                (
                    "openWorldHint",
                    was.open_world_hint,
                    now.open_world_hint,
                    true,
                ),
            ] {
                if was != is {
                    let grade = if is == more {
                        Grade::NewGrant
                    } else {
                        Grade::Less
                    };
                    let (was, is) = (was.to_string(), is.to_string());
                    let what = format!("annotation {hint} of agent {agent}");
                    self.add(grade, what, Some(&was), Some(&is));
                }
            }
        }
    }

    fn words(&mut self, before: &BTreeMap<String, Words>, after: &BTreeMap<String, Words>) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            match (before.get(name), after.get(name)) {
                (None, Some(new)) => {
                    self.add(
                        Grade::NewTool,
                        format!("tool {name}"),
                        None,
                        new.description.as_deref().or(Some("")),
                    );
                }
                (Some(gone), None) => {
                    self.add(
                        Grade::Less,
                        format!("tool {name}"),
                        gone.description.as_deref().or(Some("")),
                        None,
                    );
                }
                (Some(was), Some(is)) => self.words_of(name, was, is),
                (None, None) => {}
            }
        }
    }

    fn words_of(&mut self, name: &str, before: &Words, after: &Words) {
        if before.description != after.description {
            let (was, is) = (before.description.as_deref(), after.description.as_deref());
            self.add(Grade::Words, format!("description of {name}"), was, is);
        }
        let (was, is) = (&before.output_schema, &after.output_schema);
        for (what, without, was, is) in [
            // Without a schema, arguments are any object and an output is any value.
            (
                "arguments",
                json!({"type": "object"}),
                &before.parameters,
                &after.parameters,
            ),
            ("output", json!(true), was, is),
        ] {
            if was != is {
                let grade = schema_grade(&without, was.as_deref(), is.as_deref());
                self.add(
                    grade,
                    format!("schema of the {what} of {name}"),
                    was.as_deref(),
                    is.as_deref(),
                );
            }
        }
    }
}

/// Returns the grade of a schema that has changed. `without` stands for a missing one.
fn schema_grade(without: &Value, before: Option<&str>, after: Option<&str>) -> Grade {
    let parse = |text: Option<&str>| match text {
        None => Some(without.clone()),
        Some(text) => serde_json::from_str::<Value>(text).ok(),
    };
    let (Some(before), Some(after)) = (parse(before), parse(after)) else {
        return Grade::SchemaChanged;
    };
    match schema_change::compare(&before, &after) {
        SchemaChange::Wider => Grade::SchemaWider,
        SchemaChange::Narrower => Grade::SchemaNarrower,
        SchemaChange::Changed => Grade::SchemaChanged,
        // The same values: a description or another annotation has changed, or only the writing.
        SchemaChange::Same => Grade::Words,
    }
}

/// Returns what is there of a Tool, for whoever reviews it first.
fn summary(tool: &LockedTool) -> String {
    let mut lines = vec![tool.source.clone()];
    lines.extend(
        tool.signer
            .iter()
            .map(|signer| format!("signed by {signer}")),
    );
    lines.extend(
        tool.imports
            .iter()
            .map(|import| format!("imports {import}")),
    );
    for (agent, sentences) in &tool.grants {
        lines.extend(
            sentences
                .iter()
                .map(|grant| format!("agent {agent}: {grant}")),
        );
    }
    for (agent, limits) in &tool.limits {
        lines.extend(
            limits
                .iter()
                .map(|(name, value)| format!("agent {agent}: {name} {value}")),
        );
    }
    for (name, words) in &tool.words {
        let description = words.description.as_deref().unwrap_or_default();
        lines.push(format!("{name}: {description}"));
        lines.extend(
            words
                .parameters
                .iter()
                .map(|schema| format!("{name} arguments: {schema}")),
        );
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

/// Returns the names that either of two maps has.
fn names_in<'a, T>(
    before: &'a BTreeMap<String, T>,
    after: &'a BTreeMap<String, T>,
) -> BTreeSet<&'a String> {
    before.keys().chain(after.keys()).collect()
}

impl Lock {
    /// Returns the differences between this lock and the tools that are there, by name; of each Tool the gravest first.
    #[must_use]
    pub fn compare(&self, now: &Self) -> Vec<Drift> {
        let mut all = Vec::new();
        for name in names_in(&self.tools, &now.tools) {
            let mut differences = Differences::of(name);
            match (self.tools.get(name), now.tools.get(name)) {
                (Some(before), Some(after)) => differences.tool(before, after),
                (None, Some(new)) => {
                    differences.add(Grade::NewTool, "the Tool", None, Some(&summary(new)))
                }
                (Some(gone), None) => {
                    differences.add(Grade::Less, "the Tool", Some(&gone.source), None)
                }
                (None, None) => {}
            }
            all.extend(sorted(differences.found));
        }
        for name in names_in(&self.agents, &now.agents) {
            let prefixed = format!("{AGENT}{name}");
            let mut differences = Differences::of(&prefixed);
            let grants = |lock: &Self| lock.agents.get(name).cloned().unwrap_or_default();
            let (was, is) = (grants(self), grants(now));
            differences.list("grants", Grade::NewGrant, &was, &is);
            all.extend(sorted(differences.found));
        }
        for name in names_in(&self.mcp_servers, &now.mcp_servers) {
            let mut differences = Differences::of(name);
            let server = |lock: &Self| lock.mcp_servers.get(name).cloned().unwrap_or_default();
            let (was, is) = (server(self), server(now));
            differences.list("grants", Grade::NewGrant, &was.grants, &is.grants);
            differences.words(&was.words, &is.words);
            all.extend(sorted(differences.found));
        }
        all
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
    sorted(differences.found)
}

fn sorted(mut found: Vec<Drift>) -> Vec<Drift> {
    found.sort_by(|one, other| {
        other
            .grade
            .cmp(&one.grade)
            .then_with(|| one.what.cmp(&other.what))
    });
    found
}
