//! `expr`: the value of an expression.

use num_bigint::BigInt;

use super::pattern::{Pattern, Reading, Syntax};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec};

pub(super) const EXPR: Command = Command::new("expr", Spec::raw(), expr);

fn expr(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let words = match &*line.operands {
        [first, rest @ ..] if first == "--" => rest,
        words => words,
    };
    if words.is_empty() {
        return Err(Failure::new(
            2,
            "missing operand\nTry 'expr --help' for more information.",
        ));
    }
    if let [option] = words
        && option.starts_with("--")
        && option.len() > 2
    {
        return Err(Failure::usage(format!(
            "the option {option} is not implemented here"
        )));
    }
    let (is_utf8, unicode) = (call.is_utf8(), call.is_utf8());
    let mut parser = Parser {
        words,
        at: 0,
        is_utf8,
        unicode,
    };
    let value = parser.or(true)?;
    if let Some(extra) = words.get(parser.at) {
        let text = format!("syntax error: unexpected argument {}", call.quoted(extra));
        return Err(Failure::new(2, text));
    }
    call.print(format!("{value}\n"));
    Ok(i32::from(is_null(&value)))
}

fn number(text: &str) -> Option<BigInt> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn is_null(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    text.is_empty() || !digits.is_empty() && digits.bytes().all(|byte| byte == b'0')
}

struct Parser<'a> {
    words: &'a [String],
    at: usize,
    is_utf8: bool,
    unicode: bool,
}

impl Parser<'_> {
    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|next| next == word);
        self.at += usize::from(is_next);
        is_next
    }

    fn word(&mut self) -> Result<String, Failure> {
        let Some(word) = self.words.get(self.at) else {
            let last = self.at.checked_sub(1).and_then(|at| self.words.get(at));
            let last = last.map_or("", String::as_str);
            let quoted = if self.is_utf8 {
                format!("‘{last}’")
            } else {
                format!("'{last}'")
            };
            return Err(Failure::new(
                2,
                format!("syntax error: missing argument after {quoted}"),
            ));
        };
        self.at += 1;
        Ok(word.clone())
    }

    fn or(&mut self, used: bool) -> Result<String, Failure> {
        let mut value = self.and(used)?;
        while self.takes("|") {
            let right = self.and(used && is_null(&value))?;
            if is_null(&value) {
                value = if is_null(&right) {
                    "0".to_owned()
                } else {
                    right
                };
            }
        }
        Ok(value)
    }

    fn and(&mut self, used: bool) -> Result<String, Failure> {
        let mut value = self.comparison(used)?;
        while self.takes("&") {
            let right = self.comparison(used && !is_null(&value))?;
            if is_null(&value) || is_null(&right) {
                "0".clone_into(&mut value);
            }
        }
        Ok(value)
    }

    fn comparison(&mut self, used: bool) -> Result<String, Failure> {
        let mut value = self.sum(used)?;
        loop {
            let operators = ["<=", "<", "==", "=", "!=", ">=", ">"];
            let Some(operator) = operators.into_iter().find(|operator| self.takes(operator)) else {
                return Ok(value);
            };
            let right = self.sum(used)?;
            let order = match (number(&value), number(&right)) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => value.cmp(&right),
            };
            let holds = match operator {
                "<=" => order.is_le(),
                "<" => order.is_lt(),
                "==" | "=" => order.is_eq(),
                "!=" => order.is_ne(),
                ">=" => order.is_ge(),
                _ => order.is_gt(),
            };
            value = u8::from(holds).to_string();
        }
    }

    fn sum(&mut self, used: bool) -> Result<String, Failure> {
        let mut value = self.product(used)?;
        loop {
            let plus = self.takes("+");
            if !plus && !self.takes("-") {
                return Ok(value);
            }
            let right = self.product(used)?;
            if used {
                let (left, right) = (integer(&value)?, integer(&right)?);
                value = if plus { left + right } else { left - right }.to_string();
            }
        }
    }

    fn product(&mut self, used: bool) -> Result<String, Failure> {
        let mut value = self.matched(used)?;
        loop {
            let Some(operator) = ["*", "/", "%"]
                .into_iter()
                .find(|operator| self.takes(operator))
            else {
                return Ok(value);
            };
            let right = self.matched(used)?;
            if !used {
                continue;
            }
            let (left, right) = (integer(&value)?, integer(&right)?);
            if operator != "*" && right == BigInt::ZERO {
                return Err(Failure::new(2, "division by zero"));
            }
            value = match operator {
                "*" => left * right,
                "/" => left / right,
                _ => left % right,
            }
            .to_string();
        }
    }

    fn matched(&mut self, used: bool) -> Result<String, Failure> {
        let mut value = self.function(used)?;
        while self.takes(":") {
            let pattern = self.function(used)?;
            if used {
                value = self.matches(&value, pattern)?;
            }
        }
        Ok(value)
    }

    fn matches(&self, text: &str, pattern: String) -> Result<String, Failure> {
        let reading = Reading::new(Syntax::Basic, self.unicode);
        let wrong = |text: String| Failure::new(2, text);
        let pattern = Pattern::new(vec![pattern], reading).map_err(wrong)?;
        let matcher = pattern.matcher(text.as_bytes()).map_err(wrong)?;
        let groups = matcher.groups(text.as_bytes(), 0).map_err(wrong)?;
        let groups = groups.filter(|groups| {
            groups
                .first()
                .and_then(Option::as_ref)
                .is_some_and(|place| place.start == 0)
        });
        let Some(groups) = groups else {
            let none = if pattern.groups > 0 { "" } else { "0" };
            return Ok(none.to_owned());
        };
        if pattern.groups > 0 {
            let group = groups.get(1).cloned().flatten();
            let text = group.and_then(|place| text.get(place)).unwrap_or_default();
            return Ok(text.to_owned());
        }
        let place = groups.into_iter().next().flatten().unwrap_or(0..0);
        Ok(self.length(text.get(place).unwrap_or_default()).to_string())
    }

    fn length(&self, text: &str) -> usize {
        if self.is_utf8 {
            text.chars().count()
        } else {
            text.len()
        }
    }

    fn function(&mut self, used: bool) -> Result<String, Failure> {
        if self.takes("+") {
            return self.word();
        }
        if self.takes("length") {
            let text = self.function(used)?;
            return Ok(self.length(&text).to_string());
        }
        if self.takes("match") {
            let text = self.function(used)?;
            let pattern = self.function(used)?;
            return if used {
                self.matches(&text, pattern)
            } else {
                Ok(text)
            };
        }
        if self.takes("index") {
            let text = self.function(used)?;
            let chars = self.function(used)?;
            let place = text.chars().position(|char| chars.contains(char));
            return Ok(place.map_or(0, |place| place + 1).to_string());
        }
        if self.takes("substr") {
            let text = self.function(used)?;
            let from = self.function(used)?.parse::<usize>().unwrap_or(0);
            let length = self.function(used)?.parse::<usize>().unwrap_or(0);
            if from == 0 {
                return Ok(String::new());
            }
            return Ok(text.chars().skip(from - 1).take(length).collect());
        }
        if self.takes("(") {
            let value = self.or(used)?;
            if !self.takes(")") {
                let last = self
                    .words
                    .get(self.at)
                    .or(self.words.last())
                    .map_or("", String::as_str);
                let what = if self.at < self.words.len() {
                    "expecting ')' instead of"
                } else {
                    "expecting ')' after"
                };
                let quoted = if self.is_utf8 {
                    format!("‘{last}’")
                } else {
                    format!("'{last}'")
                };
                return Err(Failure::new(2, format!("syntax error: {what} {quoted}")));
            }
            return Ok(value);
        }
        if self.words.get(self.at).is_some_and(|word| word == ")") {
            return Err(Failure::new(2, "syntax error: unexpected ')'"));
        }
        self.word()
    }
}

fn integer(text: &str) -> Result<BigInt, Failure> {
    number(text).ok_or_else(|| Failure::new(2, "non-integer argument"))
}
