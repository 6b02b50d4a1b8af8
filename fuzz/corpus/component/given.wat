;; A component that is given to another hides how large it is.
(component
  (component $small)
  (component $outer (import "inner" (component $inner)) (instance (instantiate $inner)))
  (instance (instantiate $outer (with "inner" (component $small)))))
