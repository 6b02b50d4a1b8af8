//! `--check`: files against their sums.

use super::Algorithm;
use crate::commands::call::{Call, Failure};
use crate::commands::options::Line;
use crate::files::text_of;

/// What a list of sums had.
#[derive(Default)]
struct Counts {
    lines: usize,
    malformed: usize,
    unreadable: usize,
    wrong: usize,
    right: usize,
}

/// Without an algorithm, each line has to name its own.
pub(super) fn files(
    call: &mut Call,
    line: &Line,
    algorithm: Option<Algorithm>,
) -> Result<i32, Failure> {
    let mut all = true;
    for operand in line.operands_or_stdin() {
        match call.read(operand) {
            Ok(list) => {
                let name = if operand == "-" {
                    "'standard input'"
                } else {
                    operand
                };
                all &= one(call, line, algorithm, name, &list);
            }
            Err(error) => {
                call.complain_of(operand, &error);
                all = false;
            }
        }
    }
    Ok(i32::from(!all))
}

fn one(
    call: &mut Call,
    line: &Line,
    algorithm: Option<Algorithm>,
    name: &str,
    list: &[u8],
) -> bool {
    let (is_silent, is_quiet) = (line.has("status"), line.has("quiet"));
    let mut counts = Counts::default();
    let text = String::from_utf8_lossy(list);
    for (number, entry) in text.lines().enumerate() {
        let entry = entry.trim_end_matches('\r');
        if entry.starts_with('#') || entry.is_empty() {
            continue;
        }
        let Some((own, sum, file)) = parse(entry, algorithm) else {
            counts.malformed += 1;
            if line.has("warn") {
                call.complain(format_args!(
                    "{name}: {}: improperly formatted {} checksum line",
                    number + 1,
                    algorithm.map_or_else(|| "CRC".to_owned(), Algorithm::tag)
                ));
            }
            continue;
        };
        counts.lines += 1;
        let content = match call.read(&file) {
            Ok(content) => content,
            Err(error)
                if line.has("ignore-missing") && error.kind() == std::io::ErrorKind::NotFound =>
            {
                continue;
            }
            Err(error) => {
                counts.unreadable += 1;
                call.complain(format_args!("{file}: {}", text_of(&error)));
                if !is_silent {
                    call.print(format!("{file}: FAILED open or read\n"));
                }
                continue;
            }
        };
        if own.of(&content) == sum {
            counts.right += 1;
            if !is_silent && !is_quiet {
                call.print(format!("{file}: OK\n"));
            }
        } else {
            counts.wrong += 1;
            if !is_silent {
                call.print(format!("{file}: FAILED\n"));
            }
        }
    }
    if counts.lines == 0 {
        call.complain(format_args!(
            "{name}: no properly formatted checksum lines found"
        ));
        return false;
    }
    if !is_silent {
        let mut warn = |count: usize, one: &str, many: &str| {
            if count > 0 {
                let what = if count == 1 { one } else { many };
                call.complain(format_args!("WARNING: {count} {what}"));
            }
        };
        warn(
            counts.malformed,
            "line is improperly formatted",
            "lines are improperly formatted",
        );
        warn(
            counts.unreadable,
            "listed file could not be read",
            "listed files could not be read",
        );
        warn(
            counts.wrong,
            "computed checksum did NOT match",
            "computed checksums did NOT match",
        );
    }
    let nothing = line.has("ignore-missing") && counts.right + counts.wrong == 0;
    if nothing && !is_silent {
        call.complain(format_args!("{name}: no file was verified"));
    }
    let is_strict = line.has("strict") && counts.malformed > 0;
    counts.unreadable == 0 && counts.wrong == 0 && !nothing && !is_strict
}

/// Reads `SUM  FILE` or `NAME (FILE) = SUM`.
fn parse(entry: &str, algorithm: Option<Algorithm>) -> Option<(Algorithm, String, String)> {
    let entry = entry.trim_start_matches([' ', '\t']);
    let (is_escaped, entry) = match entry.strip_prefix('\\') {
        Some(entry) => (true, entry),
        None => (false, entry),
    };
    let unescaped = |name: &str| {
        if !is_escaped {
            return name.to_owned();
        }
        let mut text = String::new();
        let mut chars = name.chars();
        while let Some(char) = chars.next() {
            match (char, if char == '\\' { chars.next() } else { None }) {
                ('\\', Some('n')) => text.push('\n'),
                ('\\', Some('r')) => text.push('\r'),
                ('\\', Some(other)) => text.push(other),
                (char, _) => text.push(char),
            }
        }
        text
    };
    if let Some((tag, rest)) = entry.split_once(" (")
        && let Some(own) = Algorithm::of_tag(tag)
        && let Some((file, sum)) = rest.rsplit_once(") = ")
    {
        let is_own = algorithm.is_none_or(|algorithm| {
            own == algorithm
                || matches!(
                    (own, algorithm),
                    (Algorithm::Blake2b(_), Algorithm::Blake2b(_))
                )
        });
        let is_sum = is_own && is_digest(sum, own);
        return is_sum.then(|| (own, sum.to_lowercase(), unescaped(file)));
    }
    let (sum, rest) = entry.split_once(' ')?;
    let own = match algorithm? {
        // The length of the sum is that of the algorithm.
        Algorithm::Blake2b(_) => Algorithm::of_tag(&format!("BLAKE2b-{}", sum.len() * 4))?,
        algorithm => algorithm,
    };
    let file = rest.strip_prefix([' ', '*']).unwrap_or(rest);
    let is_sum = is_digest(sum, own) && !file.is_empty();
    is_sum.then(|| (own, sum.to_lowercase(), unescaped(file)))
}

fn is_digest(sum: &str, algorithm: Algorithm) -> bool {
    sum.len() == algorithm.bytes() * 2 && sum.bytes().all(|byte| byte.is_ascii_hexdigit())
}
