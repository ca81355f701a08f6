{#- The delta is computed once: staged, audited, and only then are columns added and rows inserted. -#}
{% materialization incremental, adapter='spark', supported_languages=['sql', 'python'] %}
  {%- if not planproof.planproof_is_staged() -%}
    {{ return(dbt.materialization_incremental_spark()) }}
  {%- endif -%}
  {%- set strategy = config.get('incremental_strategy') or 'append' -%}
  {%- set existing = load_relation(this) -%}
  {%- if strategy in ('insert_overwrite', 'microbatch') and config.get('partition_by') -%}
    {%- call statement() -%}set spark.sql.sources.partitionOverwriteMode = DYNAMIC{%- endcall -%}
  {%- endif -%}
  {{ run_hooks(pre_hooks) }}
  {%- set staged = planproof.planproof_stage() -%}
  {%- if existing is none or existing.is_view or should_full_refresh() -%}
    {%- set target = planproof.planproof_swap(staged, existing) -%}
  {%- else -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- set changes = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
    {%- do process_schema_changes(changes, staged, existing) -%}
    {%- call statement('insert') -%}
      {{ dbt_spark_get_incremental_sql(strategy, staged, target, existing, config.get('unique_key'), none) }}
    {%- endcall -%}
    {%- do adapter.drop_relation(staged) -%}
  {%- endif -%}
  {%- do planproof.planproof_after(target, existing, should_full_refresh()) -%}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
