{#-
  A view stores nothing: where something can be lost, its query is created under another name first, and audited through
  it. A table of the same name waits under another one until the view stands.
-#}
{% materialization view, adapter='spark' %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type='view') -%}
  {%- set replaces_table = existing is not none and not existing.is_view -%}
  {{ run_hooks(pre_hooks) }}
  {%- if replaces_table or config.get('contract').enforced -%}
    {%- set staged = planproof.planproof_name('new').incorporate(type='view') -%}
    {%- call statement('staged') -%}{{ create_view_as(staged, compiled_code) }}{%- endcall -%}
    {%- do planproof.planproof_gate(staged, staged) -%}
    {%- do adapter.drop_relation(staged) -%}
  {%- endif -%}
  {%- if replaces_table -%}
    {%- do planproof.planproof_refuse_own_table(existing) -%}
    {%- set away = planproof.planproof_away(existing) -%}
  {%- endif -%}
  {%- call statement('main') -%}{{ create_view_as(target, compiled_code) }}{%- endcall -%}
  {%- if replaces_table -%}
    {%- do adapter.drop_relation(away) -%}
  {%- endif -%}
  {%- do planproof.planproof_after(target, existing, true) -%}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}


{#- A view of the table in whose place it comes would read itself: it is refused while the table is still there. -#}
{% macro planproof_refuse_own_table(existing) %}
  {%- set plan = run_query('explain extended ' ~ compiled_code).columns[0].values() | join('\n') | lower -%}
  {%- set own = (existing.schema ~ '.' ~ existing.identifier) | lower -%}
  {%- for line in plan.split('\n') if line.strip(' :+-').startswith(('subqueryalias spark_catalog.' ~ own, 'relation spark_catalog.' ~ own ~ '[')) -%}
    {%- if line.split('spark_catalog.' ~ own)[1][:1] in ('', '[') -%}
      {%- do exceptions.raise_compiler_error('planproof: ' ~ this ~ ' is a table, and the view that is to take its place reads it; nothing was changed. Give the view another name, or let it read what the table was made of') -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
