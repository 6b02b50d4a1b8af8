//! `zgrep`, `zdiff`, `zless` and the like for gzip, bzip2 and xz: lines of the shell over the other commands.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::on_text::grep;
use crate::commands::options::{Line, Spec};
use crate::commands::quoted;

const PIPED: Spec = Spec::new(&[]);

macro_rules! commands {
    ($($name:literal $run:ident $unpack:literal $program:literal $spec:expr;)*) => {
        pub(super) const ALL: &[Command] = &[
            $(Command::of_shell($name, $spec, |call, line| $run(call, line, $unpack, $program)),)*
        ];
    };
}

commands! {
    "zgrep" search "gzip -cdfq" "grep" grep::SPEC;
    "zegrep" search "gzip -cdfq" "grep -E" grep::SPEC;
    "zfgrep" search "gzip -cdfq" "grep -F" grep::SPEC;
    "bzgrep" search "bzip2 -cdfq" "grep" grep::SPEC;
    "xzgrep" search "xz -cdfq" "grep" grep::SPEC;
    "zdiff" compare "gzip -cdfq" "diff" Spec::raw();
    "zcmp" compare "gzip -cdfq" "cmp" Spec::raw();
    "bzdiff" compare "bzip2 -cdfq" "diff" Spec::raw();
    "bzcmp" compare "bzip2 -cdfq" "cmp" Spec::raw();
    "xzdiff" compare "xz -cdfq" "diff" Spec::raw();
    "xzcmp" compare "xz -cdfq" "cmp" Spec::raw();
    "zless" show "gzip -cdfq" "" PIPED;
    "zmore" show "gzip -cdfq" "" PIPED;
    "bzless" show "bzip2 -cdfq" "" PIPED;
    "bzmore" show "bzip2 -cdfq" "" PIPED;
    "xzless" show "xz -cdfq" "" PIPED;
    "xzmore" show "xz -cdfq" "" PIPED;
}

/// `grep` in each unpacked file: 0 if one has a match, 1 if none has, 2 after an error.
fn search(call: &mut Call, line: &Line, unpack: &str, program: &str) -> Result<String, Failure> {
    const UNSUPPORTED: [&str; 8] = [
        "directories",
        "recursive",
        "dereference-recursive",
        "null-data",
        "null",
        "include",
        "exclude",
        "exclude-dir",
    ];
    if let Some(option) = UNSUPPORTED.iter().find(|option| line.has(option)) {
        return Err(Failure::usage(format!("--{option}: option not supported")));
    }
    let mut args = String::new();
    for (name, value) in line.given() {
        let dashes = if name.chars().count() == 1 { "-" } else { "--" };
        args += &match (&*name, value) {
            ("with-filename" | "number", None) => continue,
            ("number", Some(number)) => format!(" -{number}"),
            (name, Some(value)) => format!(" {}", quoted(&format!("{dashes}{name}={value}"))),
            (name, None) => format!(" {dashes}{name}"),
        };
    }
    let mut files: &[String] = &line.operands;
    if !line.has("regexp") && !line.has("file") {
        let Some((pattern, rest)) = files.split_first() else {
            let name = call.name;
            return Err(Failure::usage(format!(
                "missing pattern; try `{name} --help' for help"
            )));
        };
        args += &format!(" -e {}", quoted(pattern));
        files = rest;
    }
    let several = files.len() > 1 && !line.has("no-filename");
    let named = if several || line.has("with-filename") {
        " -H"
    } else {
        ""
    };
    let stdin = ["-".to_owned()];
    let files = if files.is_empty() { &stdin } else { files };
    let mut script = String::from("__r=1\n");
    for file in files {
        let label = match &**file {
            "-" => String::new(),
            file => format!(" {}", quoted(&format!("--label={file}"))),
        };
        // 2 of the unpacking program is a warning of gzip.
        script += &format!(
            "{unpack} -- {file} | {program}{named}{label}{args}\n\
             __s=(\"${{PIPESTATUS[@]}}\"); __g=${{__s[1]}}; [ \"${{__s[0]}}\" = 1 ] && __g=2\n\
             if [ $__g -gt 1 ]; then __r=$__g; elif [ $__g = 0 ] && [ $__r = 1 ]; then __r=0; fi\n",
            file = quoted(file),
        );
    }
    Ok(script + "exit $__r")
}

/// `diff` or `cmp` of two unpacked files, or of one with what it is packed from.
fn compare(call: &mut Call, line: &Line, unpack: &str, program: &str) -> Result<String, Failure> {
    let is_option = |arg: &&String| arg.starts_with('-') && arg.len() > 1;
    let (options, files): (Vec<&String>, Vec<&String>) = line.operands.iter().partition(is_option);
    let options: String = options
        .iter()
        .map(|option| format!(" {}", quoted(option)))
        .collect();
    let (first, second) = match *files {
        [first] => {
            let stem = [".gz", ".bz2", ".xz", ".z", "-gz"].iter();
            let stem = stem.copied().find_map(|suffix| first.strip_suffix(suffix));
            let stem = stem.map(str::to_owned).or_else(|| {
                let tar = [".tgz", ".tbz", ".tbz2", ".txz"].iter();
                let mut tar = tar.copied().filter_map(|suffix| first.strip_suffix(suffix));
                tar.next().map(|stem| format!("{stem}.tar"))
            });
            let unknown = || Failure::usage(format!("{first}: unknown compressed file extension"));
            (first, stem.ok_or_else(unknown)?)
        }
        [first, second] => (first, second.clone()),
        _ => return Err(Failure::usage("missing operand")),
    };
    for file in [first, &second] {
        if let Err(error) = call.metadata(file, crate::commands::call::Links::Follow)
            && file != "-"
        {
            let why = crate::files::text_of(&error);
            return Err(Failure::usage(format!("{file}: {why}")));
        }
    }
    let is_packed = |file: &str| {
        let suffixes = [
            ".gz", "-gz", ".z", "-z", ".Z", ".tgz", ".taz", ".bz2", ".tbz", ".tbz2",
        ];
        let mut suffixes = suffixes.iter().chain(&[".xz", ".txz"]);
        file == "-" || suffixes.any(|suffix| file.ends_with(suffix))
    };
    let packed = (is_packed(first), is_packed(&second));
    let (first, second) = (quoted(first), quoted(&second));
    let end = "\nexit ${PIPESTATUS[1]}";
    Ok(match packed {
        (false, false) => format!("{program}{options} -- {first} {second}"),
        (false, true) => format!("{unpack} -- {second} | {program}{options} -- {first} -{end}"),
        (true, false) => format!("{unpack} -- {first} | {program}{options} -- - {second}{end}"),
        (true, true) => {
            format!("{unpack} -- {second} | {program}{options} <({unpack} -- {first}) -{end}")
        }
    })
}

/// A pager that writes to no terminal writes all.
fn show(_: &mut Call, line: &Line, unpack: &str, _: &str) -> Result<String, Failure> {
    let files: String = line
        .operands
        .iter()
        .map(|file| format!(" {}", quoted(file)))
        .collect();
    let end = if files.is_empty() { " -" } else { " --" };
    Ok(format!("{unpack}{end}{files}"))
}
