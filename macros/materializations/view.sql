{#- A view stores nothing: its query is created under another name, audited through it, and then said again. -#}
{% materialization view, adapter='spark' %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type='view') -%}
  {{ run_hooks(pre_hooks) }}
  {%- if config.get('contract').enforced -%}
    {%- set staged = planproof.planproof_name('new').incorporate(type='view') -%}
    {%- call statement('staged') -%}{{ create_view_as(staged, compiled_code) }}{%- endcall -%}
    {%- do planproof.planproof_gate(staged, staged) -%}
    {%- do adapter.drop_relation(staged) -%}
  {%- endif -%}
  {%- if existing is not none and not existing.is_view -%}
    {%- do adapter.drop_relation(existing) -%}
  {%- endif -%}
  {%- call statement('main') -%}{{ create_view_as(target, compiled_code) }}{%- endcall -%}
  {%- do planproof.planproof_after(target, existing, true) -%}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
