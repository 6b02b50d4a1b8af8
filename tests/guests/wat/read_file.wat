;; Reads the file `f.txt` of its workdir, with one open and one read, and answers `null`.
(import "wasi:filesystem/types@0.2.0" (instance $types
  (export "descriptor" (type $descriptor (sub resource)))
  (type $error-names (enum "access" "would-block" "already" "bad-descriptor" "busy" "deadlock" "quota"
    "exist" "file-too-large" "illegal-byte-sequence" "in-progress" "interrupted" "invalid" "io"
    "is-directory" "loop" "too-many-links" "message-size" "name-too-long" "no-device" "no-entry"
    "no-lock" "insufficient-memory" "insufficient-space" "not-directory" "not-empty"
    "not-recoverable" "unsupported" "no-tty" "no-such-device" "overflow" "not-permitted" "pipe"
    "read-only" "invalid-seek" "text-file-busy" "cross-device"))
  (export "error-code" (type $error-code (eq $error-names)))
  (type $path-names (flags "symlink-follow"))
  (export "path-flags" (type $path-flags (eq $path-names)))
  (type $open-names (flags "create" "directory" "exclusive" "truncate"))
  (export "open-flags" (type $open-flags (eq $open-names)))
  (type $descriptor-names (flags "read" "write" "file-integrity-sync" "data-integrity-sync"
    "requested-write-sync" "mutate-directory"))
  (export "descriptor-flags" (type $descriptor-flags (eq $descriptor-names)))
  (export "[method]descriptor.open-at" (func
    (param "self" (borrow $descriptor)) (param "path-flags" $path-flags) (param "path" string)
    (param "open-flags" $open-flags) (param "flags" $descriptor-flags)
    (result (result (own $descriptor) (error $error-code)))))
  (export "[method]descriptor.read" (func
    (param "self" (borrow $descriptor)) (param "length" u64) (param "offset" u64)
    (result (result (tuple (list u8) bool) (error $error-code)))))))
(alias export $types "descriptor" (type $descriptor))
(import "wasi:filesystem/preopens@0.2.0" (instance $preopens
  (alias outer 1 $descriptor (type $outer))
  (export "descriptor" (type $descriptor (eq $outer)))
  (export "get-directories" (func (result (list (tuple (own $descriptor) string)))))))
(core module $memory
  (memory (export "memory") 4)
  (global $top (mut i32) (i32.const 4096))
  (func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get $at) (local.get 3)))
    (local.get $at)))
(core instance $memory (instantiate $memory))
(core func $get_directories (canon lower (func $preopens "get-directories")
  (memory $memory "memory") (realloc (func $memory "realloc"))))
(core func $open_at (canon lower (func $types "[method]descriptor.open-at")
  (memory $memory "memory") (realloc (func $memory "realloc"))))
(core func $read (canon lower (func $types "[method]descriptor.read")
  (memory $memory "memory") (realloc (func $memory "realloc"))))
(core func $drop (canon resource.drop $descriptor))
(core module $guest
  (import "host" "get-directories" (func $get_directories (param i32)))
  (import "host" "open-at" (func $open_at (param i32 i32 i32 i32 i32 i32 i32)))
  (import "host" "read" (func $read (param i32 i64 i64 i32)))
  (import "host" "drop" (func $drop (param i32)))
  (import "memory" "memory" (memory 4))
  (import "memory" "realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
  (export "memory" (memory 0))
  (export "realloc" (func $realloc))
  (func (export "describe") (result i32) (i32.const 16))
  (func (export "call") (param i32) (result i32)
    (local $root i32) (local $file i32)
    (call $get_directories (i32.const 200))
    (local.set $root (i32.load (i32.load (i32.const 200))))
    ;; Of a path, read only; the result is at 208: a tag, then a handle.
    (call $open_at (local.get $root) (i32.const 0) (i32.const 240) (i32.const 5)
      (i32.const 0) (i32.const 1) (i32.const 208))
    (if (i32.load8_u (i32.const 208)) (then (unreachable)))
    (local.set $file (i32.load (i32.const 212)))
    (call $read (local.get $file) (i64.const 65536) (i64.const 0) (i32.const 216))
    (if (i32.load8_u (i32.const 216)) (then (unreachable)))
    (call $drop (local.get $file))
    (call $drop (local.get $root))
    (i32.const 96))
  (func (export "done") (param i32))
  (data (i32.const 240) "f.txt")
  ;; A list of one: the name "run", neither description nor parameters.
  (data (i32.const 16) "\20\00\00\00\01\00\00\00")
  (data (i32.const 32) "\50\00\00\00\03\00\00\00")
  (data (i32.const 80) "run")
  ;; Ok, output: the four bytes "null".
  (data (i32.const 104) "\70\00\00\00\04\00\00\00null"))
