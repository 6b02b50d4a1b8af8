;; A plug-in for Extism. `echo` returns its input. `read` returns the file `text.txt` of the workdir.
;; Extism keeps input and output in a memory of its own; a plug-in copies from and to it.
(module
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_load_u8 (param i64) (result i32)))
  (import "extism:host/env" "input_load_u64" (func $input_load_u64 (param i64) (result i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (memory (export "memory") 17)
  ;; 0: the file; 4: bytes read; 8: where and how much to read; 16: the path. Data is at 1024.
  (data (i32.const 8) "\00\04\00\00\00\00\10\00")
  (data (i32.const 16) "text.txt")

  (func $copy_input (param $length i64)
    (local $at i64)
    (block $whole
      (loop $next
        (br_if $whole (i64.gt_u (i64.add (local.get $at) (i64.const 8)) (local.get $length)))
        (i64.store offset=1024 (i32.wrap_i64 (local.get $at)) (call $input_load_u64 (local.get $at)))
        (local.set $at (i64.add (local.get $at) (i64.const 8)))
        (br $next)))
    (block $end
      (loop $next
        (br_if $end (i64.ge_u (local.get $at) (local.get $length)))
        (i32.store8 offset=1024 (i32.wrap_i64 (local.get $at)) (call $input_load_u8 (local.get $at)))
        (local.set $at (i64.add (local.get $at) (i64.const 1)))
        (br $next))))

  (func $set_output (param $length i64)
    (local $at i64) (local $output i64)
    (local.set $output (call $alloc (local.get $length)))
    (block $whole
      (loop $next
        (br_if $whole (i64.gt_u (i64.add (local.get $at) (i64.const 8)) (local.get $length)))
        (call $store_u64 (i64.add (local.get $output) (local.get $at))
          (i64.load offset=1024 (i32.wrap_i64 (local.get $at))))
        (local.set $at (i64.add (local.get $at) (i64.const 8)))
        (br $next)))
    (block $end
      (loop $next
        (br_if $end (i64.ge_u (local.get $at) (local.get $length)))
        (call $store_u8 (i64.add (local.get $output) (local.get $at))
          (i32.load8_u offset=1024 (i32.wrap_i64 (local.get $at))))
        (local.set $at (i64.add (local.get $at) (i64.const 1)))
        (br $next)))
    (call $output_set (local.get $output) (local.get $length)))

  (func (export "echo") (result i32)
    (local $length i64)
    (local.set $length (call $input_length))
    (call $copy_input (local.get $length))
    (call $set_output (local.get $length))
    (i32.const 0))

  (func (export "read") (result i32)
    ;; The first open directory is 3. Rights: fd_read.
    (if (call $path_open (i32.const 3) (i32.const 0) (i32.const 16) (i32.const 8) (i32.const 0)
          (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 0))
      (then (return (i32.const 1))))
    (if (call $fd_read (i32.load (i32.const 0)) (i32.const 8) (i32.const 1) (i32.const 4))
      (then (return (i32.const 2))))
    (drop (call $fd_close (i32.load (i32.const 0))))
    (call $set_output (i64.load32_u (i32.const 4)))
    (i32.const 0)))
