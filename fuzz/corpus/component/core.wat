;; A core module with something of everything that is counted.
(component
  (core module $m
    (type (func (param i32) (result i32)))
    (global (mut i32) (i32.const 0))
    (global i64 (i64.const 1))
    (memory (export "m") 1)
    (table 2 funcref)
    (func (export "f") (type 0) local.get 0)
    (func)
    (data (i32.const 0) "x"))
  (core instance $i (instantiate $m))
  (type $f (func (param "a" u32) (result u32)))
  (func (export "f") (type $f) (canon lift (core func $i "f"))))
