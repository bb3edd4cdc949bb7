# Two commands do all set-up: `make demo` and `make test`. Second runs start at once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test lint types unit clean

demo: $(INSTALLED)
	$(BIN)/hybridal run

test: lint types unit

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(INSTALLED)
	$(BIN)/mypy

# One thread per worker: on two cores, two threads in each of two workers fight over them.
unit: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $${PYTEST_WORKERS:-2} --dist worksteal

# uv is only the faster installer; where it cannot be had, pip does the same work.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet uv && UV_FIND_LINKS="$${PIP_FIND_LINKS:-}" $(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e ".[dev]" \
	  || $(BIN)/pip install -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
