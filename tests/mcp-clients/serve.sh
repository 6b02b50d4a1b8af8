#!/bin/sh
# Runs a server until standard input ends: also when the process that started this one was killed.
"$@" < /dev/null &
server=$!
trap 'kill -KILL "$server" 2> /dev/null; wait "$server" 2> /dev/null' EXIT
cat > /dev/null
