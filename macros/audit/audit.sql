{#
  What is stored now against its contract, said in dbt's log; a broken term is an error.

      on-run-end: ["{{ planproof.planproof_audit(results) }}"]     every model of the run that has a contract
      post_hook: "{{ planproof.planproof_audit() }}"               the model itself

  With `warn_only=true` broken terms are warnings.
#}
{% macro planproof_audit(results=none, warn_only=false) %}
  {%- if execute -%}
    {%- set broken = [] -%}
    {%- if results is none -%}
      {%- do broken.extend(planproof.planproof_audited(this, model)) -%}
    {%- else -%}
      {%- for result in results if result.status | string in ('success', 'RunStatus.Success') and result.node.resource_type | string in ('model', 'NodeType.Model') -%}
        {%- set node = result.node -%}
        {%- if node.config.contract.enforced and node.config.materialized != 'ephemeral' -%}
          {%- set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias) -%}
          {%- do broken.extend(planproof.planproof_audited(relation, node)) -%}
        {%- endif -%}
      {%- endfor -%}
    {%- endif -%}
    {%- if broken -%}
      {%- set said = "planproof_audit: " ~ broken | length ~ " broken term(s)\n" ~ broken | join('\n') ~ "\n" ~ planproof.planproof_planes() -%}
      {%- if warn_only -%}
        {%- do exceptions.warn(said) -%}
      {%- else -%}
        {%- do exceptions.raise_compiler_error(said) -%}
      {%- endif -%}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}


{#- The broken terms of one relation, a line each; says in the log that it was audited. -#}
{% macro planproof_audited(relation, node) %}
  {%- set lines = [] -%}
  {%- if node.columns -%}
    {%- for row in run_query(planproof.planproof_broken_terms(relation, node)).rows -%}
      {%- do lines.append('  ' ~ relation ~ '.' ~ row[0] ~ ': ' ~ row[1] ~ ', promised ' ~ row[2] ~ ', found ' ~ row[3]) -%}
    {%- endfor -%}
    {%- do log('planproof: ' ~ relation ~ ': ' ~ (lines | length ~ ' broken term(s)' if lines else 'its contract holds') ~ '; ' ~ planproof.planproof_planes(), info=true) -%}
  {%- endif -%}
  {{ return(lines) }}
{% endmacro %}


{#- What SQL alone can see. -#}
{% macro planproof_planes() %}
  {{ return('planes read: contract, catalog, and all rows by a count; not readable from macros: logical, rewritten, analyzed, optimized, executed, batches, files') }}
{% endmacro %}
