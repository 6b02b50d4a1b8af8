//! The options of `tar`, in its old and new styles.

use crate::commands::call::Failure;
use crate::commands::options::{Spec, flag, optional, value};

pub(super) const SPEC: Spec = Spec::new(&[
    flag('A', "catenate"),
    flag('\0', "concatenate"),
    flag('c', "create"),
    flag('d', "diff"),
    flag('\0', "compare"),
    flag('\0', "delete"),
    flag('r', "append"),
    flag('t', "list"),
    flag('u', "update"),
    flag('x', "extract"),
    flag('\0', "get"),
    value('f', "file"),
    flag('\0', "force-local"),
    value('C', "directory"),
    value('T', "files-from"),
    flag('\0', "null"),
    flag('\0', "no-null"),
    flag('\0', "unquote"),
    flag('\0', "no-unquote"),
    flag('\0', "verbatim-files-from"),
    flag('\0', "no-verbatim-files-from"),
    value('\0', "add-file"),
    value('X', "exclude-from"),
    value('\0', "exclude"),
    flag('\0', "exclude-backups"),
    flag('\0', "exclude-caches"),
    flag('\0', "exclude-caches-all"),
    flag('\0', "exclude-caches-under"),
    value('\0', "exclude-tag"),
    value('\0', "exclude-tag-all"),
    value('\0', "exclude-tag-under"),
    flag('\0', "exclude-vcs"),
    flag('\0', "anchored"),
    flag('\0', "no-anchored"),
    flag('\0', "ignore-case"),
    flag('\0', "no-ignore-case"),
    flag('\0', "wildcards"),
    flag('\0', "no-wildcards"),
    flag('\0', "wildcards-match-slash"),
    flag('\0', "no-wildcards-match-slash"),
    flag('\0', "recursion"),
    flag('\0', "no-recursion"),
    value('\0', "strip-components"),
    value('\0', "transform"),
    value('\0', "xform"),
    flag('\0', "show-transformed-names"),
    flag('\0', "show-stored-names"),
    flag('\0', "show-omitted-dirs"),
    optional('\0', "one-top-level"),
    optional('\0', "occurrence"),
    flag('a', "auto-compress"),
    flag('\0', "no-auto-compress"),
    flag('z', "gzip"),
    flag('\0', "gunzip"),
    flag('\0', "ungzip"),
    flag('j', "bzip2"),
    flag('J', "xz"),
    value('I', "use-compress-program"),
    flag('v', "verbose"),
    value('\0', "warning"),
    flag('\0', "totals"),
    flag('\0', "utc"),
    flag('\0', "full-time"),
    flag('R', "block-number"),
    flag('O', "to-stdout"),
    flag('k', "keep-old-files"),
    flag('\0', "skip-old-files"),
    flag('\0', "keep-newer-files"),
    flag('\0', "overwrite"),
    flag('\0', "overwrite-dir"),
    flag('\0', "no-overwrite-dir"),
    flag('\0', "keep-directory-symlink"),
    flag('U', "unlink-first"),
    flag('m', "touch"),
    flag('p', "preserve-permissions"),
    flag('\0', "same-permissions"),
    flag('\0', "no-same-permissions"),
    flag('\0', "same-owner"),
    flag('\0', "no-same-owner"),
    flag('s', "preserve-order"),
    flag('\0', "same-order"),
    flag('\0', "delay-directory-restore"),
    flag('\0', "no-delay-directory-restore"),
    flag('\0', "numeric-owner"),
    value('\0', "owner"),
    value('\0', "group"),
    value('\0', "mode"),
    value('\0', "mtime"),
    flag('\0', "clamp-mtime"),
    value('N', "newer"),
    value('\0', "after-date"),
    value('\0', "newer-mtime"),
    value('\0', "sort"),
    flag('h', "dereference"),
    flag('\0', "hard-dereference"),
    flag('P', "absolute-names"),
    flag('\0', "one-file-system"),
    flag('\0', "remove-files"),
    flag('\0', "ignore-failed-read"),
    optional('\0', "atime-preserve"),
    flag('\0', "no-xattrs"),
    flag('\0', "no-acls"),
    flag('\0', "no-selinux"),
    value('H', "format"),
    flag('\0', "posix"),
    flag('\0', "old-archive"),
    flag('\0', "portability"),
    flag('o', ""),
    value('b', "blocking-factor"),
    value('\0', "record-size"),
    flag('i', "ignore-zeros"),
    flag('B', "read-full-records"),
])
.in_order();

/// Arguments that the command cannot use.
pub(super) fn misuse(text: impl std::fmt::Display) -> Failure {
    Failure::new(
        2,
        format!("{text}\nTry 'tar --help' or 'tar --usage' for more information."),
    )
}

/// The arguments with those of the old style (`czf FILE`) as options (`-c -z -f FILE`).
pub(super) fn modern(args: &[String]) -> Result<Vec<String>, Failure> {
    let Some((letters, rest)) = args.split_first() else {
        return Ok(Vec::new());
    };
    if letters.starts_with('-') || letters.is_empty() {
        return Ok(args.to_vec());
    }
    let mut modern = Vec::new();
    let mut rest = rest.iter();
    for letter in letters.chars() {
        modern.push(format!("-{letter}"));
        if SPEC.has_value(letter) {
            let value = rest.next().ok_or_else(|| {
                misuse(format_args!("Old option '{letter}' requires an argument."))
            })?;
            modern.push(value.clone());
        }
    }
    modern.extend(rest.cloned());
    Ok(modern)
}
