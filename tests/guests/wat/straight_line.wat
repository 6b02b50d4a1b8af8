;; Logs 16 MB some thousand times in consecutive calls, without a loop or a function call.
(import "wasi:logging/logging@0.1.0-draft" (instance $logging
  (type $levels (enum "trace" "debug" "info" "warn" "error" "critical"))
  (export "level" (type $level (eq $levels)))
  (export "log" (func (param "level" $level) (param "context" string) (param "message" string)))))
(core module $memory (memory (export "memory") 260))
(core instance $memory (instantiate $memory))
(core func $log (canon lower (func $logging "log") (memory $memory "memory")))
(core module $guest
  (import "host" "log" (func $log (param i32 i32 i32 i32 i32)))
  (import "memory" "memory" (memory 260))
  (export "memory" (memory 0))
  (global $top (mut i32) (i32.const 1024))
  (func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func $log_often (local $none i32) (local $at i32) (local $length i32)
    (local.set $at (i32.const 1000000))
    (local.set $length (i32.const 16000000))
    ;; CALLS
  )
  (func (export "describe") (result i32)
    ;; DESCRIBE
    (i32.const 16))
  (func (export "call") (param i32) (result i32) (call $log_often) (i32.const 96))
  (func (export "done") (param i32))
  ;; A list of one: the name "run", neither description nor parameters.
  (data (i32.const 16) "\20\00\00\00\01\00\00\00")
  (data (i32.const 32) "\50\00\00\00\03\00\00\00")
  (data (i32.const 80) "run")
  ;; Ok, output: the four bytes "null".
  (data (i32.const 104) "\70\00\00\00\04\00\00\00null"))
