//! The Prometheus metrics of a node, served by the operations port.
//!
//! A counter is one atomic. Use [`Conn::count`](crate::Conn::count) inside a transaction: it counts once, at the
//! commit. That is why the metrics belong to the database crate. A gauge that is computed on request, such as the
//! length of a queue, is a [`Reading`].

mod counters;
mod exemplars;
mod open_metrics;
mod requests;

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{
    Encoder, Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    TextEncoder,
};

pub use counters::Counters;
pub use exemplars::Exemplar;
pub use open_metrics::OPEN_METRICS;
use prometheus::proto::MetricFamily;
pub use requests::{Requests, Successes, method_name};
use values::Time;

use crate::clock::Clock;
use exemplars::Exemplars;

/// In seconds.
const WAITS: [f64; 11] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0];
const GROUPS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
const RUNS: [f64; 8] = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0];
const JOB_SECONDS: &str = "trunkline_job_seconds";

pub struct Metrics {
    registry: Registry,
    pub requests: Requests,
    pub database: Database,
    jobs: IntCounterVec,
    job_seconds: HistogramVec,
    job_exemplars: Exemplars,
    pub ledger: Ledger,
    pub calls: Calls,
    pub decks: Decks,
    /// Trace spans for the collector, by outcome.
    pub spans: Counters,
}

pub struct Database {
    pub transactions: Counters,
    pub retries: IntCounter,
    /// Lists and reports for which there is a standby, by where they were read.
    pub replica_reads: Counters,
    pub errors: Counters,
    /// Time until a read-only connection was free.
    pub read_wait: Histogram,
    /// Time until a connection was free, or the writer began the transaction.
    pub transaction_wait: Histogram,
    /// Transactions that shared one commit.
    pub group: Histogram,
    /// When a write last found the disk full, in Unix milliseconds; 0 if never.
    disk_full_at: AtomicI64,
    clock: Clock,
}

pub struct Ledger {
    pub transactions: Counters,
    /// Debits and holds refused because too little was available.
    pub refusals: Counters,
}

pub struct Calls {
    pub allowed: IntCounter,
    pub denied: Counters,
    pub events: Counters,
    pub cdrs: Counters,
}

pub struct Decks {
    pub imports: Counters,
    pub rows: IntCounter,
    pub lookups: Counters,
}

/// A gauge whose value is computed when the metrics are requested.
pub struct Reading {
    pub name: &'static str,
    pub help: &'static str,
    /// Name and value of its label, if it has one. Readings of one name follow each other.
    pub label: Option<(&'static str, &'static str)>,
    pub value: f64,
}

impl Metrics {
    pub fn new(clock: &Clock) -> prometheus::Result<Metrics> {
        let factory = MetricFactory(Registry::new());
        Ok(Metrics {
            requests: Requests::new(&factory)?,
            database: Database::new(&factory, clock)?,
            jobs: factory.counter_vec(
                "trunkline_jobs_total",
                "Jobs run, by kind and outcome.",
                &["kind", "outcome"],
            )?,
            job_seconds: factory.histogram_vec(JOB_SECONDS, "Run time of jobs, in seconds.", &["kind"], &RUNS)?,
            job_exemplars: Exemplars::new(&RUNS),
            ledger: Ledger::new(&factory)?,
            calls: Calls::new(&factory)?,
            decks: Decks::new(&factory)?,
            spans: factory.counters(
                "trunkline_trace_spans_total",
                "Trace spans for the collector, by outcome.",
                "outcome",
                &["sent", "dropped"],
            )?,
            registry: factory.0,
        })
    }

    pub fn job(&self, kind: &'static str, outcome: &'static str, took: Duration) {
        self.jobs.with_label_values(&[kind, outcome]).inc();
        self.job_seconds.with_label_values(&[kind]).observe(took.as_secs_f64());
    }

    /// Leads from the histogram of jobs to the trace of a run.
    pub fn set_job_exemplar(&self, kind: &str, exemplar: Exemplar) {
        self.job_exemplars.set(&[kind], exemplar);
    }

    /// All metrics and these readings in the Prometheus text format.
    pub fn text(&self, readings: &[Reading]) -> prometheus::Result<Vec<u8>> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.gather(readings)?, &mut text)?;
        Ok(text)
    }

    /// The same in the OpenMetrics text format, with exemplars.
    pub fn open_metrics(&self, readings: &[Reading]) -> prometheus::Result<String> {
        let exemplars = [(JOB_SECONDS, &self.job_exemplars), (requests::SECONDS, &self.requests.exemplars)];
        let text = open_metrics::encode(&self.gather(readings)?, &exemplars);
        text.map_err(|error| prometheus::Error::Msg(error.to_string()))
    }

    fn gather(&self, readings: &[Reading]) -> prometheus::Result<Vec<MetricFamily>> {
        let mut families = self.registry.gather();
        for reading in readings {
            let mut opts = Opts::new(reading.name, reading.help);
            if let Some((name, value)) = reading.label {
                opts = opts.const_label(name, value);
            }
            let gauge = Gauge::with_opts(opts)?;
            gauge.set(reading.value);
            for mut family in gauge.collect() {
                match families.last_mut().filter(|last| last.name() == reading.name) {
                    Some(last) => last.mut_metric().extend(family.take_metric()),
                    None => families.push(family),
                }
            }
        }
        Ok(families)
    }
}

impl Database {
    fn new(factory: &MetricFactory, clock: &Clock) -> prometheus::Result<Database> {
        let waits = factory.histogram_vec(
            "trunkline_db_wait_seconds",
            "Time until a connection was free, or the writer began the transaction, in seconds.",
            &["purpose"],
            &WAITS,
        )?;
        Ok(Database {
            transactions: factory.counters(
                "trunkline_db_transactions_total",
                "Transactions that ended, by outcome.",
                "outcome",
                &["committed", "rolled_back", "failed"],
            )?,
            retries: factory.counter("trunkline_db_retries_total", "Retries of transactions after a conflict.")?,
            replica_reads: factory.counters(
                "trunkline_db_replica_reads_total",
                "Lists and reports that a replica may answer, by where they were read.",
                "source",
                &["replica", "primary", "own_write"],
            )?,
            errors: factory.counters(
                "trunkline_db_errors_total",
                "Failed statements and connections, by kind.",
                "kind",
                &["constraint", "lost_race", "lock_timeout", "disk_full", "unavailable", "other"],
            )?,
            read_wait: waits.with_label_values(&["read"]),
            transaction_wait: waits.with_label_values(&["transaction"]),
            group: factory.histogram(
                "trunkline_db_group_transactions",
                "Transactions that shared one commit (SQLite).",
                &GROUPS,
            )?,
            disk_full_at: AtomicI64::new(0),
            clock: clock.clone(),
        })
    }

    pub(crate) fn note_disk_full(&self) {
        self.disk_full_at.store(self.clock.now().millis(), Ordering::Relaxed);
    }

    pub(crate) fn disk_full_at(&self) -> Option<Time> {
        Some(self.disk_full_at.load(Ordering::Relaxed)).filter(|at| *at > 0).map(Time::from_millis)
    }
}

impl Ledger {
    fn new(factory: &MetricFactory) -> prometheus::Result<Ledger> {
        Ok(Ledger {
            transactions: factory.counters(
                "trunkline_ledger_transactions_total",
                "Transactions posted to the ledger, by kind.",
                "kind",
                &[],
            )?,
            refusals: factory.counters(
                "trunkline_ledger_refusals_total",
                "Debits and holds refused because too little was available, by kind.",
                "kind",
                &[],
            )?,
        })
    }
}

impl Calls {
    fn new(factory: &MetricFactory) -> prometheus::Result<Calls> {
        Ok(Calls {
            allowed: factory.counter("trunkline_calls_allowed_total", "Calls that were allowed.")?,
            denied: factory.counters(
                "trunkline_calls_refused_total",
                "Calls that were denied, by deny reason.",
                "reason",
                // The one that an alert is about.
                &["no_route"],
            )?,
            events: factory.counters(
                "trunkline_call_events_total",
                "Call events received from switches, by outcome.",
                "outcome",
                &["accepted", "rejected"],
            )?,
            cdrs: factory.counters(
                "trunkline_cdrs_total",
                "CDRs stored, by source.",
                "source",
                &["switch", "import"],
            )?,
        })
    }
}

impl Decks {
    fn new(factory: &MetricFactory) -> prometheus::Result<Decks> {
        Ok(Decks {
            imports: factory.counters(
                "trunkline_deck_imports_total",
                "Rate deck imports that ended, without dry runs, by outcome.",
                "outcome",
                &["completed", "failed", "held"],
            )?,
            rows: factory.counter("trunkline_deck_rows_total", "Rows read by rate deck imports.")?,
            lookups: factory.counters(
                "trunkline_rate_lookups_total",
                "Rate lookups to authorize calls, by outcome.",
                "outcome",
                &["found", "missed"],
            )?,
        })
    }
}

/// Creates metrics and registers them.
struct MetricFactory(Registry);

impl MetricFactory {
    fn register<C: Collector + Clone + 'static>(&self, metric: C) -> prometheus::Result<C> {
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn counter(&self, name: &str, help: &str) -> prometheus::Result<IntCounter> {
        self.register(IntCounter::new(name, help)?)
    }

    fn counter_vec(&self, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<IntCounterVec> {
        self.register(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    /// Counters by label value, with those values at 0 that an alert names or that are few.
    fn counters(&self, name: &str, help: &str, label: &str, values: &[&'static str]) -> prometheus::Result<Counters> {
        Ok(Counters::new(self.counter_vec(name, help, &[label])?, values))
    }

    fn gauge(&self, name: &str, help: &str) -> prometheus::Result<IntGauge> {
        self.register(IntGauge::new(name, help)?)
    }

    fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> prometheus::Result<Histogram> {
        self.register(Histogram::with_opts(HistogramOpts::new(name, help).buckets(buckets.to_vec()))?)
    }

    fn histogram_vec(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: &[f64],
    ) -> prometheus::Result<HistogramVec> {
        self.register(HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.to_vec()), labels)?)
    }
}
