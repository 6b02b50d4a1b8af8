//! Reads `ask`: which calls of a tool wait for a person's consent, and which effects of a call do.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use toolhost_contract::http::Origin;
use toolhost_contract::suggest::closest;
use toolhost_contract::text::short;
use toolhost_contract::{
    FileChange, FileChangeKind, HttpRule, JsonSchemaObject, TextPattern, ToolName,
};
use toolhost_schema::{ArgsSchema, json};

use super::http;
use crate::diagnostic::Place;
use crate::reader::{Cursor, Findings};
use crate::yaml::Value;

/// Most rules of each list, and most patterns of effects.
const RULES_MAX: usize = 256;

/// Most arguments that a rule names.
const ARGS_MAX: usize = 32;

/// When a call waits for a person's consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ask {
    /// Never.
    Never,
    /// Before its first effect that needs consent, and before its changes of the workdir are kept.
    #[default]
    Effects,
    /// Before it runs.
    Always,
}

/// What a policy says of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskVerdict {
    /// The call runs, and waits as this says.
    Ask(Ask),
    /// The call is refused.
    Denied,
}

/// What decides about a call.
#[derive(Debug, Clone, Copy)]
pub struct AskDecision<'a> {
    /// What is decided.
    pub verdict: AskVerdict,
    /// The rule that decides; none if it is the default of the tool.
    pub rule: Option<&'a AskRule>,
}

impl fmt::Display for AskDecision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.verdict {
            AskVerdict::Denied => "denied",
            AskVerdict::Ask(Ask::Never) => "allowed",
            AskVerdict::Ask(Ask::Effects) => "asks for its effects",
            AskVerdict::Ask(Ask::Always) => "asks before it runs",
        };
        match self.rule {
            Some(rule) => write!(f, "{word}, by the rule {rule}"),
            None => write!(f, "{word}, as no rule is for it"),
        }
    }
}

/// The rules of one tool: `ask` in a policy.
#[derive(Debug, Clone, Default)]
pub struct AskRules {
    default: Ask,
    rules: Vec<AskRule>,
    /// Which effects need consent.
    pub effects: EffectRules,
}

/// Which effects of a call need consent.
#[derive(Debug, Clone, Default)]
pub struct EffectRules {
    workdir: WorkdirEffects,
    http: HttpEffects,
    agents: AgentEffects,
}

#[derive(Debug, Clone, Default)]
enum WorkdirEffects {
    #[default]
    Any,
    Paths(Vec<TextPattern>),
    None,
}

#[derive(Debug, Clone, Default)]
enum HttpEffects {
    /// Every request but `GET` and `HEAD`.
    #[default]
    Writes,
    Any,
    Rules(Vec<HttpRule>),
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AgentEffects {
    #[default]
    Any,
    None,
}

impl EffectRules {
    /// Whether any change of the workdir can need consent.
    pub fn has_workdir(&self) -> bool {
        !matches!(self.workdir, WorkdirEffects::None)
    }

    /// Whether these changes of the workdir need consent. `is_whole` is false if there are more than are listed.
    pub fn asks_for_changes(&self, changes: &[FileChange], is_whole: bool) -> bool {
        match &self.workdir {
            WorkdirEffects::Any => !changes.is_empty() || !is_whole,
            WorkdirEffects::None => false,
            WorkdirEffects::Paths(patterns) => {
                let is_asked = |change: &FileChange| {
                    let (from, is_moved) = match &change.kind {
                        FileChangeKind::Renamed { from } => (from, true),
                        FileChangeKind::Created
                        | FileChangeKind::Changed
                        | FileChangeKind::Deleted => (&change.path, false),
                    };
                    // What has no digest may be a folder or a link: what is reached through it is not listed.
                    let has_beneath = is_moved || change.digest.is_none();
                    patterns.iter().any(|pattern| {
                        [&change.path, from].into_iter().any(|path| {
                            pattern.may_match(path)
                                || has_beneath && pattern.may_match_beneath(path)
                        })
                    })
                };
                !is_whole || changes.iter().any(is_asked)
            }
        }
    }

    /// Whether any HTTP request can need consent.
    pub fn has_http(&self) -> bool {
        !matches!(self.http, HttpEffects::None)
    }

    /// Whether this request needs consent.
    pub fn asks_for_request(&self, method: &str, origin: &Origin, path: &str) -> bool {
        match &self.http {
            HttpEffects::Writes => !matches!(method, "GET" | "HEAD"),
            HttpEffects::Any => true,
            HttpEffects::None => false,
            HttpEffects::Rules(rules) => {
                let mut rules = rules.iter();
                rules.any(|rule| rule.may_mean(method, origin, path))
            }
        }
    }

    /// Whether a message to another agent needs consent.
    pub fn asks_for_messages(&self) -> bool {
        self.agents == AgentEffects::Any
    }
}

/// A rule for some calls of a tool.
#[derive(Debug, Clone)]
pub struct AskRule {
    verdict: AskVerdict,
    export: Option<TextPattern>,
    /// Top-level arguments, or JSON pointers into them, and what their texts have to fit.
    texts: Vec<(String, TextPattern)>,
    schema: Option<Arc<ArgsCheck>>,
    place: Place,
}

/// JSON Schemas of arguments.
#[derive(Debug)]
struct ArgsCheck {
    text: Json,
    schema: ArgsSchema,
}

impl AskRule {
    /// Where the policy has it.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Whether it is for a call. A rule that allows is only for one that fits for certain.
    fn is_for(&self, tool: &ToolName, args: &Json) -> bool {
        let allows = self.verdict == AskVerdict::Ask(Ask::Never);
        let is_met = |(name, pattern): &(String, TextPattern)| {
            let value = if name.starts_with('/') {
                args.pointer(name)
            } else {
                args.get(name)
            };
            match value {
                Some(Json::Array(items)) if allows => {
                    !items.is_empty() && items.iter().all(|item| surely_fits(item, pattern))
                }
                Some(value) if allows => surely_fits(value, pattern),
                Some(value) => may_fit(value, pattern),
                None => false,
            }
        };
        let export = tool.export().as_str();
        self.export.as_ref().is_none_or(|it| it.matches(export))
            && self.texts.iter().all(is_met)
            && self.schema.as_ref().is_none_or(|check| {
                let checked = check.schema.validate(tool, args, json::measure(args));
                checked.is_ok()
            })
    }

    /// Whether every call that it is for is one of the other, too, as far as their patterns tell.
    fn is_within(&self, other: &Self) -> bool {
        let export = match (&self.export, &other.export) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(other)) => own.is_within(other),
        };
        let texts = other.texts.iter().all(|(name, pattern)| {
            let mut own = self.texts.iter();
            own.any(|(of, narrow)| of == name && narrow.is_within(pattern))
        });
        let schema = match (&self.schema, &other.schema) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(other)) => own.text == other.text,
        };
        export && texts && schema
    }

    fn strictness(&self) -> u8 {
        match self.verdict {
            AskVerdict::Ask(Ask::Never) => 0,
            AskVerdict::Ask(Ask::Effects) => 1,
            AskVerdict::Ask(Ask::Always) => 2,
            AskVerdict::Denied => 3,
        }
    }
}

impl AskRule {
    /// Returns the rule as it stands in a policy.
    fn conditions(&self) -> Json {
        let key = match self.verdict {
            AskVerdict::Denied => "deny",
            AskVerdict::Ask(Ask::Never) => "allow",
            AskVerdict::Ask(Ask::Effects | Ask::Always) => "ask",
        };
        let mut conditions = serde_json::Map::new();
        if let Some(export) = &self.export {
            conditions.insert("export".to_owned(), json!(export.to_string()));
        }
        let texts = self.texts.iter();
        let mut args: serde_json::Map<_, _> = texts
            .map(|(name, pattern)| (name.clone(), json!(pattern.to_string())))
            .collect();
        if let Some(Json::Object(schemas)) = self.schema.as_ref().map(|check| &check.text) {
            args.extend(schemas.clone());
        }
        if !args.is_empty() {
            conditions.insert("args".to_owned(), args.into());
        }
        json!({key: conditions})
    }
}

impl fmt::Display for AskRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.conditions(), self.place.file)?;
        match self.place.position {
            Some(at) => write!(f, ":{}", at.line),
            None => Ok(()),
        }
    }
}

impl AskRules {
    /// Decides about a call with valid arguments. Of the rules that are for it, those count that are no wider than
    /// another one of them; of these, the strictest decides.
    pub fn decide(&self, tool: &ToolName, args: &Json) -> AskDecision<'_> {
        let rules = self.rules.iter();
        let fit: Vec<&AskRule> = rules.filter(|rule| rule.is_for(tool, args)).collect();
        let is_wider = |rule: &&&AskRule| {
            let mut others = fit.iter();
            others.any(|other| other.is_within(rule) && !rule.is_within(other))
        };
        let narrowest = fit.iter().filter(|rule| !is_wider(rule));
        // The first one of the strictest.
        let rule = narrowest.rev().max_by_key(|rule| rule.strictness());
        match rule {
            Some(rule) => AskDecision {
                verdict: rule.verdict,
                rule: Some(rule),
            },
            None => AskDecision {
                verdict: AskVerdict::Ask(self.default),
                rule: None,
            },
        }
    }

    /// Returns a text that is another one for rules that decide otherwise.
    pub fn to_text(&self) -> String {
        let rules = self.rules.iter().map(|rule| rule.conditions().to_string());
        let rules: Vec<String> = rules.collect();
        format!("{:?} {rules:?} {:?}", self.default, self.effects)
    }

    /// Whether any call may wait.
    pub fn may_ask(&self) -> bool {
        let always = |rule: &AskRule| rule.verdict == AskVerdict::Ask(Ask::Always);
        self.default != Ask::Never || self.rules.iter().any(always)
    }

    /// Whether a call may be held for its effects.
    pub fn asks_for_effects(&self) -> bool {
        self.default == Ask::Effects
    }

    /// Whether calls may be held with changes, or run again once they were held, so that their changes have to be kept
    /// apart.
    pub fn holds_changes(&self) -> bool {
        let effects = &self.effects;
        let holds = effects.has_workdir() || effects.has_http() || effects.asks_for_messages();
        self.asks_for_effects() && holds
    }
}

fn surely_fits(value: &Json, pattern: &TextPattern) -> bool {
    value
        .as_str()
        .is_some_and(|text| pattern.surely_matches(text))
}

/// Whether a tool that is not strict about types may see a text in the value that fits.
fn may_fit(value: &Json, pattern: &TextPattern) -> bool {
    match value {
        Json::String(text) => pattern.may_match(text),
        Json::Null | Json::Bool(_) => pattern.may_match(&value.to_string()),
        Json::Number(number) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            pattern.may_match(&number.to_string())
                || whole.is_some_and(|whole| pattern.may_match(&format!("{whole:.0}")))
        }
        Json::Array(items) => items.iter().any(|item| may_fit(item, pattern)),
        Json::Object(entries) => entries.values().any(|entry| may_fit(entry, pattern)),
    }
}

/// Whether a JSON Schema says of a value, and of all that it names within it, which types or values they have: other
/// keywords take each value of a type that they are not about.
fn names_types(schema: &Json) -> bool {
    let list = |key: &str| schema.get(key).and_then(Json::as_array);
    let each = |key: &str| list(key).is_some_and(|of| of.iter().all(names_types));
    let mut keys = ["type", "const", "enum"].iter();
    let is_typed = keys.any(|key| schema.get(key).is_some())
        || each("anyOf")
        || each("oneOf")
        || list("allOf").is_some_and(|of| of.iter().any(names_types));
    schema.is_boolean() || is_typed && names_types_within(schema)
}

fn names_types_within(schema: &Json) -> bool {
    let entries = schema.as_object().into_iter().flatten();
    let mut within = entries.map(|(key, of)| match (key.as_str(), of) {
        ("properties" | "patternProperties", Json::Object(of)) => of.values().all(names_types),
        ("prefixItems", Json::Array(of)) => of.iter().all(names_types),
        ("items" | "additionalProperties", of) => names_types(of),
        ("anyOf" | "oneOf" | "allOf", Json::Array(of)) => of.iter().all(names_types_within),
        ("if" | "then" | "else", of) => names_types_within(of),
        _ => true,
    });
    within.all(|is_named| is_named)
}

/// Reads `always`, `effects`, `never`, or `{default, allow, deny, ask, effects}`.
pub(super) fn read(at: &Cursor<'_>, findings: &mut Findings) -> Option<AskRules> {
    if matches!(at.node.value, Value::Text(_)) {
        return Some(AskRules {
            default: read_word(at, findings)?,
            ..AskRules::default()
        });
    }
    at.mapping(findings, |fields| {
        let default = fields.read("default", read_word).unwrap_or_default();
        let mut rules = Vec::new();
        for (key, verdict) in [
            ("allow", AskVerdict::Ask(Ask::Never)),
            ("deny", AskVerdict::Denied),
            ("ask", AskVerdict::Ask(Ask::Always)),
        ] {
            let read = fields.read(key, |at, findings| {
                let items = at.items_up_to(RULES_MAX, findings)?;
                let rules = items
                    .iter()
                    .filter_map(|at| read_rule(at, verdict, findings));
                Some(rules.collect::<Vec<_>>())
            });
            rules.extend(read.unwrap_or_default());
        }
        Some(AskRules {
            default,
            rules,
            effects: fields.read("effects", read_effects).unwrap_or_default(),
        })
    })
}

fn read_word(at: &Cursor<'_>, findings: &mut Findings) -> Option<Ask> {
    match at.text(findings)? {
        "never" => Some(Ask::Never),
        "effects" => Some(Ask::Effects),
        "always" => Some(Ask::Always),
        other => {
            let help = closest(other, &["never", "effects", "always"]);
            let help = help.map(|close| format!("; did you mean '{close}'?"));
            let message = format!(
                "expected 'never', 'effects' or 'always', not '{}'{}",
                short(other),
                help.unwrap_or_default()
            );
            at.refuse(message, findings)
        }
    }
}

fn read_rule(at: &Cursor<'_>, verdict: AskVerdict, findings: &mut Findings) -> Option<AskRule> {
    at.mapping(findings, |fields| {
        let place = fields.findings.place(&fields.at);
        let export = fields.read("export", read_pattern);
        let args = fields.read("args", |at, findings| read_args(at, verdict, findings));
        let (texts, schema) = args.unwrap_or_default();
        if export.is_none() && texts.is_empty() && schema.is_none() {
            return fields.refuse("a rule names an 'export', 'args' or both");
        }
        Some(AskRule {
            verdict,
            export,
            texts,
            schema,
            place,
        })
    })
}

fn read_pattern(at: &Cursor<'_>, findings: &mut Findings) -> Option<TextPattern> {
    let parsed = TextPattern::parse(at.text(findings)?);
    parsed
        .map_err(|error| findings.invalid(at, error.to_string()))
        .ok()
}

type ArgRules = (Vec<(String, TextPattern)>, Option<Arc<ArgsCheck>>);

/// Reads the patterns and the JSON Schemas of arguments.
fn read_args(at: &Cursor<'_>, verdict: AskVerdict, findings: &mut Findings) -> Option<ArgRules> {
    let entries = at.entries(findings)?;
    if entries.is_empty() || entries.len() > ARGS_MAX {
        let message = format!("1 to {ARGS_MAX} arguments are named");
        return at.refuse(message, findings);
    }
    let (mut texts, mut schemas) = (Vec::new(), serde_json::Map::new());
    for (name, _, value) in entries {
        if let Value::Text(_) = value.node.value {
            texts.push((name.to_owned(), read_pattern(&value, findings)?));
            continue;
        }
        if !matches!(value.node.value, Value::Map(_)) {
            return value.expected("a pattern such as \"docs/*\", or a JSON Schema", findings);
        }
        if name.starts_with('/') {
            return value.refuse("a JSON Schema is for a top-level argument", findings);
        }
        let schema = value.node.to_json();
        if verdict == AskVerdict::Ask(Ask::Never) && !names_types(&schema) {
            let message = "a schema of 'allow' needs 'type', 'const' or 'enum', also within it: other \
                           keywords ignore values of other types";
            return value.refuse(message, findings);
        }
        schemas.insert(name.to_owned(), schema);
    }
    if schemas.is_empty() {
        return Some((texts, None));
    }
    let required: Vec<&String> = schemas.keys().collect();
    let schema = json!({"type": "object", "properties": schemas, "required": required});
    let compiled = JsonSchemaObject::parse(schema)
        .map_err(|error| error.to_string())
        .and_then(|schema| {
            let compiled = ArgsSchema::compile(&schema, &mut findings.patterns);
            compiled.map_err(|error| error.to_string())
        });
    match compiled {
        Ok(schema) => {
            let text = schemas.into();
            Some((texts, Some(Arc::new(ArgsCheck { text, schema }))))
        }
        Err(error) => at.refuse(error, findings),
    }
}

fn read_effects(at: &Cursor<'_>, findings: &mut Findings) -> Option<EffectRules> {
    at.mapping(findings, |fields| {
        Some(EffectRules {
            workdir: fields.read("workdir", read_workdir).unwrap_or_default(),
            http: fields.read("http", read_http).unwrap_or_default(),
            agents: fields
                .read("agents", |at, findings| {
                    let asks = at.boolean(findings)?;
                    Some(if asks {
                        AgentEffects::Any
                    } else {
                        AgentEffects::None
                    })
                })
                .unwrap_or_default(),
        })
    })
}

fn read_workdir(at: &Cursor<'_>, findings: &mut Findings) -> Option<WorkdirEffects> {
    match &at.node.value {
        Value::Bool(true) => Some(WorkdirEffects::Any),
        Value::Bool(false) => Some(WorkdirEffects::None),
        Value::List(_) => {
            let items = at.items_up_to(RULES_MAX, findings)?;
            let patterns = items.iter().map(|at| read_pattern(at, findings));
            Some(WorkdirEffects::Paths(patterns.collect::<Option<_>>()?))
        }
        Value::Null | Value::Integer(_) | Value::Float(_) | Value::Text(_) | Value::Map(_) => at
            .expected(
                "true, false, or a list of paths such as \"src/*\"",
                findings,
            ),
    }
}

fn read_http(at: &Cursor<'_>, findings: &mut Findings) -> Option<HttpEffects> {
    match &at.node.value {
        Value::Bool(true) => Some(HttpEffects::Any),
        Value::Bool(false) => Some(HttpEffects::None),
        Value::Text(text) if text == "writes" => Some(HttpEffects::Writes),
        Value::List(_) => {
            let items = at.items_up_to(RULES_MAX, findings)?;
            let rules = items.iter().map(|at| http::read_rule(at, findings));
            Some(HttpEffects::Rules(rules.collect::<Option<_>>()?))
        }
        Value::Null | Value::Integer(_) | Value::Float(_) | Value::Text(_) | Value::Map(_) => at
            .expected(
                "writes, true, false, or a list of rules as in http.allow",
                findings,
            ),
    }
}
