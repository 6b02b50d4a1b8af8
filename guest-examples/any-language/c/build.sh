#!/bin/sh
# Builds .toolhost/count.wasm. Needs zig: pip install ziglang, then ZIG=python-zig ./build.sh
set -eu
cd "$(dirname "$0")"
mkdir -p .toolhost
# The bindings were generated with wit-bindgen-cli 0.57.1:
#   toolhost wit .toolhost/wit
#   wit-bindgen c .toolhost/wit --world tool --out-dir bindings
"${ZIG:-zig}" cc -target wasm32-wasi -mexec-model=reactor -Os -Wall -Wextra \
    -o .toolhost/core.wasm count.c json.c bindings/tool.c bindings/tool_component_type.c
"${TOOLHOST:-toolhost}" component .toolhost/core.wasm -o .toolhost/count.wasm
