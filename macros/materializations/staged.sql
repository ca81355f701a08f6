{#
  Stage, audit in SQL, swap: for those who do not want an adapter patch. A project opts in by one line per
  materialization, in any of its macro files:

      {% materialization table, adapter='spark' %}{{ return(planproof.materialization_table_spark()) }}{% endmaterialization %}
      {% materialization view, adapter='spark' %}{{ return(planproof.materialization_view_spark()) }}{% endmaterialization %}
      {% materialization incremental, adapter='spark', supported_languages=['sql'] %}{{ return(planproof.materialization_incremental_spark()) }}{% endmaterialization %}

  There is no journal here: a run that is killed between the two renames leaves the old table under the name that the log
  says. Formats with a log of their own, Python models and `location_root` are left to dbt's own materialization.
#}

{% macro planproof_is_staged() %}
  {%- set file_format = config.get('file_format') or 'parquet' -%}
  {{ return(model.language == 'sql' and file_format not in ('delta', 'iceberg', 'hudi') and not config.get('location_root')) }}
{% endmacro %}


{#- A name that begins with `_` would not do: Hadoop hides such a folder from those who read a table in Hive's formats. -#}
{% macro planproof_name(what) %}
  {%- set name = model.alias | lower ~ '__planproof_' ~ invocation_id.replace('-', '')[:10] ~ '_' ~ what -%}
  {{ return(api.Relation.create(database=none, schema=model.schema, identifier=name, type='table')) }}
{% endmacro %}


{#- Writes the model's rows into a table of their own and audits them; on a broken term they are dropped. -#}
{% macro planproof_stage() %}
  {%- set staged = planproof.planproof_name('new') -%}
  {%- call statement('main') -%}
    {{ create_table_as(False, staged, compiled_code) }}
  {%- endcall -%}
  {%- do planproof.planproof_gate(staged, staged) -%}
  {{ return(staged) }}
{% endmacro %}


{% macro planproof_gate(relation, staged) %}
  {%- if config.get('contract').enforced -%}
    {%- set broken = planproof.planproof_audited(relation, model) -%}
    {%- if broken -%}
      {%- if staged is not none -%}{%- do adapter.drop_relation(staged) -%}{%- endif -%}
      {%- do exceptions.raise_compiler_error('planproof: ' ~ this ~ ' breaks its contract; nothing was published\n' ~ broken | join('\n')) -%}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}


{#-
  The staged table takes the model's name; what bore it waits under another until that is done. Hive keeps the name and
  the folder in lower case: with `spark.sql.caseSensitive` Spark would look for the rows in one of the name's spelling.
-#}
{% macro planproof_swap(staged, existing) %}
  {%- set target = this.incorporate(type='table') -%}
  {%- set kept = target.incorporate(path={'identifier': target.identifier | lower}) -%}
  {%- if existing is not none -%}
    {%- set away = planproof.planproof_away(existing) -%}
    {%- do adapter.rename_relation(staged, kept) -%}
    {%- do adapter.drop_relation(away) -%}
  {%- else -%}
    {%- do adapter.rename_relation(staged, kept) -%}
  {%- endif -%}
  {{ return(target) }}
{% endmacro %}


{#- Renames what bears the model's name, and says in dbt's log how. -#}
{% macro planproof_away(existing) %}
  {%- set away = planproof.planproof_name('old').incorporate(type=existing.type) -%}
  {%- do log('planproof: ' ~ existing ~ ' waits as ' ~ away, info=false) -%}
  {%- do adapter.rename_relation(existing, away) -%}
  {{ return(away) }}
{% endmacro %}


{% macro planproof_after(target, existing, full_refresh) %}
  {%- do apply_grants(target, config.get('grants'), should_revoke(existing, full_refresh_mode=full_refresh)) -%}
  {%- do persist_docs(target, model) -%}
  {{ run_hooks(post_hooks) }}
{% endmacro %}
