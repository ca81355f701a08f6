"""Random queries as people write them: Spark's clauses and functions mixed, most of them sound, some of them not.

    python tests/engine/versions/random_queries.py [COUNT [SEED]]

prints queries. A template's holes are filled at random: `{s}` a text, `{i}` a whole number, `{n}` any number, and so on
(`HOLES`). One hole in thirty gets something of another type, one name in a hundred is unknown: Spark's refusals are
compared as well.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

TABLES: dict[str, list[tuple[str, str, bool]]] = {
    "orders": [
        ("id", "bigint", False),
        ("customer_id", "int", True),
        ("status", "string", True),
        ("amount", "decimal(10,2)", True),
        ("rate", "double", False),
        ("placed", "timestamp", True),
        ("day", "date", False),
        ("paid", "boolean", True),
        ("tags", "array<string>", True),
        ("scores", "array<int>", False),
        ("props", "map<string,int>", True),
        ("items", "array<struct<sku:string,qty:int,price:decimal(8,2)>>", True),
        ("buyer", "struct<name:string,address:struct<city:string,zip:int>>", True),
    ],
    "customers": [
        ("id", "int", False),
        ("name", "string", False),
        ("country", "string", True),
        ("joined", "timestamp_ntz", True),
        ("born", "date", True),
        ("weight", "float", True),
        ("level", "smallint", True),
        ("mini", "tinyint", True),
        ("photo", "binary", True),
        ("limits", "map<string,array<double>>", True),
        ("due", "decimal(20,4)", False),
    ],
    "days": [("day", "date", False), ("week", "int", False), ("note", "string", True)],
}

KINDS = {
    "bigint": "i", "int": "i", "smallint": "i", "tinyint": "i", "string": "s", "double": "f", "float": "f",
    "decimal(10,2)": "d", "decimal(20,4)": "d", "timestamp": "t", "timestamp_ntz": "t", "date": "D", "boolean": "b",
    "binary": "x", "array<string>": "S", "array<int>": "I", "map<string,int>": "M",
    "array<struct<sku:string,qty:int,price:decimal(8,2)>>": "Z", "map<string,array<double>>": "L",
    "struct<name:string,address:struct<city:string,zip:int>>": "P",
}  # fmt: skip
"""What a hole is called that takes a column of this type."""

LITERALS: dict[str, list[str]] = {
    "i": ["1", "0", "-3", "42", "7L", "2S", "5Y", "2147483648", "(1)"],
    "s": ["'a'", "'2024-01-31'", "'12'", "'a,b'", "''", '"q"', "r'\\d'", "'x' 'y'"],
    "f": ["1.5D", "2E0", "0.1F", "-1e3D"],
    "d": ["1.25", "0.1BD", "123.456", "-.5", "1e2BD", "99999999999999999999"],
    "t": ["timestamp'2024-01-31 10:00:00'", "timestamp_ntz'2024-01-31 10:00:00'", "timestamp'2024-05-01'"],
    "D": ["date'2024-01-31'", "date'1999-12-01'"],
    "b": ["true", "false"],
    "x": ["X'1F'", "x'00ff'"],
    "S": ["array('a', 'b')", "array('x', null)", "split('a,b', ',')"],
    "I": ["array(1, 2, 3)", "array(1, null)", "sequence(1, 5)"],
    "M": ["map('a', 1)", "map('a', 1, 'b', null)"],
    "Z": ["array(named_struct('sku', 'a', 'qty', 1, 'price', 1.00))"],
    "L": ["map('a', array(1.0D))"],
    "P": ["named_struct('name', 'n', 'address', named_struct('city', 'c', 'zip', 1))"],
    "v": ["interval '1' day", "interval 3 hours", "interval '1-2' year to month", "interval '2 03' day to hour", "interval 1 month"],
    "N": ["null", "cast(null as int)"],
}  # fmt: skip

FORMS: dict[str, list[str]] = {
    "i": [
        "{i} + {i}", "{i} - {i}", "{i} * {i}", "{i} % {i}", "{i} div {i}", "-{i}", "abs({i})", "cast({a} as int)", "{s}::bigint",
        "length({s})", "char_length({s})", "instr({s}, {s})", "locate({s}, {s})", "position({s} in {s})", "ascii({s})", "levenshtein({s}, {s})",
        "year({D})", "month({t})", "day({D})", "hour({t})", "minute({t})", "extract(year from {D})", "extract(week from {t})", "date_part('doy', {D})",
        "datediff({D}, {D})", "datediff(day, {t}, {t})", "dayofweek({D})", "weekofyear({D})", "quarter({D})", "unix_timestamp({t})", "unix_date({D})",
        "size({S})", "cardinality({M})", "array_position({S}, {s})", "element_at({I}, {i})", "element_at({M}, {s})", "{I}[{i}]", "{M}[{s}]", "try_element_at({I}, {i})",
        "array_max({I})", "array_min({I})", "aggregate({I}, 0, (acc, x) -> acc + x)", "reduce({I}, 0, (acc, x) -> acc + x, acc -> acc * 2)",
        "coalesce({i}, {i})", "nvl({i}, {i})", "nullif({i}, {i})", "ifnull({i}, {i})", "if({b}, {i}, {i})", "case when {b} then {i} else {i} end", "case {s} when {s} then {i} end",
        "greatest({i}, {i})", "least({i}, {i}, {i})", "sign({i})", "ceil({f})", "floor({d})", "pmod({i}, {i})", "mod({i}, {i})", "bit_count({i})", "{i} & {i}", "{i} | {i}", "{i} ^ {i}", "~{i}", "shiftleft({i}, {i})", "{i} << 2",
        "hash({a}, {a})", "xxhash64({a})", "crc32({x})", "factorial({i})", "width_bucket({f}, {f}, {f}, {i})", "{Z}[0].qty", "{P}.address.zip", "find_in_set({s}, {s})", "octet_length({s})", "bit_length({x})",
        "try_add({i}, {i})", "try_subtract({i}, {i})", "try_cast({s} as int)", "nvl2({a}, {i}, {i})", "zeroifnull({i})", "nullifzero({i})", "json_array_length({s})", "getbit({i}, {i})", "months_between({D}, {D})::int", "regexp_count({s}, {s})", "regexp_instr({s}, {s})", "conv({s}, 10, 16)::int",
        "array_size({S})", "unix_seconds({t})", "unix_millis({t})", "to_number({s}, '999')", "strpos({s}, {s})", "decode({i}, 1, 2, 3)", "timestampdiff(HOUR, {t}, {t})", "try_mod({i}, {i})", "uniform(1, 10, 3)", "bround({i}, -1)", "round({i})", "(select max({i}) from days)", "hour({t}) + minute({t})",
    ],
    "s": [
        "concat({s}, {s})", "{s} || {s}", "upper({s})", "lower({s})", "ucase({s})", "trim({s})", "ltrim({s})", "trim(both {s} from {s})", "trim(leading from {s})", "substring({s}, {i}, {i})", "substr({s}, {i})", "substring({s} from {i} for {i})", "left({s}, {i})", "right({s}, {i})",
        "lpad({s}, {i}, {s})", "rpad({s}, {i})", "repeat({s}, {i})", "reverse({s})", "replace({s}, {s}, {s})", "replace({s}, {s})", "translate({s}, {s}, {s})", "regexp_replace({s}, {s}, {s})", "regexp_extract({s}, {s}, {i})", "regexp_substr({s}, {s})", "split({s}, ',')[{i}]", "split_part({s}, ',', {i})", "substring_index({s}, ',', {i})", "initcap({s})", "soundex({s})",
        "cast({a} as string)", "{n}::string", "string({i})", "date_format({t}, 'yyyy-MM')", "from_unixtime({i})", "to_char({d}, '999.99')", "format_number({n}, 2)", "format_string('%s %d', {s}, {i})", "printf('%s', {s})", "concat_ws(',', {s}, {S})", "concat_ws('-', {s}, {s})", "array_join({S}, ',')", "array_join({S}, ',', 'x')",
        "md5({x})", "sha2({s}, 256)", "sha1({s})", "hex({i})", "base64({x})", "encode({s}, 'utf-8')::string", "decode({x}, 'utf-8')", "decode({x}, 'utf-8')", "coalesce({s}, {s})", "nvl({s}, {s})", "if({b}, {s}, {s})", "case when {b} then {s} when {b} then {s} end", "get_json_object({s}, '$.a')", "to_json({P})", "to_json({M})", "to_csv({P})", "typeof({a})",
        "{P}.name", "{P}.address.city", "{Z}[0].sku", "{S}[{i}]", "element_at({S}, 1)", "elt({i}, {s}, {s})", "overlay({s} placing {s} from {i})", "overlay({s}, {s}, {i})", "monthname({D})", "dayname({D})", "quote({s})", "mask({s})", "luhn_check({s})::string", "url_encode({s})", "parse_url({s}, 'HOST')", "space({i})", "chr({i})", "btrim({s})", "btrim({s}, {s})", "lcase({s})", "array_max({S})", "bin({i})", "conv({s}, 10, 16)", "try_cast({a} as string)", "nullif({s}, {s})", "greatest({s}, {s})", "collate({s}, 'UTF8_LCASE')", "{s} collate utf8_lcase", "schema_of_json('[1]')", "current_user()", "current_database()", "uuid()", "randstr(3, 1)", "make_valid_utf8({s})", "try_to_date({s})::string", "char({i})", "contains({s}, {s})::string", "aes_encrypt({s}, {s})::string",
    ],
    "f": [
        "{n} / {n}", "{f} * {n}", "{f} + {i}", "sqrt({n})", "exp({f})", "ln({n})", "log({n}, {n})", "log2({n})", "power({n}, {n})", "pow({n}, 2)", "sin({f})", "atan2({f}, {f})", "cast({n} as double)", "cast({s} as float)", "round({f}, 2)", "bround({f})", "rand()", "rand(1)", "randn()", "pi()", "e()", "radians({n})", "degrees({n})", "cbrt({f})", "hypot({n}, {n})", "months_between({t}, {D})", "double({i})", "float({s})", "coalesce({f}, {n})", "nanvl({f}, {f})", "signum({n})", "rint({f})", "try_divide({f}, {f})", "aggregate({I}, 0D, (a, x) -> a + x / 2)", "{L}[{s}][0]", "abs({f})", "-{f}", "greatest({f}, {n})", "expm1({f})", "log1p({f})", "case when {b} then {f} else {i} end", "uniform(0.5, 2.5, 1)", "tanh({f})",
    ],
    "d": [
        "{d} + {d}", "{d} - {i}", "{d} * {d}", "{d} / {d}", "{d} % {d}", "-{d}", "abs({d})", "round({d}, 1)", "round({d})", "round({d}, -1)", "ceil({d}, 1)", "floor({d}, 1)", "cast({n} as decimal(12,3))", "{s}::decimal(5,2)", "decimal({i})", "coalesce({d}, 0)", "coalesce({d}, {i})", "if({b}, {d}, {i})", "case when {b} then {d} else 0 end", "greatest({d}, {d})", "nullif({d}, 0)", "bround({d}, 1)", "try_add({d}, {d})", "try_multiply({d}, {d})", "{Z}[0].price", "least({d}, {i})", "nvl({d}, 0.0)", "{i} * {d}", "{d} div 2", "pmod({d}, {d})", "to_number({s}, '99.99')", "try_to_number({s}, '99.99')", "try_divide({d}, {d})", "{i} / {d}", "mod({d}, {i})", "sign({d})", "{d} - {d} * {d}", "({d} + {i}) / {d}",
    ],
    "t": [
        "{t} + {v}", "{t} - {v}", "cast({D} as timestamp)", "cast({s} as timestamp)", "to_timestamp({s})", "to_timestamp({s}, 'yyyy')", "date_trunc('hour', {t})", "date_trunc('month', {D})", "current_timestamp()", "now()", "localtimestamp()", "from_utc_timestamp({t}, 'UTC')", "to_utc_timestamp({t}, 'Asia/Tokyo')", "timestamp_seconds({i})", "timestamp_millis({i})", "make_timestamp({i}, {i}, {i}, {i}, {i}, {d})", "coalesce({t}, {t})", "timestampadd(HOUR, {i}, {t})", "dateadd(MINUTE, {i}, {t})", "try_to_timestamp({s})", "to_timestamp_ntz({s})", "to_timestamp_ltz({s})", "convert_timezone('UTC', 'Asia/Tokyo', {t})", "greatest({t}, {t})", "if({b}, {t}, {D})", "timestamp({s})", "make_timestamp_ntz({i}, {i}, {i}, {i}, {i}, {d})", "case when {b} then {t} end", "try_add({t}, {v})", "{D} + interval 1 hour", "current_timestamp",
    ],
    "D": [
        "cast({t} as date)", "to_date({s})", "to_date({s}, 'yyyy')", "date({t})", "date_add({D}, {i})", "date_sub({D}, {i})", "{D} + {i}", "{D} - {i}", "{D} - interval 1 day", "add_months({D}, {i})", "last_day({D})", "next_day({D}, 'MON')", "trunc({D}, 'month')", "current_date()", "current_date", "make_date({i}, {i}, {i})", "coalesce({D}, {D})", "date_from_unix_date({i})", "if({b}, {D}, {D})", "nullif({D}, {D})", "dateadd({D}, {i})", "date_add({D}, 1)", "greatest({D}, {D})", "curdate()", "{s}::date", "try_cast({s} as date)", "case when {b} then {D} else {D} end",
    ],
    "b": [
        "{n} > {n}", "{n} = {n}", "{s} = {s}", "{s} <> {s}", "{D} >= {D}", "{t} < {D}", "{n} <=> {n}", "{a} is null", "{a} is not null", "{n} between {n} and {n}", "{n} not between {n} and {n}", "{s} in ({s}, {s})", "{i} not in (1, 2, {i})", "{s} like '%a%'", "{s} not like {s}", "{s} ilike 'A_'", "{s} rlike 'a+'", "{s} like any ('a', {s})", "{s} like all ('a%', '%b')", "not {b}", "{b} and {b}", "{b} or {b}", "exists({I}, x -> x > {i})", "forall({I}, x -> x is not null)", "array_contains({S}, {s})", "arrays_overlap({S}, {S})", "isnull({a})", "isnotnull({a})", "isnan({f})", "{b} is true", "{b} is not false", "{b} is unknown", "{n} is distinct from {n}", "{n} is not distinct from {n}", "startswith({s}, {s})", "endswith({s}, {s})", "contains({s}, {s})", "cast({s} as boolean)", "coalesce({b}, false)", "map_contains_key({M}, {s})", "regexp_like({s}, {s})", "if({b}, {b}, {b})", "{i} in (select week from days)", "exists (select 1 from customers c9 where c9.id = {i})", "({i}, {s}) in (select week, note from days)", "{s} in (select note from days)", "{a} = {a}", "{S} = {S}", "{P} = {P}", "is_valid_utf8({s})", "equal_null({s}, {s})", "like({s}, {s})", "ilike({s}, {s}, '/')", "{s} == {n}", "{n} != {n}", "!{b}", "{d} > {f}", "{t} between {D} and {t}", "{v} > {v}",
    ],
    "x": ["encode({s}, 'utf-8')", "unhex({s})", "unbase64({s})", "cast({s} as binary)", "to_binary({s}, 'utf-8')", "{x} || {x}", "substring({x}, 1, 2)", "try_to_binary({s})", "coalesce({x}, {x})", "aes_encrypt({s}, {s})", "lpad({x}, 3, {x})", "binary({s})", "zstd_compress({s})"],
    "S": ["split({s}, {s})", "array({s}, {s})", "transform({S}, x -> upper(x))", "transform({S}, (x, i) -> concat(x, i))", "filter({S}, x -> x like 'a%')", "array_distinct({S})", "array_union({S}, {S})", "array_except({S}, {S})", "array_intersect({S}, {S})", "array_sort({S})", "sort_array({S})", "sort_array({S}, false)", "array_remove({S}, {s})", "array_append({S}, {s})", "array_prepend({S}, {s})", "array_compact({S})", "slice({S}, 1, {i})", "reverse({S})", "concat({S}, {S})", "flatten(array({S}, {S}))", "map_keys({M})", "{Z}.sku", "transform({Z}, z -> z.sku)", "array_repeat({s}, {i})", "shuffle({S})", "zip_with({S}, {S}, (a, b) -> concat(a, b))", "array_insert({S}, 1, {s})", "coalesce({S}, array())", "regexp_extract_all({s}, {s}, 1)", "sentences({s})[0]", "if({b}, {S}, array())", "cast({I} as array<string>)", "map_keys(str_to_map({s}))", "array_sort({S}, (l, r) -> case when l < r then -1 when l > r then 1 else 0 end)", "transform({S}, x -> transform(array(x), y -> y || x)[0])"],
    "I": ["array({i}, {i})", "sequence({i}, {i})", "sequence({i}, {i}, 2)", "transform({I}, x -> x + {i})", "transform({I}, (x, i) -> x * i)", "filter({I}, x -> x > {i})", "filter({I}, (x, i) -> i < 2)", "array_distinct({I})", "array_sort({I})", "map_values({M})", "{Z}.qty", "transform({Z}, z -> z.qty * {i})", "zip_with({I}, {I}, (a, b) -> coalesce(a, b))", "array_repeat({i}, 2)", "concat({I}, {I})", "array_compact({I})", "coalesce({I}, array(0))", "slice({I}, 1, 2)", "array_except({I}, {I})", "transform({I}, x -> coalesce(x, 0))", "flatten(array({I}))", "if({b}, {I}, array(1))", "try_cast({S} as array<int>)", "transform(filter({Z}, z -> z.qty is not null), z -> z.qty)"],
    "M": ["map({s}, {i})", "map_concat({M}, {M})", "map_filter({M}, (k, v) -> v > {i})", "transform_values({M}, (k, v) -> v + 1)", "transform_keys({M}, (k, v) -> upper(k))", "map_from_arrays({S}, {I})", "map_from_entries(arrays_zip({S}, {I}))", "map_zip_with({M}, {M}, (k, a, b) -> coalesce(a, b))", "coalesce({M}, map())", "map({s}, {i}, {s}, {i})", "if({b}, {M}, {M})", "cast(str_to_map({s}) as map<string,int>)"],
    "Z": ["filter({Z}, z -> z.qty > {i})", "array_sort({Z}, (l, r) -> l.qty - r.qty)", "array(struct({s} as sku, {i} as qty, {d} as price))", "transform({S}, x -> named_struct('sku', x, 'qty', 1, 'price', 1.5))", "slice({Z}, 1, 1)", "concat({Z}, {Z})", "coalesce({Z}, {Z})", "array_distinct({Z})"],
    "L": ["map({s}, array({f}))", "map_filter({L}, (k, v) -> size(v) > 1)", "transform_values({L}, (k, v) -> transform(v, y -> y * 2))"],
    "P": ["named_struct('name', {s}, 'address', named_struct('city', {s}, 'zip', {i}))", "struct({s} as name, struct({s} as city, {i} as zip) as address)", "if({b}, {P}, {P})", "from_json({s}, 'name string, address struct<city:string,zip:int>')", "coalesce({P}, {P})", "named_struct('name', {s}, 'address', {P}.address)"],
    "v": ["{t} - {t}", "{D} - {D}", "make_dt_interval({i})", "make_ym_interval({i}, {i})", "make_interval({i})", "{v} * {i}", "-{v}", "{v} + {v}", "{v} / 2", "abs({v})", "cast({s} as interval day)", "coalesce({v}, {v})"],
    "N": ["nullif(1, 1)", "cast({N} as date)"],
}  # fmt: skip

AGGREGATES: dict[str, list[str]] = {
    "i": ["count(*)", "count({a})", "count(distinct {a})", "count({a}, {a})", "sum({i})", "max({i})", "min({i})", "count_if({b})", "approx_count_distinct({a})", "first({i})", "last({i}, true)", "any_value({i})", "max_by({i}, {n})", "bit_and({i})", "sum(distinct {i})", "sum({i}) filter (where {b})", "count(*) filter (where {b})", "mode({i})", "grouping_id()", "max(length({s}))", "sum(case when {b} then 1 else 0 end)", "bit_xor({i})", "try_sum({i})", "regr_count({n}, {n})", "hll_sketch_estimate(hll_sketch_agg({i}))"],
    "s": ["max({s})", "min({s})", "first({s})", "last({s})", "max_by({s}, {n})", "min_by({s}, {t})", "mode({s})", "array_join(collect_list({s}), ',')", "listagg({s}, ',')", "listagg({s}, ',') within group (order by {i})", "string_agg({s})", "concat_ws(',', collect_set({s}))", "first_value({s}) filter (where {b})", "any_value({s}, true)", "max({s}) filter (where {b})"],
    "f": ["avg({i})", "avg({f})", "stddev({n})", "variance({n})", "corr({f}, {f})", "covar_pop({f}, {n})", "skewness({n})", "kurtosis({f})", "percentile({n}, 0.5)", "percentile_cont(0.5) within group (order by {n})", "percentile_disc(0.5) within group (order by {n} desc)", "median({n})", "sum({f})", "mean({n})", "avg(distinct {n})", "regr_slope({n}, {n})", "approx_percentile({f}, 0.9)", "max({f})", "try_avg({n})", "std({n})"],
    "d": ["sum({d})", "avg({d})", "max({d})", "min({d})", "sum({d}) / count(*)", "sum({d} * {i})", "round(avg({d}), 2)", "sum({d}) filter (where {b})", "try_avg({d})", "approx_percentile({d}, 0.5)", "sum(distinct {d})", "coalesce(sum({d}), 0)"],
    "t": ["max({t})", "min({t})", "last({t})", "first({t}, true)", "max_by({t}, {n})"],
    "D": ["max({D})", "min({D})", "date(max({t}))", "any_value({D})"],
    "b": ["bool_and({b})", "bool_or({b})", "every({b})", "some({b})", "any({b})", "count(*) > 1", "max({i}) > min({i})", "sum({n}) > 10"],
    "S": ["collect_list({s})", "collect_set({s})", "array_agg({s})", "array_sort(collect_set({s}))", "collect_list({s}) filter (where {b})"],
    "I": ["collect_list({i})", "array_agg(distinct {i})", "approx_percentile({i}, array(0.5, 0.9))", "percentile({i}, array(0.5, 0.9))::array<int>", "sort_array(collect_list({i}))", "histogram_numeric({i}, 3).x::array<int>"],
    "M": ["map_from_entries(collect_list(struct({s}, {i})))", "map('a', max({i}))"],
    "Z": ["collect_list(struct({s} as sku, {i} as qty, {d} as price))", "collect_list(named_struct('sku', {s}, 'qty', {i}, 'price', {d}))"],
    "P": ["first({P})", "max(struct({s}, {i}))", "max_by({P}, {i})"],
    "x": ["max({x})", "bitmap_construct_agg({i})", "hll_sketch_agg({s})"],
}  # fmt: skip

RANKED = ["row_number()", "rank()", "dense_rank()", "ntile(4)", "cume_dist()", "percent_rank()", "lag({a})", "lag({i}, 1, 0)", "lead({s}, 2)", "lead({n}) ignore nulls"]  # fmt: skip
WINDOWED = ["first_value({a})", "last_value({a}) ignore nulls", "nth_value({a}, 2)", "sum({n})", "count(*)", "max({a})", "avg({n})", "collect_list({s})", "count(distinct {i})", "min({s}) filter (where {b})", "any_value({a})", "sum({n} + {n})"]  # fmt: skip
FRAMES = ["", "", "", "rows between unbounded preceding and current row", "rows between 1 preceding and 1 following", "range between unbounded preceding and unbounded following", "range between 1 preceding and current row", "rows 2 preceding", "range between interval 1 day preceding and current row", "rows between current row and 1 preceding"]  # fmt: skip

HOLES = "isfdtDbxSIMZLPvN"


@dataclass(frozen=True)
class Scope:
    """The columns that an expression can name: the text that names one, by kind."""

    columns: list[tuple[str, str]] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)


class Writer:
    """Writes one query after the other; the same ones of the same seed."""

    def __init__(self, seed: int, version: str = "4.3") -> None:
        self.random = random.Random(seed)  # nothing is kept secret by it
        self.version = tuple(map(int, version.split(".")))
        self.aliases = 0
        self.mistyped, self.unknown = 0.006, 0.003

    # --- expressions ---

    def maybe(self, share: float) -> bool:
        return self.random.random() < share

    def choose(self, *given: str) -> str:
        return self.random.choice(given)

    def expr(self, kind: str, scope: Scope, depth: int) -> str:
        if self.maybe(self.mistyped):
            kind = self.random.choice(HOLES)
        if self.maybe(self.unknown):
            return self.choose(
                "missing", "o.missing", "id.x", "nope(1)", "orders.id", "day", "id", "status", "buyer.nope", "tags.x"
            )
        if kind == "a":
            kind = self.random.choice("isfdtDbSIMP" + "is")
        if kind == "n":
            kind = self.random.choice("iifd")
        named = [text for text, of in scope.columns if of == kind]
        if depth <= 0 or self.maybe(0.35):
            if named and self.maybe(0.8):
                return self.random.choice(named)
            return self.random.choice(LITERALS[kind]) if not self.maybe(0.03) else "null"
        return self.fill(self.random.choice(FORMS[kind]), scope, depth - 1)

    def fill(self, form: str, scope: Scope, depth: int) -> str:
        def one(match: re.Match[str]) -> str:
            made = self.expr(match.group(1), scope, depth)
            return f"({made})" if re.search(r"[^\w.'()\[\]]", re.sub(r"\([^()]*\)|'[^']*'", "", made)) else made

        return re.sub(r"\{(\w)\}", one, form)

    def aggregate(self, scope: Scope, depth: int) -> tuple[str, str]:
        kind = self.random.choice([*AGGREGATES, "i", "d", "s"])
        made = self.fill(self.random.choice(AGGREGATES[kind]), scope, depth)
        if self.maybe(0.15):
            made = self.choose(
                f"coalesce({made}, null)", f"cast({made} as string)", f"({made})", f"{made} is null", f"array({made})"
            )
            kind = "?"
        return made, kind

    def windowed(self, scope: Scope, named: str = "") -> str:
        if self.maybe(0.4):
            ranked = self.fill(self.random.choice(RANKED), scope, 1)
            keys = f"partition by {self.expr('s', scope, 1)} " if self.maybe(0.6) else ""
            made = f"{ranked} over ({keys}order by {self.expr(self.random.choice('inDt'), scope, 1)}{self.choose('', ' desc')})"
        else:
            call = self.fill(self.random.choice(WINDOWED), scope, 1)
            made = f"{call} over {named}" if named and self.maybe(0.5) else f"{call} over ({self.window(scope)})"
        return (
            made
            if self.maybe(0.8)
            else self.choose(
                f"coalesce({made}, null)",
                f"({made}) is null",
                f"array({made})",
                f"cast({made} as string)",
                f"if({self.expr('b', scope, 0)}, {made}, null)",
            )
        )

    def window(self, scope: Scope) -> str:
        parts = []
        if self.maybe(0.6):
            parts.append(f"partition by {self.expr('a', scope, 1)}")
        if self.maybe(0.8):
            ordered = self.expr(self.random.choice("inDts"), scope, 1)
            parts.append(f"order by {ordered}{self.choose('', ' desc', ' nulls last', ' asc nulls first')}")
            parts.append(self.random.choice(FRAMES))
        return " ".join(part for part in parts if part)

    def alias(self) -> str:
        self.aliases += 1
        return self.choose("c", "v", "total", "n", "x", "`a b`", "K", "value") + (
            str(self.aliases) if self.maybe(0.9) else ""
        )

    # --- relations ---

    def relation(self, depth: int) -> tuple[str, Scope]:
        """A FROM item, and what it names."""
        self.aliases += 1
        pick = self.random.random()
        name = f"r{self.aliases}"
        if pick < 0.55 or depth <= 0:
            table = self.random.choice(list(TABLES))
            used = name if self.maybe(0.7) else table
            columns = [(self.named(used, c), KINDS[t]) for c, t, _ in TABLES[table]]
            text = table if used == table else f"{table}{self.choose(' ', ' as ')}{used}"
            if self.maybe(0.03):
                text = f"{table} tablesample ({self.choose('10 percent', '5 rows', 'bucket 1 out of 4')}){'' if used == table else ' ' + used}"
            return text, Scope(columns, [used])
        if pick < 0.75:
            made, kinds = self.query(depth - 1)
            return f"({made}) {name}", self.scope_of(name, kinds)
        if pick < 0.82:
            kinds = [("k", "i"), ("w", "s"), ("z", self.random.choice("idDfb"))]
            rows = ", ".join(
                "(" + ", ".join(self.random.choice(LITERALS[k] + ["null"]) for _, k in kinds) + ")"
                for _ in range(self.random.randint(1, 3))
            )
            return f"(values {rows}) as {name}(k, w, z)", self.scope_of(name, kinds)
        if pick < 0.87:
            return self.choose("range(10)", "range(1, 5)", "range(0, 10, 2)") + f" {name}", self.scope_of(
                name, [("id", "i")]
            )
        if pick < 0.91:
            call, kinds = self.random.choice(
                [("explode(array(1, 2))", [("col", "i")]), ("posexplode(array('a'))", [("pos", "i"), ("col", "s")]), ("explode(map('a', 1))", [("key", "s"), ("value", "i")]), ("inline(array(struct(1, 'a')))", [("col1", "i"), ("col2", "s")]), ("stack(2, 1, 'a', 2, 'b')", [("col0", "i"), ("col1", "s")]), ("json_tuple('{}', 'a', 'b')", [("c0", "s"), ("c1", "s")])]
            )  # fmt: skip
            return f"{call} {name}", self.scope_of(name, kinds)
        left, one = self.relation(depth - 1)
        right, other = self.relation(depth - 1)
        return self.joined(left, one, right, other)

    def named(self, relation: str, column: str) -> str:
        return f"{relation}.{column}" if self.maybe(0.75) else column

    def scope_of(self, name: str, kinds: list[tuple[str, str]]) -> Scope:
        return Scope([(self.named(name, c), k) for c, k in kinds if c], [name])

    def joined(self, left: str, one: Scope, right: str, other: Scope) -> tuple[str, Scope]:
        both = Scope(one.columns + other.columns, one.relations + other.relations)
        kind = self.choose(
            "join",
            "inner join",
            "left join",
            "left outer join",
            "right join",
            "full join",
            "full outer join",
            "cross join",
            "left semi join",
            "left anti join",
            "natural join",
            ",",
            "natural left join",
        )
        if kind in ("cross join", ",") or "natural" in kind:
            return f"{left}{'' if kind == ',' else ' '}{kind} {right}", both
        if self.maybe(0.2):
            ours = {text.split(".")[-1] for text, _ in one.columns}
            keys = [c for c in dict.fromkeys(text.split(".")[-1] for text, _ in other.columns) if c in ours]
            if keys:
                using = f"{left} {kind} {right} using ({self.random.choice(keys)})"
                return using, one if "semi" in kind or "anti" in kind else both
        condition = (
            f"{self.expr('i', one, 0)} = {self.expr('i', other, 0)}" if self.maybe(0.7) else self.expr("b", both, 2)
        )
        return f"{left} {kind} {right} on {condition}", one if "semi" in kind or "anti" in kind else both

    def source(self, depth: int) -> tuple[str, Scope]:
        text, scope = self.relation(depth)
        while self.maybe(0.25):
            right, other = self.relation(depth - 1)
            text, scope = self.joined(text, scope, right, other)
        if self.maybe(0.1):
            name, outer = f"g{self.aliases}", self.choose("", " outer")
            call, kinds = self.random.choice(
                [("explode({I})", [("e", "i")]), ("posexplode({S})", [("p", "i"), ("e", "s")]), ("explode({M})", [("mk", "s"), ("mv", "i")]), ("inline({Z})", [("a1", "s"), ("a2", "i"), ("a3", "d")]), ("explode({Z})", [("z1", "?")])]
            )  # fmt: skip
            text += f" lateral view{outer} {self.fill(call, scope, 1)} {name} as {', '.join(c for c, _ in kinds)}"
            scope = Scope(scope.columns + [(self.named(name, c), k) for c, k in kinds], [*scope.relations, name])
        elif self.maybe(0.06):
            name = f"l{self.aliases}"
            text += f"{self.choose(', lateral', ' join lateral', ' left join lateral')} (select {self.expr('i', scope, 1)} as li, {self.expr('s', scope, 1)} as ls) {name}"
            scope = Scope([*scope.columns, (f"{name}.li", "i"), (f"{name}.ls", "s")], [*scope.relations, name])
        return text, scope

    # --- queries ---

    def items(self, scope: Scope, named: str = "") -> tuple[list[str], list[tuple[str, str]]]:
        items, kinds = [], []
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.choice("iissfdtDbSIMZPvx")
            made = self.windowed(scope, named) if self.maybe(0.12) else self.expr(kind, scope, 2)
            kind = "?" if " over " in made else kind
            name = self.alias() if self.maybe(0.75) else ""
            items.append(f"{made}{self.choose(' as ', ' ') + name if name else ''}")
            kinds.append((name, kind))
        if self.maybe(0.08):
            items.insert(
                0,
                self.random.choice(
                    [
                        "*",
                        f"{scope.relations[0]}.*",
                        "* except (id)",
                        "*",
                        "struct(*) as everything",
                        "count(*) over () as all_rows",
                    ]
                ),
            )
        return items, kinds

    def select(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        text, scope = self.source(depth)
        where = f" where {self.expr('b', scope, 2)}" if self.maybe(0.4) else ""
        if self.maybe(0.35):
            return self.grouped(text, scope, where)
        named = "w" if self.maybe(0.08) else ""
        items, kinds = self.items(scope, named)
        distinct = "distinct " if self.maybe(0.08) else ""
        made = f"select {distinct}{', '.join(items)} from {text}{where}"
        made += f" window w as ({self.window(scope)})" if named else ""
        return made, kinds

    def grouped(self, text: str, scope: Scope, where: str) -> tuple[str, list[tuple[str, str]]]:
        kinds = [(self.random.choice("isDsb")) for _ in range(self.random.randint(0, 2))]
        groups = [self.expr(kind, scope, self.random.randint(0, 1)) for kind in kinds]
        items, output = [], []
        for group, kind in zip(groups, kinds):
            name = self.alias() if self.maybe(0.5) else ""
            items.append(f"{group} as {name}" if name else group)
            output.append((name, kind))
        for _ in range(self.random.randint(1, 3)):
            made, kind = self.aggregate(scope, 1)
            name = self.alias() if self.maybe(0.75) else ""
            items.append(f"{made} as {name}" if name else made)
            output.append((name, kind))
        if self.maybe(0.05):
            items.append(self.expr("a", scope, 1))
            output.append(("", "?"))
        made = f"select {', '.join(items)} from {text}{where}"
        if groups:
            listed = ", ".join(groups)
            ordinals = ", ".join(str(at + 1) for at in range(len(groups)))
            made += " group by " + self.random.choice(
                [
                    listed,
                    listed,
                    listed,
                    ordinals,
                    "all",
                    f"rollup({listed})",
                    f"cube({listed})",
                    f"{listed} with rollup",
                    f"grouping sets (({listed}), ())",
                    f"{listed}, {self.expr('i', scope, 0)}",
                ]
            )
        if self.maybe(0.2):
            made += f" having {self.fill(self.random.choice(AGGREGATES['b']), scope, 1)}"
        return made, output

    def query(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        made, kinds = self.select(depth)
        if depth > 0 and self.maybe(0.1):
            operator = self.choose(
                "union all",
                "union",
                "intersect",
                "except",
                "minus",
                "union all by name",
                "except all",
                "intersect all",
                "union distinct",
            )
            if self.maybe(0.5):
                same = [
                    f"{self.expr(kind, Scope(), 1)} as {name}" if name else self.expr(kind, Scope(), 1)
                    for name, kind in self.known(kinds)
                ]
                other = "select " + ", ".join(same)
            else:
                other = self.select(0)[0]
            made = f"{made} {operator} {other}"
        if self.maybe(0.15):
            names = [name for name, _ in kinds if name]
            keys = self.random.choice([*(names or ["1"]), "1", "all", "rand()", "2"])
            made += f" order by {keys}{self.choose('', ' desc', ' nulls first')}"
        if self.maybe(0.1):
            made += self.choose(" limit 10", " limit 10 offset 2", " limit all", " offset 1", " limit 1 + 1")
        return made, kinds

    def known(self, kinds: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(name, kind if kind in HOLES else self.random.choice("is")) for name, kind in kinds]

    def write(self) -> str:
        self.aliases = 0
        pick = self.random.random()
        if pick < 0.68:
            return self.query(2)[0]
        if pick < 0.82:
            return self.common()
        return self.random.choice([self.pivot, self.unpivot, self.piped, self.scalar, self.recursive])()

    # --- other forms of a query ---

    def common(self) -> str:
        first, kinds = self.query(1)
        self.aliases += 1
        scope = self.scope_of("a", kinds)
        if not scope.columns:
            return f"with a as ({first}) select * from a"
        listed = ""
        if self.maybe(0.15):
            listed = f"({', '.join(f'k{at}' for at in range(len(kinds)))})"
            scope = self.scope_of("a", [(f"k{at}", kind) for at, (_, kind) in enumerate(kinds)])
        pick = self.random.random()
        if pick < 0.5:
            return f"with a{listed} as ({first}) select {', '.join(self.items(scope)[0])} from a"
        if pick < 0.7:
            return f"with a{listed} as ({first}), b as (select * from a) {self.grouped('b as a', scope, '')[0]}"
        right, other = self.relation(0)
        text, both = self.joined("a", scope, right, other)
        return f"with a{listed} as ({first}) select {', '.join(self.items(both)[0])} from {text}"

    def pivot(self) -> str:
        call = self.choose(
            "sum(amount)",
            "max(rate) as m, count(*)",
            "first(placed)",
            "sum(amount) total",
            "avg(rate) + 1",
            "max(day)",
            "count(distinct id)",
        )
        values = self.choose("'a', 'b'", "'a' as x, 'b'", "'open'", "'a', null", "1, 2")
        columns = self.choose(
            "status, amount, rate, placed, day, id", "customer_id, status, amount, rate, placed, day, id"
        )
        return f"select * from (select {columns} from orders) pivot ({call} for status in ({values}))"

    def unpivot(self) -> str:
        nulls = self.choose("", "include nulls ", "exclude nulls ")
        columns = self.choose("week", "week, note", "id, level", "level as l, mini", "weight, due", "id, name")
        table = "days" if "week" in columns else "customers"
        return f"select * from {table} unpivot {nulls}(val for col in ({columns}))"

    def piped(self) -> str:
        text, scope = self.source(0)
        steps = []
        for _ in range(self.random.randint(1, 3)):
            steps.append(
                self.random.choice(
                    [
                        f"where {self.expr('b', scope, 1)}",
                        f"extend {self.expr('a', scope, 1)} as e{len(steps)}",
                        f"select {', '.join(self.items(scope)[0])}",
                        f"aggregate {self.aggregate(scope, 1)[0]} as n group by {self.expr('s', scope, 0)}",
                        f"order by {self.expr('i', scope, 0)}",
                        "limit 3",
                        f"as p{len(steps)}",
                        f"set {self.random.choice(scope.columns)[0].split('.')[-1]} = {self.expr('a', scope, 1)}",
                        f"drop {self.random.choice(scope.columns)[0].split('.')[-1]}",
                    ]
                )
            )
        return f"from {text} |> " + " |> ".join(steps)

    def scalar(self) -> str:
        text, scope = self.source(0)
        inner, other = self.relation(0)
        kind = self.random.choice("isdD")
        found = self.fill(self.random.choice(AGGREGATES[kind]), other, 0)
        condition = f" where {self.expr('i', other, 0)} = {self.expr('i', scope, 0)}" if self.maybe(0.6) else ""
        asked = f"(select {found} from {inner}{condition})"
        if self.maybe(0.5):
            return f"select {self.expr('a', scope, 1)}, {asked}{self.choose('', ' as found')} from {text}"
        return f"select {self.expr('a', scope, 1)} as a from {text} where {self.expr(kind, scope, 1)} {self.choose('=', '>', '<>')} {asked}"

    def recursive(self) -> str:
        first = self.choose(
            "select 1 as n", "select 1L", "select cast(1 as decimal(5,2)) as n", "values (1)", "select 1 as n, 'a' as s"
        )
        width = 2 if "'a'" in first else 1
        listed = self.choose("(n)", "(n, s)" if width == 2 else "(n)", "")
        step = "n + 1" + (", concat(s, 'b')" if width == 2 else "")
        kind = self.choose("union all", "union all", "union")
        return f"with recursive r{listed} as ({first} {kind} select {step} from r where n < 5) select {self.choose('*', 'n', 'max(n)', 'n, n * 2 as twice')} from r"


def queries(count: int, seed: int, version: str = "4.3") -> list[str]:
    writer: Writer = Writer(seed, version)
    write: Callable[[], str] = writer.write
    return [write() for _ in range(count)]


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:]), 20, 1][:2] if len(sys.argv) < 3 else [int(sys.argv[1]), int(sys.argv[2])]
    print("\n".join(queries(given[0], given[-1] if len(given) > 1 else 1)))
