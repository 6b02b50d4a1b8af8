//! The options of `ls`.

use super::super::names::quoted;
use super::super::sizes::Unit;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::Zone;
use crate::commands::options::Line;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Single,
    Long,
    /// Columns that are read downwards.
    Down,
    /// Columns that are read across.
    Across,
    Commas,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Name,
    None,
    Size,
    Time,
    Extension,
    Version,
    Width,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Modified,
    Accessed,
    Changed,
}

/// Which links are listed as what they lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dereference {
    Always,
    Operands,
    /// Operands that lead to folders.
    Folders,
    Never,
}

/// What follows a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Indicators {
    None,
    Slash,
    FileType,
    Classify,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Literal,
    QuestionMarks,
    Escape,
    C,
    Shell,
    ShellAlways,
}

pub(super) struct Settings {
    pub(super) format: Format,
    pub(super) sort: Sort,
    pub(super) is_reversed: bool,
    pub(super) folders_first: bool,
    pub(super) time: Time,
    pub(super) dereference: Dereference,
    pub(super) shows_hidden: bool,
    pub(super) shows_dots: bool,
    pub(super) lists_folders_themselves: bool,
    pub(super) is_recursive: bool,
    pub(super) indicators: Indicators,
    pub(super) quoting: Quoting,
    pub(super) has_color: bool,
    pub(super) shows_inode: bool,
    pub(super) shows_blocks: bool,
    pub(super) shows_owner: bool,
    pub(super) shows_group: bool,
    pub(super) shows_author: bool,
    pub(super) is_numeric: bool,
    pub(super) size_unit: Unit,
    pub(super) block_unit: Unit,
    pub(super) time_style: String,
    pub(super) zone: Zone,
    pub(super) ends_with_nul: bool,
    pub(super) width: usize,
    pub(super) tab: usize,
    pub(super) ignored: Vec<String>,
    pub(super) hidden: Vec<String>,
}

impl Settings {
    pub(super) fn read(call: &Call, line: &Line) -> Result<Self, Failure> {
        let mut settings = Self {
            format: Format::Single,
            sort: Sort::Name,
            is_reversed: line.has("reverse"),
            folders_first: line.has("group-directories-first"),
            time: Time::Modified,
            dereference: Dereference::Never,
            shows_hidden: false,
            shows_dots: false,
            lists_folders_themselves: line.has("directory"),
            is_recursive: line.has("recursive"),
            indicators: Indicators::None,
            quoting: Quoting::Literal,
            has_color: false,
            shows_inode: line.has("inode"),
            shows_blocks: line.has("size"),
            shows_owner: !line.has("g"),
            shows_group: !line.has("no-group") && !line.has("o"),
            shows_author: line.has("author"),
            is_numeric: line.has("numeric-uid-gid"),
            size_unit: Unit::Bytes(1),
            block_unit: Unit::Bytes(1024),
            zone: call.zone(),
            time_style: call.env.get("TIME_STYLE").cloned().unwrap_or_default(),
            ends_with_nul: line.has("zero"),
            width: 80,
            tab: 8,
            ignored: line.values("ignore").map(str::to_owned).collect(),
            hidden: line.values("hide").map(str::to_owned).collect(),
        };
        let mut is_sorted = false;
        let mut links = None;
        if let Some(width) = call.env.get("COLUMNS").and_then(|width| width.parse().ok()) {
            settings.width = width;
        }
        for (name, value) in line.given() {
            let value = value.unwrap_or_default();
            let bad = |valid: &str| {
                let (value, name) = (call.quoted(value), call.quoted(&format!("--{name}")));
                let text =
                    format!("invalid argument {value} for {name}\nValid arguments are:\n{valid}");
                call.misuse(text)
            };
            match name.as_str() {
                "all" => (settings.shows_hidden, settings.shows_dots) = (true, true),
                "almost-all" => (settings.shows_hidden, settings.shows_dots) = (true, false),
                "f" => {
                    (settings.shows_hidden, settings.shows_dots) = (true, true);
                    (settings.sort, is_sorted) = (Sort::None, true);
                }
                "ignore-backups" => settings.ignored.extend(["*~".to_owned(), ".*~".to_owned()]),
                "l" | "numeric-uid-gid" | "o" | "g" => settings.format = Format::Long,
                "full-time" => {
                    settings.format = Format::Long;
                    "full-iso".clone_into(&mut settings.time_style);
                }
                "1" if settings.format != Format::Long => settings.format = Format::Single,
                "C" => settings.format = Format::Down,
                "x" => settings.format = Format::Across,
                "m" => settings.format = Format::Commas,
                "format" => {
                    settings.format = match value {
                        "across" | "horizontal" => Format::Across,
                        "commas" => Format::Commas,
                        "long" | "verbose" => Format::Long,
                        "single-column" => Format::Single,
                        "vertical" => Format::Down,
                        _ => {
                            return Err(bad(
                                "across, commas, horizontal, long, single-column, verbose, vertical",
                            ));
                        }
                    };
                }
                "t" => (settings.sort, is_sorted) = (Sort::Time, true),
                "S" => (settings.sort, is_sorted) = (Sort::Size, true),
                "X" => (settings.sort, is_sorted) = (Sort::Extension, true),
                "v" => (settings.sort, is_sorted) = (Sort::Version, true),
                "U" => (settings.sort, is_sorted) = (Sort::None, true),
                "sort" => {
                    is_sorted = true;
                    settings.sort = match value {
                        "none" => Sort::None,
                        "size" => Sort::Size,
                        "time" => Sort::Time,
                        "version" => Sort::Version,
                        "extension" => Sort::Extension,
                        "width" => Sort::Width,
                        _ => {
                            let valid = ["none", "time", "size", "extension", "version", "width"];
                            let valid = valid.map(|word| format!("  - {}", call.quoted(word)));
                            return Err(bad(&valid.join("\n")));
                        }
                    };
                }
                "c" => settings.time = Time::Changed,
                "u" => settings.time = Time::Accessed,
                "time" => {
                    settings.time = match value {
                        "atime" | "access" | "use" => Time::Accessed,
                        "ctime" | "status" => Time::Changed,
                        "birth" | "creation" => {
                            return Err(Failure::usage(
                                "--time=birth: the time of birth of a file is not known here",
                            ));
                        }
                        _ => {
                            let rows = [
                                &["atime", "access", "use"][..],
                                &["ctime", "status"],
                                &["birth", "creation"],
                            ];
                            let rows = rows.map(|row| {
                                let row: Vec<_> =
                                    row.iter().map(|word| call.quoted(word)).collect();
                                format!("  - {}", row.join(", "))
                            });
                            return Err(bad(&rows.join("\n")));
                        }
                    };
                }
                "time-style" => value.clone_into(&mut settings.time_style),
                "human-readable" => {
                    (settings.size_unit, settings.block_unit) = (Unit::Human, Unit::Human)
                }
                "si" => (settings.size_unit, settings.block_unit) = (Unit::Si, Unit::Si),
                "kibibytes" if settings.size_unit == Unit::Bytes(1) => {
                    settings.block_unit = Unit::Bytes(1024)
                }
                "block-size" => {
                    let unit = Unit::parse(value);
                    let unit = unit.ok_or_else(|| {
                        Failure::new(
                            2,
                            format!("invalid --block-size argument {}", quoted(value)),
                        )
                    })?;
                    (settings.size_unit, settings.block_unit) = (unit, unit);
                }
                "dereference" => links = Some(Dereference::Always),
                "dereference-command-line" => links = Some(Dereference::Operands),
                "dereference-command-line-symlink-to-dir" => links = Some(Dereference::Folders),
                "p" => settings.indicators = Indicators::Slash,
                "file-type" => settings.indicators = Indicators::FileType,
                "classify" if matches!(value, "" | "always" | "yes" | "force") => {
                    settings.indicators = Indicators::Classify
                }
                "indicator-style" => {
                    settings.indicators = match value {
                        "none" => Indicators::None,
                        "slash" => Indicators::Slash,
                        "file-type" => Indicators::FileType,
                        "classify" => Indicators::Classify,
                        _ => return Err(bad("none, slash, file-type, classify")),
                    };
                }
                "literal" | "show-control-chars" => settings.quoting = Quoting::Literal,
                "hide-control-chars" => settings.quoting = Quoting::QuestionMarks,
                "escape" => settings.quoting = Quoting::Escape,
                "quote-name" => settings.quoting = Quoting::C,
                "quoting-style" => {
                    settings.quoting = match value {
                        "literal" => Quoting::Literal,
                        "escape" => Quoting::Escape,
                        "c" | "locale" => Quoting::C,
                        "shell" | "shell-escape" => Quoting::Shell,
                        "shell-always" | "shell-escape-always" => Quoting::ShellAlways,
                        _ => {
                            return Err(bad(
                                "literal, shell, shell-always, shell-escape, shell-escape-always, c, escape, locale",
                            ));
                        }
                    };
                }
                "color" => {
                    settings.has_color = match value {
                        "" | "always" | "yes" | "force" => true,
                        "never" | "no" | "none" | "auto" | "tty" | "if-tty" => false,
                        _ => {
                            return Err(bad(
                                "always, yes, force, never, no, none, auto, tty, if-tty",
                            ));
                        }
                    };
                }
                "width" | "tabsize" => {
                    let number = value.parse();
                    let number = number.map_err(|_| {
                        Failure::new(2, format!("invalid line width: {}", call.quoted(value)))
                    })?;
                    *(if name == "width" {
                        &mut settings.width
                    } else {
                        &mut settings.tab
                    }) = number;
                }
                _ => {}
            }
        }
        if settings.time != Time::Modified && settings.format != Format::Long && !is_sorted {
            settings.sort = Sort::Time;
        }
        // Without a terminal's name, GNU's has no colours either.
        settings.has_color &= ["TERM", "LS_COLORS"].iter().any(|name| {
            let value = call.env.get(*name);
            value.is_some_and(|value| !value.is_empty() && value != "dumb")
        });
        settings.dereference = links.unwrap_or({
            let keeps = settings.lists_folders_themselves
                || settings.format == Format::Long
                || settings.indicators == Indicators::Classify;
            if keeps {
                Dereference::Never
            } else {
                Dereference::Folders
            }
        });
        Ok(settings)
    }

    /// Whether names and kinds are not enough.
    pub(super) fn needs_records(&self) -> bool {
        self.format == Format::Long
            || matches!(self.sort, Sort::Size | Sort::Time)
            || self.shows_inode
            || self.shows_blocks
            || self.has_color
            || self.folders_first
            || self.indicators == Indicators::Classify
            || self.dereference == Dereference::Always
    }

    pub(super) fn has_total(&self) -> bool {
        self.format == Format::Long || self.shows_blocks
    }

    pub(super) const fn end_of_line(&self) -> &'static str {
        if self.ends_with_nul { "\0" } else { "\n" }
    }
}
