;; Grows its memory by 50 MiB, and by more than 4 GiB, which is refused, in turns. Traps if it has more than
;; 256 MiB then.
(core module $guest
  (memory (export "memory") 1)
  (global $top (mut i32) (i32.const 1024))
  (func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func (export "describe") (result i32) (i32.const 16))
  (func (export "call") (param i32) (result i32)
    (local $turn i32)
    (loop $more
      (drop (memory.grow (i32.const 800)))
      (if (i32.ge_s (memory.grow (i32.const 65536)) (i32.const 0)) (then (unreachable)))
      (local.set $turn (i32.add (local.get $turn) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $turn) (i32.const 10))))
    (if (i32.gt_u (memory.size) (i32.const 4096)) (then (unreachable)))
    (i32.const 96))
  (func (export "done") (param i32))
  ;; A list of one: the name "run", neither description nor parameters.
  (data (i32.const 16) "\20\00\00\00\01\00\00\00")
  (data (i32.const 32) "\50\00\00\00\03\00\00\00")
  (data (i32.const 80) "run")
  ;; Ok, output: the four bytes "null".
  (data (i32.const 104) "\70\00\00\00\04\00\00\00null"))
