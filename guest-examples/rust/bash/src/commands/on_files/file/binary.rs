//! Kinds of files that begin with fixed bytes.

use super::Kind;
use crate::commands::dates::{self, Moment, Zone};

pub(super) fn kind(content: &[u8]) -> Option<Kind> {
    let starts = |magic: &[u8]| content.starts_with(magic);
    let kind = if starts(b"\x7fELF") {
        elf(content)
    } else if starts(b"\x89PNG\r\n\x1a\n") {
        png(content)
    } else if starts(b"GIF87a") || starts(b"GIF89a") {
        let version = if starts(b"GIF89a") { "89a" } else { "87a" };
        let (width, height) = (little(content, 6, 2)?, little(content, 8, 2)?);
        Kind::binary(
            format!("GIF image data, version {version}, {width} x {height}"),
            "image/gif",
        )
    } else if starts(b"\xff\xd8\xff") {
        jpeg(content)
    } else if starts(b"\x1f\x8b") {
        gzip(content)
    } else if starts(b"BZh") {
        let size = char::from(*content.get(3)?);
        Kind::binary(
            format!("bzip2 compressed data, block size = {size}00k"),
            "application/x-bzip2",
        )
    } else if starts(b"\xfd7zXZ\0") {
        let check = match content.get(7).map(|flags| flags & 0xf) {
            Some(0) => " NONE",
            Some(1) => " CRC32",
            Some(4) => " CRC64",
            Some(10) => " SHA-256",
            _ => "",
        };
        Kind::binary(
            format!("XZ compressed data, checksum{check}"),
            "application/x-xz",
        )
    } else if starts(b"\x28\xb5\x2f\xfd") {
        Kind::binary("Zstandard compressed data (v0.8+)", "application/zstd")
    } else if starts(b"PK\x03\x04") && content.len() > 29 {
        zip(content)
    } else if starts(b"PK\x05\x06") {
        Kind::binary("Zip archive data (empty)", "application/zip")
    } else if starts(b"7z\xbc\xaf\x27\x1c") {
        let (major, minor) = (content.get(6)?, content.get(7)?);
        Kind::binary(
            format!("7-zip archive data, version {major}.{minor}"),
            "application/x-7z-compressed",
        )
    } else if content
        .get(257..)
        .is_some_and(|rest| rest.starts_with(b"ustar  \0"))
    {
        Kind::binary("POSIX tar archive (GNU)", "application/x-tar")
    } else if content
        .get(257..)
        .is_some_and(|rest| rest.starts_with(b"ustar\0"))
    {
        Kind::binary("POSIX tar archive", "application/x-tar")
    } else if starts(b"\0asm") && content.len() >= 8 {
        let version = little(content, 4, 4)?;
        let kind = if version == 1 { " (MVP)" } else { "" };
        Kind::binary(
            format!("WebAssembly (wasm) binary module version {version:#x}{kind}"),
            "application/wasm",
        )
    } else if starts(b"SQLite format 3\0") && content.len() >= 100 {
        Kind::binary("SQLite 3.x database", "application/vnd.sqlite3")
    } else if starts(b"%PDF-") {
        let version = content
            .get(5..8)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())?;
        let encoding = if content.is_ascii() {
            "us-ascii"
        } else {
            "binary"
        };
        Kind::new(
            format!("PDF document, version {version}"),
            "application/pdf",
            encoding,
        )
    } else if starts(b"RIFF") {
        match content.get(8..12)? {
            b"WAVE" => Kind::binary("RIFF (little-endian) data, WAVE audio", "audio/x-wav"),
            b"WEBP" => Kind::binary("RIFF (little-endian) data, Web/P image", "image/webp"),
            _ => Kind::binary("RIFF (little-endian) data", "application/octet-stream"),
        }
    } else {
        return None;
    };
    Some(kind)
}

fn little(content: &[u8], at: usize, count: usize) -> Option<u64> {
    let bytes = content.get(at..at + count)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}

fn big(content: &[u8], at: usize, count: usize) -> Option<u64> {
    let bytes = content.get(at..at + count)?;
    Some(
        bytes
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}

fn png(content: &[u8]) -> Kind {
    let text = || {
        let (width, height) = (big(content, 16, 4)?, big(content, 20, 4)?);
        let bits = content.get(24)?;
        let color = match content.get(25)? {
            0 => " grayscale,",
            2 => "/color RGB,",
            3 => " colormap,",
            4 => " gray+alpha,",
            6 => "/color RGBA,",
            _ => "",
        };
        let interlace = match content.get(28)? {
            0 => " non-interlaced",
            1 => " interlaced",
            _ => "",
        };
        Some(format!(
            "PNG image data, {width} x {height}, {bits}-bit{color}{interlace}"
        ))
    };
    Kind::binary(
        text().unwrap_or_else(|| "PNG image data".to_owned()),
        "image/png",
    )
}

/// The size of a JPEG picture, from the first frame after the other segments.
fn frame(content: &[u8]) -> Option<String> {
    let mut at = 2;
    loop {
        let marker = *content.get(at + 1)?;
        let kind = match marker {
            0xc0 => "baseline",
            0xc1 => "extended sequential",
            0xc2 => "progressive",
            // The picture begins.
            0xda | 0xd9 => return None,
            _ => {
                at += 2 + usize::try_from(big(content, at + 2, 2)?).ok()?;
                continue;
            }
        };
        let (height, width) = (big(content, at + 5, 2)?, big(content, at + 7, 2)?);
        let (precision, components) = (content.get(at + 4)?, content.get(at + 9)?);
        return Some(format!(
            ", {kind}, precision {precision}, {width}x{height}, components {components}"
        ));
    }
}

fn jpeg(content: &[u8]) -> Kind {
    let text = || {
        let (major, minor) = (content.get(11)?, content.get(12)?);
        let unit = match content.get(13)? {
            0 => "aspect ratio",
            1 => "resolution (DPI)",
            _ => "resolution (DPCM)",
        };
        let (x, y) = (big(content, 14, 2)?, big(content, 16, 2)?);
        let length = big(content, 4, 2)?;
        content.get(6..10).filter(|name| name == b"JFIF")?;
        Some(format!(
            "JPEG image data, JFIF standard {major}.{minor:02}, {unit}, density {x}x{y}, segment length {length}{}",
            frame(content).unwrap_or_default()
        ))
    };
    Kind::binary(
        text().unwrap_or_else(|| "JPEG image data".to_owned()),
        "image/jpeg",
    )
}

fn gzip(content: &[u8]) -> Kind {
    let mut text = "gzip compressed data".to_owned();
    let flags = content.get(3).copied().unwrap_or(0);
    if flags & 0b1000 != 0 && flags & 0b100 == 0 {
        let name = content.get(10..).unwrap_or_default();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        text.push_str(&format!(", was \"{}\"", String::from_utf8_lossy(name)));
    }
    let seconds = little(content, 4, 4).filter(|seconds| *seconds > 0);
    if let Some(seconds) = seconds.and_then(|seconds| i64::try_from(seconds).ok()) {
        let time = Moment { seconds, nanos: 0 };
        let time = dates::format("%a %b %e %H:%M:%S %Y", time, &Zone::utc());
        text.push_str(&format!(", last modified: {time}"));
    }
    match content.get(8) {
        Some(2) => text.push_str(", max compression"),
        Some(4) => text.push_str(", max speed"),
        _ => {}
    }
    match content.get(9) {
        Some(0) => text.push_str(", from FAT filesystem (MS-DOS, OS/2, NT)"),
        Some(3) => text.push_str(", from Unix"),
        _ => {}
    }
    if let Some(size) = content
        .len()
        .checked_sub(4)
        .and_then(|at| little(content, at, 4))
    {
        text.push_str(&format!(", original size modulo 2^32 {size}"));
    }
    Kind::binary(text, "application/gzip")
}

fn zip(content: &[u8]) -> Kind {
    let named = |name: &[u8]| content.get(30..).is_some_and(|rest| rest.starts_with(name));
    if named(b"[Content_Types].xml") || named(b"_rels/.rels") || named(b"docProps") {
        let has = |name: &[u8]| content.windows(name.len()).any(|bytes| bytes == name);
        if has(b"word/") {
            return Kind::binary(
                "Microsoft Word 2007+",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            );
        }
        if has(b"xl/") {
            return Kind::binary(
                "Microsoft Excel 2007+",
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            );
        }
        if has(b"ppt/") {
            return Kind::binary(
                "Microsoft PowerPoint 2007+",
                "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            );
        }
        return Kind::binary("Microsoft OOXML", "application/octet-stream");
    }
    if named(b"META-INF/") {
        return Kind::binary("Java archive data (JAR)", "application/java-archive");
    }
    let version = content.get(4).copied().unwrap_or(20);
    let method = match little(content, 8, 2) {
        Some(0) => "store",
        Some(8) => "deflate",
        Some(12) => "bzip2",
        Some(14) => "lzma",
        _ => "[0x0]",
    };
    let text = format!(
        "Zip archive data, at least v{}.{} to extract, compression method={method}",
        version / 10,
        version % 10
    );
    Kind::binary(text, "application/zip")
}

fn elf(content: &[u8]) -> Kind {
    let is_little = content.get(5) != Some(&2);
    let number = |at, count| {
        if is_little {
            little(content, at, count)
        } else {
            big(content, at, count)
        }
    };
    let bits = if content.get(4) == Some(&1) {
        "32-bit"
    } else {
        "64-bit"
    };
    let order = if is_little { "LSB" } else { "MSB" };
    let (kind, mime) = match number(16, 2) {
        Some(1) => (" relocatable", "application/x-object"),
        Some(2) => (" executable", "application/x-executable"),
        Some(3) => (" shared object", "application/x-sharedlib"),
        Some(4) => (" core file", "application/x-coredump"),
        _ => ("", "application/octet-stream"),
    };
    let machine = match number(18, 2) {
        Some(3) => ", Intel 80386",
        Some(40) => ", ARM",
        Some(62) => ", x86-64",
        Some(183) => ", ARM aarch64",
        Some(243) => ", UCB RISC-V",
        _ => "",
    };
    let version = match number(20, 4) {
        Some(version) => format!(", version {version}"),
        None => ",".to_owned(),
    };
    let system = match content.get(7) {
        Some(0) => " (SYSV)",
        Some(3) => " (GNU/Linux)",
        _ => "",
    };
    Kind::binary(
        format!("ELF {bits} {order}{kind}{machine}{version}{system}"),
        mime,
    )
}
