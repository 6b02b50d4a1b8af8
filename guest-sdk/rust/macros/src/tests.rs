//! What the attribute refuses, and where.

use proc_macro2::TokenStream;

use syn::parse::Parser as _;
use syn::punctuated::Punctuated;

use crate::expand::expand;
use crate::unique;

fn expanded(options: &str, function: &str) -> syn::Result<TokenStream> {
    expand(&syn::parse_str(options)?, &syn::parse_str(function)?)
}

#[test]
fn a_function_that_cannot_be_a_tool_is_refused_at_the_place() {
    for (options, function, column, expected) in [
        ("", "async fn f() {}", 0, "cannot be `async`"),
        ("", "unsafe fn f() {}", 0, "an ordinary function"),
        ("", "struct F;", 0, "an ordinary function"),
        ("", "fn f<T>(a: T) {}", 4, "no type parameters"),
        ("", "fn f(&self, a: i64) {}", 5, "not a method"),
        ("", "fn f(self) {}", 5, "not a method"),
        ("", "fn f(a: &mut i64) {}", 9, "take it as `&T` or `T`"),
        ("", "fn f((a, b): (i64, i64), c: i64) {}", 5, "a name"),
        ("", "fn f() -> impl Fn() { || () }", 10, "name the type"),
        ("", "fn f() where u8: Copy {}", 7, "the body"),
        ("", "fn f(/** A. */ input: Input) {}", 5, "the whole input"),
        (
            "",
            "fn f(#[tool(default)] input: Input) {}",
            22,
            "no default",
        ),
        ("", "fn f(#[tool(min = 1)] a: i64) {}", 12, "`default`"),
        (
            "",
            "fn f(#[tool(default =)] a: i64) {}",
            12,
            "needs a value",
        ),
        ("", "fn Find() {}", 3, "lower-case letters"),
        ("", "fn a__b() {}", 3, "without `__`"),
        ("", "fn _a() {}", 3, "starts with a letter"),
        ("name = \"a b\"", "fn f() {}", 7, "lower-case letters"),
        ("title = \"a\"", "fn f() {}", 0, "`name` or `description`"),
        ("name = 1", "fn f() {}", 7, "string literal"),
    ] {
        let error = expanded(options, function).unwrap_err();
        assert!(error.to_string().contains(expected), "{function}: {error}");
        assert_eq!(error.span().start().column, column, "{function}: {error}");
    }
}

#[test]
fn a_function_keeps_its_attributes_and_its_body() {
    let text = expanded(
        "name = \"find-all\"",
        "#[allow(dead_code)] pub(crate) fn find(#[allow(unused)] mut a: i64, ctx: &mine::Context) -> u8 { a as u8 }",
    );
    let text = text.unwrap().to_string();
    let function = "# [allow (dead_code)] pub (crate) fn find (# [allow (unused)] mut a : i64 , ctx : & mine :: Context) \
                    -> u8 { a as u8 }";
    assert!(text.starts_with(function), "{text}");
    assert!(text.contains("pub (crate) struct find { }"), "{text}");
    assert!(text.contains("\"find-all\""), "{text}");
    assert!(text.contains("find (__input . a , __context)"), "{text}");
}

#[test]
fn a_handler_that_is_listed_twice_is_refused_at_the_second_place() {
    let check = |listed: &str, expected: &[&str]| {
        let listed = Punctuated::parse_terminated.parse_str(listed).unwrap();
        let written = unique::expand(&listed).to_string();
        let errors: Vec<&str> = written
            .split("compile_error ! {")
            .skip(1)
            .map(|rest| {
                rest.split(" twice")
                    .next()
                    .unwrap()
                    .trim_start_matches([' ', '"'])
            })
            .collect();
        assert_eq!(errors, expected, "{written}");
    };
    check("f, g, files::f, \"h\"", &[]);
    check("f, f", &["`handlers!` lists f"]);
    check(
        "files::read, g, files::read, g",
        &["`handlers!` lists files::read", "`handlers!` lists g"],
    );
    check("\"a\", \"a\"", &["`handlers!` lists \\\"a\\\""]);
}
