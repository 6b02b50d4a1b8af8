//! What generating cases may use: values, their bytes, and time. A short schema may describe more values
//! than there is memory.

use std::cell::Cell;
use std::fmt;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolhost_contract::{JsonObject, ToolName};
use toolhost_schema::json;

/// Values that are made for the cases of one kind of one tool, also those that no case holds in the end.
const VALUES_MAX: usize = 1_500_000;

/// Bytes of the texts of these values.
const BYTES_MAX: usize = 40 << 20;

/// Parts of schemas that are copied for the cases of one kind of one tool.
const PARTS_MAX: usize = 1_000_000;

/// Memory of the cases of all tools, in bytes.
const CASES_BYTES_MAX: usize = 128 << 20;

/// Memory of the cases of one tool, in bytes.
const TOOL_BYTES_MAX: usize = 32 << 20;

/// Longest time for all tools. Budgets of values and bytes end first, unless checking a value is slow.
const TIME_MAX: Duration = Duration::from_secs(30);

/// Longest time for one tool.
const TOOL_TIME_MAX: Duration = Duration::from_secs(10);

/// About how much memory a value takes besides its text, in bytes.
const VALUE_MEMORY: usize = 100;

/// How many values there are in a value, and the bytes of their texts and names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) values: usize,
    pub(super) bytes: usize,
}

impl Size {
    pub(super) fn of(value: &Value) -> Self {
        let size = json::measure(value);
        Self {
            values: usize::try_from(size.values).unwrap_or(usize::MAX),
            bytes: usize::try_from(size.text).unwrap_or(usize::MAX),
        }
    }

    pub(super) fn of_object(members: &JsonObject) -> Self {
        let sizes = members
            .iter()
            .map(|(name, value)| Self::member(name, value));
        sizes.fold(Self::text(0), Self::and)
    }

    /// The size of a member of an object.
    pub(super) fn member(name: &str, value: &Value) -> Self {
        let size = Self::of(value);
        Self {
            bytes: size.bytes.saturating_add(name.len()),
            ..size
        }
    }

    /// The size of a text of so many bytes.
    pub(super) fn text(bytes: usize) -> Self {
        Self { values: 1, bytes }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            values: self.values.saturating_add(other.values),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Returns about how much memory it takes, in bytes.
    pub(super) fn memory(self) -> usize {
        let values = self.values.saturating_mul(VALUE_MEMORY);
        self.bytes.saturating_add(values)
    }
}

/// What is left for the cases of all tools.
#[derive(Debug)]
pub(super) struct Allowance {
    memory: usize,
    until: Instant,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            memory: CASES_BYTES_MAX,
            until: Instant::now() + TIME_MAX,
        }
    }
}

impl Allowance {
    /// Returns the memory that the cases of the next tool may take, and when its generation ends. `tools` is
    /// the number of tools that are left, with this one.
    pub(super) fn share(&self, tools: usize) -> (usize, Instant) {
        let now = Instant::now();
        let time = self.until.saturating_duration_since(now);
        let time = time / u32::try_from(tools.max(1)).unwrap_or(u32::MAX);
        let memory = self.memory / tools.max(1);
        (memory.min(TOOL_BYTES_MAX), now + time.min(TOOL_TIME_MAX))
    }

    /// Takes the memory of a tool's cases.
    pub(super) fn take(&mut self, memory: usize) {
        self.memory = self.memory.saturating_sub(memory);
    }
}

/// What is left for the cases of one kind of one tool, and how much was left out.
#[derive(Debug)]
pub(super) struct Budget {
    values: Cell<usize>,
    bytes: Cell<usize>,
    parts: Cell<usize>,
    until: Instant,
    left_out: Cell<u32>,
    is_late: Cell<bool>,
}

impl Budget {
    pub(super) fn new(until: Instant) -> Self {
        Self {
            values: Cell::new(VALUES_MAX),
            bytes: Cell::new(BYTES_MAX),
            parts: Cell::new(PARTS_MAX),
            until,
            left_out: Cell::new(0),
            is_late: Cell::new(false),
        }
    }

    /// Takes a value that is about to be made. Returns false, and counts it as left out, if it exceeds what
    /// is left or the time is up.
    pub(super) fn spend(&self, size: Size) -> bool {
        let values = self.values.get().checked_sub(size.values);
        let bytes = self.bytes.get().checked_sub(size.bytes);
        let (Some(values), Some(bytes)) = (values, bytes) else {
            self.leave_out();
            return false;
        };
        if self.is_over() {
            return false;
        }
        self.values.set(values);
        self.bytes.set(bytes);
        true
    }

    /// Takes a schema that is about to be copied. Returns false, and counts it as left out, if it exceeds
    /// what is left or the time is up.
    pub(super) fn copy_schema(&self, schema: Size) -> bool {
        let Some(parts) = self.parts.get().checked_sub(schema.values) else {
            self.leave_out();
            return false;
        };
        if self.is_over() {
            return false;
        }
        self.parts.set(parts);
        true
    }

    /// Returns whether the time is up, and counts what is about to be made as left out then.
    fn is_over(&self) -> bool {
        let is_over = Instant::now() >= self.until;
        if is_over {
            self.is_late.set(true);
            self.leave_out();
        }
        is_over
    }

    /// Counts a part of the schema, a value or a case as left out.
    pub(super) fn leave_out(&self) {
        self.left_out.set(self.left_out.get().saturating_add(1));
    }

    /// Returns how many parts of the schema, values and cases were left out.
    pub(super) fn left_out(&self) -> u32 {
        self.left_out.get()
    }

    /// Returns whether something was left out because the time was up.
    pub(super) fn is_late(&self) -> bool {
        self.is_late.get()
    }
}

/// What the generated cases of a tool leave out: its schema describes more values than the generation may
/// make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The tool.
    pub tool: ToolName,
    /// How many parts of the schema, values and cases. A part that is left out may describe many values,
    /// which are not counted. 0: no arguments fit the schema.
    pub count: u32,
    /// Whether time was up. Then the same seed may give other cases on another machine.
    pub is_late: bool,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            tool,
            count,
            is_late,
        } = self;
        if *count == 0 {
            return write!(
                f,
                "{tool}: no generated arguments fit its schema: it has no generated cases"
            );
        }
        write!(
            f,
            "{tool}: its schema describes more arguments than the generated cases cover: \
             {count} parts, values and cases are left out"
        )?;
        if *is_late {
            f.write_str(", some because time was up")
        } else {
            Ok(())
        }
    }
}
