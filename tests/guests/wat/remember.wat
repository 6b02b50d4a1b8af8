;; Searches for data of an earlier call, then fills its memory, table and stack.
;;
;; Output: four counts, 0 in a new instance: words of memory that are neither zero nor the image,
;; elements of the table that are not null; and of this call's own data, words and elements that changed,
;; and frames of its stack that were lost. Input: 0 returns at once; 1 computes for a while, some
;; thousand frames deep, and touches nothing afterwards; 2 also checks that its data is unchanged.
;; A test sets the size of the memory, its growth in a call, and the size of its image.
(core module $guest
  (memory (export "memory") PAGES)
  (table $table 20000 funcref)
  (global $top (mut i32) (i32.const 1024))
  (global $image i32 (i32.const 0x10000))
  (global $zeros i32 (i32.const ZEROS))
  (global $end (mut i32) (i32.const 0))
  (global $frames i32 (i32.const 4000))
  (elem declare func $mark)
  (func $mark)
  (func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func (export "describe") (result i32) (i32.const 16))

  ;; Counts the words that differ from the expected value.
  (func $other_words (param $at i32) (param $end i32) (param $want i64) (result i32)
    (local $count i32)
    (loop $next
      (if (i64.ne (i64.load (local.get $at)) (local.get $want))
        (then (local.set $count (i32.add (local.get $count) (i32.const 1)))))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
    (local.get $count))

  ;; Counts the elements that are null.
  (func $nulls (result i32)
    (local $at i32) (local $count i32)
    (loop $next
      (local.set $count (i32.add (local.get $count)
        (ref.is_null (table.get $table (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (table.size $table))))
    (local.get $count))

  ;; Computes below this number of frames; returns the number of frames.
  (func $deep (param $frames i32) (result i32)
    (local $turns i32)
    (if (local.get $frames)
      (then (return (i32.add (call $deep (i32.sub (local.get $frames) (i32.const 1))) (i32.const 1)))))
    (loop $next
      (local.set $turns (i32.add (local.get $turns) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $turns) (i32.const 100000000))))
    (i32.const 0))

  ;; Writes a number in decimal, its last digit at an address.
  (func $write (param $last i32) (param $number i32)
    (loop $next
      (i32.store8 (local.get $last)
        (i32.add (i32.const 48) (i32.rem_u (local.get $number) (i32.const 10))))
      (local.set $number (i32.div_u (local.get $number) (i32.const 10)))
      (local.set $last (i32.sub (local.get $last) (i32.const 1)))
      (br_if $next (local.get $number))))

  (func (export "call") (param $arguments i32) (result i32)
    (local $mode i32) (local $memory i32) (local $elements i32) (local $changed i32) (local $lost i32)
    (drop (memory.grow (i32.const GROWN)))
    (global.set $end (i32.shl (memory.size) (i32.const 16)))
    (local.set $mode (i32.sub
      (i32.load8_u (i32.load offset=68 (local.get $arguments))) (i32.const 48)))
    (local.set $memory (i32.add
      (call $other_words (global.get $image) (global.get $zeros) (i64.load (i32.const 64)))
      (call $other_words (global.get $zeros) (global.get $end) (i64.const 0))))
    (local.set $elements (i32.sub (table.size $table) (call $nulls)))

    (memory.fill (global.get $image) (i32.const 0x5a) (i32.sub (global.get $end) (global.get $image)))
    (table.fill $table (i32.const 0) (ref.func $mark) (table.size $table))
    (if (local.get $mode)
      (then (local.set $lost (i32.sub (global.get $frames) (call $deep (global.get $frames))))))
    (if (i32.eq (local.get $mode) (i32.const 2))
      (then (local.set $changed (i32.add (call $nulls)
        (call $other_words (global.get $image) (global.get $end) (i64.const 0x5a5a5a5a5a5a5a5a))))))

    (call $write (i32.const 120) (local.get $memory))
    (call $write (i32.const 129) (local.get $elements))
    (call $write (i32.const 138) (local.get $changed))
    (call $write (i32.const 147) (local.get $lost))
    (i32.const 96))
  (func (export "done") (param i32))
  ;; A list of one: the name "run", neither description nor parameters.
  (data (i32.const 16) "\20\00\00\00\01\00\00\00")
  (data (i32.const 32) "\50\00\00\00\03\00\00\00")
  (data (i32.const 80) "run")
  ;; Ok, output: a list of four numbers.
  (data (i32.const 104) "\70\00\00\00\25\00\00\00[       0,       0,       0,       0]")
  ;; A word of the image, and the image.
  (data (i32.const 64) "IMAGE___")
  (data (i32.const 0x10000) "IMAGES"))
