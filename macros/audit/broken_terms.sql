{#
  A query over `relation` with one row per term of the node's contract that it breaks: column_name, term, promised, found.

  `node` is the model as dbt's graph, results or `model` hold it. Without an enforced contract its `columns:` need not be all:
  then a column that they do not name breaks nothing. Nothing is run but the catalog's answer to which columns there are.
#}
{% macro planproof_broken_terms(relation, node) %}
  {%- set stored = adapter.get_columns_in_relation(relation) | map(attribute='name') | map('lower') | list -%}
  {%- set promised = [] -%}
  {%- set terms = [] -%}
  {%- for column in node.columns.values() -%}
    {%- do promised.append(column.name | lower) -%}
    {%- if column.name | lower not in stored -%}
      {%- do terms.append(planproof.planproof_row(column.name, 'column', column.data_type or 'a column', 'no such column')) -%}
    {%- else -%}
      {%- do terms.extend(planproof.planproof_column_terms(relation, column)) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- for name in stored if name not in promised and (node.config.contract or {}).enforced -%}
    {%- do terms.append(planproof.planproof_row(name, 'column', 'no such column', 'a column')) -%}
  {%- endfor -%}
  {%- for constraint in node.constraints or [] -%}
    {%- do terms.extend(planproof.planproof_constraint_terms(relation, constraint, constraint.columns or [])) -%}
  {%- endfor -%}
  {{ (terms or [planproof.planproof_row('', '', '', '') ~ ' where false']) | join('\nunion all\n') }}
{% endmacro %}


{% macro planproof_column_terms(relation, column) %}
  {%- set terms = [] -%}
  {%- if column.data_type -%}
    {%- set wanted = 'typeof(cast(null as ' ~ column.data_type ~ '))' -%}
    {%- set terms_sql -%}
    select {{ planproof.planproof_literal(column.name) }} as column_name, 'type' as term, {{ wanted }} as promised, typeof(found) as found
    from (select any_value({{ adapter.quote(column.name) }}) as found from {{ relation }}) as types
    where typeof(found) <> {{ wanted }}
    {%- endset -%}
    {%- do terms.append(terms_sql) -%}
  {%- endif -%}
  {%- for constraint in column.constraints or [] -%}
    {%- do terms.extend(planproof.planproof_constraint_terms(relation, constraint, [column.name])) -%}
  {%- endfor -%}
  {{ return(terms) }}
{% endmacro %}


{% macro planproof_constraint_terms(relation, constraint, columns) %}
  {%- set terms = [] -%}
  {%- set kind = constraint.type | string -%}
  {%- set kind = kind.split('.')[-1] -%}
  {%- set names = [] -%}
  {%- for column in columns -%}{%- do names.append(adapter.quote(column)) -%}{%- endfor -%}
  {%- set label = columns | join(', ') -%}
  {%- if kind in ('not_null', 'primary_key') -%}
    {%- for name in names -%}
      {%- do terms.append(planproof.planproof_count(columns[loop.index0], 'not_null', 'nulls', relation ~ ' where ' ~ name ~ ' is null')) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- if kind in ('unique', 'primary_key') -%}
    {%- set present = [] -%}
    {%- for name in names -%}{%- do present.append(name ~ ' is not null') -%}{%- endfor -%}
    {%- set repeated -%}
    (select 1 from {{ relation }} where {{ present | join(' and ') }} group by {{ names | join(', ') }} having count(*) > 1) as repeated
    {%- endset -%}
    {%- do terms.append(planproof.planproof_count(label, kind, 'repeated keys', repeated)) -%}
  {%- endif -%}
  {%- if kind == 'check' -%}
    {%- do terms.append(planproof.planproof_count(label, 'check ' ~ constraint.expression, 'rows', relation ~ ' where not (' ~ constraint.expression ~ ')')) -%}
  {%- endif -%}
  {%- if kind == 'foreign_key' and constraint.to and constraint.to_columns -%}
    {%- set present = [] -%}
    {%- set same = [] -%}
    {%- for name in names -%}
      {%- do present.append('child.' ~ name ~ ' is not null') -%}
      {%- do same.append('child.' ~ name ~ ' = parent.' ~ adapter.quote(constraint.to_columns[loop.index0])) -%}
    {%- endfor -%}
    {%- set dangling = relation ~ ' as child left anti join ' ~ planproof.planproof_parent(constraint.to) ~ ' as parent on ' ~ same | join(' and ') ~ ' where ' ~ present | join(' and ') -%}
    {%- do terms.append(planproof.planproof_count(label, 'foreign_key', 'rows', dangling)) -%}
  {%- endif -%}
  {{ return(terms) }}
{% endmacro %}


{#- The relation that a foreign key names: dbt leaves `ref('x')` as it is until it compiles the model. -#}
{% macro planproof_parent(to) %}
  {%- set names = modules.re.findall("['\"]([^'\"]+)['\"]", to) -%}
  {%- if modules.re.match('\\s*(ref|source)\\s*\\(', to) and names -%}
    {%- set found = [] -%}
    {%- for node in (graph.nodes.values() | list + graph.sources.values() | list) if node.name == names[-1] and node.resource_type in ('model', 'seed', 'snapshot', 'source') -%}
      {%- if names | length == 1 or names[0] in (node.package_name, node.source_name) -%}
        {%- do found.append(node.relation_name) -%}
      {%- endif -%}
    {%- endfor -%}
    {%- if found -%}{{ return(found[0]) }}{%- endif -%}
  {%- endif -%}
  {{ return(to) }}
{% endmacro %}


{% macro planproof_count(column_name, term, what, from_clause) %}
    select {{ planproof.planproof_literal(column_name) }} as column_name, {{ planproof.planproof_literal(term) }} as term,
      '0 {{ what }}' as promised, concat(count(*), ' {{ what }}') as found
    from {{ from_clause }} having count(*) > 0
{%- endmacro %}


{% macro planproof_row(column_name, term, promised, found) %}
    select {{ planproof.planproof_literal(column_name) }} as column_name, {{ planproof.planproof_literal(term) }} as term,
      {{ planproof.planproof_literal(promised) }} as promised, {{ planproof.planproof_literal(found) }} as found
{%- endmacro %}


{#- A Spark string literal: names and checks are untrusted text. -#}
{% macro planproof_literal(text) %}
  {{- return("'" ~ text | replace('\\', '\\\\') | replace("'", "\\'") ~ "'") -}}
{% endmacro %}
