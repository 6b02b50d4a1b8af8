//! What bash 5.2 prints.

use std::collections::HashMap;
use std::path::Path;

use super::{PRINTF, printf};
use crate::commands::call::Call;
use crate::files::Files;

fn check(args: &[&str], stdout: &[u8], code: i32) {
    let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let env = HashMap::from([("TZ".to_owned(), "Asia/Tokyo".to_owned())]);
    let files = Files::new();
    let mut call = Call::new(
        "printf",
        (&args, &env, Path::new("/"), std::time::Instant::now()),
        &files,
        b"",
    );
    let line = PRINTF.spec.read(&args).unwrap();
    let exit_code = printf(&mut call, &line).unwrap();
    let shown = String::from_utf8_lossy(&call.out);
    assert_eq!((&*call.out, exit_code), (stdout, code), "{args:?}: {shown}");
}

#[test]
fn bytes_and_characters_of_escapes() {
    check(&[r"a\0b\x00c\101\x41"], b"a\0b\0cAA", 0);
    check(
        &[r"\u20ac\U1F600\xff"],
        b"\xE2\x82\xAC\xF0\x9F\x98\x80\xFF",
        0,
    );
    check(&[r"\q\c\x"], br"\q\c\x", 0);
    check(
        &["%b|", r"x\ty\0101\0", r"one\ctwo", "three"],
        b"x\tyA\0|one",
        0,
    );
    check(&[r"\\x%02x", "65", "66"], br"\x41\x42", 0);
}

#[test]
fn integers() {
    check(
        &["%d %i %u %o %x %X|", "-5", "0x1f", "7", "8", "255", "255"],
        b"-5 31 7 10 ff FF|",
        0,
    );
    check(
        &[
            "%5d|%-5d|%05d|%+d|% d|%.3d",
            "42",
            "42",
            "42",
            "42",
            "42",
            "7",
        ],
        b"   42|42   |00042|+42| 42|007",
        0,
    );
    check(
        &["%#x %#o %x", "255", "8", "-1"],
        b"0xff 010 ffffffffffffffff",
        0,
    );
    check(&["%d %d", "'A", "\"\u{e9}"], b"65 233", 0);
    check(&["%d", "12abc"], b"12", 1);
    check(&["%d|%s|", ""], b"0||", 0);
    check(&["%d", "99999999999999999999"], b"9223372036854775807", 0);
    check(&["%*d|%-*d|", "5", "1", "4", "2"], b"    1|2   |", 0);
}

#[test]
fn floating_point_numbers() {
    check(
        &["%f %.2f %.0f %.0f", "1.5", "2.675", "0.5", "1.5"],
        b"1.500000 2.67 0 2",
        0,
    );
    check(&["%.20f", "0.1"], b"0.10000000000000000000", 0);
    check(
        &["%e %.3e %E", "12345.678", "0", "1e-10"],
        b"1.234568e+04 0.000e+00 1.000000E-10",
        0,
    );
    check(
        &[
            "%g %g %g %g %#g",
            "100000",
            "1000000",
            "0.0001",
            "0.00001",
            "1",
        ],
        b"100000 1e+06 0.0001 1e-05 1.00000",
        0,
    );
    check(
        &["%08.3f|%-8.1f|%+.1f", "3.14159", "2", "1"],
        b"0003.142|2.0     |+1.0",
        0,
    );
    check(
        &["%f %F %5.1f|", "inf", "-inf", "nan"],
        b"inf -INF   nan|",
        0,
    );
    check(
        &["%a %a %.2a", "1", "0.5", "3.14159"],
        b"0x8p-3 0x8p-4 0xc.91p-2",
        0,
    );
    check(&["%.1f", "abc"], b"0.0", 1);
}

#[test]
fn texts_and_quotes() {
    check(
        &["%5s|%-5s|%.2s|%c%c", "ab", "ab", "abc", "xyz", ""],
        b"   ab|ab   |ab|x\0",
        0,
    );
    check(
        &["%q %q %q %q", "", "a b", "it's", "a\nb"],
        br"'' a\ b it\'s $'a\nb'",
        0,
    );
    check(&["%q", "~a#b=c@d%e"], br"\~a#b=c@d%e", 0);
    check(&["%s %s\n", "a", "b", "c"], b"a b\nc \n", 0);
    check(&["100%%"], b"100%", 0);
    check(&["a%z", "b"], b"a", 1);
}

#[test]
fn times_are_those_of_the_zone() {
    check(
        &["%(%F %T %Z)T", "1700000000"],
        b"2023-11-15 07:13:20 JST",
        0,
    );
}

#[test]
fn an_option_or_a_name_that_is_none_is_refused() {
    check(&["-x"], b"", 2);
    check(&[], b"", 2);
    check(&["-v", "1a", "x"], b"", 2);
    check(&["--", "-v"], b"-v", 0);
}
