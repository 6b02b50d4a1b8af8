//! Converts WASI values to the names in a script, and back.

use guest_glue::goondan::tool::modes;
use guest_glue::wasi::clocks::wall_clock::Datetime;
use guest_glue::wasi::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, MetadataHashValue,
    NewTimestamp, OpenFlags, PathFlags,
};
use guest_glue::{Value, json};

use crate::Failure;

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        Self::Refused(code.name().into())
    }
}

impl From<modes::Error> for Failure {
    fn from(error: modes::Error) -> Self {
        Self::Refused(error.name().into())
    }
}

pub(crate) fn text<'a>(step: &'a Value, key: &str) -> Result<&'a str, Failure> {
    step[key]
        .as_str()
        .ok_or_else(|| Failure::Script(format!("`{key}` is missing")))
}

pub(crate) fn number(step: &Value, key: &str) -> Result<u64, Failure> {
    step[key]
        .as_u64()
        .ok_or_else(|| Failure::Script(format!("`{key}` is missing")))
}

/// Returns a number that is 0 when it is left out.
pub(crate) fn number_or_zero(step: &Value, key: &str) -> u64 {
    step[key].as_u64().unwrap_or(0)
}

/// Returns what a step writes: its `text`, or `bytes` times `p`.
pub(crate) fn contents(step: &Value) -> Result<Vec<u8>, Failure> {
    match step["text"].as_str() {
        Some(text) => Ok(text.into()),
        None => Ok(vec![b'p'; number(step, "bytes")? as usize]),
    }
}

pub(crate) fn read(bytes: &[u8]) -> Value {
    json!({ "text": String::from_utf8_lossy(bytes), "length": bytes.len() })
}

pub(crate) fn path_flags(step: &Value) -> PathFlags {
    if step["follow"] == true {
        PathFlags::SYMLINK_FOLLOW
    } else {
        PathFlags::empty()
    }
}

pub(crate) fn open_flags(step: &Value) -> Result<OpenFlags, Failure> {
    let mut flags = OpenFlags::empty();
    for name in words(step, "open") {
        flags |= OpenFlags::from_name(&constant(name)).ok_or_else(|| unknown(name))?;
    }
    Ok(flags)
}

/// Returns the flags of a step, `read` when it names none.
pub(crate) fn descriptor_flags(step: &Value) -> Result<DescriptorFlags, Failure> {
    if step["flags"].is_null() {
        return Ok(DescriptorFlags::READ);
    }
    let mut flags = DescriptorFlags::empty();
    for name in words(step, "flags") {
        flags |= DescriptorFlags::from_name(&constant(name)).ok_or_else(|| unknown(name))?;
    }
    Ok(flags)
}

pub(crate) fn flag_names(flags: DescriptorFlags) -> Vec<String> {
    flags
        .iter_names()
        .map(|(name, _)| name.to_lowercase().replace('_', "-"))
        .collect()
}

fn words<'a>(step: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    step[key]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// `mutate-directory` → `MUTATE_DIRECTORY`, as the bindings name it.
fn constant(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

fn unknown(name: &str) -> Failure {
    Failure::Script(format!("no flag `{name}`"))
}

pub(crate) fn advice(step: &Value) -> Result<Advice, Failure> {
    Ok(match text(step, "advice")? {
        "normal" => Advice::Normal,
        "sequential" => Advice::Sequential,
        "random" => Advice::Random,
        "will-need" => Advice::WillNeed,
        "dont-need" => Advice::DontNeed,
        "no-reuse" => Advice::NoReuse,
        name => return Err(Failure::Script(format!("no advice `{name}`"))),
    })
}

pub(crate) fn new_timestamp(step: &Value, key: &str) -> NewTimestamp {
    match step[key].as_str() {
        Some("now") => return NewTimestamp::Now,
        Some(_) => return NewTimestamp::NoChange,
        None => {}
    }
    let Some(seconds) = step[key]["seconds"].as_u64() else {
        return NewTimestamp::NoChange;
    };
    let nanoseconds = step[key]["nanoseconds"].as_u64().unwrap_or(0) as u32;
    NewTimestamp::Timestamp(Datetime {
        seconds,
        nanoseconds,
    })
}

fn timestamp(time: Option<Datetime>) -> Value {
    time.map_or(
        Value::Null,
        |it| json!({ "seconds": it.seconds, "nanoseconds": it.nanoseconds }),
    )
}

pub(crate) fn stat(stat: &DescriptorStat) -> Value {
    json!({
        "type": type_name(stat.type_),
        "linkCount": stat.link_count,
        "size": stat.size,
        "accessed": timestamp(stat.data_access_timestamp),
        "modified": timestamp(stat.data_modification_timestamp),
        "changed": timestamp(stat.status_change_timestamp),
    })
}

pub(crate) fn hash(value: &MetadataHashValue) -> Value {
    json!({ "lower": value.lower, "upper": value.upper })
}

pub(crate) fn type_name(kind: DescriptorType) -> &'static str {
    match kind {
        DescriptorType::Unknown => "unknown",
        DescriptorType::BlockDevice => "block-device",
        DescriptorType::CharacterDevice => "character-device",
        DescriptorType::Directory => "directory",
        DescriptorType::Fifo => "fifo",
        DescriptorType::SymbolicLink => "symbolic-link",
        DescriptorType::RegularFile => "regular-file",
        DescriptorType::Socket => "socket",
    }
}
