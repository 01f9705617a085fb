.DEFAULT_GOAL := help
.PHONY: help demo run call test check bench faults openapi callers rust nextest aiosmtpd invoice-readers phones tourists fuzzer

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: rust ## fill an empty database with three months of a small carrier's life (ARGS="--days 30 --seed 7")
	cargo run --locked --release --bin trunkline -- demo $(ARGS)

run: rust ## build and start the service (ARGS="--config trunkline.toml" are passed on)
	cargo run --locked --release --bin trunkline -- serve $(ARGS)

call: rust phones ## place a real call through Kamailio, and show its record, its price and the balance
	@tools/ensure-debian curl jq
	cargo build --locked --bin trunkline
	tools/call $${CARGO_TARGET_DIR:-target}/debug/trunkline

test: nextest aiosmtpd invoice-readers phones tourists fuzzer ## the whole suite on both databases (ARGS="invoices" runs the tests with that in their name)
	tools/with-postgres cargo nextest run --locked $(ARGS)

check: rust ## formatting, lints, and the rules of the house on layout and dependencies
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo test --locked --quiet --test tidy --test dependencies

bench: rust ## the measurements of docs/benchmarks.md
	bench/run $(ARGS)

faults: rust ## kill the service 200 times on each database amid payments, and prove that nothing was lost (ARGS="--kills 20 --seed 7 sqlite")
	bench/run faults $(ARGS)

openapi: rust ## write openapi.json anew
	@trap 'rm -f openapi.json.new' EXIT; \
	cargo run --locked --quiet --bin trunkline -- openapi > openapi.json.new && mv openapi.json.new openapi.json

callers: rust ## write docs/callers.md anew
	@TRUNKLINE_WRITE_CALLERS=1 cargo test --locked --quiet --test it the_page_about_callers > /dev/null

rust:
	@command -v cargo > /dev/null || { echo "Rust is missing: install it from https://rustup.rs and try again." >&2; exit 1; }

nextest: rust
	@cargo nextest --version > /dev/null 2>&1 || cargo install cargo-nextest --locked

# The mail the tests read goes through a real SMTP server, run as /usr/bin/python3 -m aiosmtpd.
aiosmtpd:
	@/usr/bin/python3 -c 'import aiosmtpd' 2> /dev/null || tools/ensure-debian python3-aiosmtpd

# Invoices are held against others' rules and read as PDF by others' programs.
invoice-readers:
	@tools/ensure-debian poppler-utils qpdf
	@tools/ensure-facturx

# Calls go through a real switch, between phones that SIPp plays.
phones:
	@tools/ensure-debian kamailio kamailio-extra-modules kamailio-sqlite-modules kamailio-utils-modules sip-tester sqlite3

# The tour of README.md is taken as it is printed.
tourists:
	@tools/ensure-debian curl jq

# The API is held against its own description by somebody else's program.
fuzzer:
	@tools/ensure-schemathesis
