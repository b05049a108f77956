# Every target is documented: `make` or `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
DEADCODE := golang.org/x/tools/cmd/deadcode@v0.52.0
# go test, and then what failed beside other packages again, by itself, at most twice: some tests wait on time, and a
# machine may be busy. More than twelve failures, where a subtest and its test are two, are not tried again, nor is anything
# after a data race.
TEST := go run gotest.tools/gotestsum@v1.13.0 --format standard-quiet --rerun-fails --rerun-fails-max-failures 12 \
  --rerun-fails-run-root-test --rerun-fails-abort-on-data-race

# Every build leaves out Gin's MessagePack, which no route uses and which takes 26 of the 193 CPU seconds of a cold build.
export GOFLAGS := $(strip $(GOFLAGS) -tags=nomsgpack)

# One binary for all: go run would fail after Ctrl-C.
BUILD = CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X modelgateway/app.release=$(VERSION)" -o bin/modelgateway .

.PHONY: release release-image release-check help demo run build test race test-long agents console pictures recipes chart schemas quick faults bench scale shapes check lint fuzz golden catalogue docs compiler clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: ## Run on port 8080 with simulated providers and a week of simulated traffic: no keys, no servers; data is in data/demo.db
	@[ -e bin/modelgateway ] || echo 'building: the first time modules are downloaded and compiled, two or three minutes'
	@$(BUILD)
	@exec bin/modelgateway demo

run: ## Run with the settings of the environment and .env
	@$(BUILD)
	@exec bin/modelgateway

build: ## Build the static binary bin/modelgateway
	$(BUILD)

OUT ?= dist
release: ## Make the files of a release in OUT (dist): VERSION=1.2.3; RELEASE_KEY=FILE signs, RELEASE=-platforms=linux/amd64 makes fewer
	go run ./deploy/release -version '$(VERSION)' -out '$(OUT)' $(RELEASE)

release-check: ## Make a release twice, in two folders with caches of their own, and compare the bytes: VERSION=1.2.3 (half an hour)
	deploy/release/check.sh '$(VERSION)' $(RELEASE)

IMAGE ?= modelgateway
release-image: ## Build the image for amd64 and arm64 from the archives in OUT (docker buildx): VERSION=1.2.3 IMAGE=name PUSH=--push
	deploy/release/image.sh '$(VERSION)' '$(OUT)' '$(IMAGE)' $(PUSH)

# The race detector and the checks of pointers leave out SQLite, which is C translated to Go, and the hashing of passwords:
# they took a third of the CPU seconds of all tests. Its driver is not left out: it uses sync.Map, whose methods the linker
# may then take for the whole program from there, without the detector, so that the caches of encoding/json look like races.
# Without debug information a test program links in half the time: 5 instead of 10 CPU seconds, for some sixty of them.
RACE := -race -gcflags='modernc.org/...=-d=checkptr=0' -gcflags='modernc.org/sqlite/lib=-race=0 -d=checkptr=0' -gcflags='modernc.org/libc/...=-race=0 -d=checkptr=0' -gcflags=golang.org/x/crypto/...=-race=0 -vet=off -ldflags='-s -w'
# A process with the race detector sleeps for a second at its end, so that others of its threads may still report a race:
# of every run that was a minute of waiting.
export GORACE := $(or $(GORACE),atexit_sleep_ms=50)
# Folders whose tests match a pattern.
tested = grep -rlE --include='*_test.go' --exclude-dir=tools '$(1)' . | xargs -n1 dirname | sort -u

# What the tests install, as root on Debian, where it is missing and no other is named (CONTRIBUTING.md, Servers).
servers = @if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! docker info >/dev/null 2>&1; then \
	  [ -n "$$TEST_DATABASE_URL" ] || command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || \
	    echo 'PostgreSQL is missing: the tests install the package postgresql'; \
	  [ -n "$$TEST_REDIS_URL" ] || command -v redis-server >/dev/null || echo 'Redis is missing: the tests install the package redis-server'; fi

# Many packages mostly wait, for servers and time limits: twice as many as there are processors run at once, and six tests of
# each. Those of tools measure how long a gateway takes: they run by themselves. go vet is a target of its own.
test: ## Run every test but the long ones (a quarter of an hour, the first time more)
	$(servers)
	CGO_ENABLED=0 $(TEST) --packages ./... -- -p $$((2 * $$(getconf _NPROCESSORS_ONLN))) -vet=off -parallel 6 -ldflags='-s -w' -timeout 30m
	cd tools && CGO_ENABLED=0 $(TEST) --packages ./... -- -p 1 -vet=off -ldflags='-s -w' -timeout 30m

PACKAGES ?= ./...
race: compiler ## Run the same tests under the race detector (three quarters of an hour; PACKAGES=./services/... runs a part)
	$(servers)
	CGO_ENABLED=1 $(TEST) --packages '$(PACKAGES)' -- $(RACE) -timeout 30m
	[ '$(PACKAGES)' != ./... ] || { cd tools && CGO_ENABLED=1 $(TEST) --packages ./... -- -p 1 $(RACE) -timeout 30m; }

# Long tests measure time or memory, start browsers and agents, or repeat what takes long: the race detector looks at the others.
SIMULATION_SEEDS ?= 10000
SKIP ?= ^$$
test-long: ## Run the packages that have long tests, with these, and 10,000 seeds of the simulation (SIMULATION_SEEDS; SKIP=pattern leaves some out)
	$(servers)
	@echo 'as root the tests install Chromium, nginx, Caddy and promtool where they are missing, and agents and SDKs with npm in a folder of their own'
	@[ "$$AGENTS" != off ] || echo 'AGENTS=off leaves out the tests with Claude Code, Codex and other clients'
	@[ "$$DEPLOY" != off ] || echo 'DEPLOY=off leaves out the tests of the examples in deploy/'
	@[ "$$CONSOLE" != off ] || echo 'CONSOLE=off leaves out the tests of the console in a browser'
	CGO_ENABLED=0 LONG=1 SEEDS=$(SIMULATION_SEEDS) $(TEST) --packages "$$($(call tested,longtest.(Skip|Size|On)) | tr '\n' ' ')" -- -p $$(($$(getconf _NPROCESSORS_ONLN) + 1)) -vet=off -ldflags='-s -w' -timeout 60m -skip '$(SKIP)'
	cd tools && CGO_ENABLED=0 LONG=1 $(TEST) --packages './bench ./faults ./scale' -- -p 1 -vet=off -ldflags='-s -w' -timeout 60m -run 'EveryPartMeasures|OverloadIsRefused|OneCallerCannot|MemoryIsFlat|ACut'

agents: ## Run the real Claude Code, Codex, opencode and SDKs against the gateway, onto each provider (installs them with npm; a few minutes)
	CGO_ENABLED=0 LONG=1 go test -v -count 1 ./tests/agents

console: ## Drive the console in Chromium over the running program, light and dark, wide and narrow; screenshots are in bin/screenshots (installs axe-core with npm; a quarter of an hour)
	CGO_ENABLED=0 LONG=1 CONSOLE=all go test -v -count 1 ./tests/console

recipes: ## Run the examples of deploy/: nginx, Caddy and Traefik in front of the gateway (installs the first two; TRAEFIK=build builds the third)
	CGO_ENABLED=0 LONG=1 go test -v -count 1 -timeout 60m ./tests/deploy

chart: ## Rewrite deploy/kubernetes/modelgateway.yaml after a change of the Helm chart, and check the chart (builds helm and kubeconform)
	CGO_ENABLED=0 LONG=1 go test -count 1 -run PlainManifests ./tests/deploy -update
	CGO_ENABLED=0 LONG=1 go test -count 1 -run 'Chart|Kubernetes|Manifests|Schemas' ./tests/deploy

schemas: ## Rewrite the schemas of Kubernetes, the Gateway API and the Prometheus operator with which the chart is checked
	go run ./tests/deploy/schemas tests/deploy/testdata/schemas

pictures: ## Take the pictures of docs/console.md again (Chromium, npm, pngquant; Debian's fonts-jetbrains-mono)
	CGO_ENABLED=0 LONG=1 PICTURES=$(CURDIR)/docs/images go test -v -count 1 -run PicturesOfTheDocuments ./tests/console
	cd docs/images && pngquant --force --speed 1 --ext .png 64 console-*.png

quick: check ## Check formatting and vet, and run the tests that need neither servers nor the whole program (half a minute)
	CGO_ENABLED=0 go test $$(comm -23 <($(call tested,.)) <($(call tested,tests/servertest"|tests/storetest"|tests/gatewaytest")) | grep -v '^./tests/servertest')

faults: compiler ## Repeat the measurements of docs/reliability.md in full size (about an hour)
	cd tools && CGO_ENABLED=1 FAULTS=full go test $(RACE) -v -count 1 -timeout 2h ./faults
	CGO_ENABLED=1 ISOLATION=100000 go test $(RACE) -v -count 1 -timeout 30m -run NoAnswerReachesAnotherCaller ./tests/chat

BENCH ?=
bench: ## Measure beside a bare Gin passthrough and rewrite docs/performance.md (BENCH=-quick is shorter; PEER=name=host:port adds a gateway)
	cd tools && PEER='$(PEER)' go run ./bench -md ../docs/performance.md $(BENCH)

SCALE ?=
scale: ## Measure replicas, keys and the ledger, and rewrite docs/scaling.md (half an hour, 15 GB; SCALE=-quick is small, SCALE='-only calls' measures one part)
	cd tools && go run ./scale $(if $(findstring -quick,$(SCALE)),,-md ../docs/scaling.md) $(SCALE)

shapes: ## Measure the memory and processor time of every shape of a request and rewrite docs/reliability.md (ten minutes)
	cd tools && go run ./shapes -md ../docs/reliability.md

check: ## Check formatting and vet
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these files'; exit 1; }
	go vet ./...
	cd tools && go vet ./...

lint: check ## Check go.mod as well, run golangci-lint, and look for functions that the program cannot reach (downloads and builds both)
	go mod tidy -diff
	cd tools && go mod tidy -diff
	go run $(LINT) run
	cd tools && go run $(LINT) run
	@unused=$$(go run $(DEADCODE) .) && [ -z "$$unused" ] || { echo "$$unused"; exit 1; }

FUZZTIME ?= 30s
fuzz: ## Fuzz every parser for FUZZTIME each; inputs that fail are kept as tests (PACKAGES=./providers/... fuzzes a part)
	@set -e; for pkg in $$(go list $(PACKAGES)); do \
	  for target in $$(go test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; once() { go test -run "^$$target$$" -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; }; \
	    once || { echo "once more: a real fault is kept and fails again, a slow worker is not"; once; }; \
	  done; done

golden: ## Rewrite the golden upstream requests and the archive of answers after a wanted change, and the words of new captures, and add new settings to the examples and docs/configuration.md
	go test ./tests/captures -run Rewritten -update
	go test ./dialects/messages ./dialects/responses -run RealClients -update
	go test ./providers/... -run Golden -update
	go test ./tests/archive -update
	go test ./config -run Example -update

GENAI_PRICES ?=
MODELS_DEV ?=
YOAGENT ?=
LITELLM ?=
PORTKEY ?=
catalogue: ## Rewrite the prices and limits of models: GENAI_PRICES=, MODELS_DEV=, YOAGENT=, LITELLM=, PORTKEY= are checkouts of newer lists; review the diff
	go run -C tools ./lists genai-prices=$(abspath $(GENAI_PRICES)) models.dev=$(abspath $(MODELS_DEV)) yoagent=$(abspath $(YOAGENT)) \
	  litellm=$(abspath $(LITELLM)) portkey=$(abspath $(PORTKEY))

docs: ## Rewrite the pages at /docs after a change of web/openapi.yaml or of docs/
	go run -C tools ./docsgen

# The race detector needs a C compiler.
compiler:
	@command -v gcc >/dev/null || command -v clang >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo 'installing gcc for the race detector'; apt-get update -qq && apt-get install -y -qq gcc libc6-dev >/dev/null; \
	  else echo 'the race detector needs a C compiler: install gcc and libc6-dev'; exit 1; fi; }

clean: ## Remove bin/ and dist/
	rm -rf bin dist
