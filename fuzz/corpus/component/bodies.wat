;; What bodies, elements and segments cost: locals and blocks, loops within loops, what tables begin with.
(component
  (core module $m
    (type (func))
    (memory 1)
    (table 4 funcref)
    (elem (i32.const 0) func 0 0)
    (elem (i32.const 2) funcref (ref.func 0) (ref.null func))
    (data (i32.const 8) "x")
    (func (local i32 i64 f32 f64) (loop (loop (loop (br_if 0 (i32.const 0)))))
      (if (i32.const 1) (then (block)) (else (block)))))
  (core instance (instantiate $m))
  (core instance (instantiate $m)))
