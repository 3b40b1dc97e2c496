# For visitors
#   make demo       set up and serve the page
#   make site       write the page without a server into the folder site, for any static host;
#                   PAGE=ADDRESS of one with a server, to which it leads for trainings and classes
# For developers
#   make check      format, lint, types and the fast tests: a minute, after every change
#   make test       everything, with a browser; sets up what it needs on a fresh machine
#   make format     format and sort everything as make check wants it
#   make bundle     make assets/dist, which browsers load, of assets/web; it is committed
#   make portable   the tests of numbers, as other processors and numbers of threads round (an hour)
# The shipped models
#   make toy        train the toy checkpoint
#   make classroom  train the classroom checkpoint
#   make evaluate   print the tables of the classroom's card from the shipped weights
#   make search     find the sentences that experiments open on, again after a training (2 minutes)
#   make recordings record the training mistakes of Spot the bug, again after a change of their sentences (2 minutes)
#   make tried      measure the other sizes and schedules in the classroom's card (minutes)
#   make everyday   say how many everyday sentences the classroom translates right
#   make sample     print 200 sentences of the classroom's grammar
# Measurements, on an idle machine
#   make bench      the benchmarks (7 minutes)
#   make live       the cost of watching a training, and of trainings to visitors (2 minutes)
#   make modified   the wait for a run with interventions, and the cost of ablating every head (1 minute)
#   make load       a class of thirty for 5 minutes, then three hundred visitors at once (17 minutes)
#   make crowd      thirty visitors of one real model, beside those of the toy (2 minutes)
#   make attack     what one hostile visitor does to the others, 18 attacks (33 minutes)

PYTHON ?= python3
BIN := .venv/bin
NODE := $(BIN)/node .venv/js/node_modules

# A test run starts Python thirty times, which need not compile the same files each time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo site check lint engine unit library page test everything portable format bundle toy classroom evaluate search recordings everyday tried sample bench live modified load crowd attack

demo: .venv/demo
	$(BIN)/python app.py

# The parts run side by side, because each leaves a core idle now and then; what each prints stays together.
SIDE_BY_SIDE = @$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync)

site: .venv/demo
	$(BIN)/python -m transformer.web.site site $(if $(PAGE),--page $(PAGE))

check: .venv/measure .venv/js
	$(SIDE_BY_SIDE) library page lint

lint: .venv/js/schema.d.ts .venv/js/engine-cases.json
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(NODE)/@biomejs/biome/bin/biome ci
	$(NODE)/typescript/bin/tsc -p tests/js
	$(NODE_TEST) $(filter-out $(ENGINE_TEST),$(wildcard tests/js/*.test.ts))
	$(BIN)/mypy

NODE_TEST := $(BIN)/node --disable-warning=MODULE_TYPELESS_PACKAGE_JSON --test
ENGINE_TEST := tests/js/engine.test.ts

# Slow: the engine of the browser answers some 850 questions.
engine: .venv/js/engine-cases.json
	$(NODE_TEST) $(ENGINE_TEST)

# Two processes, of which one needs no Gradio: they import and collect less than workers that share all tests.
LIBRARY := $(addprefix tests/,network data storage inference training analysis)

unit: library page

library:
	$(BIN)/python -m pytest -m "not slow" $(LIBRARY)

page:
	$(BIN)/python -m pytest -m "not slow" --ignore tests/browser $(addprefix --ignore ,$(LIBRARY))

test: .venv/test .venv/js
	$(SIDE_BY_SIDE) portable-quick lint engine
	@$(MAKE) --no-print-directory everything

# Three processes for two cores: a test that drives a browser or a server mostly waits, but not for a crowded machine.
everything:
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# Each computes as another processor does: without its vector instructions, or with other sums of several threads.
PORTABLE := $(addprefix portable-,default avx2 sse41 1-thread 2-threads)

portable: $(PORTABLE)
portable-default portable-sse41 portable-quick: export ATEN_CPU_CAPABILITY := default
portable-avx2: export ATEN_CPU_CAPABILITY := avx2
portable-sse41 portable-quick: export ONEDNN_MAX_CPU_ISA := SSE41
portable-sse41 portable-quick: export MKL_CBWR := COMPATIBLE
portable-1-thread: export OMP_NUM_THREADS := 1
portable-2-threads: export OMP_NUM_THREADS := 2
$(PORTABLE): .venv/measure
	$(BIN)/python -m pytest $(LIBRARY) tests/mistakes

portable-quick: .venv/measure
	$(BIN)/python -m pytest -m "not slow" tests/analysis tests/mistakes

format: .venv/measure .venv/js
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(NODE)/@biomejs/biome/bin/biome check --write

bundle: .venv/js
	$(BIN)/node tests/js/bundle.ts

toy: .venv/demo
	$(BIN)/python -m transformer.training --corpus toy --out checkpoints/toy

CLASSROOM := --corpus classroom --layers 2 --n-heads 4 --d-model 96 --dropout 0 --batch-size 96 --steps 12000 \
	--schedule one-cycle --learning-rate 0.003 --label-smoothing 0.1 --weight-decay 0.1

classroom: .venv/measure
	$(BIN)/python -m transformer.training $(CLASSROOM) --seed 1 --out checkpoints/classroom

evaluate: .venv/measure
	$(BIN)/python -m transformer.training.evaluation classroom

search: .venv/measure
	$(BIN)/python -m transformer.analysis.experiments

recordings: .venv/measure
	$(BIN)/python -m transformer.live.recordings

everyday: .venv/demo
	$(BIN)/python -m tests.data.everyday

tried: .venv/measure
	$(BIN)/python -m tests.benchmarks.tried checkpoints/classroom/tried.md $(CLASSROOM) --seed 1

live: .venv/demo
	$(BIN)/python -m tests.benchmarks.live

modified: .venv/test
	$(BIN)/python -m tests.benchmarks.modified

bench: .venv/bench
	$(BIN)/python -m tests.benchmarks.bench

load: .venv/measure
	$(BIN)/python -m tests.benchmarks.load $(if $(MINUTES),--minutes $(MINUTES))

crowd: .venv/test
	$(BIN)/python -m tests.benchmarks.real_visitors

attack: .venv/measure
	$(BIN)/python -m tests.benchmarks.attack $(ROWS)

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

.venv/js/schema.d.ts: tests/js/wire.py $(shell find transformer -name '*.py') | .venv/js
	$(BIN)/python -m tests.js.wire .venv/js
	$(NODE)/json-schema-to-typescript/dist/src/cli.js --ignoreMinAndMaxItems .venv/js/schema.json $@

# What an answer of the engine in the browser depends on.
ENGINE := transformer/web/engine_data.py $(addprefix transformer/,network data inference analysis mistakes web/api)

.venv/js/engine-cases.json: tests/js/engine_fixtures.py $(shell find checkpoints $(ENGINE) -name '*.py' -o -name '*.json' -o -name '*.safetensors') | .venv/js
	$(BIN)/python -m tests.js.engine_fixtures .venv/js

.venv/bench: tests/benchmarks/requirements.txt .venv/test .venv/js
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/benchmarks/requirements.txt
	@touch $@
