//! The machine and the commit that the benchmarks ran on, and the text of docs/benchmarks.md.

use std::fs::{File, read_to_string};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::history::Machine;
use crate::report::Report;
use crate::run::{Durations, HISTORY, PAGE};

const FSYNC_ROUND: Duration = Duration::from_millis(500);

/// What is known before the first measurement.
pub struct Setting {
    pub machine: Machine,
    pub commit: String,
    pub date: String,
    load: String,
}

pub fn describe(work: &Path) -> Outcome<Setting> {
    let value = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory = value(&read_to_string("/proc/meminfo")?, "MemTotal").unwrap_or_default();
    let memory_kib: u64 = memory.trim_end_matches(" kB").parse()?;
    let load = read_to_string("/proc/loadavg")?;
    let machine = Machine {
        processor: value(&read_to_string("/proc/cpuinfo")?, "model name").unwrap_or_else(|| "unknown".to_owned()),
        cores: std::thread::available_parallelism()?.get(),
        memory_gib: (memory_kib + (1 << 19)) >> 20,
        kernel: read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        fsyncs_per_second: fsyncs_per_second(&work.join("synced"))?.round(),
    };
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    Ok(Setting { machine, commit: commit()?, date: std::env::var("BENCH_DATE")?, load })
}

/// Short hash of the commit, with `-dirty` if the tree differs in more than what a run writes.
fn commit() -> Outcome<String> {
    let git = |arguments: &[&str]| -> Outcome<String> {
        let output = Command::new("git").args(arguments).output()?;
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout)?.trim().to_owned()),
            false => Err(format!("git: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    };
    let hash = git(&["rev-parse", "--short", "HEAD"])?;
    let written = [PAGE, HISTORY].map(|file| format!(":(exclude){file}"));
    let changed = git(&["status", "--porcelain", "--", ".", &written[0], &written[1]])?;
    Ok(if changed.is_empty() { hash } else { format!("{hash}-dirty") })
}

/// Sequential fsyncs of 4 KiB.
fn fsyncs_per_second(path: &Path) -> std::io::Result<f64> {
    let mut file = File::create(path)?;
    let (started, mut done) = (Instant::now(), 0_u32);
    while started.elapsed() < FSYNC_ROUND {
        file.write_all(&[0x5A; 4096])?;
        file.sync_data()?;
        done += 1;
    }
    Ok(f64::from(done) / started.elapsed().as_secs_f64())
}

pub fn page(setting: &Setting, report: &Report, durations: &Durations) -> String {
    let Setting { machine, commit, date, load } = setting;
    let Machine { processor, cores, memory_gib, kernel, fsyncs_per_second } = machine;
    let (table, durations) = (report.table(), durations.table());
    format!(
        "# Benchmarks

Written by `make bench` on {date} at commit {commit}, in one run: {processor}, {cores} cores, {memory_gib} GiB, Linux
{kernel}, {fsyncs_per_second:.0} fsyncs of 4 KiB a second, load {load} at the start.

{table}
## Duration

{durations}
## How to read it

Trunkline and the baseline ran in the same minute on the same machine, in turns. A cell is the median of the rounds,
with the minimum and maximum in brackets; the ratio is calculated round by round. Absolute rates differ between
machines, ratios hardly do, so the limit is on the ratio wherever there is a baseline. `make bench` fails when a limit
is missed, and when something got worse, see [below](#the-last-run).

Steal is the part of the CPU time wanted during a measurement that the host gave to other machines: above some per cent,
absolute figures say more about those.

### Requests

The release binary on SQLite, rate limits off. Every request reads the token's row and the account. The baseline is a
bare axum handler from `Json<Value>` to `Json<Value>`, sent the document that `/v1/me` returns. A stricter one,
without a limit: a handler that reads nothing and returns that document. The load generator is a thread of the
benchmark with persistent connections: it needs no installation, and reports a response that is not a 200.

### Commits

Debits that are on disk before they count, from 32 clients. The two-statement debit is a guarded `UPDATE … RETURNING`
and an `INSERT`. The ledger debit has a guarded balance, a transaction that is posted once, two postings and the daily
rollup; debits that wait at the same time are posted together and judged one by one.

On SQLite the two-statement debits share commits (group commit), and the baseline is the same work with one fsync each.
What sharing gains depends on the disk, and where an fsync is cheap most of the time goes into changing and writing
pages; so the ledger debits stand beside bare fsyncs, not beside themselves with one fsync each. On PostgreSQL the
baseline is pgbench's TPC-B-like script, five statements, with 32 clients and prepared statements on the same server.

### Rate decks

`trunkline rates import` of a million rows, from the start of the program until the deck is in force and, from the
second round on, compared with the deck before. The baseline is `\\copy` of the same file into a table whose primary
key is the prefix, on the same server. The workbook has the same rows under a carrier's header.

### Statements

A statement of a million calls in CSV, not sorted, is uploaded to a service whose database has a million CDRs of the same
month; 1 % of the calls differ in each of four ways. The time is from the upload until the comparison is completed and
every line stored. The run fails if a difference is missed or invented.

### Numbers

The same service with an inventory of 1,000,000 numbers and with one of 100,000: reading it and ordering from it
should cost the same. The numbers are imported over `POST /admin/did-inventory/import`, as the team would.

### Calls

- **Authorization.** A decision is a durable transaction: a part of the daily spend, a channel of the trunk and of the
  zone, the account's concurrency, money held, a live call. Requests that wait together share it, see
  [what a decision costs](calls.md#what-a-decision-costs). The baseline stores nothing and waits for no disk: the limit
  says how much of that would have to be hidden.
- **CDR import.** One client sends completed calls, so that parsing, pricing and writing a batch follow each other.
  Maintaining the CDR indexes costs as much as everything else, as the two procedures show. The bare rows go into a
  table with the same indexes, in the same order, by COPY or prepared inserts: an import that did nothing else would
  come to that. The procedures handle one call after another, 1,000 per transaction.
- **CDR pages.** A page is what `GET /v1/cdrs` returns. Beyond the bare statement, whose rows are discarded, the
  caller's token is looked up and 50 rows are serialized as JSON. The second baseline is the statement, and then a bare
  axum server that sends the same JSON: the steps that a page over HTTP has, made one after the other.
- **Summaries** read rollups that are updated with each CDR, so their cost does not depend on the number of CDRs. The
  CDRs of these measurements are generated by the database: 10,000,000 of one customer, whose pages and summaries are
  read, and 1,000,000 of another, which are exported.
- **Growth.** Every list of the API that needs no id, a decision and an import of 1,000 CDRs, on the service with those
  CDRs and on one with 1,000, in turns. Both have 10,000 live calls. Other sizes: `bench/run growth --calls 50000000`.
- **CDR archive.** 2,000,000 calls over 40 days, of which 30 have left the hot window; `bench/run archive` alone takes
  10,000,000, for which a whole run has no time. The jobs of the
  [archive](archive.md) write them to Parquet files, read those back, compare and delete the CDRs; the rate is of all that.
  Meanwhile a client reads pages of CDRs and a switch authorizes calls, as for ten seconds before. DuckDB then sums the
  files, day by day.
- **Writes during checkpoints.** Eight clients change trunks while 4,000 CDRs a second are imported and checkpoints
  follow each other: of the WAL on SQLite, beside those of the service itself, and `CHECKPOINT` on PostgreSQL.

### Nodes

The same 32 clients on one PostgreSQL, with one node and with four, in turns; a client sends its next request to the
next node. Nodes, PostgreSQL and clients share the cores of one machine, so the rate says what coordination costs, not
what another machine gains. CPU time, user and system, is that of the nodes under load, and of PostgreSQL with all its
processes, divided by the requests. All calls are of one trunk, so every node waits for the same rows. Four nodes decide
in groups a quarter as large, so fewer calls share what a transaction costs; beside one node with 8 clients, whose groups
are as small, what is left is what coordination costs. Afterwards every allowed call must be live once, and
`ledger verify`, `audit verify` and `cdrs verify` must pass.

### Events

- **Event streams.** 200 customers with five streams each, all on one node with SQLite. A client renames trunks, 100 a
  second: each change is an event for five streams, which must get all of their customer's events, once and in order.
- **`calls.ended`.** Calls end at 1,000 a second, for accounts whose webhook endpoint asks for them; the receiver counts
  each.

### Start and memory

Each round starts on an empty folder, so it includes creating the database. Hashing a password takes 19 MiB, which the
thread that did it keeps for a second.

### Slow clients

10,000 connections never read, 2,000 send a byte of a header each second, 1,024 send bodies slowly and 200 byte by
byte, all from other addresses; two more send bodies of 1 GiB. Meanwhile a normal client sends requests as before.

### Soak

`bench/run soak` is apart from the others: 60 operations a second on SQLite for half an hour, half of them calls, half
what customers do meanwhile. An operation's latency counts from the moment it was due. The last five minutes are
compared with the first five, memory with that after ten minutes, when the caches are full.

### Timing

Requests with an email that has an account and with one that has none, in turns, 200 times each: response times must
not reveal who is a customer. The limit is on the difference of the medians.

### Price lookups

The baseline is the standard library's ordered map, which does less: it finds the nearest prefix not above the number,
whether it matches or not.

### Edge

SIPp calls SIPp, first directly and then through Kamailio, which asks the service to authorize each call and reports
its answer and end. Measured are the caller's messages, from INVITE to 180; the difference of the medians is the time
of the edge and the service. Then once more, while a switch imports 5,000 CDRs a second; there the 99th percentiles are
compared.

## The last run

`bench/history.jsonl` has the runs that were kept, one JSON object per line: commit, date, machine, and for each row its
id, our figure and the ratio with their spreads, the limit and whether it was met. Every run is compared with the last
one kept on such a machine (processor, cores, memory, and a disk not three times slower or faster), by ratio where there
is a baseline. A row is lost when its median is worse by more than a fifth, by more than both spreads together, and by
more than the row itself calls noise; by more than half if it was measured only once. `make bench` prints gains and
losses, and fails on a loss.

A whole run without a loss adds itself to the file. `bench/run --keep` adds it in any case: that is how a loss is
accepted. Commit the file with this page. Runs of single benchmarks are compared too, and never kept.

## Running one benchmark

`bench/run requests` (or `commits`, `decks`, `statements`, `numbers`, `decisions`, `intake`, `records`, `growth`,
`archive`, `writes`, `ended`, `nodes`, `streams`, `start`, `slow`, `restarts`, `timing`, `rating`, `edge`) runs one of
them and leaves this page alone. `records` and `growth` share their CDRs when both run.
"
    )
}
