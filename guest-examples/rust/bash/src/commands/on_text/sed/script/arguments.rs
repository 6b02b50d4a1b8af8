//! What follows the letter of a command of `sed`.

use std::collections::HashMap;

use super::super::substitution::{Part, Substitution, parts};
use super::{Action, Parser, Read};

impl Parser {
    /// Reads the text of `a`, `i` and `c`.
    pub(super) fn text(&mut self) -> Read<String> {
        self.blanks();
        if self.peek().is_none() {
            return self.wrong("expected \\ after `a', `c' or `i'");
        }
        if self.peek() == Some('\\') {
            self.at += 1;
            let before = self.at;
            self.blanks();
            if self.peek() == Some('\n') {
                self.at += 1;
            } else if self.peek().is_none() {
                return Ok(String::new());
            } else {
                self.at = before;
            }
        }
        let mut text = String::new();
        while let Some(char) = self.next() {
            match char {
                '\n' => break,
                '\\' => match self.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('f') => text.push('\x0c'),
                    Some('v') => text.push('\x0b'),
                    Some('a') => text.push('\x07'),
                    Some(char) => text.push(char),
                    None => {}
                },
                char => text.push(char),
            }
        }
        text.push('\n');
        Ok(text)
    }

    pub(super) fn substitution(&mut self) -> Read<Action> {
        let unterminated = "unterminated `s' command";
        let Some(delimiter) = self.next() else {
            return self.wrong(unterminated);
        };
        let Some(source) = self.delimited(delimiter, true) else {
            return self.wrong(unterminated);
        };
        let Some(replacement) = self.delimited(delimiter, false) else {
            return self.wrong(unterminated);
        };
        let mut result = Substitution::default();
        let (mut folds, mut multi_line) = (false, false);
        loop {
            match self.peek() {
                Some('g') if result.all => {
                    self.at += 1;
                    return self.wrong("multiple `g' options to `s' command");
                }
                Some('p') if result.prints => {
                    self.at += 1;
                    return self.wrong("multiple `p' options to `s' command");
                }
                Some('g') => result.all = true,
                Some('p') => result.prints = true,
                Some('i' | 'I') => folds = true,
                Some('m' | 'M') => multi_line = true,
                Some('e') => {
                    return self
                        .wrong("the flag `e' is not implemented here: no programs can be started");
                }
                Some('w') => {
                    self.at += 1;
                    let name = self.rest_of_line();
                    if name.is_empty() {
                        return self.wrong("missing filename in r/R/w/W commands");
                    }
                    if !self.written.contains(&name) {
                        self.written.push(name.clone());
                    }
                    result.written = Some(name);
                    break;
                }
                Some(char) if char.is_ascii_digit() => {
                    let number = self.number().unwrap_or(0);
                    if number == 0 {
                        return self.wrong("number option to `s' command may not be zero");
                    }
                    result.nth = number;
                    continue;
                }
                None | Some('\n' | ';' | '}' | '#') => break,
                Some(char) if char.is_whitespace() => break,
                Some(_) => {
                    self.at += 1;
                    return self.wrong("unknown option to `s'");
                }
            }
            self.at += 1;
        }
        result.pattern = self.pattern(source, folds, multi_line)?;
        result.replacement = parts(&replacement);
        let highest = result.replacement.iter().filter_map(|part| match part {
            Part::Group(number) => Some(*number),
            Part::Text(_) | Part::Case(_) => None,
        });
        let highest = highest.max().unwrap_or(0);
        if let Some(pattern) = &result.pattern
            && highest > pattern.groups
        {
            return self.wrong(&format!(
                "invalid reference \\{highest} on `s' command's RHS"
            ));
        }
        self.ends()?;
        Ok(Action::Substitute(Box::new(result)))
    }

    pub(super) fn translation(&mut self) -> Read<Action> {
        let unterminated = "unterminated `y' command";
        let Some(delimiter) = self.next() else {
            return self.wrong(unterminated);
        };
        let mut rows = Vec::new();
        for _ in 0..2 {
            let Some(text) = self.delimited(delimiter, false) else {
                return self.wrong(unterminated);
            };
            let (mut row, mut chars) = (Vec::new(), text.chars());
            while let Some(char) = chars.next() {
                row.push(match (char, chars.clone().next()) {
                    ('\\', Some(next @ ('\\' | 'n' | 't' | 'r' | '&'))) => {
                        chars.next();
                        match next {
                            'n' => '\n',
                            't' => '\t',
                            'r' => '\r',
                            next => next,
                        }
                    }
                    (char, _) => char,
                });
            }
            rows.push(row);
        }
        let [from, to] = &*rows else {
            return self.wrong(unterminated);
        };
        if from.len() != to.len() {
            return self.wrong("strings for `y' command are different lengths");
        }
        let mut table = HashMap::new();
        for (from, to) in from.iter().zip(to) {
            table.entry(*from).or_insert(*to);
        }
        self.ends()?;
        Ok(Action::Translate(table))
    }
}
