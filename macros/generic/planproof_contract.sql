{#
  The stored relation against the model's own contract: one row per broken term, none where it holds.

  Columns are compared by name and by Spark's type; NOT NULL, keys and checks are counted over all rows. The columns and
  constraints are the model's own (`columns:` and `constraints:` in its YAML), so the test takes no argument:

      models:
        - name: orders
          data_tests: [planproof.planproof_contract]
#}
{% test planproof_contract(model) %}
  {%- if execute -%}
    {%- set nodes = [] -%}
    {%- for node in graph.nodes.values() if node.relation_name == model | string and node.resource_type in ('model', 'seed', 'snapshot') -%}
      {%- do nodes.append(node) -%}
    {%- endfor -%}
    {%- if not nodes or not nodes[0].columns -%}
      {{ exceptions.raise_compiler_error("planproof_contract: " ~ model ~ " declares no columns; list them under `columns:`") }}
    {%- endif -%}
    {{ planproof.planproof_broken_terms(model, nodes[0]) }}
  {%- endif -%}
{% endtest %}
