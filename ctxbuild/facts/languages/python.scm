; Python. Every pattern has settings:
;   part  the node captured as @part takes part in chains (see chains.py)
;   role  the captures go to the list of that name (see capture.py)

; --- chains ---------------------------------------------------------------------------
((identifier) @part (#set! part "name"))
((attribute) @part (#set! part "member"))
((call) @part (#set! part "call"))
((subscript) @part (#set! part "index"))
((generic_type) @part (#set! part "index"))
((string) @part (#set! part "text"))
((concatenated_string) @part (#set! part "text"))
((parenthesized_expression) @part (#set! part "group"))
((type) @part (#set! part "annotation"))
((dotted_name) @part (#set! part "dotted"))

; names that are no uses
((keyword_argument name: (identifier) @part) (#set! part "skip"))
((aliased_import alias: (identifier) @part) (#set! part "skip"))
((list_splat_pattern (identifier) @part) (#set! part "skip"))
((dictionary_splat_pattern (identifier) @part) (#set! part "skip"))
((keyword_pattern . (identifier) @part) (#set! part "skip"))

; targets
((pattern_list (_) @part) (#set! part "target"))
((tuple_pattern (_) @part) (#set! part "target"))
((list_pattern (_) @part) (#set! part "target"))
((as_pattern_target (_) @part) (#set! part "target"))
((as_pattern_target (tuple (_) @part)) (#set! part "target"))
((as_pattern_target (list (_) @part)) (#set! part "target"))
((augmented_assignment left: (_) @part) (#set! part "target"))
((delete_statement (_) @part) (#set! part "target"))
((delete_statement (expression_list (_) @part)) (#set! part "target"))
((global_statement (identifier) @part) (#set! part "skip") (#set! role "global"))
((nonlocal_statement (identifier) @part) (#set! part "skip") (#set! role "outer"))

; --- definitions ----------------------------------------------------------------------
((function_definition
  name: (identifier) @part
  parameters: (_) @parameters
  return_type: (_)? @returns
  ":" @colon
  body: (_) @body) @node
  (#set! part "skip") (#set! role "function"))

((class_definition
  name: (identifier) @part
  ":" @colon
  body: (_) @body) @node
  (#set! part "skip") (#set! role "class"))

((decorated_definition definition: (_) @definition) @node (#set! role "decorated"))
((decorator (_) @part) (#set! part "decorator") (#set! role "decorator"))
((class_definition superclasses: (argument_list [
    (identifier) (attribute) (call) (subscript) (list_splat) (parenthesized_expression)
    (conditional_expression) (boolean_operator)
  ] @part))
  (#set! part "base") (#set! role "base"))

((parameters (identifier) @part) (#set! part "skip") (#set! role "parameter"))
((parameters (default_parameter name: (_) @part value: (_) @default))
  (#set! part "skip") (#set! role "parameter"))
((parameters (typed_parameter . (_) @part type: (_) @annotation))
  (#set! part "skip") (#set! role "parameter"))
((parameters (typed_default_parameter name: (_) @part type: (_) @annotation value: (_) @default))
  (#set! part "skip") (#set! role "parameter"))
((parameters (list_splat_pattern) @part) (#set! part "skip") (#set! role "parameter"))
((parameters (dictionary_splat_pattern) @part) (#set! part "skip") (#set! role "parameter"))
((lambda_parameters (identifier) @part) (#set! part "skip") (#set! role "local"))
((lambda_parameters (default_parameter name: (_) @part)) (#set! part "skip") (#set! role "local"))
((lambda_parameters (list_splat_pattern (identifier) @name)) (#set! role "local"))
((lambda_parameters (dictionary_splat_pattern (identifier) @name)) (#set! role "local"))

; type parameters, `def f[T: int]`
((function_definition type_parameters: (type_parameter (type [
    (identifier) @part (constrained_type . (type (identifier) @part)) (splat_type (identifier) @part)
  ])))
  (#set! part "skip") (#set! role "local"))
((class_definition type_parameters: (type_parameter (type [
    (identifier) @part (constrained_type . (type (identifier) @part)) (splat_type (identifier) @part)
  ])))
  (#set! part "skip") (#set! role "local"))
((type_alias_statement left: (type [
    (identifier) @part (generic_type . (identifier) @part)
  ]) right: (type) @value) @node
  (#set! part "skip") (#set! role "alias"))

((module . (comment)* . (expression_statement . [(string) (concatenated_string)] @docstring .))
  (#set! role "summary"))
((block . (comment)* . (expression_statement . [(string) (concatenated_string)] @docstring .)) @body
  (#set! role "docstring"))

; --- bindings -------------------------------------------------------------------------
((assignment left: (_) @part type: (_)? @annotation right: (_)? @value) @node
  (#set! part "target") (#set! role "assignment"))
((augmented_assignment left: (identifier) @target right: (_) @value) (#set! role "augmented"))
((named_expression name: (_) @part value: (_) @value) (#set! part "target") (#set! role "walrus"))
((with_item value: (as_pattern . (_) @value alias: (_) @target)) (#set! role "with"))
((except_clause value: (_) @value) (#set! role "except"))
((for_statement left: (_) @part right: (_) @value) (#set! part "target") (#set! role "for"))
((for_in_clause left: (_) @part right: (_) @value) (#set! part "target") (#set! role "for"))
((call
  function: (identifier) @function
  arguments: (argument_list . (_) @target . (_) @value .))
  (#set! role "guard"))

((class_pattern . (dotted_name) @type) (#set! role "pattern_type"))
((case_pattern (dotted_name) @name) (#set! role "pattern_name"))
((keyword_pattern (identifier) . (dotted_name) @name) (#set! role "pattern_name"))
((splat_pattern (identifier) @part @name) (#set! part "skip") (#set! role "pattern_name"))
((as_pattern (case_pattern) @value (identifier) @part @name)
  (#set! part "skip") (#set! role "pattern_name"))

; --- flows ----------------------------------------------------------------------------
((return_statement (_) @value) (#set! role "return"))
((yield (_) @value) @node (#set! role "yield"))

; --- imports --------------------------------------------------------------------------
((import_statement name: (dotted_name) @module) (#set! role "import"))
((import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias))
  (#set! role "import"))
((import_from_statement module_name: (_) @module name: (dotted_name) @name)
  (#set! role "import"))
((import_from_statement
  module_name: (_) @module
  name: (aliased_import name: (dotted_name) @name alias: (identifier) @alias))
  (#set! role "import"))
((import_from_statement module_name: (_) @module (wildcard_import) @name) (#set! role "import"))
((future_import_statement name: (dotted_name) @name) (#set! role "import"))
((future_import_statement name: (aliased_import name: (dotted_name) @name alias: (identifier) @alias))
  (#set! role "import"))

((if_statement condition: (_) @condition consequence: (_) @then) @node (#set! role "condition"))
((try_statement (except_clause value: (_) @condition)) @node (#set! role "fallback"))
