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
	@case "$$PWD" in *[[:space:]\{\}\"\'\`\$$\&\;\(\)\<\>\|\*\?]*) echo "$$PWD: expected a clone in whose path are no" \
		"spaces, braces, quotes or other characters of a shell: move it" >&2; exit 1;; esac
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

try: install ## Build table 1 and figure 3 of the demo with your encoder: make try ENCODER=FOLDER, or ENCODER=OWNER/NAME@COMMIT
	@PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.own_encoder try "$$ENCODER"

passport: install ## Build the passport of your encoder on real sentences: make passport ENCODER=FOLDER, or ENCODER=OWNER/NAME@COMMIT
	@PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.own_encoder passport "$$ENCODER"

convert: install ## Convert an encoder without safetensors or tokenizer.json: make convert ENCODER=FOLDER OUT=NEW
	@PYTHONPATH=workflow $(BIN)/python -m crosslens.encoding.encoders.convert "$$ENCODER" "$$OUT"

##@ Look at results, and plan

status: install ## Show what is built, stale or missing, and what runs: make status PAPER=wu2019 RESULTS=results/laptop
	@PYTHONPATH=workflow PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python -m crosslens.commands.status $${PAPER:+--paper="$$PAPER"} \
		-- $${RESULTS:+"$$RESULTS"}

cost: install ## What a run will take, before it starts: make cost TARGET=results/table2.csv PROFILE=slurm GPUS=2 OVERLAY=FILE; REHEARSE=20 shows what that rehearsal took
	@set -f; PYTHONPATH=workflow PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python -m crosslens.commands.cost $${PROFILE:+--profile="$$PROFILE"} \
		$${OVERLAY:+--overlay="$$OVERLAY"} $${GPUS:+--gpus="$$GPUS"} $${REHEARSE:+--config "rehearse=$$REHEARSE"} -- $$TARGET

prefetch: install ## Fetch the official files that a target reads: make prefetch TARGET=results/table2.csv PROFILE=slurm OVERLAY=FILE; LIST=1 only lists them
	@set -f; PYTHONPATH=workflow PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python -m crosslens.commands.prefetch $${PROFILE:+--profile="$$PROFILE"} \
		$${OVERLAY:+--overlay="$$OVERLAY"} $${LIST:+--dry-run} -- $$TARGET

provenance: install ## Show how the demo was made, job by job, in Snakemake's own report: results/demo/provenance.html
	$(SNAKEMAKE) demo --profile demo --quiet --report results/demo/provenance.html

##@ Keep results

archive: install ## Write tables, verdicts and all that they rest on into one file: make archive RESULTS=results/laptop OUT=FILE
	@PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.archive pack "$${RESULTS:-results/demo}" "$$OUT"

verify: install ## Verify an archive, offline and without models: make verify ARCHIVE=FILE
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

test: build/synthetic-tested ## Run the test suite; the tests of the synthetic corpus only where it, or what reads it, has changed
	$(PYTEST) --ignore tests/synthetic

test-long: install ## Test what takes minutes: runs of the workflow from one end to the other, whole files of real data (10 min); archives are validated where make test-crate was called once
	$(PYTEST) -m "long or crate"

test-demo: install ## Test the findings that hold on the demo, over three seeds (15 min)
	$(BIN)/python -m pytest -m demo tests/demo

test-slurm: install ## Run a slice of the study on a real SLURM started on this machine, and break it (Debian, root; 10 min)
	timeout -k 10 3600 $(BIN)/python -m pytest -x -m slurm tests/cluster

test-deployment: install ## Run jobs in conda environments and in the container's image, by stand-ins for both (a minute)
	$(BIN)/python -m pytest -m deployment tests/test_deployment.py

test-gpu: install ## Compare training runs on a GPU with the same runs on a processor (a minute; skipped without a GPU)
	$(BIN)/python -m pytest -rs tests/test_on_a_gpu.py

test-faults: install ## Try every fault as often as tests/faults/counts.csv counts, and write the counts (10 min)
	$(PYTEST) -m long --faults tests/faults
	$(PYTEST) -m fault --faults

test-registry: install ## Resolve the locks for each Python and platform, from the package index (a minute)
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python -m pytest -m registry

test-crate: install build/crate-tools/installed ## Validate an archive as an RO-Crate, by an independent validator (a minute)
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

docs: install ## Write the generated documents and pictures: configuration, data, verdicts, those of workflow/crosslens/commands/documents/templates
	PYTHONPATH=workflow $(BIN)/python -m crosslens.commands.documents

lock: install ## Rewrite requirements.lock; versions stay, except with make lock PACKAGES="NAME ..."
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
