{# Makes the two tables that another team would write. #}
{% macro raw_tables(schema='raw_gym') %}
  {% do run_query('create database if not exists ' ~ adapter.quote(schema)) %}
  {% set members %}
    create table if not exists {{ adapter.quote(schema) }}.members using parquet as
    select * from values
      (1L, ' Ada ', 1, '2024-01-03'),
      (2L, 'Ben', 2, '2024-02-01')
    as t(id, name, plan_id, joined)
  {% endset %}
  {% do run_query(members) %}
  {% set visits %}
    create table if not exists {{ adapter.quote(schema) }}.visits using parquet as
    select * from values
      (1L, timestamp'2024-03-01 08:00:00', timestamp'2024-03-01 09:10:00'),
      (2L, timestamp'2024-03-02 08:30:00', null),
      (3L, timestamp'2024-03-03 09:00:00', timestamp'2024-03-03 10:00:00')
    as t(member_id, checked_in, checked_out)
  {% endset %}
  {% do run_query(visits) %}
{% endmacro %}
