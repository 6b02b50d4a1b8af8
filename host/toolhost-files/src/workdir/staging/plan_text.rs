//! The plan of a journal as JSON. It has the path of each directory once, in `dirs`; other paths are a name and, in
//! `dir`, the place of its directory in that list. Plans of version 1 have whole paths, and no `dirs`.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::plan::{JournalOp, Plan, Way, WorkdirPlace, is_path, is_staged_name, is_tree_path};
use super::tree::{Left, LeftStamp, TreeEntry};
use crate::workdir::tree_path::TreePath;

/// The version that is written.
const VERSION: u32 = 2;

/// A plan that was read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlanText {
    version: u32,
    workdir: WorkdirPlace,
    label: String,
    #[serde(default)]
    dirs: Vec<String>,
    ops: Vec<OpText<String>>,
    left: Vec<LeftText<String, Vec<TreeEntry>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum OpText<S> {
    Put(RenameText<S>),
    Take(RenameText<S>),
    Exchange(RenameText<S>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RenameText<S> {
    staged: S,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    dir: Option<usize>,
    path: S,
    inode: u64,
    /// Of an exchange.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    replaced: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LeftText<S, T> {
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    dir: Option<usize>,
    path: S,
    stamp: LeftStamp,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    tree: Option<T>,
}

fn none<T>() -> Option<T> {
    None
}

/// A plan with the directories of its paths.
struct Written<'a> {
    plan: &'a Plan,
    dirs: Vec<&'a str>,
    places: HashMap<&'a str, usize>,
}

impl<'a> Written<'a> {
    fn new(plan: &'a Plan) -> Self {
        let (mut dirs, mut places) = (Vec::new(), HashMap::new());
        let of_ops = plan.ops.iter().map(|op| &op.path);
        for path in of_ops.chain(plan.left.iter().map(|left| &left.path)) {
            let above: &str = path.above();
            if !above.is_empty() && !places.contains_key(above) {
                places.insert(above, dirs.len());
                dirs.push(above);
            }
        }
        Self { plan, dirs, places }
    }

    /// Returns the place of a path's directory, if it has one, and its name.
    fn at(&self, path: &'a TreePath) -> (Option<usize>, &'a str) {
        (self.places.get(&**path.above()).copied(), path.name())
    }

    fn op(&self, op: &'a JournalOp) -> OpText<&'a str> {
        let (dir, path) = self.at(&op.path);
        let text = |replaced| RenameText {
            staged: op.staged.as_str(),
            dir,
            path,
            inode: op.inode,
            replaced,
        };
        match op.way {
            Way::Put => OpText::Put(text(None)),
            Way::Take => OpText::Take(text(None)),
            Way::Exchange { replaced } => OpText::Exchange(text(Some(replaced))),
        }
    }

    fn left(&self, left: &'a Left) -> LeftText<&'a str, &'a [TreeEntry]> {
        let (dir, path) = self.at(&left.path);
        LeftText {
            dir,
            path,
            stamp: left.stamp,
            tree: left.tree.as_deref(),
        }
    }
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plan = self.plan;
        let mut fields = serializer.serialize_struct("Plan", 6)?;
        fields.serialize_field("version", &VERSION)?;
        fields.serialize_field("workdir", &plan.workdir)?;
        fields.serialize_field("label", &plan.label)?;
        fields.serialize_field("dirs", &self.dirs)?;
        fields.serialize_field("ops", &Each(|| plan.ops.iter().map(|op| self.op(op))))?;
        fields.serialize_field("left", &Each(|| plan.left.iter().map(|one| self.left(one))))?;
        fields.end()
    }
}

/// A list whose items are made when they are written.
struct Each<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0())
    }
}

/// Writes a plan without the line break.
pub(super) fn write_plan(plan: &Plan, to: impl io::Write) -> io::Result<()> {
    Ok(serde_json::to_writer(to, &Written::new(plan))?)
}

/// Reads a plan.
///
/// # Errors
/// Why it is none of this program. No name of a valid plan leads out of the staging directory or the workdir.
pub(super) fn read_plan(line: &[u8]) -> Result<Plan, String> {
    let text: PlanText = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if !(1..=VERSION).contains(&text.version) {
        return Err(format!("version {} is unknown", text.version));
    }
    if let Some(dir) = text.dirs.iter().find(|dir| !is_path(dir)) {
        return Err(format!("`{}` is not a valid name", dir.escape_debug()));
    }
    let dirs: Vec<Arc<str>> = text.dirs.into_iter().map(Arc::from).collect();
    let is_whole = text.version == 1;
    let path = |dir: Option<usize>, path: &str| {
        let path = match dir {
            None if is_whole && is_path(path) => path.into(),
            None => TreePath::new(Arc::default(), path.into()),
            Some(dir) => {
                let above = dirs.get(dir);
                let above = above.ok_or_else(|| format!("directory {dir} is not in `dirs`"))?;
                TreePath::new(Arc::clone(above), path.into())
            }
        };
        if is_tree_path(&path) {
            Ok(path)
        } else {
            Err(format!(
                "`{}` is not a valid name",
                path.to_string().escape_debug()
            ))
        }
    };
    let name = |staged: String| {
        if is_staged_name(&staged) {
            Ok(staged)
        } else {
            Err(format!("`{}` is not a valid name", staged.escape_debug()))
        }
    };
    let op = |op: OpText<String>| {
        let (way, text) = match op {
            OpText::Put(text) => (Some(Way::Put).filter(|_| text.replaced.is_none()), text),
            OpText::Take(text) => (Some(Way::Take).filter(|_| text.replaced.is_none()), text),
            OpText::Exchange(text) => {
                let way = text.replaced.map(|replaced| Way::Exchange { replaced });
                (way, text)
            }
        };
        Ok::<_, String>(JournalOp {
            way: way.ok_or("`replaced` is that of an exchange, and of no other rename")?,
            staged: name(text.staged)?,
            path: path(text.dir, &text.path)?,
            inode: text.inode,
        })
    };
    let left = |left: LeftText<String, Vec<TreeEntry>>| {
        Ok::<_, String>(Left {
            path: path(left.dir, &left.path)?,
            stamp: left.stamp,
            tree: left.tree,
        })
    };
    let ops = text.ops.into_iter().map(op).collect::<Result<_, _>>()?;
    let left = text.left.into_iter().map(left).collect::<Result<_, _>>()?;
    Ok(Plan {
        workdir: text.workdir,
        label: text.label,
        ops,
        left,
    })
}

#[cfg(test)]
mod tests;
