;; Components within a component, given to others, and instances that multiply.
(component
  (component $c0 (type (func)))
  (component $c1 (alias outer 1 $c0 (component $c)) (instance (instantiate $c)) (instance (instantiate $c)))
  (component $c2 (alias outer 1 $c1 (component $c)) (instance (instantiate $c)) (instance (instantiate $c)))
  (instance (instantiate $c2))
  (export "c" (component $c0)))
