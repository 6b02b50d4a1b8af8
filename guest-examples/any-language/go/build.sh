#!/bin/sh
# Builds .toolhost/count.wasm. Needs Go 1.24 or newer.
set -eu
cd "$(dirname "$0")"
mkdir -p .toolhost
# contract.go uses runtime.sbrk: -checklinkname=0 allows it.
GOOS=wasip1 GOARCH=wasm "${GO:-go}" build -buildmode=c-shared -ldflags="-checklinkname=0 -s -w" \
    -o .toolhost/core.wasm
"${TOOLHOST:-toolhost}" component .toolhost/core.wasm -o .toolhost/count.wasm
