# make help lists the targets. Everything is installed into .venv; nothing else on the machine is modified.

PYTHON ?= python3
BIN := .venv/bin
SNAKEMAKE := $(BIN)/snakemake

# What a user may set. Recipes read it from the environment, in quotes: a name may have any characters, and $ is one of them here too.
# TARGET may be several files: it is split at spaces, and nothing else in it has a meaning (set -f).
SETTINGS := ARCHIVE ENCODER GPUS LIST OUT OVERLAY PACKAGES PAPER PROFILE PYTHON REHEARSE RESULTS SEEDS TARGET
$(foreach name,$(SETTINGS),$(eval override $(name) := $$(value $(name))))
export $(SETTINGS)

.DEFAULT_GOAL := help
.PHONY: help install demo demo-all try passport convert provenance archive verify test test-long test-demo test-slurm test-deployment test-gpu test-faults test-registry test-crate lint format docs lock site status cost prefetch clean

help: ## Show this list
	@grep -hE '^(##@|[a-z-]+:.*##)' Makefile | sed -E 's/^([a-z-]+):.*## /  \1\t/; s/^##@ //' | expand -t 18

# A .venv that is a link belongs to another clone, which installs into it.
INSTALLED := $(if $(filter-out $(CURDIR)/.venv,$(realpath .venv)),,.venv/installed)

# The programs in .venv/bin name the clone that they were installed in: in one that was moved or copied they would run the packages
# of the other.
MOVED := $(if $(wildcard .venv/bin/pip),$(shell grep -qsF "$$(pwd -P)/.venv/bin/" .venv/bin/pip || echo moved))
.PHONY: moved
moved:
	@echo "The packages in .venv belong to a clone in another folder; they are installed here again"
	@rm -rf .venv

# Reinstalled only when the lock file changes or the clone has moved. For another build of torch, see the top of requirements.lock.
.venv/installed: requirements.lock $(MOVED)
# Snakemake takes braces in the path for wildcards, and calls .venv/bin/python without quotes.
	@case "$$PWD" in *[[:space:]\{\}\"\'\`\$$\&\;\(\)\<\>\|\*\?]*) echo "$$PWD: expected a path without spaces," \
		"braces, quotes or other characters of a shell; move the clone" >&2; exit 1;; esac
	@echo "Installing the packages of requirements.lock into .venv (a download of 0.6 GB, or of 3 GB where torch comes with CUDA; some minutes)"
	@envs/install.sh .venv "$$PYTHON"
	@touch $@

##@ Install

install: $(INSTALLED) ## Install the locked versions into .venv

##@ Build

demo: install ## Build all tables and figures of tanti2021, offline, in minutes: results/demo/report.html
	$(SNAKEMAKE) demo --profile demo $${SEEDS:+--config "seeds=[$$SEEDS]"}
	$(SNAKEMAKE) claims scoreboard --profile demo $${SEEDS:+--config "seeds=[$$SEEDS]"}
	@echo "Which claims hold: results/demo/index.html; each printed number beside ours: results/demo/scoreboard.html"
	@echo "The tables and figures are in results/demo/; all of them on one page, with captions: results/demo/report.html"

demo-all: install ## The same for all papers, and every corpus: a report for each
	$(SNAKEMAKE) demo_all --profile demo
	$(SNAKEMAKE) claims scoreboard --profile demo
	@echo "Which claims hold: results/demo/index.html; each printed number beside ours: results/demo/scoreboard.html"
	@echo "All tables and figures of a paper on one page:" results/demo/report.html results/demo/*/report.html

try: install ## Build table 1 and figure 3 of the demo with your encoder: make try ENCODER=FOLDER
	@PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.own_encoder try "$$ENCODER"

passport: install ## Build the passport of your encoder on real sentences: make passport ENCODER=FOLDER
	@PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.own_encoder passport "$$ENCODER"

convert: install ## Add safetensors or tokenizer.json to an encoder: make convert ENCODER=FOLDER OUT=NEW
	@PYTHONPATH=workflow $(BIN)/python -m crosslens.encoding.encoders.convert "$$ENCODER" "$$OUT"

##@ Look at results, and plan

status: install ## Show what is built, stale or missing (default: all begun studies): make status PAPER=wu2019
	@PYTHONPATH=workflow PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python -m crosslens.commands.status $${PAPER:+--paper="$$PAPER"} \
		-- $${RESULTS:+"$$RESULTS"}

cost: install ## Estimate time and memory (default: full study): make cost TARGET=FILE PROFILE=slurm
	@set -f; PYTHONPATH=workflow PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python -m crosslens.commands.cost $${PROFILE:+--profile="$$PROFILE"} \
		$${OVERLAY:+--overlay="$$OVERLAY"} $${GPUS:+--gpus="$$GPUS"} $${REHEARSE:+--config "rehearse=$$REHEARSE"} -- $$TARGET

prefetch: install ## Download files (default: full study): make prefetch TARGET=results/table2.csv PROFILE=slurm
	@set -f; PYTHONPATH=workflow PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python -m crosslens.commands.prefetch $${PROFILE:+--profile="$$PROFILE"} \
		$${OVERLAY:+--overlay="$$OVERLAY"} $${LIST:+--dry-run} -- $$TARGET

provenance: install ## Write Snakemake's report on the demo: results/demo/provenance.html
	$(SNAKEMAKE) demo --profile demo --quiet --report results/demo/provenance.html

##@ Keep results

archive: install ## Pack a results folder into one file: make archive RESULTS=results/laptop OUT=FILE
	@PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.archive pack "$${RESULTS:-results/demo}" "$$OUT"

verify: install ## Recompute and compare the tables in an archive: make verify ARCHIVE=FILE
	@PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.archive verify "$$ARCHIVE"

clean: ## Remove the results of the demo, after asking; those of other presets are kept
	@test ! -d results/demo || { printf 'Remove results/demo (%s)? [y/N] ' "$$(du -sh results/demo | cut -f1)"; read -r answer; \
		case "$$answer" in y|Y|yes) rm -rf results/demo;; *) echo "Kept.";; esac; }

##@ For developers

PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
SYNTHETIC := $(wildcard workflow/synthetic/*.py workflow/crosslens/corpora/*.py resources/synthetic/* resources/synthetic/*/* tests/synthetic/*.py)

build/synthetic-tested: $(INSTALLED) $(SYNTHETIC)
	$(PYTEST) tests/synthetic
	@mkdir -p build && touch $@

test: build/synthetic-tested ## Run the quick tests (5 min)
	$(PYTEST) --ignore tests/synthetic

test-long: install ## Run the slow tests: whole workflows, and whole files of real data (10 min)
	$(PYTEST) -m "long or crate"

test-demo: install ## Test the findings that hold on the demo, over three seeds (15 min)
	$(BIN)/python -m pytest -m demo tests/demo

test-slurm: install ## Test the cluster profile on a one-node SLURM cluster (Debian, root; 10 min)
	timeout -k 10 3600 $(BIN)/python -m pytest -x -m slurm tests/cluster

test-deployment: install ## Test conda environments and the container, with substitutes for both (1 min)
	$(BIN)/python -m pytest -m deployment tests/test_deployment.py

test-gpu: install ## Compare training runs on a GPU and a CPU (1 min; skipped without a GPU)
	$(BIN)/python -m pytest -rs tests/test_on_a_gpu.py

test-faults: install ## Trigger each kind of fault repeatedly and count the outcomes (10 min)
	$(PYTEST) -m long --faults tests/faults
	$(PYTEST) -m fault --faults

test-registry: install ## Resolve the locked packages for each Python and platform (1 min)
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python -m pytest -m registry

test-crate: install build/crate-tools/installed ## Validate an archive as an RO-Crate (1 min)
	$(BIN)/python -m pytest -m crate tests/test_archive.py

lint: install ## Check with ruff, snakefmt, snakemake --lint, mypy; check generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile rules
	$(SNAKEMAKE) --lint
	$(BIN)/mypy
	PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.documents --check

format: install ## Format Python and rule files
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format --quiet .
	$(BIN)/snakefmt Snakefile workflow/Snakefile rules

docs: install ## Write the generated pages and figures of the documentation
	PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.documents

lock: install ## Regenerate the lock files; make lock PACKAGES="NAME ..." upgrades these
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python envs/lock.py $$PACKAGES

# What pages consist of, and the files that they link to.
PAGES := README.md CHANGELOG.md CONTRIBUTING.md CITATION.cff config.yaml config demo laptop slurm envs docs resources/synthetic/README.md benchmarks/README.md benchmarks/coverage_scores.csv benchmarks/coverage_claims.csv tests/faults/README.md tests/faults/counts.csv

build/site-tools/installed: docs/site/requirements.lock
build/crate-tools/installed: tests/crate/requirements.lock

build/site-tools/installed build/crate-tools/installed:
	@"$$PYTHON" -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $^
	@touch $@

site: install build/site-tools/installed ## Build the documentation as a web site, links checked: build/site/index.html
	@rm -rf build/pages && mkdir -p build/pages
	@git ls-files -z --cached --others --exclude-standard $(PAGES) | xargs -0 tar cf - | tar xf - -C build/pages
	@mv build/pages/README.md build/pages/overview.md
	PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.documents --site build/pages
	NO_MKDOCS_2_WARNING=1 build/site-tools/bin/mkdocs build --strict --quiet --config-file docs/site/mkdocs.yml
