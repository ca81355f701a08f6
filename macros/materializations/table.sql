{% materialization table, adapter='spark', supported_languages=['sql', 'python'] %}
  {%- if not planproof.planproof_is_staged() -%}
    {{ return(dbt.materialization_table_spark()) }}
  {%- endif -%}
  {%- set existing = load_cached_relation(this) -%}
  {{ run_hooks(pre_hooks) }}
  {%- set staged = planproof.planproof_stage() -%}
  {%- set target = planproof.planproof_swap(staged, existing) -%}
  {%- do planproof.planproof_after(target, existing, true) -%}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
