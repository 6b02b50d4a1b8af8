# Thin names for `cargo xtask`, which says what each does.

_default:
    @cargo xtask --help

# Get a rustc that compiles to wasm32-wasip2.
setup:
    cargo xtask setup

# Build every guest to target/guests/.
guests:
    cargo xtask guests

# Tell the story in a terminal page.
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

# Call tools of every kind for a while: nothing may grow.
soak *args:
    cargo xtask soak -- {{args}}

# Check the dependencies' licences, sources and advisories.
deny:
    cargo xtask deny

# Fuzz what strangers send, each target for a minute.
fuzz *args:
    cargo xtask fuzz {{args}}
