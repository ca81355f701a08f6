# `make demo` and `make test` need Python 3.10 to 3.13 and Java 17 or later; the rest is installed into .venv.

PYTHON ?=
FORMAT ?= parquet
WALKS ?= 1000
SPARK ?= $(SPARK35)
DELTA_SPARK := $(if $(filter command line environment,$(origin SPARK)),$(SPARK),3.5)
DBT ?= 1.12
SPARK35 := 3.5.9
WORKERS ?= 2
ORACLE ?= ../shared/oracle
BIN := .venv/bin
# The environment in which FORMAT's tables are tested.
PLACE = $(if $(filter iceberg,$(FORMAT)),$$(.ci/iceberg $(SPARK)),$(if $(filter delta,$(FORMAT)),$$(.ci/delta $(DELTA_SPARK) >&2 && echo .venv-delta-$(DELTA_SPARK)),.venv))
export PYTHON
# Python keeps what it compiles, where the machine says otherwise too: each of the many that a run of the tests starts would compile Airflow and dbt anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help environment install demo action sbom docs pictures site test test-airflow test-airflow2 test-dbt test-dbt-spark test-dbt112 test-dbt2 test-spark test-spark-doors test-spark35 smoke-spark35 test-delta sweep-delta smoke-delta test-iceberg sweep-iceberg smoke-iceberg formats walks test-editor lint test-hive conformance faults suites release-check bench clean

help: ## Shows this list.
	@sed -nE "s/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/p" $(MAKEFILE_LIST) | expand -t 22

environment:
	@.ci/environment --java

install: environment ## Makes .venv from uv.lock.

demo: ## Builds a guarded dbt project on Spark, breaks one model, and shows what happened.
	@echo "make demo: the first time about 1 GB is installed into .venv, which takes minutes; the demo itself takes about one"
	@.ci/environment --java
	@$(BIN)/python dags_examples/demo.py

action: environment ## Writes anew what the GitHub Action installs, from uv.lock, with hashes.
	.venv/.uv/bin/uv export --frozen --no-default-groups --group build --no-emit-project -q --no-header > .ci/action.txt

sbom: environment ## Writes dist/planproof.cdx.json: what a release is made of, from uv.lock, with hashes (CycloneDX).
	@mkdir -p dist
	.venv/.uv/bin/uv export --frozen --no-default-groups --all-extras -q --format cyclonedx1.5 > dist/planproof.cdx.json

docs: environment ## Writes anew what the documentation shows of programs: look at it with `git diff`.
	$(BIN)/python tools/code_pages.py
	$(BIN)/python tools/settings_page.py
	$(BIN)/python tools/support_matrix.py
	$(BIN)/python tools/docs_examples.py
	PLANPROOF_WRITE_DOCS=1 $(BIN)/python -m pytest -q tests/docs/test_outputs.py tests/docs/test_tutorial.py

pictures: demo ## Runs the demo, its broken model by `planproof run` too, and draws what that looks like: docs/pictures.
	-PLANPROOF_DEMO_HOME=$(CURDIR)/.demo PLANPROOF_DEMO_SCHEMA=shop DBT_PROFILES_DIR=.demo/project $(BIN)/planproof run \
		--project-dir .demo/project --select customer_activity --vars '{customer_join: left}' --verbose
	$(BIN)/python tools/pictures.py

site: environment ## Builds the documentation as a searchable site, in site/; a broken link ends it.
	@UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=.venv-site VIRTUAL_ENV='' \
		.venv/.uv/bin/uv sync --frozen --only-group site --python $(BIN)/python --quiet
	.venv-site/bin/mkdocs build --strict
	@echo "open site/index.html"

test: environment ## Runs all tests, in two processes with a Spark each: WORKERS=0 for one.
	@$(BIN)/python tests/helpers/jvm.py
	$(BIN)/python -m pytest -m "not conformance and not faults" -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

test-hive: ## As test, with Hive's catalog where it has Spark's own.
	@CATALOG=hive $(MAKE) --no-print-directory test

test-airflow: environment ## Starts `airflow standalone`, and runs DAGs in it (slow).
	$(BIN)/python -m pytest -m slow tests/operators $(PYTEST_ARGS)

test-airflow2: environment ## Runs the operators' tests on Airflow 2.11, in an environment of its own.
	@.ci/airflow2
	.venv-airflow2/bin/python -m pytest -m "slow or not conformance" -p no:cacheprovider tests/operators $(PYTEST_ARGS)

test-spark: environment ## Runs the tests of sessions, publishing, the guard and dbt on another Spark: SPARK=4.0.5
	@.ci/spark $(SPARK)
	CATALOG=hive .venv-spark-$(SPARK)/bin/python -m pytest -m "not conformance and not faults" -p no:cacheprovider \
		tests/session tests/publish tests/guard tests/dbt_plugin $(PYTEST_ARGS)

test-spark-doors: environment ## Runs the operators, and what reaches Spark over Thrift or Connect, on another Spark: SPARK=4.0.5
	@.ci/spark $(SPARK)
	.venv-spark-$(SPARK)/bin/python -m pytest -m "not slow and not faults" -p no:cacheprovider \
		tests/session/test_elsewhere.py tests/cli/test_run_on_servers.py tests/dbt_plugin/test_plugin_thrift.py \
		tests/dbt_plugin/test_plugin_connect.py tests/operators/test_airflow_run.py tests/operators/test_airflow_audit.py $(PYTEST_ARGS)

test-spark35: ## As test-spark, on Spark 3.5.
	@$(MAKE) --no-print-directory test-spark SPARK=$(SPARK35)

smoke-spark35: environment ## Publishes and refuses a few tables on Spark 3.5, as CI does.
	@.ci/spark $(SPARK35)
	.venv-spark-$(SPARK35)/bin/python -m pytest -m spark35_smoke -p no:cacheprovider tests/session tests/guard $(PYTEST_ARGS)

test-delta: environment ## Runs the tests on Delta Lake's tables, in an environment of its own: SPARK=3.5, 4.0 or 4.1; DELTA_BY=statements as over Thrift
	@.ci/delta $(DELTA_SPARK)
	.venv-delta-$(DELTA_SPARK)/bin/python -m pytest -m "not conformance and not faults" -p no:cacheprovider tests/delta tests/formats $(PYTEST_ARGS)

sweep-delta: environment ## Plays the contract matrix on Delta's tables, and kills publishes of them at every step (slow).
	@.ci/delta $(DELTA_SPARK)
	.venv-delta-$(DELTA_SPARK)/bin/python -m pytest -m "conformance or faults" -p no:cacheprovider tests/delta tests/formats $(PYTEST_ARGS)

smoke-delta: environment ## Publishes and refuses a few Delta tables on Spark 3.5, as CI does; skips, and says why, where Delta's jars cannot be had.
	@jars=$$(.ci/delta 3.5 --jars); found=$$?; \
	if [ $$found -eq 3 ]; then echo "smoke-delta: skipped"; exit 0; elif [ $$found -ne 0 ]; then exit $$found; fi; \
	.ci/spark $(SPARK35) && DELTA_JARS=$$jars .venv-spark-$(SPARK35)/bin/python -m pytest -q -p no:cacheprovider \
		tests/delta/test_delta_tables.py::test_a_table_is_made_replaced_and_kept $(PYTEST_ARGS)

test-iceberg: environment ## Runs the tests on Apache Iceberg's tables, in an environment of its own: SPARK=3.5, 4.0 or 4.1
	where=$$(.ci/iceberg $(SPARK)) && $$where/bin/python -m pytest -m "not conformance and not faults" -p no:cacheprovider tests/iceberg tests/formats $(PYTEST_ARGS)

sweep-iceberg: environment ## Plays the contract matrix on Iceberg's tables, and kills publishes of them at every step (slow).
	where=$$(.ci/iceberg $(SPARK)) && $$where/bin/python -m pytest -m "conformance or faults" -p no:cacheprovider tests/iceberg tests/formats $(PYTEST_ARGS)

smoke-iceberg: environment ## Publishes and refuses an Iceberg table on Spark 4.1, as CI does; skips, and says why, where Iceberg's runtime cannot be had.
	@found=$$(.ci/iceberg 4.1 --jar); status=$$?; \
	if [ $$status -eq 3 ]; then echo "smoke-iceberg: skipped"; exit 0; elif [ $$status -ne 0 ]; then exit $$status; fi; \
	spark=$${found%% *}; .ci/spark $$spark && ICEBERG_JARS=$${found#* } .venv-spark-$$spark/bin/python -m pytest -q -p no:cacheprovider \
		'tests/iceberg/test_iceberg_tables.py::test_new_same_and_changed[spark_catalog]' $(PYTEST_ARGS)

test-dbt: environment ## Runs the plugin's and the macros' tests on another dbt-core, with the whole contract matrix: DBT=1.10
	@.ci/dbt $(DBT)
	CATALOG=hive .venv-dbt-$(DBT)/bin/python -m pytest -m "not conformance and not faults" -p no:cacheprovider tests/dbt_plugin $(PYTEST_ARGS)
	CATALOG=hive .venv-dbt-$(DBT)/bin/python -m pytest -m conformance -k "not thrift" -p no:cacheprovider tests/dbt_plugin/test_plugin_contract_matrix.py $(PYTEST_ARGS)

test-dbt-spark: environment ## Runs one guarded build, and one that is stopped, on a dbt-core and a Spark: DBT=1.12 SPARK=3.5.9
	@.ci/dbt $(DBT) --spark $(SPARK) --build

test-dbt112: ## As test-dbt, on dbt-core 1.12.
	@$(MAKE) --no-print-directory test-dbt DBT=1.12

test-dbt2: environment ## Compiles a project by dbt 2's own program, and checks, compares, freezes and runs what it left.
	dbt2=$$(.ci/dbt2) && DBT2="$$dbt2" $(BIN)/python -m pytest tests/project/test_dbt2_program.py $(PYTEST_ARGS)

formats: environment ## Plays every case of the suite of formats, each publish killed at every call: FORMAT=iceberg, or delta, for one format (slow).
	where=$(PLACE) && $$where/bin/python -m pytest -m "conformance or faults or not faults" -p no:cacheprovider -k "$(FORMAT)" \
		tests/formats/test_every_format.py $(PYTEST_ARGS)

walks: environment ## Walks at random: two guards, a writer, DDL, maintenance, recoveries and leaving over one table (1,000 walks take hours): WALKS=50 FORMAT=delta
	where=$(PLACE) && PLANPROOF_WALKS=$(WALKS) $$where/bin/python -m pytest -m "conformance or not conformance" -p no:cacheprovider -k "$(FORMAT)" \
		tests/formats/test_random_walk.py $(PYTEST_ARGS)

test-editor: environment ## Runs the language server's tests, in Neovim too: NVIM=/path/to/nvim, or one from PyPI.
	nvim=$$(.ci/neovim) && NVIM="$$nvim" $(BIN)/python -m pytest tests/lsp $(PYTEST_ARGS)

lint: ## Runs ruff and mypy.
	@.ci/environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

conformance: environment ## Sweeps against real Spark (slow), and scores `planproof derive` where ORACLE is present.
	CATALOG=hive ORACLE="$(ORACLE)" $(BIN)/python -m pytest -m conformance $(PYTEST_ARGS) || test $$? -eq 5
	@if [ -f "$(ORACLE)/queries.jsonl.gz" ]; then \
		mkdir -p .demo && gzip -dc "$(ORACLE)"/queries.jsonl.gz "$(ORACLE)"/rejected.jsonl.gz > .demo/cases.jsonl && \
		$(BIN)/planproof derive .demo/cases.jsonl > .demo/derived.jsonl && \
		$(BIN)/python "$(ORACLE)/score.py" .demo/derived.jsonl; \
	else echo "no oracle at $(ORACLE): nothing scored"; fi

faults: environment ## Kills publishes at every step and at random moments, fills disks, takes the metastore away.
	CATALOG=hive $(BIN)/python -m pytest -m faults -s tests/faults $(PYTEST_ARGS)

suites: environment ## Runs every suite there is, goes on where it stopped, and writes docs/suites.yml and the support matrix (hours).
	@status=0; $(BIN)/python tools/suites.py || status=$$?; $(BIN)/python tools/support_matrix.py; exit $$status

release-check: environment ## Builds wheel and sdist, checks them, and tries both in clean environments.
	$(BIN)/python tools/release_check.py

bench: environment ## Measures what the guard costs and what rewritten lambdas save.
	$(BIN)/python tests/benchmarks/run.py
	$(BIN)/python tests/benchmarks/lambdas.py

clean: ## Removes the demo's data and tables, and all caches.
	rm -rf .demo site .sweep .pytest_cache .mypy_cache .ruff_cache .hypothesis
