# Two commands do all the set-up on a fresh machine; a virtual environment that is up to date is used again.
#   make demo     starts the service on a free port, plans real problems over HTTP, draws them, and ends
#   make test     all that CI checks but the container; TESTS='-k verify' goes to pytest
#   make serve    the service, until Ctrl-C
#   make ledger   what the searches reach, beside what they reached, in counted work; half an hour
#   make deep     before a release: all that draws its cases, with many more of them
#   make locks    the lock files from pyproject.toml, with UPGRADE=--upgrade at the newest versions
PYTHON ?= python3
VENV ?= .venv
BIN = $(abspath $(VENV))/bin
# uv installs packages in a fifth of the time of pip, while pip compiles the core. It is told what pip is told of other
# places that packages come from. Neither compiles modules: of what is installed, little is imported.
PIP = $(BIN)/pip install -qq --disable-pip-version-check --no-compile
INDEX = $(or $(PIP_INDEX_URL),$(shell $(PYTHON) -m pip config get global.index-url 2>/dev/null))
INSTALL = UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip install --quiet --python $(BIN)/python \
	$(if $(INDEX),--default-index $(INDEX))
# What is compiled for the environment is not compiled again by tests of wheels.
ONCE = $(if $(shell command -v c++),CXX="'$(BIN)/python' '$(CURDIR)/tests/support/compile_once.py' c++")
BUILT_FROM = pyproject.toml hatch_build.py $(shell find solvers/core programs/*/core extensions/*/core -name '*.[ch]pp' -o -name 'build.py')

.PHONY: demo serve test ledger deep locks environment
demo: $(VENV)/service.ready
	@$(BIN)/python examples/demo.py

serve: $(VENV)/service.ready
	@$(BIN)/memplan serve

test: environment
	@PATH="$(abspath $(VENV))/node/node_modules/.bin:$$PATH" $(BIN)/python -m tests $(TESTS)

ledger: environment
	@$(BIN)/python -m lab.ledger $(ROWS)

deep: environment
	@$(BIN)/python -m lab.deep $(DEEP)

LOCK = $(BIN)/uv pip compile --quiet $(UPGRADE) --universal --generate-hashes --no-annotate --no-header
locks: | $(BIN)/uv
	@$(LOCK) pyproject.toml --extra all --output-file requirements.lock
	@$(LOCK) pyproject.toml --extra dev --extra peers --output-file requirements-dev.lock
	@$(LOCK) pyproject.toml --extra onnx --constraint requirements.lock --output-file docker/action.lock
	@printf 'hatchling\nziglang\n' | $(LOCK) - --output-file docker/build.lock

environment: $(VENV)/tests.ready

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	@$(PIP) 'uv==0.13.9'

$(VENV)/service.ready: requirements.lock $(BUILT_FROM) | $(BIN)/uv
	@echo "installing memplan with engines and service into $(VENV)"
	@$(PIP) --no-deps --editable . & compiled=$$!; \
	$(INSTALL) --require-hashes --requirement requirements.lock; installed=$$?; \
	wait $$compiled && exit $$installed
	@touch $@

# Beside the lock file: a torch for processors alone, as registries have gigabytes for GPUs; what models are run in; TVM
# and Dask; what checks the types of the page's modules. Where one cannot be had, its tests are skipped, and say so.
$(VENV)/tests.ready: requirements-dev.lock $(BUILT_FROM) | $(BIN)/uv
	@echo "installing memplan with all that tests need into $(VENV)"
	@{ npm install --silent --no-save --prefix $(VENV)/node 'typescript@7.0.2' >/dev/null 2>&1 \
	    || echo "could not install typescript"; } & typed=$$!; \
	$(ONCE) $(PIP) --no-deps --editable . & compiled=$$!; \
	$(INSTALL) --require-hashes --requirement requirements-dev.lock; installed=$$?; \
	$(INSTALL) 'torch==2.13.0+cpu' 'executorch==1.5.1' 2>/dev/null || echo "could not install executorch"; \
	$(INSTALL) 'onnxruntime==1.31.1' 'ai-edge-litert==2.3.0' 'tflite-micro==0.dev20261023182759' 2>/dev/null \
	    || echo "could not install runtimes"; \
	$(INSTALL) 'apache-tvm==0.27.0.post1' 'distributed==2026.8.0' 2>/dev/null \
	    || echo "could not install TVM and Dask"; \
	wait $$typed; wait $$compiled && exit $$installed
	@touch $@
