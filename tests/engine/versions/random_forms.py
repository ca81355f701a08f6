"""What random queries are written from: tables, and forms of expressions with holes.

`{s}` is a hole for a text, `{i}` for a whole number, `{n}` for any number, and so on (`HOLES`).
"""

from __future__ import annotations

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
