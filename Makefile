# make demo       set up and serve the page
# make test       set up, bring a Chromium if there is none, and run everything
# make toy        train the shipped toy checkpoint anew
# make classroom  train the shipped classroom checkpoint anew
# make evaluate   print the classroom card's table again, from the shipped weights
# make tried      measure the other sizes and schedules in the classroom's card anew (minutes)
# make live       measure what watching costs a training, and what trainings cost the visitors who click (2 minutes)
# make broken     measure how long a visitor waits for a broken run, and what silencing every head costs (1 minute)
# make bench      measure everything in the README's benchmarks anew (on a machine that does nothing else)
# make load       have thirty visitors click for 5 minutes while one trains, and then three hundred come (13 minutes)
# make sample     print 200 sentences of the classroom's grammar, to be read through

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test toy classroom evaluate tried live broken bench load sample

demo: .venv/demo
	$(BIN)/python app.py

test: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

js: .venv/js
	$(BIN)/node .venv/js/node_modules/@biomejs/biome/bin/biome ci
	$(BIN)/node .venv/js/node_modules/typescript/bin/tsc -p tests/js
	$(BIN)/node --test tests/js/*.test.js

toy: .venv/demo
	$(BIN)/python -m transformer.training --corpus toy --out checkpoints/toy

CLASSROOM := --corpus classroom --layers 2 --n-heads 4 --dropout 0 --batch-size 128 --steps 1700 \
	--schedule one-cycle --learning-rate 0.003 --label-smoothing 0.1

classroom: .venv/measure
	$(BIN)/python -m transformer.training $(CLASSROOM) --out checkpoints/classroom

evaluate: .venv/measure
	$(BIN)/python -m transformer.training.evaluation classroom

tried: .venv/measure
	$(BIN)/python -m tests.benchmarks.tried checkpoints/classroom/tried.md $(CLASSROOM) --seed 1

live: .venv/demo
	$(BIN)/python -m tests.benchmarks.live

broken: .venv/test
	$(BIN)/python -m tests.benchmarks.broken

bench: .venv/bench
	$(BIN)/python -m tests.benchmarks.bench

load: .venv/measure
	$(BIN)/python -m tests.benchmarks.load $(if $(MINUTES),--minutes $(MINUTES))

sample: .venv/demo
	$(BIN)/python -m transformer.data.classroom

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv .venv || \
		{ rm -rf .venv; echo "Python's venv module is missing (on Debian and Ubuntu: apt install python3-venv)"; exit 1; }

.venv/demo: requirements.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/measure: tests/requirements.txt requirements.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@touch $@ .venv/demo

.venv/test: .venv/measure
	$(BIN)/python -m tests.browser.chromium
	@touch $@

.venv/js: tests/js/package.json .venv/measure
	@mkdir -p $@ && cp tests/js/package.json $@
	cd $@ && ../bin/npm install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.venv/bench: tests/benchmarks/requirements.txt .venv/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/benchmarks/requirements.txt
	@touch $@
