;; Grows a table until it is refused, and traps if it has more than 100,000 elements.
(core module $guest
  (memory (export "memory") 1)
  (global $top (mut i32) (i32.const 1024))
  (table $table 0 funcref)
  (func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func (export "describe") (result i32) (i32.const 16))
  (func (export "call") (param i32) (result i32)
    (loop $more
      (br_if $more (i32.ge_s (table.grow $table (ref.null func) (i32.const 1000)) (i32.const 0))))
    (if (i32.gt_u (table.size $table) (i32.const 100000)) (then (unreachable)))
    (i32.const 96))
  (func (export "done") (param i32))
  ;; A list of one: the name "run", neither description nor parameters.
  (data (i32.const 16) "\20\00\00\00\01\00\00\00")
  (data (i32.const 32) "\50\00\00\00\03\00\00\00")
  (data (i32.const 80) "run")
  ;; Ok, output: the four bytes "null".
  (data (i32.const 104) "\70\00\00\00\04\00\00\00null"))
