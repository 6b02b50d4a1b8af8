# Short names for the commands of `cargo xtask`; `cargo xtask --help` describes them.

_default:
    @cargo xtask --help

# Get a rustc that compiles to wasm32-wasip2.
setup:
    cargo xtask setup

# Build every guest to target/guests/.
guests:
    cargo xtask guests

# Show the sandbox in a page of terminal output.
demo *args:
    cargo xtask demo -- {{args}}

# Run every test.
test *args:
    cargo xtask test -- {{args}}

# Check format and clippy as CI does.
lint:
    cargo xtask lint

# Measure.
bench *args:
    cargo xtask bench -- {{args}}

# Call tools of every kind for a while; fail if memory, files or threads grow.
soak *args:
    cargo xtask soak -- {{args}}

# Check documentation and public API of the published crates; --write records the API in docs/api.
api *args:
    cargo xtask api {{args}}

# Package the published crates; --verify compiles them.
package *args:
    cargo xtask package {{args}}

# Build the packages of a release in target/dist, and install each in an empty folder.
dist *args:
    cargo xtask dist {{args}}

# Check the dependencies' licences, sources and advisories.
deny:
    cargo xtask deny

# Count instructions, and compare them with benches/instructions.txt.
instructions *args:
    cargo xtask instructions {{args}}

# Fuzz the code that reads untrusted input, each target for a minute.
fuzz *args:
    cargo xtask fuzz {{args}}

# Change the code that decides security, one place at a time; a unit test must fail.
mutants *args:
    cargo xtask mutants {{args}}

# Test `toolhost serve` with the conformance suite of MCP.
conformance:
    cargo xtask conformance

# Test on an emulated aarch64, check for other systems, and test without what only Linux has.
cross:
    cargo xtask cross
