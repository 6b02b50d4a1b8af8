//! `bzip2`, `xz` and the names under which they unpack.

use std::io::Write as _;

use super::codec::Codec;
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

/// The most bytes of one unpacked file.
const MOST_BYTES: u64 = 256 << 20;

/// The most bytes that are written to standard output.
const OUTPUT: u64 = 48 << 20;

const BZIP2_SPEC: Spec = Spec::new(&[
    flag('d', "decompress"),
    flag('z', "compress"),
    flag('k', "keep"),
    flag('f', "force"),
    flag('t', "test"),
    flag('c', "stdout"),
    flag('q', "quiet"),
    flag('v', "verbose"),
    flag('s', "small"),
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

const XZ_SPEC: Spec = Spec::new(&[
    flag('d', "decompress"),
    flag('\0', "uncompress"),
    flag('z', "compress"),
    flag('k', "keep"),
    flag('f', "force"),
    flag('t', "test"),
    flag('c', "stdout"),
    flag('\0', "to-stdout"),
    flag('q', "quiet"),
    flag('Q', "no-warn"),
    flag('v', "verbose"),
    flag('e', "extreme"),
    value('T', "threads"),
    value('S', "suffix"),
    flag('0', ""),
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

pub(super) const BZIP2: Command = Command::new("bzip2", BZIP2_SPEC, |call, line| {
    run(call, line, Codec::Bzip2, Usual::Packs)
});
pub(super) const BUNZIP2: Command = Command::new("bunzip2", BZIP2_SPEC, |call, line| {
    run(call, line, Codec::Bzip2, Usual::Unpacks)
});
pub(super) const BZCAT: Command = Command::new("bzcat", BZIP2_SPEC, |call, line| {
    run(call, line, Codec::Bzip2, Usual::Prints)
});
pub(super) const XZ: Command = Command::new("xz", XZ_SPEC, |call, line| {
    run(call, line, Codec::Xz, Usual::Packs)
});
pub(super) const UNXZ: Command = Command::new("unxz", XZ_SPEC, |call, line| {
    run(call, line, Codec::Xz, Usual::Unpacks)
});
pub(super) const XZCAT: Command = Command::new("xzcat", XZ_SPEC, |call, line| {
    run(call, line, Codec::Xz, Usual::Prints)
});

/// What a command does by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Usual {
    Packs,
    Unpacks,
    Prints,
}

struct Run<'a> {
    line: &'a Line,
    codec: Codec,
    unpacks: bool,
    prints: bool,
    level: u32,
    suffix: String,
}

fn run(call: &mut Call, line: &Line, codec: Codec, usual: Usual) -> Result<i32, Failure> {
    let is_unpacking = match line.last_of(&["decompress", "uncompress", "compress", "test"]) {
        Some(option) => option != "compress",
        None => usual != Usual::Packs,
    };
    let level = match line.last_of(&["0", "fast", "2", "3", "4", "5", "6", "7", "8", "best"]) {
        Some("fast") => 1,
        Some("best") => 9,
        Some(level) => level.parse().unwrap_or(6),
        None if codec == Codec::Bzip2 => 9,
        None => 6,
    };
    let default = if codec == Codec::Bzip2 { ".bz2" } else { ".xz" };
    let suffix = line.value("suffix").unwrap_or(default).to_owned();
    let prints = usual == Usual::Prints || line.has("stdout") || line.has("to-stdout");
    let run = Run {
        line,
        codec,
        unpacks: is_unpacking,
        prints,
        level,
        suffix,
    };
    let mut exit_code = 0;
    for operand in line.operands_or_stdin() {
        let code = run.operand(call, operand);
        // A warning does not hide an error.
        exit_code = match (exit_code, code) {
            (1, _) if codec == Codec::Xz => 1,
            (_, 1) if codec == Codec::Xz => 1,
            (before, code) => code.max(before),
        };
    }
    Ok(exit_code)
}

impl Run<'_> {
    fn is_bzip2(&self) -> bool {
        self.codec == Codec::Bzip2
    }

    /// Reports what one program says and exits with so, and the other.
    fn fail(
        &self,
        call: &mut Call,
        (bzip2, code): (String, i32),
        (xz, other): (String, i32),
    ) -> i32 {
        let (text, code) = if self.is_bzip2() {
            (bzip2, code)
        } else {
            (xz, other)
        };
        let is_warning = !self.is_bzip2() && code == 2;
        if !(is_warning && self.line.has("quiet")) {
            call.complain(text);
        }
        if is_warning && self.line.has("no-warn") {
            0
        } else {
            code
        }
    }

    fn operand(&self, call: &mut Call, operand: &str) -> i32 {
        if operand == "-" {
            let content = call.stdin.to_vec();
            let result = self.convert(call, "(stdin)", &content);
            return match result {
                Ok(content) => {
                    if !self.line.has("test") {
                        call.print(content);
                    }
                    0
                }
                Err(code) => code,
            };
        }
        let path = call.path(operand);
        let metadata = match call.files.target_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) => {
                let why = text_of(&error);
                let bzip2 = format!("Can't open input file {operand}: {why}.");
                return self.fail(call, (bzip2, 1), (format!("{operand}: {why}"), 1));
            }
        };
        if metadata.file_type.is_dir() {
            let bzip2 = format!("Input file {operand} is a directory.");
            let xz = format!("{operand}: Is a directory, skipping");
            return self.fail(call, (bzip2, 1), (xz, 2));
        }
        let is_dry = self.prints || self.line.has("test");
        let read = |call: &mut Call| {
            call.files.read(&path).map_err(|error| {
                call.complain_of(operand, &error);
                1
            })
        };
        let converted = if self.unpacks && !self.is_bzip2() {
            // It looks at the content before the name.
            read(call).and_then(|content| {
                let converted = self.convert(call, operand, &content)?;
                Ok((self.target(call, operand, is_dry)?, content, converted))
            })
        } else {
            self.target(call, operand, is_dry).and_then(|target| {
                let content = read(call)?;
                let converted = self.convert(call, operand, &content)?;
                Ok((target, content, converted))
            })
        };
        let (target, content, converted) = match converted {
            Ok(converted) => converted,
            Err(code) => return code,
        };
        if self.line.has("test") {
            if self.line.has("verbose") {
                let text = format!("  {operand}: ok\n");
                call.warn(text.as_bytes());
            }
            return 0;
        }
        if self.prints {
            call.print(converted);
            return 0;
        }
        let target_path = call.path(&target);
        if call.files.metadata(&target_path).is_ok() && !self.line.has("force") {
            let bzip2 = format!("Output file {target} already exists.");
            return self.fail(call, (bzip2, 1), (format!("{target}: File exists"), 1));
        }
        if let Err(error) = call.files.write(&target_path, &converted) {
            call.complain_of(&target, &error);
            return 1;
        }
        // A host that stores no modes has the usual ones.
        let _ = call.files.set_mode(&target_path, metadata.mode & 0o777);
        let _ = call.files.set_modified(&target_path, metadata.modified);
        if !self.line.has("keep")
            && let Err(error) = call.files.remove_file(&path)
        {
            call.complain_of(operand, &error);
            return 1;
        }
        if self.line.has("verbose") {
            let text = format!(
                "  {operand}: {} in, {} out.\n",
                content.len(),
                converted.len()
            );
            call.warn(text.as_bytes());
        }
        0
    }

    /// The name of the file that is written.
    fn target(&self, call: &mut Call, operand: &str, is_dry: bool) -> Result<String, i32> {
        if !self.unpacks {
            if operand.ends_with(&self.suffix) && !is_dry {
                let suffix = &self.suffix;
                let bzip2 = format!("Input file {operand} already has {suffix} suffix.");
                let xz = format!("{operand}: File already has `{suffix}' suffix, skipping");
                return Err(self.fail(call, (bzip2, 1), (xz, 2)));
            }
            return Ok(format!("{operand}{}", self.suffix));
        }
        let endings: [(&str, &str); 3] = if self.is_bzip2() {
            [(".bz2", ""), (".tbz2", ".tar"), (".tbz", ".tar")]
        } else {
            [(&self.suffix, ""), (".txz", ".tar"), (".xz", "")]
        };
        let name = endings.iter().find_map(|(ending, other)| {
            let stem = operand.strip_suffix(ending)?;
            Some(format!("{stem}{other}"))
        });
        match name {
            Some(name) => Ok(name),
            None if is_dry => Ok(String::new()),
            None if self.is_bzip2() => {
                call.complain(format_args!(
                    "Can't guess original name for {operand} -- using {operand}.out"
                ));
                Ok(format!("{operand}.out"))
            }
            None => {
                let text = format!("{operand}: Filename has an unknown suffix, skipping");
                Err(self.fail(call, (String::new(), 1), (text, 2)))
            }
        }
    }

    fn convert(&self, call: &mut Call, name: &str, content: &[u8]) -> Result<Vec<u8>, i32> {
        if !self.unpacks {
            let mut encoder = self.codec.encoder(Vec::new(), self.level);
            let packed = encoder.write_all(content).and_then(|()| encoder.finish());
            return packed.map_err(|error| {
                call.complain(format_args!("{name}: {}", text_of(&error)));
                1
            });
        }
        if !self.codec.begins(content) {
            if self.prints && self.line.has("force") {
                return Ok(content.to_vec());
            }
            let bzip2 = format!("{name} is not a bzip2 file.");
            let xz = if content.is_empty() {
                format!("{name}: Unexpected end of input")
            } else {
                format!("{name}: File format not recognized")
            };
            return Err(self.fail(call, (bzip2, 2), (xz, 1)));
        }
        let most = if self.prints { OUTPUT } else { MOST_BYTES };
        self.codec.unpack(content, most).map_err(|why| {
            let text = format!("{name}: {why}");
            self.fail(call, (text.clone(), 2), (text, 1))
        })
    }
}
