# make demo    set up and serve the page
# make test    set up, bring a Chromium if there is none, and run everything
# make toy     train the shipped toy checkpoint anew

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test toy

demo: .venv/demo
	$(BIN)/python app.py

test: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist loadfile

toy: .venv/demo
	$(BIN)/python -m transformer.training --corpus toy --out checkpoints/toy

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv .venv || \
		{ rm -rf .venv; echo "Python's venv module is missing (on Debian and Ubuntu: apt install python3-venv)"; exit 1; }

.venv/demo: requirements.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/test: tests/requirements.txt requirements.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	$(BIN)/python -m tests.browser.chromium
	@touch $@ .venv/demo
