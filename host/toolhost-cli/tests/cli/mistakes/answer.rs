//! The first answer to a mistake.

use std::fmt::Write as _;
use std::time::Instant;

use serde_json::Value;

/// What is printed about a mistake.
pub(super) struct Answer {
    code: String,
    message: String,
    suggestion: String,
}

impl Answer {
    /// The error of a ToolResult.
    pub(super) fn of_call(result: &Value) -> Self {
        let error = &result["error"];
        Self::new(&error["code"], &error["message"], &error["suggestion"])
    }

    /// The first error of a build; none if it built.
    pub(super) fn of_build(result: &Value) -> Option<Self> {
        let of_tool = &result["tools"][0]["errors"][0];
        let error = if of_tool.is_null() {
            &result["error"]
        } else {
            of_tool
        };
        if result["ok"] == true {
            return None;
        }
        let place = match (&error["file"], &error["line"]) {
            (Value::String(file), Value::Number(line)) => format!("{file}:{line}: "),
            (Value::String(file), _) => format!("{file}: "),
            _ => String::new(),
        };
        let mut answer = Self::new(&error["code"], &error["message"], &error["next"]);
        answer.message.insert_str(0, &place);
        Some(answer)
    }

    /// The first finding of `check` that is not about what the policy grants.
    pub(super) fn of_check(result: &Value) -> Self {
        let findings = result["diagnostics"].as_array().unwrap();
        let finding = findings.iter().find(|it| it["code"] != "E_TOOL_DENIED");
        let finding = finding.unwrap_or(&Value::Null);
        Self::new(&finding["code"], &finding["message"], &finding["help"])
    }

    fn new(code: &Value, message: &Value, suggestion: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            code: text(code),
            message: text(message),
            suggestion: text(suggestion),
        }
    }
}

/// The answers in one language.
#[derive(Default)]
pub(super) struct Answers {
    rows: Vec<(String, Answer, f64)>,
}

impl Answers {
    /// Measures how long an answer takes.
    pub(super) fn add(&mut self, mistake: &str, answer: impl FnOnce() -> Answer) {
        let started = Instant::now();
        let answer = answer();
        let seconds = started.elapsed().as_secs_f64();
        self.rows.push((mistake.to_owned(), answer, seconds));
    }

    /// A paragraph for each mistake.
    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        for (mistake, answer, _) in &self.rows {
            let or_none = |text: &str| match text {
                "" => "none".to_owned(),
                text => text.to_owned(),
            };
            let _ = writeln!(text, "{mistake}");
            let _ = writeln!(text, "  code        {}", or_none(&answer.code));
            let _ = writeln!(text, "  message     {}", or_none(&answer.message));
            let _ = writeln!(text, "  suggestion  {}\n", or_none(&answer.suggestion));
        }
        text
    }

    /// A line for each mistake.
    pub(super) fn seconds(&self) -> String {
        let line =
            |(mistake, _, seconds): &(String, Answer, f64)| format!("{mistake}: {seconds:.1}\n");
        self.rows.iter().map(line).collect()
    }
}
