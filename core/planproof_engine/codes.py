"""Every code that a finding can carry: one table, never reused.

1xx logical plan and hazards, 2xx planning and rewriting, 3xx run, 4xx files, 5xx contract, 6xx publishing, 9xx ours.
"""

from __future__ import annotations

from planproof_engine.records import record


@record(frozen=True, slots=True)
class Code:
    """A kind of finding: what it means, and the one next step that a reader should take."""

    id: str
    title: str
    meaning: str
    next_step: str


_TABLE = (
    Code(
        "PP101",
        "duplicate field",
        "Two columns of one relation within the query have the same name.",
        "Alias one of them, or drop one with `* EXCEPT (...)`.",
    ),
    Code(
        "PP102",
        "two output columns of one name",
        "Two output columns have the same name, and neither a file nor a view can hold both.",
        "Give each output column a name of its own: by an alias, or by `* EXCEPT (...)` where a star brings it along.",
    ),
    Code(
        "PP103",
        "type that the format cannot store",
        "A column has a type that the target's file format cannot hold.",
        "Cast the column to a type that the format stores.",
    ),
    Code("PP110", "rejected by Spark", "Spark's analyzer rejects this query.", "Correct the query at the place named."),
    Code(
        "PP111",
        "not understood offline",
        "planproof does not know a construct of this query, and does not guess.",
        "In a run, Spark's own plan is used. Please report the construct, so that it can be added.",
    ),
    Code(
        "PP112",
        "changed since it was compiled",
        "The model's file, its YAML, a macro that it calls or a model that it reads has changed since `dbt "
        "compile`: the manifest holds the older text.",
        "Run `dbt compile`, or `planproof check --compile`.",
    ),
    Code(
        "PP113",
        "too large to judge",
        "Planning its query takes more time or memory than planproof spends on one model. The others are judged.",
        "Split the model, or read a CTE once instead of many times. In a run, Spark's own plan is used.",
    ),
    Code(
        "PP120",
        "columns swapped by position",
        "A set operation, or IN (query), matches by position, and here a column lands under another one's name.",
        "Put the columns of the later SELECT in the order of the first, or allow PP120 if it is meant.",
    ),
    Code(
        "PP121",
        "columns swapped by a column list",
        "The column list of a CTE, a subquery or a generator renames by position, and here columns swap their names.",
        "Name the columns in the SELECT, or allow PP121 if it is meant.",
    ),
    Code(
        "PP122",
        "struct fields swapped by position",
        "A cast between structs matches fields by position, and here a value lands under another field's name.",
        "Build the struct with named_struct(...), or allow PP122 if it is meant.",
    ),
    Code(
        "PP123",
        "natural join on unseen keys",
        "A NATURAL join uses every column that both sides share. A column added to one side changes the join.",
        "Write the keys: JOIN ... USING (...).",
    ),
    Code(
        "PP124",
        "join key loses part of its value",
        "Spark compares the two sides of a join in one type, and a value of one side loses something in it.",
        "Cast the side that is wrong yourself, or store both keys in one type.",
    ),
    Code(
        "PP125",
        "set operation changes values",
        "A set operation casts a column to a common type that loses something.",
        "Cast both sides to one type that holds both.",
    ),
    Code(
        "PP126",
        "narrowing cast wraps",
        "With ANSI off a cast to a narrower integer wraps: no error, no null, another number.",
        "Keep the wider type, or use try_cast, or allow PP126 where the range is known.",
    ),
    Code(
        "PP127",
        "integer division cut off",
        "A division of integers is cast to an integer, which drops the digits after the point.",
        "Use `div`, or round(...), to say what is meant.",
    ),
    Code(
        "PP128",
        "timestamps with and without zone meet",
        "Spark shifts one of them by the session's time zone, so another session gives other values.",
        "Cast one side yourself, or store both in one type.",
    ),
    Code(
        "PP129",
        "open star",
        "`SELECT *` from a table reaches the model's output: a column added to that table joins the model, too.",
        "Name the columns, or give the model a contract.",
    ),
    Code(
        "PP130",
        "length ignored",
        "Spark treats a cast to char(n) or varchar(n) as a cast to string: it cuts and pads nothing.",
        "Use left(..., n) or rpad(..., n), and promise the length in the contract.",
    ),
    Code(
        "PP131",
        "stored in another order",
        "The model gives the columns of its stored table, or the fields of one, in another order. planproof adds "
        "rows by name; a plain INSERT would go by position and mix them up.",
        "Put the SELECT in the order of the table's columns, or allow PP131.",
    ),
    Code(
        "PP132",
        "value cast to a number",
        "CASE, IF or COALESCE casts a text to a number because another of its values is a number.",
        "Make all values texts, or cast the text yourself.",
    ),
    Code(
        "PP133",
        "lossy in the stored type",
        "A column of an incremental model does not fit the stored type: INSERT rounds it, cuts it off or fails.",
        "Cast the column in the model, run with full_refresh, or allow PP133 if it is meant.",
    ),
    Code(
        "PP134",
        "breaks its readers",
        "Between two compiles a model lost something that a reader may use: a column, a promise, values of a type.",
        "Keep what readers use, or change the readers at the same time.",
    ),
    Code(
        "PP135",
        "changed, and safe for readers",
        "Between two compiles a model gained something. Everything that could read it before still can.",
        "Nothing to do.",
    ),
    Code(
        "PP136",
        "integer arithmetic wraps",
        "With ANSI off, a sum, difference or product of integers that leaves its type's range becomes another "
        "number, without an error. It is reported if values are known to do so, or known not to; with `overflow: "
        "warn` always, as a warning.",
        "Cast one side to a wider type before the arithmetic, or use try_add, try_subtract or try_multiply.",
    ),
    Code(
        "PP137",
        "CHAR compared with a string",
        "A CHAR(n) column is compared with a string. Spark pads only the CHAR with blanks, so shorter values never "
        "match, and a join finds no rows.",
        "Compare rtrim(column), or store both in one type.",
    ),
    Code(
        "PP138",
        "value lost in a cast",
        "With ANSI off, a cast gives NULL or another value for what its type cannot hold: a text that is no number "
        "or date, a number with too many digits, a time out of range. It is reported if a value of a promised "
        "column was lost, or is known not to be; with `overflow: warn` always, as a warning.",
        "Correct the value before the cast, cast to a wider type, or use try_cast to say that NULL is meant.",
    ),
    Code(
        "PP140",
        "partition overwritten in part",
        "A later run of an incremental model reads only some rows of a partition, and insert_overwrite replaces the "
        "whole partition with them: the others are lost.",
        "Filter by the partition's own column, so that whole partitions pass, or compare with the beginning of one.",
    ),
    Code(
        "PP141",
        "computed over new rows alone",
        "A later run of an incremental model groups, numbers or compares the new rows without the stored ones.",
        "Filter by the columns of GROUP BY or PARTITION BY, so that whole groups pass, or filter the result instead.",
    ),
    Code(
        "PP142",
        "rows that no run reads",
        "The filter of a later run leaves out rows that are not in the table: those that come late, those that share "
        "the greatest value, or all of them where the table is empty.",
        "Compare by >= with coalesce(max(..), ..) of what the table holds, and replace the rows that come again: on "
        "Parquet by insert_overwrite of whole partitions, such as days; on Iceberg and Delta by a merge on a key.",
    ),
    Code(
        "PP143",
        "rows stored twice",
        "A later run of an incremental model appends rows that the table has, or merges several rows by one key.",
        "Leave out what the table holds (NOT EXISTS), or replace it: on Parquet by insert_overwrite of whole "
        "partitions, on Iceberg and Delta by a merge on a key that tells rows apart.",
    ),
    Code(
        "PP144",
        "joined table changes",
        "A later run of an incremental model joins its new rows to a relation that dbt rebuilds. Stored rows keep "
        "what they were joined to at the time.",
        "Join where the model is read, run with full_refresh after the relation has changed, or allow PP144.",
    ),
    Code(
        "PP145",
        "incremental as a full refresh",
        "Says whether an incremental run makes what a full refresh would, for a model with the setting `append_only`.",
        "Do what the message says that the proof lacks.",
    ),
    Code(
        "PP201",
        "logical and analyzed disagree",
        "planproof's plan and Spark's analyzed plan have different schemas. Spark's is used.",
        "Report the reproducer that the finding names.",
    ),
    Code(
        "PP202",
        "rewriting dropped",
        "A rewriting changed a schema, or Spark analyzed the rewritten text to another schema.",
        "Nothing to do: the compiled text ran as written. Report the rule that is named.",
    ),
    Code(
        "PP203",
        "optimizer changed the schema",
        "Spark's optimized or executed plan has another width, name or type than its analyzed plan.",
        "Report it to Spark with the query; run the model with the optimizer rule excluded.",
    ),
    Code(
        "PP204",
        "nullability loosened by the optimizer",
        "Spark's optimized plan calls a field nullable that its analyzed plan calls NOT NULL; facts decide.",
        "Nothing to do if the count shows no null.",
    ),
    Code("PP210", "rewriting suggested", "A rewriting would run faster with the same result.", "Set `rewrite: on`."),
    Code(
        "PP220",
        "Python function that cannot run here",
        "A Python function is in a lambda where it cannot be called for all elements at once.",
        "Compute its result in a subquery, or follow the reason in the message.",
    ),
    Code(
        "PP221",
        "Python function in a lazy branch",
        "A Python function is in a branch of CASE, IF or COALESCE, and would run for the other elements, too.",
        "Let the function itself decide, or call it outside the branch.",
    ),
    Code(
        "PP222",
        "Python function in a view",
        "A view lives longer than the session that knows the Python function.",
        "Materialize the model as a table.",
    ),
    Code(
        "PP223",
        "Python functions cannot run over this session",
        "This way to reach Spark, or this version of pyspark, cannot hand a Python function to Spark's workers.",
        "Use a classic or a Connect session with pyspark 4.1 or later.",
    ),
    Code(
        "PP224",
        "Python function breaks its declaration",
        "A Python function returned a batch of another type, length or nullability than it declares.",
        "Correct the function, or what it declares.",
    ),
    Code(
        "PP301",
        "batch breaks its schema",
        "An Arrow batch does not hold what its schema says.",
        "Correct the Python function that made the batch. If a file is damaged, write it anew.",
    ),
    Code(
        "PP302",
        "run failed",
        "Spark failed while running the model.",
        "Read Spark's error, which is quoted.",
    ),
    Code(
        "PP401",
        "file differs from the plan",
        "A written Parquet file has another schema than the plan that wrote it.",
        "Run `planproof audit` on the path in the finding.",
    ),
    Code(
        "PP402",
        "files differ from each other",
        "Parquet files of one table disagree about a column.",
        "Rewrite the older files, or cast the model's column to the stored type.",
    ),
    Code(
        "PP403",
        "catalog differs from the files",
        "The registered table and its Parquet files disagree about a column.",
        "Repair the registration, or rewrite the table.",
    ),
    Code(
        "PP500",
        "value too long",
        "The contract promises char(n) or varchar(n), and Spark's string may hold more. A run counts longer values "
        "over all rows.",
        "Cut the value with left(...), or promise a longer type.",
    ),
    Code(
        "PP501",
        "column missing",
        "The contract promises a column that the model does not produce.",
        "Add the column to the model's SELECT, or remove it from the contract.",
    ),
    Code(
        "PP502",
        "column not promised",
        "The model produces a column that the contract does not name.",
        "Name the column in the contract, or remove it from the SELECT.",
    ),
    Code(
        "PP503",
        "column out of order",
        "The model produces the promised columns in another order.",
        "Put the SELECT in the order of the contract.",
    ),
    Code(
        "PP504",
        "type differs",
        "A column has another type than promised.",
        "Cast the column to the promised type, or change the contract.",
    ),
    Code(
        "PP505",
        "NOT NULL broken",
        "The contract promises NOT NULL, and a null was counted or is certain.",
        "Filter the nulls, fill them with coalesce(...), or drop the promise.",
    ),
    Code(
        "PP506",
        "NOT NULL unproved",
        "The contract promises NOT NULL, and nothing proves it yet.",
        "Filter or coalesce the column, or let the run count its nulls.",
    ),
    Code(
        "PP507",
        "constraint broken",
        "A declared constraint (unique, primary_key, foreign_key, check) does not hold over the staged rows.",
        "Correct the model, or the promise. In a run, `keep_rejected: true` keeps the rows that were counted.",
    ),
    Code(
        "PP508",
        "constraint unproved",
        "A declared constraint was not checked on this route.",
        "Run the model through the guard, which counts it.",
    ),
    Code(
        "PP509",
        "contract unreadable",
        "The contract names a type or constraint that Spark does not know, or a check that raises on a row.",
        "Correct the contract at the column named, or make the check safe for every row.",
    ),
    Code(
        "PP510",
        "rows outside a limit",
        "The publish would leave the table, or a partition that it overwrites, with more or fewer rows than allowed.",
        "Look at what the sources hold. If the change is meant, run once with other limits.",
    ),
    Code(
        "PP511",
        "too many nulls",
        "The publish would leave a column with more nulls than `limits.nulls` allows.",
        "Find out where the nulls come from. If they are meant, run once with other limits.",
    ),
    Code(
        "PP512",
        "not fresh",
        "The latest value of a column is older than `limits.fresh` allows.",
        "Find out whether the source was loaded.",
    ),
    Code(
        "PP513",
        "data test failed",
        "A data test of dbt's ran on the staged rows before they were published, and found failing rows.",
        "Run the query in the report to see the rows, and correct the model or its test.",
    ),
    Code(
        "PP514",
        "rows quarantined",
        "Rows that break the contract were not published: `on_violation: quarantine` put them into the quarantine.",
        "Look at them in `<table>__quarantine`, under the run that the message names.",
    ),
    Code(
        "PP515",
        "rows not quarantined",
        "`on_violation: quarantine` is set, and nothing was published: more rows break a term than `quarantine.limit` "
        "allows, or they cannot be quarantined.",
        "Follow the reason in the message.",
    ),
    Code(
        "PP601",
        "publish refused",
        "The target cannot be replaced safely: its folder holds another table's files, say, a relation of another "
        "format stands there, or a file of a killed publish cannot be read.",
        "Follow the reason in the message.",
    ),
    Code(
        "PP602",
        "publish undone",
        "A publish was killed half way and has been undone. The table is as it was.",
        "Run the model again.",
    ),
    Code(
        "PP603",
        "publish finished late",
        "A publish was killed after its commit point and has been finished.",
        "Nothing to do.",
    ),
    Code(
        "PP604",
        "locked",
        "Another publish of this table is under way: its owner is alive, or renewed the lock within the last minute.",
        "Wait for it; the next publish takes over what a killed one held, after 60 seconds at most. Only one that "
        "hangs needs `planproof recover --force`.",
    ),
    Code(
        "PP605",
        "settled elsewhere",
        "Another process settled a killed publish while this one was looking at it.",
        "Nothing to do.",
    ),
    Code(
        "PP606",
        "schema change refused",
        "The new rows' columns differ from the stored table's in a way that `on_schema_change` forbids, or that Spark "
        "cannot apply to a Parquet table (a dropped column, another type). No schema change was applied.",
        "Go back to the stored columns in the SELECT, or run with full_refresh, which builds the table anew from what "
        "its sources hold today.",
    ),
    Code(
        "PP607",
        "schema change applied",
        "The new rows brought new columns; they were added to the table after the audit, as `on_schema_change` says.",
        "Nothing to do.",
    ),
    Code(
        "PP608",
        "half way",
        "A publish failed, and restoring the table failed, too. The journal entry and the lock are kept.",
        "Correct what the message names, then run `planproof recover`.",
    ),
    Code(
        "PP609",
        "publish given up",
        "A publish stopped half way in a catalog that this session does not see: one in memory, which died with its "
        "process, or another metastore over the same folder. Nothing was changed, and none of its files was "
        "deleted.",
        "Look at the files that the message names; register or delete them.",
    ),
    Code(
        "PP610",
        "moved home",
        "`planproof clean` moved a table's files to the folder where dbt alone would put them.",
        "Nothing to do.",
    ),
    Code(
        "PP611",
        "rejected rows not kept",
        "`keep_rejected` is set, but this table format keeps nothing of a publish that was not committed (Iceberg).",
        "Run the model's query to see its rows, or publish it under another name without the contract.",
    ),
    Code(
        "PP620",
        "evicted",
        "Another run, or `recover --force`, took the table over during this publish. This publish stopped and "
        "touched nothing more: the table is what the other one made of it.",
        "Run the model again. If it happens without `--force`, the machine stood still for more than 60 seconds.",
    ),
    Code(
        "PP621",
        "rows of another writer replaced",
        "Another writer put files into the table while its new rows were staged. The publish replaces the table, or "
        "those partitions, and with them what came in between.",
        "Let only this model write its table, or add those rows again.",
    ),
    Code(
        "PP622",
        "journal entry not believed",
        "A file in the journal folder names a table, a folder or a run that no publish of planproof would have "
        "named. Anyone who can write to that folder can write such a file. Nothing that it names was touched.",
        "Find out who wrote the file, check the table that it names, and delete the file.",
    ),
    Code(
        "PP623",
        "published rows taken back",
        "Right after the publish another writer took back, replaced or deleted rows of it: a rollback, a RESTORE, an "
        "older location, an overwrite. What the table holds now was not checked.",
        "Look at the table's history; if nobody meant to, run the model again.",
    ),
    Code(
        "PP901",
        "internal error in planproof",
        "planproof itself failed. If it failed in its own plan of the query, this is a warning, and Spark's planes "
        "judge the model; anywhere else, nothing was published.",
        "Report the traceback; `on_internal_error: pass` lets dbt run as if planproof were absent.",
    ),
)

CODES: dict[str, Code] = {code.id: code for code in _TABLE}
