//! The machine the benchmarks ran on, and the text of docs/benchmarks.md.

use std::fs::read_to_string;

use crate::Outcome;
use crate::report::Report;

/// The machine before the first measurement.
pub struct Machine {
    processor: String,
    cores: usize,
    memory_gib: f64,
    kernel: String,
    load: String,
}

pub fn describe() -> Outcome<Machine> {
    let value = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory = value(&read_to_string("/proc/meminfo")?, "MemTotal").unwrap_or_default();
    let memory_kib: f64 = memory.trim_end_matches(" kB").parse()?;
    let load = read_to_string("/proc/loadavg")?;
    Ok(Machine {
        processor: value(&read_to_string("/proc/cpuinfo")?, "model name").unwrap_or_else(|| "unknown".to_owned()),
        cores: std::thread::available_parallelism()?.get(),
        memory_gib: memory_kib / 1024.0 / 1024.0,
        kernel: read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        load: load.split(' ').next().unwrap_or_default().to_owned(),
    })
}

pub fn page(machine: &Machine, report: &Report) -> Outcome<String> {
    let Machine { processor, cores, memory_gib, kernel, load } = machine;
    let date = std::env::var("BENCH_DATE")?;
    let table = report.table();
    Ok(format!(
        "# Benchmarks

Written by `make bench` on {date}: {processor}, {cores} cores, {memory_gib:.0} GiB, Linux {kernel}, load {load} at the start.

{table}
## How to read it

Ours and its yardstick ran in the same minute on the same machine, taking turns. A cell is the median of the rounds with
the least and the most in brackets; the ratio is taken round by round. Rates differ between machines, ratios hardly do,
so a limit is set on the ratio wherever there is a yardstick. `make bench` fails when a limit is missed.

- **Requests.** The release binary on SQLite, rate limits off: a token's row and the account are read anew for
  every request. The yardstick is a bare axum handler from
  `Json<Value>` to `Json<Value>`, sent the document that `/v1/me` answers. Harder, and without a limit: a handler that
  reads nothing and answers that document. The load comes from one thread of ours over kept connections: it needs no
  installation, and notices an answer that is not a 200.
- **Commits.** Debits on disk before they count, from 32 clients. The plain one is a guarded `UPDATE … RETURNING` and an
  `INSERT`. The ledger's is what a call costs: a guarded balance, a transaction that is posted once, two postings, and
  the sums of its day. On SQLite the clients share commits, and the yardstick is the same work with an fsync for each;
  how much that is worth depends on the disk, whose bare fsyncs stand beside: where they cost little, as here, most
  of the time goes into changing and writing pages, which sharing does not save. On PostgreSQL the yardstick is pgbench's
  TPC-B-like script, five statements, with 32 clients and prepared statements on the same server.
- **Decks.** `trunkline rates import` of a million rows, from the start of the program to the deck being in force and,
  from the second round on, held against the deck before. The yardstick is `\\copy` of the same file into a table whose
  primary key is the prefix, on the same server.
- **Numbers.** The same service with a stock of 1,000,000 numbers and with one of 100,000: whoever looks at it or orders
  from it should not notice. The numbers come in over `POST /admin/did-inventory/import`, as the team's would.
- **Calls.** A decision is a durable transaction: a part of the day's spend, a channel of the trunk and of the zone,
  the account's calls at once, money held, a live call. Those that ask at the same time on one trunk share one; 32
  clients on eight trunks make two to four. The echo keeps nothing and waits for no disk: the limit says how far that
  would have to be hidden. On SQLite all decisions go through the one writer, which is busy all the time: each puts
  rows into eleven indexes. On PostgreSQL the server does the same, on the cores it shares with the service and the
  clients. Calls that are over come from one client, so that reading, pricing and writing a batch follow each other;
  keeping the indexes of the records costs as much as all else, as the two procedures show. The bare rows go into a
  table with the same indexes, through COPY or prepared inserts; the procedures take one call after another. A page is
  what `GET /v1/cdrs` answers: besides what the bare statement does, whose rows go nowhere, the caller's token is
  looked up and 50 rows are made JSON; a profile shows nothing that stands out. Summaries are read from sums that are
  kept with each call, so that it does not matter how many there are. The calls themselves are made by the database.
- **Start and memory.** Each round starts anew on an empty folder, so it includes making the database. Hashing a password
  takes 19 MiB, which the thread that did it keeps for a second.
- **Slow clients.** Half of 2,000 connections send a byte of a header each second, half send nothing; two more send
  bodies of 1 GiB. Meanwhile a normal client asks as before.
- **Timing.** Asked for an address with an account and for one without, in turns, 200 times each: nobody may learn from
  a clock who is a customer. What counts is how far the medians lie apart.
- **Edge.** SIPp calls SIPp, first directly and then through Kamailio, which asks the service about each call and tells it
  of the answer and the end. What the caller's messages say counts, from INVITE to 180; the medians lie so far apart as the
  edge and the service take.

`bench/run requests` (or `commits`, `decks`, `numbers`, `decisions`, `intake`, `records`, `start`, `slow`, `timing`,
`rating`, `edge`) measures one of them and leaves this page alone.
"
    ))
}
