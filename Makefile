# Everything runs in a virtual environment of its own, on a machine with only Python 3.11+, pip and make;
# conformance alone needs npm too.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
DOCUMENTED := .venv/documented

.PHONY: demo start stop test check live versions kill fuzz conformance bench record docs codegen format build clean

demo: $(INSTALLED)  ## show the main job on a real server, started here on loopback
	$(BIN)/python -m harness run -- sh -c '$(BIN)/hindsight-bank demo "$$HINDSIGHT_LIVE_URL" --bank "demo-$$(date +%s)"'

start: $(INSTALLED)  ## a real server that stays, at http://localhost:8888
	$(BIN)/python -m harness start --port 8888

stop: $(INSTALLED)  ## end it
	$(BIN)/python -m harness stop

test: check  ## everything that needs no server
	$(BIN)/pytest --cov --cov-report=term

check: $(INSTALLED)
	$(BIN)/python -m codegen --check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

live: $(INSTALLED)  ## the tests that need a real server, in both generations of the protocol
	$(BIN)/python -m harness run --protocol modern -- $(BIN)/pytest -m live
	$(BIN)/python -m harness run --protocol legacy -- $(BIN)/pytest -m live

versions: $(INSTALLED)  ## every Hindsight from 0.4.14 on, and other modes: live tests, cassettes, tables (ONLY="1.1.0 stateless")
	PYTHONPATH=tests $(BIN)/python -m versions $(ONLY)

kill: $(INSTALLED)  ## kill a real server again and again under load (ROUNDS=50 SEED=... PROTOCOL=modern)
	PYTHONPATH=tests $(BIN)/python -m kill

fuzz: $(INSTALLED)  ## look for what breaks framing, messages, results and settings (FUZZ_SECONDS=600)
	PYTHONPATH=tests $(BIN)/python -m fuzz

conformance: $(INSTALLED)  ## the official MCP suite against our transport and endpoint; npm fetches the suite
	$(BIN)/python tests/conformance.py

bench: $(INSTALLED)  ## what a call, a start and an import cost beside raw httpx and other clients (BENCH="--full --page")
	$(BIN)/python -m bench $(BENCH)

record: $(INSTALLED)  ## record every cassette again, from real servers started here
	PYTHONPATH=tests $(BIN)/python -m record

docs: $(DOCUMENTED)  ## the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	! grep -rlE '(src|href)="(https?:)?//[^"]+\.(js|css|woff2?)"' site --include='*.html'  # nothing of others' servers

codegen: $(INSTALLED)  ## write src/hindsight_bank/_generated from schemas/
	$(BIN)/python -m codegen

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

build: $(INSTALLED)  ## the wheel and the sdist, in dist/
	$(BIN)/pip install --quiet build
	$(BIN)/python -m build

clean:
	-$(BIN)/python -m harness stop
	rm -rf .venv .server .bench .conformance dist build site

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(DOCUMENTED): $(INSTALLED)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@
