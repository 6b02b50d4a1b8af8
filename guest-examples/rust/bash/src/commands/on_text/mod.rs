//! Commands on text and numbers.

use super::Command;
use super::options::Line;

mod bc;
mod cat;
mod column;
mod comm;
mod csplit;
mod cut;
mod date;
mod diff;
mod diff3;
mod expr;
mod fmt;
mod fold;
pub(super) mod glob;
pub(super) mod grep;
mod head;
mod hexdump;
mod iconv;
mod join;
mod nl;
mod number_format;
mod numfmt;
mod paste;
mod patch;
pub(super) mod pattern;
mod printf;
mod sdiff;
pub(super) mod sed;
mod seq;
pub(super) mod sizes;
mod sort;
mod split;
mod sums;
mod tac;
mod tee;
mod tr;
mod uniq;
pub(super) mod versions;
mod wc;
mod width;
mod xargs;
mod xxd;

pub(in crate::commands) const COMMANDS: &[Command] = &[
    bc::BC,
    cat::CAT,
    column::COLUMN,
    comm::CMP,
    comm::COMM,
    csplit::CSPLIT,
    cut::CUT,
    date::DATE,
    diff::DIFF,
    diff3::DIFF3,
    expr::EXPR,
    fmt::FMT,
    fold::EXPAND,
    fold::FOLD,
    fold::REV,
    fold::UNEXPAND,
    grep::EGREP,
    grep::FGREP,
    grep::GREP,
    head::HEAD,
    head::TAIL,
    hexdump::HD,
    hexdump::HEXDUMP,
    iconv::ICONV,
    join::JOIN,
    nl::NL,
    numfmt::NUMFMT,
    paste::PASTE,
    printf::PRINTF,
    patch::PATCH,
    sdiff::SDIFF,
    sed::SED,
    seq::SEQ,
    sort::SORT,
    sums::B2SUM,
    sums::CKSUM,
    sums::MD5SUM,
    sums::SHA1SUM,
    sums::SHA224SUM,
    sums::SHA256SUM,
    sums::SHA384SUM,
    sums::SHA512SUM,
    sums::SUM,
    split::SPLIT,
    tac::TAC,
    tee::TEE,
    tr::TR,
    uniq::UNIQ,
    wc::WC,
    xargs::XARGS,
    xxd::XXD,
];

/// Whether `cat`, `grep` or `tr` reads standard input.
pub(super) fn reads_input(name: &str, line: &Line) -> bool {
    let is_stdin = |operand: &str| matches!(operand, "-" | "/dev/stdin");
    let named = line.operands.iter().any(|operand| is_stdin(operand));
    let has_pattern = line.has("regexp") || line.has("file");
    let recursive = line.has("recursive") || line.has("dereference-recursive");
    match name {
        "tr" => true,
        "grep" => {
            let files = line.operands.len() + usize::from(has_pattern);
            named || line.value("file").is_some_and(is_stdin) || files <= 1 && !recursive
        }
        _ => named || line.operands.is_empty(),
    }
}
