.DEFAULT_GOAL := help
.PHONY: help demo run portal journeys screenshots portal-speed release dist dist-check images package-test call test check bench build-times faults upgrade-test sbom openapi access-table settings schema manual clients rust nextest deps deps-postgres deps-smtp deps-imap deps-clamd deps-prometheus deps-invoices deps-archive deps-sip deps-readme deps-fuzz deps-openapi deps-clients deps-deploy deps-portal

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: rust ## fill an empty database with three months of sample data (ARGS="--days 30 --seed 7")
	cargo run --locked --bin trunkline -- demo $(ARGS)

run: rust ## build and start the service with its portal (ARGS="--config trunkline.toml" is passed on)
	@tools/build-portal
	cargo run --locked --bin trunkline -- serve $(ARGS)

portal: ## serve the portal with hot reload, in front of a service that runs (make run)
	@tools/ensure-portal
	PATH="$$(tools/ensure-node):$$PATH" npm --prefix portal run dev -- $(ARGS)

journeys: rust deps-portal ## go through the whole portal in Chromium (ARGS="billing --project=phone" selects)
	@tools/build-portal --required
	cargo build --locked --bin trunkline
	PATH="$$(tools/ensure-node):$$PATH" TRUNKLINE_BIN="$$(realpath $${CARGO_TARGET_DIR:-target}/debug/trunkline)" \
		npm --prefix portal run journeys -- $(ARGS)

screenshots: rust deps-portal ## take pictures of the portal's screens on demo data
	@tools/build-portal --required
	cargo build --locked --bin trunkline
	PATH="$$(tools/ensure-node):$$PATH" TRUNKLINE_BIN="$$(realpath $${CARGO_TARGET_DIR:-target}/debug/trunkline)" \
		node portal/tools/screenshots.mjs $(ARGS)

portal-speed: rust deps-portal ## measure how fast the portal loads, and write docs/benchmarks.md
	@tools/build-portal --required
	cargo build --locked --release --bin trunkline
	PATH="$$(tools/ensure-node):$$PATH" TRUNKLINE_BIN="$$(realpath $${CARGO_TARGET_DIR:-target}/release/trunkline)" \
		node portal/tools/speed.mjs --write

release: rust ## build the binary that is shipped and measured, target/release/trunkline
	@tools/build-portal --required
	cargo build --locked --release --bin trunkline

dist: rust manual ## build what is released into target/dist: .deb, tarball, SBOM, checksums
	@tools/ensure-debian dpkg-dev
	binary=$$(tools/build-release) && deploy/package/build --manual target/manual "$$binary"

dist-check: rust ## build it twice, in two places, and compare the hashes
	tools/reproduce

images: ## make OCI images of the .deb in target/dist
	@tools/ensure-debian buildah mmdebstrap
	deploy/oci/build target/dist/trunkline_*.deb

package-test: rust manual ## install the package in a clean Debian, start, upgrade, remove and purge it (as root)
	@tools/ensure-debian dpkg-dev
	@tools/build-portal --required
	cargo build --locked --bin trunkline
	tools/try-package "$$(deploy/package/build --fast --manual target/manual --out target/package $${CARGO_TARGET_DIR:-target}/debug/trunkline)"

call: rust deps-sip ## place a real call through Kamailio and show its CDR, its price and the balance
	@tools/ensure-debian curl jq
	cargo build --locked --bin trunkline
	tools/call $${CARGO_TARGET_DIR:-target}/debug/trunkline

test: nextest deps ## run all tests on SQLite and PostgreSQL (ARGS="invoices" selects tests by name)
	@tools/build-portal --required
	TRUNKLINE_TEST_PORTAL=required tools/with-postgres cargo nextest run --locked $(ARGS)

LINT ?= cargo clippy --locked --all-targets -- -D warnings
check: rust ## check formatting, lints, layout rules and dependencies
	cargo fmt --check
	$(LINT)
	cargo test --locked --quiet --test tidy --test dependencies

bench: rust ## run the benchmarks and write docs/benchmarks.md
	bench/run $(ARGS)

build-times: rust ## measure cold and incremental builds and .ci/run on an idle machine, and write docs/benchmarks.md
	bench/build-times

faults: rust ## kill the service 200 times per database under load and verify that nothing is lost (ARGS="--kills 20 --seed 7 sqlite")
	bench/run faults $(ARGS)

upgrade-test: rust ## replace nodes of a previous version under load and verify that nothing fails or is lost (FROM=v0.2.0)
	tools/upgrade-test $(FROM)

sbom: rust ## print the software bill of materials (CycloneDX)
	@tools/sbom

openapi: rust ## regenerate openapi.json
	@trap 'rm -f openapi.json.new' EXIT; \
	cargo run --locked --quiet --bin trunkline -- openapi > openapi.json.new && mv openapi.json.new openapi.json

access-table: rust ## regenerate docs/callers.md (who may call which endpoint)
	@TRUNKLINE_WRITE_CALLERS=1 cargo test --locked --quiet --test it the_page_about_callers > /dev/null

settings: rust ## regenerate docs/settings.md and trunkline.example.toml
	@TRUNKLINE_WRITE_SETTINGS=1 cargo test --locked --quiet --test it the_settings_page > /dev/null

schema: rust ## regenerate crates/db/src/sqlite/schema.sql (what a new SQLite database begins with)
	@TRUNKLINE_WRITE_SCHEMA=1 cargo test --locked --quiet --test it a_new_sqlite_database > /dev/null

manual: rust ## build docs/ into target/manual, a folder of pages with search (needs mdBook, which it installs)
	mdbook=$$(tools/ensure-mdbook) && "$$mdbook" build

clients: deps-clients ## build the packages of the TypeScript and Python clients into target/clients
	@mkdir -p target/clients
	PATH="$$(tools/ensure-node):$$PATH" npm pack --silent --pack-destination target/clients ./clients/typescript
	target/python-client/bin/python -m build --no-isolation --outdir target/clients clients/python

rust:
	@command -v cargo > /dev/null || { echo "Rust is missing. Install it from https://rustup.rs and try again." >&2; exit 1; }

nextest: rust
	@cargo nextest --version > /dev/null 2>&1 || env -u RUSTC_WORKSPACE_WRAPPER -u RUSTFLAGS cargo install cargo-nextest --locked

deps: deps-postgres deps-smtp deps-imap deps-clamd deps-prometheus deps-invoices deps-archive deps-sip deps-readme deps-fuzz deps-openapi deps-clients deps-deploy deps-portal ## install what the tests use besides Rust

# Installs the server, and shows that it starts.
deps-postgres:
	@tools/with-postgres true

# SMTP server of the mail tests, run as /usr/bin/python3 -m aiosmtpd.
deps-smtp:
	@/usr/bin/python3 -c 'import aiosmtpd' 2> /dev/null || tools/ensure-debian python3-aiosmtpd

# IMAP server of the tests of decks by mail.
deps-imap:
	@tools/ensure-debian dovecot-imapd

# ClamAV's daemon for the upload tests, which bring a signature of their own.
deps-clamd:
	@tools/ensure-debian clamav-daemon

# What evaluates the alerts and the dashboard, and who gets them.
deps-prometheus:
	@tools/ensure-debian prometheus prometheus-alertmanager

# E-invoice validators and PDF readers.
deps-invoices:
	@tools/ensure-debian poppler-utils qpdf
	@tools/ensure-venv target/facturx tools/facturx-requirements.txt

# DuckDB, which reads the CDR archive.
deps-archive:
	@tools/ensure-venv target/duckdb tools/duckdb-requirements.txt

# Kamailio as the edge; SIPp as phones and upstreams; host names of a test.
deps-sip:
	@tools/ensure-debian kamailio kamailio-extra-modules kamailio-sqlite-modules kamailio-utils-modules libnss-wrapper sip-tester sqlite3

# Commands that the tests run from docs/tour.md.
deps-readme:
	@tools/ensure-debian curl jq

# schemathesis, which tests the API against openapi.json.
deps-fuzz:
	@tools/ensure-venv target/schemathesis tools/schemathesis-requirements.txt

# Linters and client generators for openapi.json, and Node and httpx for the samples of the reference.
deps-openapi:
	@tools/ensure-openapi-tools

# What the clients are built and tested with.
deps-clients:
	@tools/ensure-typescript-client
	@tools/ensure-venv target/python-client clients/python/requirements.txt

# What packages are built with, and what judges deploy/ and the scripts.
deps-deploy:
	@tools/ensure-debian caddy dpkg-dev haproxy shellcheck systemd
	@tools/ensure-pgbouncer
	@tools/ensure-venv target/deploy-tools tools/deploy-requirements.txt

# What the portal is built with, and the browser of its journeys.
deps-portal:
	@tools/ensure-portal
	@tools/ensure-debian chromium
