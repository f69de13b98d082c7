# `make` builds, `make demo` runs the demo, `make check` and `make test` test.  Each installs what it needs first.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/libsmdebug
PYTHON := .venv/bin/python
ORIGINAL := $(CACHE)/original-1.0.34
ONLY ?=
DIST ?= dist

# Tests call make themselves, outside of this one.
unexport MAKEFLAGS MFLAGS
export PYTHONPATH := $(CURDIR)/build/python
export SMDEBUG_ORIGINAL_PYTHON := $(ORIGINAL)/bin/python
# One checkout reuses objects that another has compiled.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export PIP_CACHE_DIR ?= $(CACHE)/pip
export SMDEBUG_SERVERS := $(CACHE)/servers
export SMDEBUG_AXE := $(CACHE)/axe
# CMake and the scripts of the bindings read this.
export SMDEBUG_SWIG := $(CACHE)/swig/bin/swig

PYTEST := $(PYTHON) -m pytest -q -p no:cacheprovider $(if $(ONLY),-k '$(ONLY)')

# The tests write gigabytes of small files, and remove them again.
check test $(addprefix test-,cpp go java python storage docs packages frameworks static): export TMPDIR := $(shell tools/test_folder.sh)

.PHONY: all python demo build-demo check test test-cpp test-go test-java test-python test-storage test-docs test-packages check-static test-static test-frameworks test-gpu test-large framework-environments update-frameworks test-s3-minio aarch64 check-aarch64 test-aarch64 check-musl test-musl build-asan \
        build-tsan test-asan test-tsan torture fuzz coverage dist reproducible bench bench-check bench-gpu pictures measure-rules diagnosis-table llm-diagnosis-table measure-llm measure-profile measure-strangers lint format abi install uninstall wheel jar deb release clean environment original servers

# After `python`: two builds of one folder must not run at once.
all: python
	@cmake --build build -j $(JOBS)

python: build/build.ninja
	@cmake --build build -j $(JOBS) --target smdebug_python

# A new build compiles groups of sources at once, which takes less than half of the time.
build/build.ninja: CMakeLists.txt CMakePresets.json
	@tools/setup.sh
	@tools/venv.sh $(CACHE)/swig bindings/requirements.txt
	@cmake --preset release $(if $(wildcard build/CMakeCache.txt),,-DSMDEBUG_UNITY=ON) > build.log 2>&1 || { cat build.log; exit 1; }
	@mv build.log build/configure.log

environment:
	@tools/setup.sh
	@tools/venv.sh .venv examples/demo/requirements.txt tests/requirements.txt

original:
	@mkdir -p $(CACHE)
	@tools/venv.sh $(ORIGINAL) tests/interop/requirements.txt

servers:
	@tools/servers.sh $(SMDEBUG_SERVERS) versitygw toxiproxy

# Where nothing was built yet, builds what the demo needs and no more, in the fastest way.
ifeq ($(wildcard build/lib/libsmdebug.so),)
DEMO := build/demo
endif
demo: $(if $(DEMO),build-demo,python environment)
	@PYTHONPATH=$(CURDIR)/$(or $(DEMO),build)/python $(PYTHON) examples/demo/demo.py --out demo_output

build-demo:
	@tools/setup.sh demo
	@mkdir -p build
	@[ -e .venv/requirements.sha256 ] || PIP_NO_COMPILE=1 tools/venv.sh .venv examples/demo/requirements.txt & \
	  tools/venv.sh $(CACHE)/swig bindings/requirements.txt && \
	  { cmake --preset demo > build/demo.log 2>&1 || { cat build/demo.log; exit 1; }; } && \
	  cmake --build build/demo -j $(JOBS) --target smdebug_python && wait $$!

# Between edits: builds what changed, and runs the fast tests of the library, Python and the program.
QUICK := $(addprefix tests/python/test_,hook.py trial.py tensor.py dtypes.py exceptions.py rule_set.py) tests/cli/test_diff.py
check: all environment
	@ctest --test-dir build --output-on-failure --progress -j $(JOBS) -LE 'lint|slow'
	@$(PYTEST) $(QUICK)

# All parts that need no other build, the longest first; three at once, as most wait for half of their time.  Not $(MAKE),
# which -n would run.
PARTS := frameworks python storage packages go java cpp docs
test: all environment original servers
	@echo "Testing: $(PARTS). Each part prints its results when it ends."
	@make --no-print-directory -k -j 3 --output-sync=target $(PARTS:%=test-%)

test-cpp: all
	@ctest --test-dir build --output-on-failure --progress -j $(JOBS) $(if $(ONLY),-R '$(ONLY)')

test-go: all servers
	@SMDEBUG_GO=$(CACHE)/go tools/test_go.sh build

test-java: all environment servers
	@tools/setup.sh java
	@tools/test_java.sh build

test-python: all environment original servers
	@tools/setup.sh browser shells
	@tools/axe.sh $(SMDEBUG_AXE)
	@$(PYTEST) tests/python tests/cli tests/profiler

test-storage: all environment original servers
	@$(PYTEST) tests/s3 tests/interop tests/faults

# Runs all kills, power losses and failing calls, in each language; `make test` runs a subset.
torture: export SMDEBUG_TORTURE := 1
torture: all environment servers test-go test-java
	@$(PYTEST) -s tests/faults

# Tensors of more than 2 GiB: takes 8 GiB of memory and 3 GiB of disk.
test-large: python environment
	@$(PYTEST) tests/large

# The tests that span all languages; those of Go and Java are built with their own tests.
test-docs: all environment servers test-go test-java
	@$(PYTEST) tests/conformance tests/docs

# SMDEBUG_RELEASE=1 also makes a release and tries all its files, on old systems too.
SMDEBUG_RELEASE ?=
test-packages: all environment servers
	@tools/setup.sh embed torch java $(if $(SMDEBUG_RELEASE),portable)
	@$(PYTEST) tests/embed tests/packages $(if $(SMDEBUG_RELEASE),tests/release)

# The static library, and programs that link it; compiles the library again if ccache lacks it.
# check-static does a part of it.
check-static: TESTED := -k 'pkg_config or cmake or no_shared'
check-static test-static: environment
	@tools/setup.sh registries
	@$(PYTEST) tests/static $(TESTED)

framework-environments:
	@tools/framework_environments.sh $(CACHE) $(FRAMEWORKS)

# Real trainings; FRAMEWORKS="pytorch jax" selects some, WHOLE=1 adds the tests that take long.
export WHOLE
test-frameworks: python original servers
	@tools/test_frameworks.sh $(CACHE) $(FRAMEWORKS)

# Tests the PyTorch hook on a GPU, which `make test` does not need.
test-gpu: python
	@tools/framework_environments.sh $(CACHE) pytorch-newest
	@$(CACHE)/frameworks/pytorch-newest/bin/python -m pytest -q -p no:cacheprovider --timeout 120 tests/frameworks/gpu

# Pins the newest releases of PyTorch and its trainers, and tests with them.
update-frameworks: python
	@tools/update_frameworks.sh $(CACHE) pytorch-newest
	@WHOLE=1 tools/test_frameworks.sh $(CACHE) pytorch-newest

# Tests the S3 client against a second server.
test-s3-minio: python environment original
	@tools/servers.sh $(SMDEBUG_SERVERS) minio
	@SMDEBUG_TEST_S3=minio $(PYTEST) tests/s3/test_server.py tests/s3/test_interop.py

# Runs the C and C++ tests again under sanitizers, which stop at the first error.
build-asan build-tsan: build-%:
	@tools/setup.sh
	@cmake --preset $* > /dev/null
	@cmake --build build/$* -j $(JOBS)

test-asan test-tsan: test-%: build-%
	@ctest --test-dir build/$* --output-on-failure --progress -j $(JOBS) -LE lint

# Cross-compiles the library, the program and the C and C++ tests for 64-bit ARM.
aarch64: export SMDEBUG_SYSROOT := $(CACHE)/sysroot-arm64
aarch64:
	@tools/setup.sh aarch64
	@tools/sysroot.sh arm64 $(SMDEBUG_SYSROOT)
	@cmake --preset aarch64 > /dev/null
	@cmake --build build/aarch64 -j $(JOBS) $(CROSS:%=--target %)

# Tests that build under QEMU, and compares it with this machine's; check-aarch64 does a part of it.
check-aarch64 test-aarch64: export SMDEBUG_SYSROOT := $(CACHE)/sysroot-arm64
check-aarch64: CROSS := base_test tensor_test format_test fixed_trial
check-aarch64: all environment aarch64
	@$(PYTEST) tests/portability/test_aarch64.py -k 'base_test or tensor_test or format_test or arithmetic or byte_for_byte'

test-aarch64: all environment aarch64
	@$(PYTEST) tests/portability/test_aarch64.py

# Builds for musl, the C library of Alpine Linux, and runs the tests of the core; check-musl does a
# part of it.
check-musl: BUILT := smdebug smdebug_cli base_test tensor_test format_test fixed_trial
check-musl: TESTED := -k 'base_test or tensor_test or format_test or byte_for_byte or musl_alone'
check-musl test-musl: all environment
	@tools/setup.sh musl
	@tools/portable.sh x86_64-musl build/musl $(BUILT)
	@$(PYTEST) tests/portability/test_musl.py $(TESTED)

# Fuzzes each parser of outside input for SECONDS_EACH with libFuzzer; keeps findings in build/fuzz.
SECONDS_EACH ?= 60
fuzz:
	@tools/setup.sh fuzz
	@cmake --preset fuzz > /dev/null
	@cmake --build build/fuzz -j $(JOBS) --target fuzz
	@tools/fuzz.sh build/fuzz $(SECONDS_EACH) $(TARGETS)

# Reports which lines and branches the C and C++ tests cover.
coverage:
	@tools/setup.sh
	@tools/venv.sh $(CACHE)/gcovr tests/coverage.txt
	@cmake --preset coverage > /dev/null
	@cmake --build build/coverage -j $(JOBS)
	@ctest --test-dir build/coverage --output-on-failure -j $(JOBS) -LE lint -E 'leak|cpp_memory' > build/coverage/tests.log
	@tools/coverage.sh build/coverage $(CACHE)/gcovr/bin/gcovr

# Creates the archive of the sources and its SBOM.
dist:
	@tools/dist.sh $(DIST)

# Creates all files of a release in $(DIST), with checksums and SBOMs.  Builds for each architecture.
ARCHITECTURES ?= x86_64 aarch64
release:
	@tools/setup.sh java portable registries
	@rm -rf $(DIST)
	@tools/release.sh $(DIST) $(ARCHITECTURES)

# Checks that two builds of this commit, in two folders, are byte-identical.
reproducible:
	@tools/setup.sh
	@tools/reproducible.sh build/reproducible

bench: environment original servers test-java
	@tools/venv.sh .venv examples/demo/requirements.txt tests/requirements.txt tests/bench/requirements.txt
	@tools/setup.sh bench
	@cmake --preset release -DSMDEBUG_BENCH=ON > /dev/null
	@cmake --build build -j $(JOBS)
	@$(PYTHON) tests/bench/bench.py
	@$(PYTHON) tests/bench/bench_many.py
	@$(PYTHON) tests/bench/bench_tables.py
	@$(PYTHON) tests/bench/bench_serve.py
	@$(PYTHON) tests/bench/bench_profiler.py
	@$(PYTHON) tests/bench/bench_profile_reading.py
	@$(PYTHON) tests/bench/bench_peers.py
	@$(PYTHON) tests/bench/bench_growth.py
	@$(PYTHON) tests/bench/bench_s3.py
	@$(PYTHON) tests/bench/bench_bindings.py
	@tools/framework_environments.sh $(CACHE) pytorch pytorch-newest
	@SMDEBUG_PYTORCH_ORIGINAL_PYTHON=$(CACHE)/frameworks/pytorch-original/bin/python \
	  $(CACHE)/frameworks/pytorch/bin/python tests/bench/bench_pytorch.py
	@$(CACHE)/frameworks/pytorch-newest/bin/python tests/bench/bench_pytorch.py gpt compiled memory
	@$(CACHE)/frameworks/pytorch-newest/bin/python tests/bench/bench_profiler.py training
	@$(CACHE)/frameworks/pytorch/bin/python tests/bench/bench_rules.py
	@tools/framework_environments.sh $(CACHE) tables
	@$(CACHE)/frameworks/tables/bin/python tests/bench/bench_tables_engines.py

# Measures the PyTorch hook on a GPU.  Without one, only tries that path on the CPU.
bench-gpu: python
	@tools/framework_environments.sh $(CACHE) pytorch-newest
	@$(CACHE)/frameworks/pytorch-newest/bin/python tests/bench/bench_gpu.py

# Makes the pictures of the docs again, except that of measurements (docs/growth.svg) and the drawn one (docs/concepts.svg):
# look at each.
pictures: all environment
	@tools/framework_environments.sh $(CACHE) tensorboard
	@SMDEBUG_TENSORBOARD=$(CACHE)/frameworks/tensorboard/bin/python $(PYTHON) tools/pictures.py
	@$(PYTHON) tools/tables_plots.py

# Measures built-in rules on trainings drawn at random: RUNS of the seeds of SET, tuning or claim,
# from number BEGIN on.
SET ?= tuning
BEGIN ?= 0
RUNS ?= 1000
measure-rules: python
	@tools/framework_environments.sh $(CACHE) pytorch-newest
	@$(CACHE)/frameworks/pytorch-newest/bin/python tests/rules/generator.py --set $(SET) --begin $(BEGIN) --runs $(RUNS)

# The same on trainings whose writers knew nothing of the rules: an hour of one core.
measure-strangers: python
	@tools/framework_environments.sh $(CACHE) pytorch-newest keras3
	@for writer in fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth; do $(CACHE)/frameworks/pytorch-newest/bin/python -W ignore \
	    tests/rules/strangers/measure.py --writer $$writer || exit 1; done
	@$(CACHE)/frameworks/keras3/bin/python -W ignore tests/rules/strangers/measure.py --keras
	@tools/venv.sh $(CACHE)/frameworks/strangers tests/rules/strangers/requirements.txt
	@for backend in jax tensorflow; do KERAS_BACKEND=$$backend $(CACHE)/frameworks/strangers/bin/python -W ignore \
	    tests/rules/strangers/measure.py --writer seventeenth || exit 1; done

# Measures the rules over profiles on trainings with planted faults and without, 7 seconds each.
PROFILED ?= 34
measure-profile: python
	@tools/framework_environments.sh $(CACHE) pytorch-newest
	@$(CACHE)/frameworks/pytorch-newest/bin/python tests/profiler/measured/measure_profile.py --set $(SET) --begin $(BEGIN) --runs $(PROFILED)

# Makes the table of the diagnosis again, from RUNS trainings, and prints its errors.  Needed when
# rules have changed: build/causes.jsonl keeps what they found.
diagnosis-table: python
	@tools/framework_environments.sh $(CACHE) pytorch-newest
	@rm -f build/causes.jsonl
	@$(CACHE)/frameworks/pytorch-newest/bin/python tests/rules/collect_causes.py --runs $(RUNS) --out build/causes.jsonl
	@$(CACHE)/frameworks/pytorch-newest/bin/python tests/rules/fit_causes.py build/causes.jsonl --afresh --write

# The same for the set llm, from four trainings of each fault and healthy way of transformers/; takes an hour.
llm-diagnosis-table: python
	@tools/framework_environments.sh $(CACHE) pytorch-newest
	@rm -f build/llm_causes.jsonl
	@$(CACHE)/frameworks/pytorch-newest/bin/python tests/rules/transformers/measure.py --begin 100 --each 4 --lines build/llm_causes.jsonl
	@$(CACHE)/frameworks/pytorch-newest/bin/python tests/rules/fit_causes.py build/llm_causes.jsonl --of llm --afresh --write

# Measures the rule set llm on small transformers: EACH runs of each fault and healthy way.
EACH ?= 1
measure-llm: python
	@tools/framework_environments.sh $(CACHE) pytorch-newest
	@$(CACHE)/frameworks/pytorch-newest/bin/python tests/rules/transformers/measure.py --set $(SET) --each $(EACH)

# Checks that nothing has become 25 % slower than docs/benchmarks.md states.
bench-check: environment original
	@tools/venv.sh .venv examples/demo/requirements.txt tests/requirements.txt tests/bench/requirements.txt
	@tools/setup.sh bench
	@cmake --preset release -DSMDEBUG_BENCH=ON > /dev/null
	@cmake --build build -j $(JOBS)
	@$(PYTHON) tests/bench/check.py

lint: all
	@tools/setup.sh lint
	@tools/lint.sh

format:
	@tools/setup.sh lint
	@git ls-files '*.cc' '*.c' '*.h' '*.hpp' | grep -v '^bindings/go/internal/raw/raw' | xargs clang-format -i

abi: all
	@tools/setup.sh lint
	@tools/renew_abi.sh

install: all
	@DESTDIR=$(DESTDIR) cmake --install build --strip --prefix $(PREFIX)

uninstall:
	@DESTDIR=$(DESTDIR) cmake -DRECORDS=$(CURDIR)/build/installed -DPREFIX=$(PREFIX) -P cmake/Uninstall.cmake

# The packages of this machine's architecture, which need no library of the system.
MACHINE := $(shell uname -m)
wheel:
	@tools/setup.sh portable
	@tools/wheel.sh $(DIST) $(MACHINE)

jar:
	@tools/setup.sh java portable
	@tools/portable.sh $(MACHINE) build/portable-$(MACHINE) smdebug_java
	@tools/jar.sh $(DIST) build/portable-$(MACHINE)

deb:
	@tools/setup.sh
	@tools/deb.sh build/deb $(DIST)

clean:
	rm -rf build .venv demo_output
