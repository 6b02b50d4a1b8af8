//! `gzip`, `gunzip`, `zcat`.

use std::io::{Read as _, Write as _};

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::Moment;
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    flag('c', "stdout"),
    flag('\0', "to-stdout"),
    flag('d', "decompress"),
    flag('\0', "uncompress"),
    flag('f', "force"),
    flag('k', "keep"),
    flag('l', "list"),
    flag('n', "no-name"),
    flag('N', "name"),
    flag('q', "quiet"),
    flag('r', "recursive"),
    value('S', "suffix"),
    flag('t', "test"),
    flag('v', "verbose"),
    flag('1', "fast"),
    flag('2', ""),
    flag('3', ""),
    flag('4', ""),
    flag('5', ""),
    flag('6', ""),
    flag('7', ""),
    flag('8', ""),
    flag('9', "best"),
]);

pub(super) const GZIP: Command = Command::new("gzip", SPEC, |call, line| {
    gzip(
        call,
        line,
        line.has("decompress") || line.has("uncompress"),
        false,
    )
});
pub(super) const GUNZIP: Command =
    Command::new("gunzip", SPEC, |call, line| gzip(call, line, true, false));
pub(super) const ZCAT: Command =
    Command::new("zcat", SPEC, |call, line| gzip(call, line, true, true));

/// The most bytes of one unpacked file.
const MOST_BYTES: u64 = 256 << 20;

fn gzip(call: &mut Call, line: &Line, unpacks: bool, to_stdout: bool) -> Result<i32, Failure> {
    call.name = "gzip";
    let mut run = Run {
        line,
        unpacks: unpacks || line.has("test") || line.has("list"),
        to_stdout: to_stdout || line.has("stdout") || line.has("to-stdout"),
        suffix: line.value("suffix").unwrap_or(".gz"),
        level: match line.last_of(&["fast", "2", "3", "4", "5", "6", "7", "8", "best"]) {
            Some("fast") => 1,
            Some("best") => 9,
            Some(level) => level.parse().unwrap_or(6),
            None => 6,
        },
        totals: [0, 0],
        listed: 0,
    };
    let mut exit_code = 0;
    if line.has("list") {
        call.print("         compressed        uncompressed  ratio uncompressed_name\n");
    }
    for operand in line.operands_or_stdin() {
        exit_code = exit_code.max(run.operand(call, operand)?);
    }
    if run.listed > 1 {
        let [packed, size] = run.totals;
        call.print(format!(
            "{packed:>19} {size:>19} {} (totals)\n",
            ratio(packed, size)
        ));
    }
    Ok(exit_code)
}

fn ratio(packed: usize, size: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a percentage with one digit")]
    let saved = if size == 0 {
        0.0
    } else {
        100.0 * (1.0 - packed as f64 / size as f64)
    };
    format!("{saved:>5.1}%")
}

/// What a file of this kind begins with.
const MAGIC: [u8; 2] = [0x1F, 0x8B];

fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    if !bytes.starts_with(&MAGIC) {
        return Err(if bytes.is_empty() {
            "unexpected end of file"
        } else {
            "not in gzip format"
        }
        .to_owned());
    }
    let mut out = Vec::new();
    let read = MultiGzDecoder::new(bytes)
        .take(MOST_BYTES + 1)
        .read_to_end(&mut out);
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            return Err("unexpected end of file".to_owned());
        }
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput && !out.is_empty() => {
            // What follows the last member is ignored.
        }
        Err(error) => return Err(format!("invalid compressed data--{error}")),
        Ok(_) => {}
    }
    if out.len() as u64 > MOST_BYTES {
        return Err("the content is larger than 256 MiB".to_owned());
    }
    Ok(out)
}

struct Run<'a> {
    line: &'a Line,
    unpacks: bool,
    to_stdout: bool,
    suffix: &'a str,
    level: u32,
    totals: [usize; 2],
    listed: usize,
}

impl Run<'_> {
    fn warn(&self, call: &mut Call, text: &str) -> i32 {
        if !self.line.has("quiet") {
            call.complain(text);
        }
        2
    }

    fn packed(&self, bytes: &[u8], name: &str, modified: u32) -> std::io::Result<Vec<u8>> {
        let mut builder = GzBuilder::new().mtime(modified);
        if !name.is_empty() && !self.line.has("no-name") {
            builder = builder.filename(name);
        }
        let mut encoder = builder.write(Vec::new(), Compression::new(self.level));
        encoder.write_all(bytes)?;
        encoder.finish()
    }

    fn operand(&mut self, call: &mut Call, operand: &str) -> Result<i32, Failure> {
        if operand == "-" {
            let bytes = call.stdin;
            let copies = self.line.has("force") && !bytes.starts_with(&MAGIC);
            let result = if self.unpacks && copies {
                Ok(bytes.to_vec())
            } else if self.unpacks {
                unpacked(bytes)
            } else {
                self.packed(bytes, "", 0).map_err(|error| text_of(&error))
            };
            return Ok(match result {
                Ok(_) if self.line.has("test") => 0,
                Ok(content) if self.line.has("list") => {
                    self.list(call, bytes.len(), content.len(), "stdout");
                    0
                }
                Ok(content) => {
                    call.print(content);
                    0
                }
                Err(text) => {
                    call.warn(format!("\ngzip: stdin: {text}\n").as_bytes());
                    1
                }
            });
        }
        let mut operand = operand.to_owned();
        let mut path = call.path(&operand);
        let mut metadata = call.files.target_metadata(&path);
        if metadata.is_err() && self.unpacks {
            let named = format!("{operand}{}", self.suffix);
            if let Ok(other) = call.files.target_metadata(&call.path(&named)) {
                metadata = Ok(other);
                path = call.path(&named);
                operand = named;
            }
        }
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(error) => {
                let shown = if self.unpacks && !operand.ends_with(self.suffix) {
                    format!("{operand}{}", self.suffix)
                } else {
                    operand
                };
                call.complain_of(&shown, &error);
                return Ok(1);
            }
        };
        if metadata.file_type.is_dir() {
            if !self.line.has("recursive") {
                return Ok(self.warn(call, &format!("{operand} is a directory -- ignored")));
            }
            let mut entries = call
                .files
                .entries(&path)
                .map_err(|error| Failure::new(1, format!("{operand}: {}", text_of(&error))))?;
            entries.sort_by(|one, other| one.name.cmp(&other.name));
            let mut exit_code = 0;
            for entry in entries {
                let inner = format!("{}/{}", operand.trim_end_matches('/'), entry.name);
                if !self.unpacks && inner.ends_with(self.suffix) {
                    continue;
                }
                exit_code = exit_code.max(self.operand(call, &inner)?);
            }
            return Ok(exit_code);
        }
        let target = if self.unpacks {
            let stem = operand.strip_suffix(self.suffix).map(str::to_owned);
            stem.or_else(|| {
                operand
                    .strip_suffix(".tgz")
                    .map(|stem| format!("{stem}.tar"))
            })
        } else {
            (!operand.ends_with(self.suffix)).then(|| format!("{operand}{}", self.suffix))
        };
        let in_place = !(self.to_stdout || self.line.has("test") || self.line.has("list"));
        let target = match target {
            Some(target) => target,
            None if !in_place => operand.clone(),
            None if self.unpacks => {
                return Ok(self.warn(call, &format!("{operand}: unknown suffix -- ignored")));
            }
            None if self.line.has("force") => format!("{operand}{}", self.suffix),
            None => {
                let text = format!("{operand} already has {} suffix -- unchanged", self.suffix);
                return Ok(self.warn(call, &text));
            }
        };
        let bytes = call
            .files
            .read(&path)
            .map_err(|error| Failure::new(1, format!("{operand}: {}", text_of(&error))))?;
        let copies = self.to_stdout && self.line.has("force") && !bytes.starts_with(&MAGIC);
        let result = if self.unpacks && copies {
            Ok(bytes.clone())
        } else if self.unpacks {
            unpacked(&bytes)
        } else {
            let seconds = u32::try_from(Moment::from(metadata.modified).seconds).unwrap_or(0);
            let base = operand.rsplit('/').next().unwrap_or(&operand);
            self.packed(&bytes, base, seconds)
                .map_err(|error| text_of(&error))
        };
        let content = match result {
            Ok(content) => content,
            Err(text) => {
                call.warn(format!("\ngzip: {operand}: {text}\n").as_bytes());
                return Ok(1);
            }
        };
        let (packed, size) = if self.unpacks {
            (bytes.len(), content.len())
        } else {
            (content.len(), bytes.len())
        };
        if self.line.has("list") {
            self.list(call, packed, size, &target);
            return Ok(0);
        }
        if self.line.has("test") {
            if self.line.has("verbose") {
                call.warn(format!("{operand}:\t OK\n").as_bytes());
            }
            return Ok(0);
        }
        if self.to_stdout {
            call.print(content);
            return Ok(0);
        }
        let target_path = call.path(&target);
        if call.files.metadata(&target_path).is_ok() && !self.line.has("force") {
            call.complain(format_args!("{target} already exists;\tnot overwritten"));
            return Ok(2);
        }
        let failure =
            |error: std::io::Error| Failure::new(1, format!("{target}: {}", text_of(&error)));
        call.files.write(&target_path, &content).map_err(failure)?;
        // A host that stores no modes has the usual ones.
        let _ = call.files.set_mode(&target_path, metadata.mode & 0o777);
        let _ = call.files.set_modified(&target_path, metadata.modified);
        let keeps = self.line.has("keep");
        if !keeps {
            call.files.remove_file(&path).map_err(failure)?;
        }
        if self.line.has("verbose") {
            let verb = if keeps { "created" } else { "replaced with" };
            let text = format!("{operand}:\t{} -- {verb} {target}\n", ratio(packed, size));
            call.warn(text.as_bytes());
        }
        Ok(0)
    }

    fn list(&mut self, call: &mut Call, packed: usize, size: usize, name: &str) {
        call.print(format!(
            "{packed:>19} {size:>19} {} {name}\n",
            ratio(packed, size)
        ));
        let [all_packed, all] = &mut self.totals;
        *all_packed += packed;
        *all += size;
        self.listed += 1;
    }
}
