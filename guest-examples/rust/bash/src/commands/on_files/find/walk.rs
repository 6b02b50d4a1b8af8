//! The walk of `find`: which entry is next, and how far the program is on it.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bashkit::FileType;

use super::super::names::joined;
use super::commands::Commands;
use super::entry::Entry;
use super::evaluate;
use super::expression::{END, Primary, Program, Sink};
use super::format::Printer;
use super::parse::Parser;
use crate::commands::call::{Call, Failure, Links};
use crate::files::text_of;

#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Follow {
    #[default]
    Never,
    /// Only operands.
    Roots,
    Always,
}

pub(super) struct Options {
    pub(super) follow: Follow,
    pub(super) min_depth: usize,
    pub(super) max_depth: usize,
    pub(super) depth_first: bool,
    pub(super) stays_on_device: bool,
    pub(super) has_list_of_roots: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            follow: Follow::Never,
            min_depth: 0,
            max_depth: usize::MAX,
            depth_first: false,
            stays_on_device: false,
            has_list_of_roots: false,
        }
    }
}

/// Folders around an entry, by where they are: only where links are followed.
struct Ancestor {
    place: PathBuf,
    shown: String,
    parent: Option<Arc<Ancestor>>,
}

enum Work {
    Visit(Entry, Option<Arc<Ancestor>>),
    /// A folder after its entries.
    After(Entry),
}

/// An entry whose program is not at its end.
struct Current {
    entry: Entry,
    ancestors: Option<Arc<Ancestor>>,
    at: usize,
    is_pruned: bool,
    is_after: bool,
}

enum Awaited {
    /// The exit code is the value of a primary.
    Primary,
    Batch,
}

/// What a walk can do no more by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    End,
    /// The shell has to run a command.
    Command,
}

pub(super) struct Walk {
    options: Options,
    program: Program,
    roots: VecDeque<String>,
    work: Vec<Work>,
    current: Option<Current>,
    commands: Commands,
    next_command: Option<String>,
    awaited: Option<Awaited>,
    printer: Printer,
    sinks: Vec<(String, String)>,
    has_failed: bool,
    is_over: bool,
}

impl Walk {
    /// Reads the command line, and makes the files that actions write.
    pub(super) fn new(call: &Call) -> Result<Self, Failure> {
        let mut parser = Parser::new(call);
        let expression = parser.read()?;
        let Parser {
            options,
            mut roots,
            sinks,
            commands,
            zone,
            now,
            ..
        } = parser;
        for sink in &sinks {
            if sink == "/dev/stderr" {
                continue;
            }
            call.files.write(&call.path(sink), b"").map_err(|error| {
                let sink = call.quoted(sink);
                Failure::new(1, format!("{sink}: {}", text_of(&error)))
            })?;
        }
        if roots.is_empty() && !options.has_list_of_roots {
            roots.push(".".to_owned());
        }
        let now = now.into();
        Ok(Self {
            options,
            program: Program::new(expression),
            roots: roots.into(),
            work: Vec::new(),
            current: None,
            commands: Commands::new(commands),
            next_command: None,
            awaited: None,
            printer: Printer { zone, now },
            sinks: sinks
                .into_iter()
                .map(|sink| (sink, String::new()))
                .collect(),
            has_failed: false,
            is_over: false,
        })
    }

    pub(super) fn exit_code(&self) -> i32 {
        i32::from(self.has_failed)
    }

    /// The command that the shell has to run now.
    pub(super) fn next_command(&mut self) -> Option<String> {
        self.next_command.take()
    }

    /// Goes on after a command.
    pub(super) fn resume(&mut self, call: &mut Call, is_success: bool) {
        match self.awaited.take() {
            Some(Awaited::Primary) => {
                if let Some(current) = &mut self.current
                    && let Some(node) = self.program.node(current.at)
                {
                    current.at = if is_success {
                        node.when_true
                    } else {
                        node.when_false
                    };
                }
            }
            Some(Awaited::Batch) => self.has_failed |= !is_success,
            None => {}
        }
        self.advance(call);
    }

    /// Goes on until a command has to be run, or to the end.
    pub(super) fn advance(&mut self, call: &mut Call) -> Step {
        loop {
            if let Some(command) = self.commands.next_full(call.cwd) {
                self.next_command = Some(command);
                self.awaited = Some(Awaited::Batch);
                return Step::Command;
            }
            if let Some(current) = self.current.take() {
                if self.evaluate(call, current) == Step::Command {
                    return Step::Command;
                }
            } else if self.is_over {
                if !self.commands.flush() {
                    self.write_sinks(call);
                    return Step::End;
                }
            } else if let Some(work) = self.work.pop() {
                self.visit(call, work);
            } else if let Some(root) = self.roots.pop_front() {
                self.begin(call, root);
            } else {
                self.is_over = true;
            }
        }
    }

    fn fail(&mut self, call: &mut Call, shown: &str, error: &io::Error) {
        let shown = call.quoted(shown);
        call.complain(format_args!("{shown}: {}", text_of(error)));
        self.has_failed = true;
    }

    fn begin(&mut self, call: &mut Call, root: String) {
        let follows = self.options.follow != Follow::Never;
        let links = if root.ends_with('/') {
            Links::Follow
        } else {
            Links::Keep
        };
        let metadata = match call.metadata(&root, links) {
            Ok(metadata) => metadata,
            Err(error) => return self.fail(call, &root, &error),
        };
        let mut path = call.path(&root);
        if links == Links::Follow
            && let Ok(target) = call.files.target(&path)
        {
            path = target;
        }
        let length = root.len();
        let entry = Entry::new(call, (root, length), 0, path, metadata.file_type, follows);
        self.work.push(Work::Visit(entry, None));
    }

    fn visit(&mut self, call: &mut Call, work: Work) {
        let start = self.program.start;
        let current = |entry, ancestors, is_after| Current {
            entry,
            ancestors,
            at: start,
            is_pruned: false,
            is_after,
        };
        match work {
            Work::After(entry) => self.current = Some(current(entry, None, true)),
            Work::Visit(entry, ancestors) => {
                if entry.kind.is_dir() && self.is_loop(call, &entry, ancestors.as_deref()) {
                    return;
                }
                if entry.kind.is_dir() && self.options.depth_first {
                    let entries = self.entries(call, &entry, ancestors);
                    self.work.push(Work::After(entry));
                    self.work.extend(entries);
                } else {
                    self.current = Some(current(entry, ancestors, false));
                }
            }
        }
    }

    /// Whether a folder is one of those around it, which only links can lead to.
    fn is_loop(&mut self, call: &mut Call, entry: &Entry, mut around: Option<&Ancestor>) -> bool {
        while let Some(ancestor) = around {
            if ancestor.place == entry.place {
                let (inner, outer) = (call.quoted(&entry.shown), call.quoted(&ancestor.shown));
                call.complain(format_args!(
                    "File system loop detected; {inner} is part of the same file system loop as {outer}."
                ));
                self.has_failed = true;
                return true;
            }
            around = ancestor.parent.as_deref();
        }
        false
    }

    /// What is in a folder, the last first.
    fn entries(
        &mut self,
        call: &mut Call,
        folder: &Entry,
        ancestors: Option<Arc<Ancestor>>,
    ) -> Vec<Work> {
        if folder.depth >= self.options.max_depth {
            return Vec::new();
        }
        let names = match call.files.names(&folder.place) {
            Ok(names) => names,
            Err(error) => {
                self.fail(call, &folder.shown, &error);
                return Vec::new();
            }
        };
        let follows = self.options.follow == Follow::Always;
        let ancestors = follows.then(|| {
            Arc::new(Ancestor {
                place: folder.place.clone(),
                shown: folder.shown.clone(),
                parent: ancestors,
            })
        });
        let device = if self.options.stays_on_device {
            folder.status(call).ok().map(|status| status.device)
        } else {
            None
        };
        let entries = names.into_iter().rev().map(|(name, kind)| {
            let names = (joined(&folder.shown, &name), folder.root);
            let path = folder.place.join(&name);
            Entry::new(call, names, folder.depth + 1, path, kind, follows)
        });
        let is_here = |entry: &Entry| {
            let Some(device) = device.filter(|_| entry.kind.is_dir()) else {
                return true;
            };
            entry
                .status(call)
                .is_ok_and(|status| status.device == device)
        };
        let entries = entries.filter(is_here);
        entries
            .map(|entry| Work::Visit(entry, ancestors.clone()))
            .collect()
    }

    /// Runs the program on an entry, from where it is.
    fn evaluate(&mut self, call: &mut Call, mut current: Current) -> Step {
        if current.entry.depth < self.options.min_depth {
            current.at = END;
        }
        while let Some(node) = self.program.node(current.at) {
            let (when_true, when_false) = (node.when_true, node.when_false);
            if let Primary::Command(command) = node.primary {
                self.next_command = self.commands.for_entry(command, &current.entry);
                self.awaited = Some(Awaited::Primary);
                self.current = Some(current);
                return Step::Command;
            }
            let value = match self.primary(call, &mut current) {
                Ok(value) => value,
                Err(error) => {
                    self.fail(call, &current.entry.shown, &error);
                    false
                }
            };
            if self.is_over {
                return Step::End;
            }
            current.at = if value { when_true } else { when_false };
        }
        let Current {
            entry,
            ancestors,
            is_pruned,
            is_after,
            ..
        } = current;
        if entry.kind.is_dir() && !is_after && !is_pruned {
            let entries = self.entries(call, &entry, ancestors);
            self.work.extend(entries);
        }
        Step::End
    }

    fn primary(&mut self, call: &mut Call, current: &mut Current) -> io::Result<bool> {
        let Some(node) = self.program.node(current.at) else {
            return Ok(false);
        };
        let entry = &current.entry;
        match &node.primary {
            Primary::Print { sink, end } => {
                let (sink, text) = (*sink, format!("{}{end}", entry.shown));
                self.write(call, sink, &text);
            }
            Primary::Format { sink, format } => {
                let (sink, text) = (*sink, self.printer.format(format, entry, call)?);
                self.write(call, sink, &text);
            }
            Primary::List(sink) => {
                let (sink, text) = (*sink, self.printer.list(entry, call)?);
                self.write(call, sink, &text);
            }
            Primary::Delete => return Ok(self.delete(call, entry)),
            Primary::Prune => current.is_pruned = true,
            Primary::Quit => {
                self.is_over = true;
                self.work.clear();
                self.roots.clear();
            }
            Primary::Collect(command) => {
                let command = *command;
                self.commands.collect(command, entry);
            }
            test => return evaluate::test(test, entry, call),
        }
        Ok(true)
    }

    fn write(&mut self, call: &mut Call, sink: Sink, text: &str) {
        match sink.and_then(|sink| self.sinks.get_mut(sink)) {
            Some((_, content)) => content.push_str(text),
            None => call.print(text),
        }
    }

    fn write_sinks(&mut self, call: &mut Call) {
        for (sink, content) in std::mem::take(&mut self.sinks) {
            if let Err(error) = call.write(&sink, content.as_bytes()) {
                self.fail(call, &sink, &error);
            }
        }
    }

    fn delete(&mut self, call: &mut Call, entry: &Entry) -> bool {
        // The folder in which the walk began stays, as in GNU's.
        if matches!(&*entry.shown, "." | "./") {
            return true;
        }
        let removed = if entry.kind.is_dir() && !entry.follows {
            call.files.remove_folder(&entry.path)
        } else if entry.kind.is_dir() {
            let is_link = call.files.metadata(&entry.path);
            if is_link.is_ok_and(|metadata| metadata.file_type == FileType::Symlink) {
                call.files.remove_file(&entry.path)
            } else {
                call.files.remove_folder(&entry.path)
            }
        } else {
            call.files.remove_file(&entry.path)
        };
        if let Err(error) = removed {
            let shown = call.quoted(&entry.shown);
            call.complain(format_args!("cannot delete {shown}: {}", text_of(&error)));
            self.has_failed = true;
            return false;
        }
        true
    }
}
