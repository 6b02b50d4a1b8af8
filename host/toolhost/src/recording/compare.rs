//! Compares two recordings.

use serde::Serialize;
use serde_json::{Value, json};
use toolhost_contract::{Answer, HostCall, JsonLimits, Operation, text};

use super::call_recording::{CallRecording, Detail};

/// Members of a context that differ between any two calls.
const OF_EACH_CALL: [&str; 4] = ["turnId", "toolCallId", "traceId", "message"];

/// How two recordings differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Comparison {
    /// Differences of the tool, the component, the arguments, the context, the policy and the result.
    pub differences: Vec<Difference>,
    /// The first host call that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_call: Option<HostCallDifference>,
    /// Why the host calls were not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
}

/// A part of two recordings that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Difference {
    /// The part: `component.sha256`, `arguments/path`.
    pub what: String,
    /// In the first recording; `null` if it is not there.
    pub left: Value,
    /// In the second recording; `null` if it is not there.
    pub right: Value,
}

/// The first host call in which two recordings differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HostCallDifference {
    /// Its place among the host calls, beginning with 0.
    pub index: u64,
    /// What differs: `function`, `arguments`, `answer`, or `end` if one of the calls ends here.
    pub what: &'static str,
    /// The function, in the first recording that has one.
    pub function: String,
    /// In the first recording: the function, the arguments, the answer, or `null`.
    pub left: Value,
    /// In the second recording.
    pub right: Value,
}

impl Comparison {
    /// Whether the recordings differ in nothing that is compared.
    pub fn is_same(&self) -> bool {
        self.differences.is_empty() && self.host_call.is_none()
    }
}

impl CallRecording {
    /// Compares this recording with another one. Times, random numbers, usage, and ids of turns, calls and files are
    /// not compared: two equal calls do not differ.
    /// Host calls are compared up to the first that differs.
    pub fn compare(&self, other: &Self) -> Comparison {
        let mut differences = Differences::default();
        let (left, right) = (&self.recording, &other.recording);
        differences.values("tool", &json!(self.tool), &json!(other.tool));
        differences.members("component", &left.component, &right.component);
        differences.members("engine", &left.engine, &right.engine);
        differences.operations(&left.operation, &right.operation);
        differences.members("context", &context(&left.context), &context(&right.context));
        differences.members("grants", &self.grants, &other.grants);
        differences.members("limits", &left.limits, &right.limits);
        let policies = (json!(left.policy_sha256), json!(right.policy_sha256));
        differences.values("policySha256", &policies.0, &policies.1);
        differences.members("end", &left.end, &right.end);
        differences.members("result", &outcome(&self.result), &outcome(&other.result));
        let are_recorded = self.detail == Detail::Full && other.detail == Detail::Full;
        let (host_call, not_compared) = if are_recorded {
            (first_difference(&left.calls, &right.calls), None)
        } else {
            let why = "a recording of a failed call that is a summary has no host calls";
            (None, Some(why.to_owned()))
        };
        Comparison {
            differences: differences.0,
            host_call,
            not_compared,
        }
    }
}

/// The parts that differ.
#[derive(Default)]
struct Differences(Vec<Difference>);

impl Differences {
    fn values(&mut self, what: &str, left: &Value, right: &Value) {
        if left != right {
            self.0.push(Difference {
                what: what.to_owned(),
                left: left.clone(),
                right: right.clone(),
            });
        }
    }

    /// Compares the members of two values that are serialized as objects.
    fn members(&mut self, what: &str, left: &impl Serialize, right: &impl Serialize) {
        let json = |value: Result<Value, _>| value.unwrap_or_default();
        let left = json(serde_json::to_value(left));
        let right = json(serde_json::to_value(right));
        let (Value::Object(left), Value::Object(right)) = (&left, &right) else {
            return self.values(what, &left, &right);
        };
        let null = Value::Null;
        let more = right.keys().filter(|name| !left.contains_key(*name));
        for name in left.keys().chain(more) {
            let of = |side: &toolhost_contract::JsonObject| side.get(name).unwrap_or(&null).clone();
            self.values(&format!("{what}.{name}"), &of(left), &of(right));
        }
    }

    fn operations(&mut self, left: &Operation, right: &Operation) {
        use Operation::Handler;
        let (Handler { name, input }, Handler { name: n, input: i }) = (left, right) else {
            return self.members("operation", left, right);
        };
        self.values("operation.name", &json!(name), &json!(n));
        let parsed = |input: &str| JsonLimits::ARGUMENTS.parse(input).unwrap_or(json!(input));
        self.members("arguments", &parsed(input), &parsed(i));
    }
}

/// Returns a context without what differs between any two calls.
fn context(context: &Value) -> Value {
    let mut context = context.clone();
    if let Value::Object(members) = &mut context {
        members.retain(|name, _| !OF_EACH_CALL.contains(&name.as_str()));
    }
    context
}

/// Returns a result without the id of its call.
fn outcome(result: &Value) -> Value {
    let mut result = result.clone();
    if let Value::Object(members) = &mut result {
        members.remove("toolCallId");
    }
    result
}

fn first_difference(left: &[HostCall], right: &[HostCall]) -> Option<HostCallDifference> {
    for (left, right) in left.iter().zip(right) {
        let (index, function) = (left.index, left.function.clone());
        let differs = |what, left: Value, right: Value| {
            Some(HostCallDifference {
                index,
                what,
                function,
                left,
                right,
            })
        };
        if left.function != right.function {
            return differs("function", json!(left.function), json!(right.function));
        }
        let varies = Varies::of(&left.function);
        if varies != Varies::Call && left.arguments != right.arguments {
            return differs("arguments", json!(left.arguments), json!(right.arguments));
        }
        if !varies.is_same_answer(&left.answer, &right.answer) {
            return differs("answer", json!(left.answer), json!(right.answer));
        }
    }
    // All that both have are alike: one of the calls ends here, or neither does.
    let index = left.len().min(right.len());
    let function = |calls: &[HostCall]| calls.get(index).map(|call| call.function.clone());
    let (left, right) = (function(left), function(right));
    let (left_json, right_json) = (json!(left), json!(right));
    Some(HostCallDifference {
        index: index as u64,
        what: "end",
        function: left.or(right)?,
        left: left_json,
        right: right_json,
    })
}

/// What of a host call differs between any two equal calls of a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Varies {
    Nothing,
    /// The times of a file.
    Times,
    /// The answer.
    Answer,
    /// The arguments and the answer.
    Call,
}

impl Varies {
    fn of(function: &str) -> Self {
        let (interface, name) = function.split_once('#').unwrap_or((function, ""));
        let interface = interface.split('@').next().unwrap_or_default();
        let name = name.trim_start_matches("[method]");
        match (interface, name) {
            // A time to wait for is one that a clock gave.
            ("wasi:clocks/monotonic-clock" | "wasi:clocks/wall-clock", _) => Self::Call,
            ("wasi:random/random" | "wasi:random/insecure" | "wasi:random/insecure-seed", _)
            // Which of several is ready first.
            | ("wasi:io/poll", _)
            // Hashes of the file's number, which each workdir gives anew.
            | ("wasi:filesystem/types", "descriptor.metadata-hash" | "descriptor.metadata-hash-at") => Self::Answer,
            ("wasi:filesystem/types", "descriptor.stat" | "descriptor.stat-at") => Self::Times,
            (_, _) => Self::Nothing,
        }
    }

    fn is_same_answer(self, left: &Answer, right: &Answer) -> bool {
        match (self, left, right) {
            (Self::Nothing, _, _) => left == right,
            (Self::Answer | Self::Call, Answer::Returned(_), Answer::Returned(_)) => true,
            (Self::Times, Answer::Returned(left), Answer::Returned(right)) => {
                without_times(left) == without_times(right)
            }
            (Self::Times | Self::Answer | Self::Call, _, _) => left == right,
        }
    }
}

/// Returns the answer of a `stat` without its times.
fn without_times(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(stat) = answer.get_mut("ok").and_then(Value::as_object_mut) {
        stat.retain(|name, _| !name.ends_with("-timestamp"));
    }
    answer
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [left, right] = [&self.left, &self.right].map(|side| {
            if side.is_null() {
                "nothing".to_owned()
            } else {
                text::shorten(&side.to_string(), 200)
            }
        });
        write!(f, "{}: {left} became {right}", self.what)
    }
}
