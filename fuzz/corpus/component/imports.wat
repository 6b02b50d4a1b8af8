;; Imports that are served, and one that is not; exports of a version that is not.
(component
  (import "wasi:io/poll@0.2.6" (instance))
  (import "goondan:tool/agents@2.0.0" (instance))
  (import "wasi:http/types@0.2.0" (instance $http))
  (import "plain-name" (func))
  (export "goondan:tool/handlers@2.1.0" (instance $http)))
