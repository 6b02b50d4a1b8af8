//! The rows of the ring.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use toolhost_contract::{Redactor, Timestamp, ToolStatus, Usage};
use toolhost_store::rusqlite::{self, Row, Transaction, named_params};

use super::entry::Entry;
use super::record::{CallKind, CallRecord, denials};

/// Most changed files that are kept of a call.
const FILES_MAX: usize = 100;

/// Most bytes of the diffs of a call that are kept. Those of further files are left out.
const DIFFS_BYTES_MAX: usize = 64 << 10;

/// The columns that [`read`] reads, of `calls` as `c` and `details` as `d`.
pub(super) const COLUMNS: &str = "c.id, c.time, c.kind, c.status, d.duration, d.agent, d.instance, d.turn, d.step, \
     d.call, d.parent, d.tool, d.code, d.message, d.handle, d.usage, d.recording";

/// Columns that only one call is read with.
pub(super) const TEXT_COLUMNS: &str = ", d.arguments, d.output";

/// The number that stands for a text in `calls`: 48 bits of its SHA-256, which take six bytes.
pub(super) fn key(text: &str) -> i64 {
    let digest = Sha256::digest(text.as_bytes());
    let first = digest.iter().take(6);
    first.fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// The number that stands for the call that made another.
pub(super) fn parent_key(instance: &str, turn: &str, call_id: &str) -> i64 {
    key(&format!("{instance}\0{turn}\0{call_id}"))
}

/// A word of the texts that says what a call is of: `column` and its number. No text has it, as it begins with a
/// character for private use; so a search of words in the calls of a tool reads these calls alone.
pub(super) fn facet(column: char, number: i64) -> String {
    format!("\u{e000}{column}{number}")
}

/// Milliseconds since 1970.
pub(super) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn status_number(status: ToolStatus) -> i64 {
    match status {
        ToolStatus::Ok => 0,
        ToolStatus::Error => 1,
        ToolStatus::Pending => 2,
    }
}

/// A call that is to be written. Made beside the calls, as redacting takes time.
pub(super) struct NewRow {
    entry: Entry,
    message: Option<String>,
    usage: String,
}

impl NewRow {
    pub(super) fn new(mut entry: Entry, redactor: &Redactor) -> Self {
        let clean = |text: &str| redactor.text(text).into_owned();
        for text in [&mut entry.arguments, &mut entry.output] {
            *text = text.take().map(|text| clean(&text));
        }
        // Whoever reads it may have another current directory.
        let recording = entry.recording.take();
        entry.recording = recording.map(|path| path.canonicalize().map_or(path, Into::into));
        let error = entry.event.error.as_ref();
        let mut usage = entry.event.usage.clone().unwrap_or_default();
        usage.changes.truncated |= usage.changes.files.len() > FILES_MAX;
        usage.changes.files.truncate(FILES_MAX);
        let mut room = DIFFS_BYTES_MAX;
        for file in &mut usage.changes.files {
            file.diff = file.diff.take_if(|diff| diff.len() <= room);
            room -= file.diff.as_ref().map_or(0, String::len);
        }
        Self {
            message: error.map(|error| clean(&error.message)),
            usage: usage.to_stored().to_string(),
            entry,
        }
    }

    pub(super) fn insert(&self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        let Entry { event, kind, .. } = &self.entry;
        let (agent, instance) = (&*event.agent_name, &*event.instance_key);
        let call = event.tool_call_id.as_deref().unwrap_or_default();
        let tool = event.tool_name.as_deref().unwrap_or_default();
        let code = event.error.as_ref().map(|error| &*error.code);
        // The id of a call that another one makes lies beneath that one's.
        let parent = call.rsplit_once('/').filter(|_| self.entry.is_inner);
        let parent = parent.map(|(parent, _)| parent);
        let took = event.duration_ms.unwrap_or_default().max(0.0);
        let took = Duration::try_from_secs_f64(took / 1e3).unwrap_or_default();
        let begin = event.timestamp.0.checked_sub(took).unwrap_or(UNIX_EPOCH);
        let parent_key = parent.map(|parent| parent_key(instance, &event.turn_id, parent));
        let status = status_number(event.status.unwrap_or(ToolStatus::Error));
        let facets = [
            Some(facet('t', key(tool))),
            code.map(|code| facet('c', key(code))),
            Some(facet('a', key(agent))),
            Some(facet('i', key(instance))),
            parent_key.map(|key| facet('p', key)),
            Some(facet('s', status)),
        ];
        tx.prepare_cached(
            "INSERT INTO calls (time, kind, status, tool, code, agent, instance, call, parent) \
             VALUES (:time, :kind, :status, :tool, :code, :agent, :instance, :call, :parent)",
        )?
        .execute(named_params! {
            ":time": millis(begin),
            ":kind": *kind as i64,
            ":status": status,
            ":tool": key(tool),
            ":code": code.map(key),
            ":agent": key(agent),
            ":instance": key(instance),
            ":call": key(call),
            ":parent": parent_key,
        })?;
        let id = tx.last_insert_rowid();
        tx.prepare_cached(
            "INSERT INTO details VALUES (:id, :duration, :agent, :instance, :turn, :step, :call, :parent, :tool, :code, \
             :message, :handle, :usage, :recording, :arguments, :output)",
        )?
        .execute(named_params! {
            ":id": id,
            ":duration": event.duration_ms,
            ":agent": agent,
            ":instance": instance,
            ":turn": &*event.turn_id,
            ":step": event.step_id.as_deref().unwrap_or_default(),
            ":call": call,
            ":parent": parent,
            ":tool": tool,
            ":code": code,
            ":message": self.message,
            ":handle": event.handle.as_deref(),
            ":usage": self.usage,
            ":recording": self.entry.recording.as_deref().and_then(Path::to_str),
            ":arguments": self.entry.arguments,
            ":output": self.entry.output,
        })?;
        let texts = [
            Some(tool),
            code,
            self.message.as_deref(),
            self.entry.arguments.as_deref(),
            self.entry.output.as_deref(),
        ];
        let facets = facets.iter().flatten().map(String::as_str);
        let texts: Vec<&str> = texts.into_iter().flatten().chain(facets).collect();
        tx.prepare_cached("INSERT INTO texts (rowid, text) VALUES (?1, ?2)")?
            .execute((id, texts.join("\n")))?;
        Ok(())
    }
}

/// Reads a row of [`COLUMNS`], perhaps with [`TEXT_COLUMNS`].
pub(super) fn read(row: &Row<'_>, has_texts: bool) -> rusqlite::Result<CallRecord> {
    let number = |column: &str| row.get::<_, i64>(column);
    let text = |column: &str| row.get::<_, Option<String>>(column);
    let time = Duration::from_millis(u64::try_from(number("time")?).unwrap_or_default());
    let (tool, usage) = (
        row.get::<_, String>("tool")?,
        row.get::<_, String>("usage")?,
    );
    let usage = serde_json::from_str(&usage).ok();
    let usage = usage.as_ref().and_then(Usage::from_stored);
    let usage = usage.unwrap_or_default();
    Ok(CallRecord {
        id: u64::try_from(number("id")?).unwrap_or_default(),
        kind: match number("kind")? {
            0 => CallKind::Call,
            1 => CallKind::Poll,
            _ => CallKind::Settled,
        },
        time: Timestamp(UNIX_EPOCH.checked_add(time).unwrap_or(UNIX_EPOCH)),
        duration_ms: row.get("duration")?,
        agent: row.get("agent")?,
        instance: row.get("instance")?,
        turn: row.get("turn")?,
        step: row.get("step")?,
        call_id: row.get("call")?,
        parent_call_id: text("parent")?,
        status: match number("status")? {
            0 => ToolStatus::Ok,
            2 => ToolStatus::Pending,
            _ => ToolStatus::Error,
        },
        code: text("code")?,
        message: text("message")?,
        handle: text("handle")?,
        recording: text("recording")?.map(Into::into),
        denials: denials(&usage, &tool),
        files: usage.changes.files.clone(),
        usage,
        tool,
        arguments: if has_texts { text("arguments")? } else { None },
        output: if has_texts { text("output")? } else { None },
    })
}
