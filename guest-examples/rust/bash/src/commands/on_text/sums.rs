//! `md5sum`, `sha256sum` and the like, `b2sum`, `cksum`, `sum`.

use blake2::digest::consts::{U16, U20, U28, U32, U48, U64};
use blake2::{Blake2b, Digest as _};

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

mod check;

const SPEC: Spec = Spec::new(&[
    flag('b', "binary"),
    flag('c', "check"),
    flag('\0', "ignore-missing"),
    flag('\0', "quiet"),
    flag('\0', "status"),
    flag('\0', "strict"),
    flag('\0', "tag"),
    flag('t', "text"),
    flag('w', "warn"),
    flag('z', "zero"),
]);

const B2_SPEC: Spec = Spec::new(&[
    flag('b', "binary"),
    flag('c', "check"),
    flag('\0', "ignore-missing"),
    value('l', "length"),
    flag('\0', "quiet"),
    flag('\0', "status"),
    flag('\0', "strict"),
    flag('\0', "tag"),
    flag('t', "text"),
    flag('w', "warn"),
    flag('z', "zero"),
]);

const CKSUM_SPEC: Spec = Spec::new(&[
    value('a', "algorithm"),
    flag('c', "check"),
    flag('\0', "ignore-missing"),
    value('l', "length"),
    flag('\0', "quiet"),
    flag('\0', "status"),
    flag('\0', "strict"),
    flag('\0', "tag"),
    flag('\0', "untagged"),
    flag('w', "warn"),
    flag('z', "zero"),
]);

const SUM_SPEC: Spec = Spec::new(&[flag('r', ""), flag('s', "sysv")]);

pub(super) const MD5SUM: Command = Command::new("md5sum", SPEC, |call, line| {
    sums(call, line, Algorithm::Md5, Form::Plain)
});
pub(super) const SHA1SUM: Command = Command::new("sha1sum", SPEC, |call, line| {
    sums(call, line, Algorithm::Sha1, Form::Plain)
});
pub(super) const SHA224SUM: Command = Command::new("sha224sum", SPEC, |call, line| {
    sums(call, line, Algorithm::Sha224, Form::Plain)
});
pub(super) const SHA256SUM: Command = Command::new("sha256sum", SPEC, |call, line| {
    sums(call, line, Algorithm::Sha256, Form::Plain)
});
pub(super) const SHA384SUM: Command = Command::new("sha384sum", SPEC, |call, line| {
    sums(call, line, Algorithm::Sha384, Form::Plain)
});
pub(super) const SHA512SUM: Command = Command::new("sha512sum", SPEC, |call, line| {
    sums(call, line, Algorithm::Sha512, Form::Plain)
});
pub(super) const B2SUM: Command = Command::new("b2sum", B2_SPEC, |call, line| {
    let algorithm = Algorithm::Blake2b(length(call, line)?);
    sums(call, line, algorithm, Form::Plain)
});
pub(super) const CKSUM: Command = Command::new("cksum", CKSUM_SPEC, cksum);
pub(super) const SUM: Command = Command::new("sum", SUM_SPEC, |call, line| {
    let is_sysv = line.last_of(&["r", "sysv"]) == Some("sysv");
    counts(call, line, if is_sysv { sysv } else { bsd })
});

/// Bytes of a digest of BLAKE2b, if no other length is asked for.
const BLAKE2B_BYTES: usize = 64;

/// Bytes of the digests of BLAKE2b that are made here.
const BLAKE2B_LENGTHS: [usize; 6] = [16, 20, 28, 32, 48, BLAKE2B_BYTES];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    /// With so many bytes.
    Blake2b(usize),
}

/// How a sum is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `SUM  FILE`
    Plain,
    /// `NAME (FILE) = SUM`
    Tagged,
}

impl Algorithm {
    /// Reads the name of a tag, `BLAKE2b-256`.
    fn of_tag(tag: &str) -> Option<Self> {
        Some(match tag {
            "MD5" => Self::Md5,
            "SHA1" => Self::Sha1,
            "SHA224" => Self::Sha224,
            "SHA256" => Self::Sha256,
            "SHA384" => Self::Sha384,
            "SHA512" => Self::Sha512,
            "BLAKE2b" => Self::Blake2b(BLAKE2B_BYTES),
            tag => {
                let bits: usize = tag.strip_prefix("BLAKE2b-")?.parse().ok()?;
                let is_length = bits % 8 == 0 && BLAKE2B_LENGTHS.contains(&(bits / 8));
                return is_length.then_some(Self::Blake2b(bits / 8));
            }
        })
    }

    fn tag(self) -> String {
        match self {
            Self::Md5 => "MD5".to_owned(),
            Self::Sha1 => "SHA1".to_owned(),
            Self::Sha224 => "SHA224".to_owned(),
            Self::Sha256 => "SHA256".to_owned(),
            Self::Sha384 => "SHA384".to_owned(),
            Self::Sha512 => "SHA512".to_owned(),
            Self::Blake2b(BLAKE2B_BYTES) => "BLAKE2b".to_owned(),
            Self::Blake2b(bytes) => format!("BLAKE2b-{}", bytes * 8),
        }
    }

    const fn bytes(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha224 => 28,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
            Self::Blake2b(bytes) => bytes,
        }
    }

    /// The digest of a content in hexadecimal digits.
    fn of(self, content: &[u8]) -> String {
        match self {
            Self::Md5 => hex(&md5::Md5::digest(content)),
            Self::Sha1 => hex(&sha1::Sha1::digest(content)),
            Self::Sha224 => hex(&sha2::Sha224::digest(content)),
            Self::Sha256 => hex(&sha2::Sha256::digest(content)),
            Self::Sha384 => hex(&sha2::Sha384::digest(content)),
            Self::Sha512 => hex(&sha2::Sha512::digest(content)),
            Self::Blake2b(16) => hex(&Blake2b::<U16>::digest(content)),
            Self::Blake2b(20) => hex(&Blake2b::<U20>::digest(content)),
            Self::Blake2b(28) => hex(&Blake2b::<U28>::digest(content)),
            Self::Blake2b(32) => hex(&Blake2b::<U32>::digest(content)),
            Self::Blake2b(48) => hex(&Blake2b::<U48>::digest(content)),
            Self::Blake2b(_) => hex(&Blake2b::<U64>::digest(content)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn length(call: &Call, line: &Line) -> Result<usize, Failure> {
    let Some(text) = line.value("length") else {
        return Ok(BLAKE2B_BYTES);
    };
    let wrong = |why: &str| {
        let text = call.quoted(text);
        Failure::new(1, format!("invalid length: {text}\n{}: {why}", call.name))
    };
    match text.parse::<usize>() {
        Ok(0) => Ok(BLAKE2B_BYTES),
        Ok(bits) if bits > 512 => Err(wrong(
            "maximum digest length for \u{2018}BLAKE2b\u{2019} is 512 bits",
        )),
        Ok(bits) if bits % 8 != 0 => Err(wrong("length is not a multiple of 8")),
        Ok(bits) if !BLAKE2B_LENGTHS.contains(&(bits / 8)) => Err(Failure::usage(format!(
            "the length {bits} is not implemented here; these are: 128 160 224 256 384 512"
        ))),
        Ok(bits) => Ok(bits / 8),
        Err(_) => Err(Failure::new(
            1,
            format!("invalid length: {}", call.quoted(text)),
        )),
    }
}

fn cksum(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let name = line.value("algorithm");
    if line.has("length") && name != Some("blake2b") {
        return Err(Failure::new(
            1,
            "--length is only supported with --algorithm=blake2b",
        ));
    }
    let algorithm = match name {
        None | Some("crc") if !line.has("check") => return counts(call, line, crc),
        Some("bsd") => return counts(call, line, bsd),
        Some("sysv") => return counts(call, line, sysv),
        Some("crc") => {
            return Err(Failure::new(
                1,
                "--check is not supported with --algorithm={bsd,sysv,crc}",
            ));
        }
        // A file of sums names the algorithm in each line.
        None | Some("md5") => Algorithm::Md5,
        Some("sha1") => Algorithm::Sha1,
        Some("sha224") => Algorithm::Sha224,
        Some("sha256") => Algorithm::Sha256,
        Some("sha384") => Algorithm::Sha384,
        Some("sha512") => Algorithm::Sha512,
        Some("blake2b") => Algorithm::Blake2b(length(call, line)?),
        Some("sm3") => {
            return Err(Failure::usage("the algorithm sm3 is not implemented here"));
        }
        Some(other) => {
            let other = call.quoted(other);
            return Err(call.misuse(format_args!("invalid argument {other} for '--algorithm'")));
        }
    };
    let form = match line.last_of(&["tag", "untagged"]) {
        Some("untagged") => Form::Plain,
        _ => Form::Tagged,
    };
    sums(call, line, algorithm, form)
}

fn sums(call: &mut Call, line: &Line, algorithm: Algorithm, form: Form) -> Result<i32, Failure> {
    let checks = line.has("check");
    let of_checks = ["ignore-missing", "quiet", "status", "strict", "warn"];
    if let Some(option) = of_checks.iter().find(|name| !checks && line.has(name)) {
        return Err(call.misuse(format_args!(
            "the --{option} option is meaningful only when verifying checksums"
        )));
    }
    let of_sums = ["tag", "zero", "binary", "text"];
    if let Some(option) = of_sums.iter().find(|name| checks && line.has(name)) {
        let option = match *option {
            "binary" | "text" => "--binary and --text options are",
            "tag" => "--tag option is",
            _ => "--zero option is",
        };
        return Err(call.misuse(format_args!(
            "the {option} meaningless when verifying checksums"
        )));
    }
    if checks {
        let named = call.name != "cksum" || line.has("algorithm");
        return check::files(call, line, named.then_some(algorithm));
    }
    let is_tagged = form == Form::Tagged || line.has("tag");
    let mut exit_code = 0;
    for operand in line.operands_or_stdin() {
        let sum = match call.read(operand) {
            Ok(content) => algorithm.of(&content),
            Err(error) => {
                call.complain_of(operand, &error);
                exit_code = 1;
                continue;
            }
        };
        let (mut name, mut mark) = (operand.to_owned(), "");
        if !line.has("zero") && name.contains(['\\', '\n', '\r']) {
            name = name
                .replace('\\', r"\\")
                .replace('\n', r"\n")
                .replace('\r', r"\r");
            mark = "\\";
        }
        let end = if line.has("zero") { '\0' } else { '\n' };
        call.print(if is_tagged {
            format!("{mark}{} ({name}) = {sum}{end}", algorithm.tag())
        } else {
            let is_binary = line.last_of(&["binary", "text"]) == Some("binary");
            let kind = if is_binary { '*' } else { ' ' };
            format!("{mark}{sum} {kind}{name}{end}")
        });
    }
    Ok(exit_code)
}

/// Writes a number for each operand, with its size and name.
fn counts(call: &mut Call, line: &Line, sum: fn(&[u8]) -> String) -> Result<i32, Failure> {
    let mut exit_code = 0;
    for operand in line.operands_or_stdin() {
        match call.read(operand) {
            Ok(content) if line.operands.is_empty() => call.print(format!("{}\n", sum(&content))),
            Ok(content) => call.print(format!("{} {operand}\n", sum(&content))),
            Err(error) => {
                let why = text_of(&error);
                call.complain(format_args!("{operand}: {why}"));
                exit_code = 1;
            }
        }
    }
    Ok(exit_code)
}

/// The sum of POSIX: a CRC over the content and its length.
fn crc(content: &[u8]) -> String {
    let step = |mut crc: u32, byte: u8| {
        crc ^= u32::from(byte) << 24;
        for _ in 0..8 {
            let carry = crc & 0x8000_0000 != 0;
            crc = (crc << 1) ^ if carry { 0x04c1_1db7 } else { 0 };
        }
        crc
    };
    let mut crc = content.iter().copied().fold(0, step);
    let mut length = content.len();
    while length > 0 {
        crc = step(crc, length.to_le_bytes().first().copied().unwrap_or(0));
        length >>= 8;
    }
    format!("{} {}", !crc, content.len())
}

fn bsd(content: &[u8]) -> String {
    let step = |sum: u16, byte: &u8| sum.rotate_right(1).wrapping_add(u16::from(*byte));
    let sum = content.iter().fold(0, step);
    format!("{sum:05} {:5}", content.len().div_ceil(1024))
}

fn sysv(content: &[u8]) -> String {
    let sum = content
        .iter()
        .fold(0_u32, |sum, byte| sum.wrapping_add((*byte).into()));
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    format!("{sum} {}", content.len().div_ceil(512))
}
