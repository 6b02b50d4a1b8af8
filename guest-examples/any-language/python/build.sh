#!/bin/sh
# Builds .toolhost/count.wasm. Needs componentize-py: pip install componentize-py
set -eu
cd "$(dirname "$0")"
"${TOOLHOST:-toolhost}" wit .toolhost/wit
"${COMPONENTIZE_PY:-componentize-py}" -d .toolhost/wit -w tool componentize count \
    -o .toolhost/count.wasm
