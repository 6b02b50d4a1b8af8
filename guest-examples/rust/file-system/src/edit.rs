//! `edit` and `multi-edit`: exact replacements in one file.

use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError};

use crate::changes::{Change, commit};
use crate::diff;
use crate::encoding::Codec;
use crate::failure::{self, failure};
use crate::path::GuestPath;
use crate::replace::{Edit, Miss, replace};
use crate::text_file::TextFile;

#[derive(Deserialize)]
pub(crate) struct Input {
    path: String,
    encoding: Option<String>,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize)]
pub(crate) struct ManyInput {
    path: String,
    encoding: Option<String>,
    edits: Vec<Edit>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output {
    path: String,
    /// Places that were replaced.
    replaced: usize,
    /// Bytes of the file.
    size: usize,
    /// `crlf` if LF in the arguments was taken for CRLF, which ends every line of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_ends: Option<&'static str>,
    diff: String,
}

pub(crate) fn edit(_: &Context, input: Input) -> Result<Output, ToolError> {
    let edit = Edit {
        old: input.old,
        new: input.new,
        all: input.all,
    };
    apply(&input.path, input.encoding.as_deref(), &[edit], |_| {
        String::new()
    })
}

pub(crate) fn multi_edit(_: &Context, input: ManyInput) -> Result<Output, ToolError> {
    let encoding = input.encoding.as_deref();
    apply(&input.path, encoding, &input.edits, |at| {
        format!("edits[{at}].")
    })
}

/// Makes the edits one after another, and writes the file only if each was made.
fn apply(
    path: &str,
    encoding: Option<&str>,
    edits: &[Edit],
    place: impl Fn(usize) -> String,
) -> Result<Output, ToolError> {
    let path = GuestPath::new(path);
    let codec = Codec::new(encoding)?;
    if codec == Codec::Base64 {
        return Err(failure::input(
            "an edit changes text: base64 cannot be edited",
        ));
    }
    let file = TextFile::open(path.as_str(), codec)?;
    let (mut text, mut replaced, mut is_crlf) = (file.text.clone(), 0, false);
    for (at, edit) in edits.iter().enumerate() {
        let done =
            replace(&text, edit).map_err(|miss| miss_error(path.as_str(), &place(at), miss))?;
        text = done.text;
        replaced += done.count;
        is_crlf |= done.is_crlf;
    }
    let bytes = codec.encode(&text, path.as_str())?;
    let size = bytes.len();
    commit(&[Change::Write {
        path: path.as_str().into(),
        before: file.bytes,
        after: bytes,
    }])?;
    Ok(Output {
        path: path.as_str().into(),
        replaced,
        size,
        line_ends: is_crlf.then_some("crlf"),
        diff: diff::unified(&file.text, &text),
    })
}

fn miss_error(path: &str, place: &str, miss: Miss) -> ToolError {
    match miss {
        Miss::Empty => failure::input(&format!(
            "`{place}old` is empty: `write` makes a file, and an edit needs the text that it replaces"
        )),
        Miss::Same => failure::input(&format!("`{place}old` and `{place}new` are the same")),
        Miss::None(nearest) => failure(
            "NO_MATCH",
            "NoMatchError",
            format!("`{place}old` is 0 times in {path}; {nearest}"),
            "`read` those lines and pass `old` exactly as they are, with tabs and spaces; nothing was changed".into(),
        ),
        Miss::Several { count, lines } => failure(
            "SEVERAL_MATCHES",
            "SeveralMatchesError",
            format!("`{place}old` is {count} times in {path}: lines {lines}"),
            "add lines around it to `old` until it is there once, or pass `all: true`; nothing was changed".into(),
        ),
    }
}
