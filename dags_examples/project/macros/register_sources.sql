{#
  Creates an external table for each declared source over its Parquet file. A table that exists is left alone, so this
  is cheap on every run.
#}
{% macro register_sources() %}
  {% if execute %}
    {% for source in graph.sources.values() %}
      {% if loop.first %}
        {% do run_query('create schema if not exists ' ~ adapter.quote(source.schema)) %}
        {% do run_query('create schema if not exists ' ~ adapter.quote(target.schema)) %}
      {% endif %}
      {% do run_query(
        'create table if not exists ' ~ adapter.quote(source.schema) ~ '.' ~ adapter.quote(source.identifier)
        ~ " using parquet location '" ~ env_var('PLANPROOF_DEMO_HOME') | replace("'", "\\'")
        ~ '/tpch/' ~ source.identifier ~ ".parquet'"
      ) %}
    {% endfor %}
  {% endif %}
{% endmacro %}
