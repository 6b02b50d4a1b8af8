;; The component around each guest: exports `goondan:tool/handlers`.
;;
;; A test replaces the line below with a guest's core module `$guest` and further definitions.
;; The module exports `memory`, `realloc`, `describe`, `call` and `done`, the post-return of `call`.
(component
  ;; GUEST

  (core instance $guest (instantiate $guest))

  (type $context (record
    (field "agent-name" string) (field "instance-key" string) (field "turn-id" string)
    (field "tool-call-id" string) (field "trace-id" (option string)) (field "message" string)
    (field "workdir" string)))
  (type $error (record
    (field "message" string) (field "name" (option string)) (field "code" (option string))
    (field "suggestion" (option string)) (field "help-url" (option string))))
  (type $outcome (variant (case "output" string) (case "pending" string)))
  (type $spec (record
    (field "name" string) (field "description" (option string)) (field "parameters" (option string))))

  (func $describe (result (list $spec))
    (canon lift (core func $guest "describe") (memory $guest "memory")))
  (func $call (param "name" string) (param "context" $context) (param "input" string)
    (result (result $outcome (error $error)))
    (canon lift (core func $guest "call") (memory $guest "memory")
      (realloc (func $guest "realloc")) (post-return (func $guest "done"))))

  ;; An exported function can only use types that are exported too.
  (component $handlers
    (import "tool-context" (type $context-in (eq $context)))
    (import "tool-error" (type $error-in (eq $error)))
    (import "outcome" (type $outcome-in (eq $outcome)))
    (import "export-spec" (type $spec-in (eq $spec)))
    (import "describe" (func $describe (result (list $spec-in))))
    (import "call" (func $call
      (param "name" string) (param "context" $context-in) (param "input" string)
      (result (result $outcome-in (error $error-in)))))
    (export $context-out "tool-context" (type $context-in))
    (export $error-out "tool-error" (type $error-in))
    (export $outcome-out "outcome" (type $outcome-in))
    (export $spec-out "export-spec" (type $spec-in))
    (export "describe" (func $describe) (func (result (list $spec-out))))
    (export "call" (func $call) (func
      (param "name" string) (param "context" $context-out) (param "input" string)
      (result (result $outcome-out (error $error-out))))))
  (instance $handlers (instantiate $handlers
    (with "tool-context" (type $context))
    (with "tool-error" (type $error))
    (with "outcome" (type $outcome))
    (with "export-spec" (type $spec))
    (with "describe" (func $describe))
    (with "call" (func $call))))
  (export "goondan:tool/handlers@2.0.0" (instance $handlers)))
