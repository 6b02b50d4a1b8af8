#!/bin/sh
# Builds .toolhost/count.wasm. Needs Node and componentize-js: npm install @bytecodealliance/componentize-js
set -eu
cd "$(dirname "$0")"
"${TOOLHOST:-toolhost}" wit .toolhost/wit
# The module imports files, which the world `tool` does not.
cp world.wit .toolhost/wit/
"${COMPONENTIZE_JS:-componentize-js}" count.js --wit .toolhost/wit --world-name count \
    --disable http fetch-event --out .toolhost/count.wasm
