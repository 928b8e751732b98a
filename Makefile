# The front door. Each target installs what it lacks (scripts/setup), then builds.
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 600
# warnings are errors in CI, not for a user whose compiler we have not seen
werror = $(if $(CI),-DMCP_WERROR=ON)
build = cmake --preset $(1) $(werror) >/dev/null && cmake --build --preset $(1)

.PHONY: all demo test quick check peers conformance bench fuzz install clean ci deep stress \
	format tidy coverage

all:
	@scripts/setup build && $(call build,release)

demo:
	@scripts/setup build && cmake --preset release $(werror) >/dev/null && cmake --build build --target demo && build/bin/demo

test:
	@scripts/setup test && $(call build,release) --target all tests && scripts/run-tests build

quick: # the tests of single parts: seconds, not minutes
	@scripts/setup test && $(call build,release) --target all tests_units && \
		scripts/run-tests build --without '^(end|servers|checks)/'

check: # one program, or one case of it: make check T=core/leg, make check T=core/leg:A4
	@test -n '$(T)' || { echo 'usage: make check T=FOLDER/NOUN[:CASE]' >&2; exit 2; }
	@scripts/setup test && scripts/test-data && \
		cmake --preset release $(werror) >/dev/null && scripts/check build '$(T)'

stress: # all programs, N times, beside busy processes, with threads stopped at random
	@scripts/setup test && $(call build,release) --target all tests stall && \
		scripts/stress build $(N)

peers: # what others wrote, from the npm registry, against ours
	@scripts/setup peers && cmake --preset release $(werror) >/dev/null && scripts/peers build

conformance: # the official suite, from the npm registry, against ours
	@scripts/setup peers && cmake --preset release $(werror) >/dev/null && scripts/conformance build

bench: all # beside Ajv and the TypeScript SDK, if npm can bring them
	@test -d build/bench/node_modules/@modelcontextprotocol/client || \
		timeout 60 npm install --silent --prefix build/bench ajv zod \
			@modelcontextprotocol/client@2 @modelcontextprotocol/server@2 \
			@modelcontextprotocol/node@2 >/dev/null 2>&1 || true
	@build/bin/bench && echo && build/bin/bench-stdio && echo && build/bin/bench-http && \
		echo && build/bin/bench-http-client

fuzz:
	@scripts/setup peers && $(call build,fuzz) && scripts/fuzz build-fuzz $(FUZZ_SECONDS)

install: # builds as it is: installs no packages
	@$(call build,release) && DESTDIR='$(DESTDIR)' cmake --install build --prefix '$(PREFIX)'

clean:
	@rm -rf build build-*

ci:
	@.ci/run

deep: # what takes too long for every change: before a release
	@.ci/run --deep

format: # rewrites; CI only checks
	@scripts/setup peers && scripts/format --write

tidy:
	@scripts/setup peers && cmake --preset asan >/dev/null && scripts/tidy build-asan

coverage:
	@scripts/setup peers && $(call build,coverage) && scripts/run-tests build-coverage && scripts/coverage build-coverage
