//! Options, tests and actions of `find` by name.

use std::cmp::Ordering;
use std::io;
use std::time::SystemTime;

use super::super::modes::Mode;
use super::super::stat::{USER, USER_ID};
use super::commands::Command;
use super::expression::{Amount, Bits, Primary, Sink, Time};
use super::format;
use super::parse::Parser;
use super::patterns::Type;
use super::times::{SECOND, nanos};
use super::values::{kinds, order, size};
use super::walk::Follow;
use crate::commands::call::{Failure, Links};
use crate::commands::dates::{self, Civil, Moment};
use crate::commands::on_text::glob::{Glob, Slash};
use crate::files::text_of;

/// What [`Parser::primary`] reads, for the message about what is missing here.
const NAMES: &str = "-amin -anewer -atime -cmin -cnewer -ctime -daystart -delete -depth -empty -exec -execdir \
    -executable -false -files0-from -fls -follow -fprint -fprint0 -fprintf -gid -group -ilname -iname -inum \
    -ipath -iregex -iwholename -links -lname -ls -maxdepth -mindepth -mmin -mount -mtime -name -newer -newerXY \
    -nogroup -nouser -path -perm -print -print0 -printf -prune -quit -readable -regex -regextype -samefile \
    -size -true -type -uid -user -wholename -writable -xdev -xtype";

fn wrong(text: impl Into<String>) -> Failure {
    Failure::new(1, text)
}

impl Parser<'_, '_> {
    /// Reads what follows the name of a primary. An option is always true.
    pub(super) fn primary(&mut self, name: &str) -> Result<Primary, Failure> {
        let always = Ok(Primary::Always(true));
        let primary = match name {
            "-name" | "-iname" => Primary::Name(self.glob(name)?),
            "-path" | "-ipath" | "-wholename" | "-iwholename" => Primary::Path(self.glob(name)?),
            "-lname" | "-ilname" => Primary::LinkTarget(self.glob(name)?),
            "-regex" | "-iregex" => {
                let source = self.argument(name)?;
                let is_utf8 = self.call.is_utf8();
                let pattern = self
                    .pattern_type
                    .pattern(source, name == "-iregex", is_utf8)?;
                Primary::Regex(Box::new(pattern))
            }
            "-regextype" => {
                let kind = self.argument(name)?;
                self.pattern_type = Type::named(kind, |name| self.call.quoted(name))?;
                return always;
            }
            "-type" | "-xtype" => Primary::Kind {
                kinds: kinds(name, self.argument(name)?)?,
                of_other: name == "-xtype",
            },
            "-size" => size(self.argument(name)?)?,
            "-empty" => Primary::Empty,
            "-mtime" | "-atime" | "-ctime" | "-mmin" | "-amin" | "-cmin" => self.age(name)?,
            "-newer" => self.newer(Time::Modified, Some(Time::Modified), name)?,
            "-anewer" => self.newer(Time::Accessed, Some(Time::Modified), name)?,
            "-cnewer" => self.newer(Time::Changed, Some(Time::Modified), name)?,
            "-perm" => self.permissions()?,
            "-readable" => Primary::Access(0o400),
            "-writable" => Primary::Access(0o200),
            "-executable" => Primary::Access(0o100),
            "-user" | "-group" => self.owner(name)?,
            "-uid" | "-gid" => Primary::Owner(self.amount(name)?),
            "-nouser" | "-nogroup" | "-false" => Primary::Always(false),
            "-true" => return always,
            "-links" => Primary::Links(self.amount(name)?),
            "-inum" => Primary::Inode(self.amount(name)?),
            "-samefile" => {
                let file = self.argument(name)?;
                let place = self.call.path(file);
                let place = match self.options.follow {
                    Follow::Never => Ok(place),
                    Follow::Roots | Follow::Always => self.call.files.target(&place),
                };
                let status = place.and_then(|place| self.call.files.status(&place));
                let status = status.map_err(|error| self.unreadable(file, &error))?;
                Primary::SameFile {
                    device: status.device,
                    inode: status.inode,
                }
            }
            "-print" => Primary::Print {
                sink: None,
                end: '\n',
            },
            "-print0" => Primary::Print {
                sink: None,
                end: '\0',
            },
            "-fprint" => Primary::Print {
                sink: self.sink(name)?,
                end: '\n',
            },
            "-fprint0" => Primary::Print {
                sink: self.sink(name)?,
                end: '\0',
            },
            "-printf" | "-fprintf" => {
                let sink = if name == "-fprintf" {
                    self.sink(name)?
                } else {
                    None
                };
                let format = self.argument(name)?.to_owned();
                format::check(&format)?;
                Primary::Format { sink, format }
            }
            "-ls" => Primary::List(None),
            "-fls" => Primary::List(self.sink(name)?),
            "-delete" => {
                self.has_delete = true;
                Primary::Delete
            }
            "-prune" => {
                self.has_prune = true;
                Primary::Prune
            }
            "-quit" => Primary::Quit,
            "-exec" | "-execdir" => self.command(name)?,
            "-maxdepth" => {
                self.options.max_depth = self.levels(name)?;
                return always;
            }
            "-mindepth" => {
                self.options.min_depth = self.levels(name)?;
                return always;
            }
            "-depth" | "-d" => {
                self.options.depth_first = true;
                return always;
            }
            "-follow" => {
                self.options.follow = Follow::Always;
                return always;
            }
            "-daystart" => {
                self.from_start_of_day = true;
                return always;
            }
            "-xdev" | "-mount" => {
                self.options.stays_on_device = true;
                return always;
            }
            "-files0-from" => {
                self.roots_from()?;
                return always;
            }
            // They change nothing here: there is no terminal for warnings, and no link count to rely on.
            "-nowarn" | "-warn" | "-noleaf" | "-ignore_readdir_race" | "-noignore_readdir_race" => {
                return always;
            }
            name => match name.strip_prefix("-newer") {
                Some(letters) if letters.chars().count() == 2 => self.newer_by(name, letters)?,
                _ if is_of_gnu(name) => {
                    return Err(Failure::usage(format!(
                        "{name} is not implemented here; these are: {NAMES}"
                    )));
                }
                _ => return Err(wrong(format!("unknown predicate `{name}'"))),
            },
        };
        self.has_action |= primary.is_action();
        Ok(primary)
    }

    fn glob(&mut self, name: &str) -> Result<Glob, Failure> {
        let glob = Glob::new(self.argument(name)?, Slash::IsAny);
        Ok(if name.starts_with("-i") {
            glob.ignoring_case()
        } else {
            glob
        })
    }

    fn invalid(name: &str, text: &str) -> Failure {
        wrong(format!("invalid argument `{text}' to `{name}'"))
    }

    fn unreadable(&self, file: &str, error: &io::Error) -> Failure {
        wrong(format!("{}: {}", self.call.quoted(file), text_of(error)))
    }

    fn amount(&mut self, name: &str) -> Result<Amount, Failure> {
        let text = self.argument(name)?;
        let (order, digits) = order(text);
        let number = digits.parse().map_err(|_| Self::invalid(name, text))?;
        Ok(Amount { order, number })
    }

    fn levels(&mut self, name: &str) -> Result<usize, Failure> {
        let text = self.argument(name)?;
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_number).ok_or_else(|| {
            wrong(format!(
                "Expected a positive decimal integer argument to {name}, but got {}",
                self.call.quoted(text)
            ))
        })
    }

    fn age(&mut self, name: &str) -> Result<Primary, Failure> {
        let text = self.argument(name)?;
        let (order, digits) = order(text);
        let number: f64 = digits.parse().map_err(|_| Self::invalid(name, text))?;
        if !number.is_finite() || number < 0.0 {
            return Err(Self::invalid(name, text));
        }
        let unit = if name.ends_with("time") {
            86_400 * SECOND
        } else {
            60 * SECOND
        };
        let now = if self.from_start_of_day {
            let today = Civil {
                hour: 0,
                minute: 0,
                second: 0,
                ..self.zone.civil(self.now.seconds)
            };
            i128::from(self.zone.seconds(&today) + 86_400) * SECOND
        } else {
            nanos(self.now.into())
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "an age of many years needs no nanoseconds"
        )]
        let mut age = (number * unit as f64) as i128;
        // Days are counted when they are over, minutes when they begin.
        if name.ends_with("time") && order != Ordering::Less {
            age += unit;
        }
        let time = Time::of_letter(name.chars().nth(1).unwrap_or('m')).unwrap_or(Time::Modified);
        Ok(Primary::Age {
            time,
            order,
            nanos: now - age,
            unit,
        })
    }

    fn newer(
        &mut self,
        time: Time,
        of_reference: Option<Time>,
        name: &str,
    ) -> Result<Primary, Failure> {
        let text = self.argument(name)?;
        let Some(of_reference) = of_reference else {
            let moment = dates::read(text, self.now, &self.zone);
            let moment: Moment = moment.ok_or_else(|| {
                wrong(format!(
                    "I cannot figure out how to interpret {} as a date or time",
                    self.call.quoted(text)
                ))
            })?;
            let than = moment.into();
            return Ok(Primary::Newer { time, than });
        };
        let than = self.time_of(text, of_reference);
        let than = than.map_err(|error| self.unreadable(text, &error))?;
        Ok(Primary::Newer { time, than })
    }

    fn time_of(&self, file: &str, time: Time) -> io::Result<SystemTime> {
        let links = if self.options.follow == Follow::Never {
            Links::Keep
        } else {
            Links::Follow
        };
        let metadata = self.call.metadata(file, links)?;
        if time == Time::Modified {
            return Ok(metadata.modified);
        }
        let mut place = self.call.path(file);
        if links == Links::Follow {
            place = self.call.files.target(&place)?;
        }
        let status = self.call.files.status(&place)?;
        Ok(if time == Time::Accessed {
            status.accessed
        } else {
            status.changed
        })
    }

    fn newer_by(&mut self, name: &str, letters: &str) -> Result<Primary, Failure> {
        let mut letters = letters.chars();
        let (of_entry, of_reference) = (letters.next(), letters.next());
        if of_entry == Some('B') || of_reference == Some('B') {
            return Err(wrong(format!(
                "This system does not provide a way to find the birth time of a file.\nfind: invalid predicate `{name}'"
            )));
        }
        let time = of_entry.and_then(Time::of_letter);
        let reference = match of_reference {
            Some('t') => Some(None),
            other => other.and_then(Time::of_letter).map(Some),
        };
        match (time, reference) {
            (Some(time), Some(reference)) => self.newer(time, reference, name),
            _ => Err(wrong(format!("invalid predicate `{name}'"))),
        }
    }

    fn permissions(&mut self) -> Result<Primary, Failure> {
        let text = self.argument("-perm")?;
        let (test, mode) = if let Some(mode) = text.strip_prefix('-') {
            (Bits::All, mode)
        } else if let Some(mode) = text.strip_prefix('/') {
            (Bits::Any, mode)
        } else {
            (Bits::Exactly, text)
        };
        let mode = Mode::parse(mode);
        let mode = mode.ok_or_else(|| wrong(format!("invalid mode {}", self.call.quoted(text))))?;
        let bits = mode.apply(0, false, 0);
        // No bit of none is set, yet all match.
        let test = if bits == 0 && matches!(test, Bits::Any) {
            Bits::All
        } else {
            test
        };
        Ok(Primary::Mode { bits, test })
    }

    fn owner(&mut self, name: &str) -> Result<Primary, Failure> {
        let text = self.argument(name)?;
        if text == USER {
            return Ok(Primary::Always(true));
        }
        if text == "root" {
            return Ok(Primary::Always(false));
        }
        match text.parse::<u32>() {
            Ok(id) => Ok(Primary::Always(id == USER_ID)),
            Err(_) => {
                let what = if name == "-user" {
                    "the name of a known user"
                } else {
                    "the name of an existing group"
                };
                let text = self.call.quoted(text);
                Err(wrong(format!("{text} is not {what}")))
            }
        }
    }

    fn sink(&mut self, name: &str) -> Result<Sink, Failure> {
        let file = self.argument(name)?;
        if file == "/dev/stdout" {
            return Ok(None);
        }
        let place = self.sinks.iter().position(|sink| sink == file);
        Ok(Some(place.unwrap_or_else(|| {
            self.sinks.push(file.to_owned());
            self.sinks.len() - 1
        })))
    }

    fn command(&mut self, name: &str) -> Result<Primary, Failure> {
        let mut words: Vec<String> = Vec::new();
        let collects = loop {
            let word = self.argument(name)?;
            match word {
                ";" => break false,
                "+" if words.last().is_some_and(|last| last == "{}") => break true,
                word => words.push(word.to_owned()),
            }
        };
        if words.is_empty() {
            return Err(Self::invalid(name, ";"));
        }
        if collects {
            words.pop();
            if words.iter().any(|word| word.contains("{}")) {
                return Err(wrong(format!(
                    "Only one instance of {{}} is supported with {name} ... +"
                )));
            }
        }
        self.commands.push(Command {
            words,
            in_folder: name == "-execdir",
        });
        let place = self.commands.len() - 1;
        Ok(if collects {
            Primary::Collect(place)
        } else {
            Primary::Command(place)
        })
    }

    /// Reads the roots from a file: each ends in NUL.
    fn roots_from(&mut self) -> Result<(), Failure> {
        let file = self.argument("-files0-from")?;
        if let Some(root) = self.roots.first() {
            return Err(wrong(format!(
                "extra operand {}\nfind: file operands cannot be combined with -files0-from",
                self.call.quoted(root)
            )));
        }
        let bytes = self.call.read(file).map_err(|error| {
            let file = self.call.quoted(file);
            wrong(format!(
                "cannot open {file} for reading: {}",
                text_of(&error)
            ))
        })?;
        let names = bytes
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
        self.roots.extend(names);
        self.options.has_list_of_roots = true;
        Ok(())
    }
}

/// Whether GNU's `find` has a primary that this one lacks.
fn is_of_gnu(name: &str) -> bool {
    matches!(
        name,
        "-ok" | "-okdir" | "-used" | "-fstype" | "-context" | "-help" | "-version" | "-noop"
    )
}
