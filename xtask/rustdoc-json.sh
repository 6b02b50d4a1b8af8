#!/bin/sh
# rustdoc that may write JSON, which the stable compiler allows only with this variable. The variable is
# set for rustdoc alone: build scripts of dependencies would see it, and compile them anew.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
