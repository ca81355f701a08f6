{#
  The stored table against the model's own contract: one row per broken term, none where it holds.

  Columns are compared by name and by Spark's type; NOT NULL is counted over all rows. The columns and constraints are
  the model's own (`columns:` in its YAML), so the test takes no argument:

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
    {{ planproof.planproof_broken_terms(model, nodes[0].columns.values()) }}
  {%- endif -%}
{% endtest %}


{% macro planproof_broken_terms(relation, columns) %}
  {%- set stored = adapter.get_columns_in_relation(relation) | map(attribute='name') | map('lower') | list -%}
  {%- set promised = [] -%}
  {%- set terms = [] -%}
  {%- for column in columns -%}
    {%- do promised.append(column.name | lower) -%}
    {%- do terms.append(planproof.planproof_column_terms(relation, column, column.name | lower in stored)) -%}
  {%- endfor -%}
  {%- for name in stored if name not in promised -%}
    {%- do terms.append(planproof.planproof_row(name, 'column', 'no such column', 'a column')) -%}
  {%- endfor -%}
  {{ terms | join('\nunion all\n') }}
{% endmacro %}


{% macro planproof_column_terms(relation, column, is_stored) %}
  {%- if not is_stored -%}
    {{ planproof.planproof_row(column.name, 'column', column.data_type or 'a column', 'no such column') }}
  {%- else -%}
    {%- set name = adapter.quote(column.name) -%}
    {%- set not_null = column.constraints | selectattr('type', 'in', ['not_null', 'primary_key']) | list -%}
    select {{ dbt.string_literal(column.name) }} as column_name, 'not_null' as term, '0 nulls' as promised,
      concat(count(*), ' nulls') as found
    from {{ relation }} where {{ name if not_null else 'null' }} is null and {{ 'true' if not_null else 'false' }}
    having count(*) > 0
    {%- if column.data_type %}
    union all
    select {{ dbt.string_literal(column.name) }}, 'type', typeof(cast(null as {{ column.data_type }})), typeof(found)
    from (select any_value({{ name }}) as found from {{ relation }})
    where typeof(found) <> typeof(cast(null as {{ column.data_type }}))
    {%- endif -%}
  {%- endif -%}
{% endmacro %}


{% macro planproof_row(column_name, term, promised, found) %}
    select {{ dbt.string_literal(column_name) }} as column_name, {{ dbt.string_literal(term) }} as term,
      {{ dbt.string_literal(promised) }} as promised, {{ dbt.string_literal(found) }} as found
{%- endmacro %}
