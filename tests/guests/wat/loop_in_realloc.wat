;; Loops endlessly in `realloc`, which the host calls for the arguments.
(core module $guest
  (memory (export "memory") 1)
  (func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (loop $forever (br $forever))
    (unreachable))
  (func (export "describe") (result i32) (i32.const 16))
  (func (export "call") (param i32) (result i32) (i32.const 96))
  (func (export "done") (param i32))
  ;; A list of one: the name "run", neither description nor parameters.
  (data (i32.const 16) "\20\00\00\00\01\00\00\00")
  (data (i32.const 32) "\50\00\00\00\03\00\00\00")
  (data (i32.const 80) "run")
  ;; Ok, output: the four bytes "null".
  (data (i32.const 104) "\70\00\00\00\04\00\00\00null"))
