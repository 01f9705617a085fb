//! The alerts, who gets them and the dashboard in `deploy/`, with a real Prometheus that scrapes the service.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use platform::jobs;
use serde_json::{Value, json};
use tempfile::TempDir;
use voice::fx;

use crate::world::World;
use crate::world::engines::{both, sqlite};
use crate::world::fixtures::metrics::Scrape;

/// Its alert is about several failures a second for minutes, whose actions are too many to begin at 0.
const UNKNOWN_CALLERS: &str = "trunkline_unattributed_failures_total";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Prometheus with the alerts of this repository, scraping a node.
struct Prometheus {
    process: Child,
    address: String,
    _folder: TempDir,
}

impl Prometheus {
    fn start(world: &World) -> Prometheus {
        let folder = tempfile::tempdir().unwrap();
        let rules = root().join("deploy/prometheus/trunkline.rules.yml");
        let config = format!(
            "global: {{scrape_interval: 100ms, scrape_timeout: 100ms, evaluation_interval: 100ms}}\n\
             rule_files: [{}]\n\
             scrape_configs: [{{job_name: trunkline, static_configs: [{{targets: [\"{}\"]}}]}}]\n",
            rules.display(),
            world.node.ops
        );
        std::fs::write(folder.path().join("prometheus.yml"), config).unwrap();
        let mut process = Command::new("prometheus")
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0"])
            .arg("--enable-feature=exemplar-storage")
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("prometheus is there: run make test");
        let mut log = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let listening = |line: String| Some(line.split_once("msg=\"Listening on\" address=")?.1.to_owned());
        let address = log.find_map(listening).expect("Prometheus listens");
        // It goes on logging, and must not wait for a reader.
        std::thread::spawn(move || log.for_each(drop));
        Prometheus { process, address, _folder: folder }
    }

    /// The data of an answer of its API.
    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Value {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let url = format!("http://{}/api/v1/{path}?{query}", self.address);
        let answer = reqwest::Client::new().get(url).send().await.unwrap();
        let answer: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"].clone()
    }

    /// The only exemplar of a histogram, once it is stored.
    async fn exemplar(&self, selector: &str) -> Value {
        loop {
            let series =
                self.get("query_exemplars", &[("query", selector), ("start", "0"), ("end", "4102444800")]).await;
            if let Some(series) = series.as_array().unwrap().first() {
                let [exemplar] = &series["exemplars"].as_array().unwrap()[..] else { panic!("{series:#}") };
                return exemplar.clone();
            }
            tokio::task::yield_now().await;
        }
    }

    /// The alerts, once each has been evaluated on what was scraped.
    async fn alerts(&self) -> Vec<Value> {
        let ready = format!("http://{}/-/ready", self.address);
        while !reqwest::get(&ready).await.unwrap().status().is_success() {
            tokio::task::yield_now().await;
        }
        loop {
            let scraped = self.get("query", &[("query", "up{job=\"trunkline\"} == 1")]).await;
            let rules = self.get("rules", &[]).await;
            let rules = rules["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap());
            let rules: Vec<Value> = rules.cloned().collect();
            let is_pending = |rule: &Value| rule["health"] == "unknown";
            if scraped["result"] != serde_json::json!([]) && !rules.is_empty() && !rules.iter().any(is_pending) {
                return rules;
            }
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Every expression of the dashboard, with its variables filled in.
fn expressions(dashboard: &Value, found: &mut Vec<String>) {
    match dashboard {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "expr" => {
                        found.push(text.replace("$instance", ".*").replace("$__rate_interval", "5m"));
                    }
                    _ => expressions(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

/// The metrics that an expression names. A histogram is read by its buckets.
fn metrics(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
    words.filter(|word| word.starts_with("trunkline_")).map(|word| word.strip_suffix("_bucket").unwrap_or(word))
}

/// The counters whose growth a rule asks for, each with the labels that it selects by their value. A pattern selects
/// paths or statuses of requests, which are too many to begin at 0.
fn watched(rules: &str) -> BTreeSet<(&str, Vec<&str>)> {
    let after = move |function: &'static str| rules.split(function).skip(1);
    let selectors = after("increase(").chain(after("rate("));
    let parts = selectors.map(|text| {
        let (name, rest) = text.split_once('{').unwrap();
        let (labels, _) = rest.split_once('}').unwrap();
        let is_own = |label: &&str| !label.contains('~') && !label.starts_with("job=");
        let labels: Vec<&str> = labels.split(", ").filter(is_own).collect();
        (name.trim(), labels)
    });
    parts.collect()
}

#[test]
fn the_alerts_fire_when_they_should() {
    for arguments in [["check", "rules", "trunkline.rules.yml"], ["test", "rules", "trunkline.test.yml"]] {
        let mut promtool = Command::new("promtool");
        let done = promtool.args(arguments).current_dir(root().join("deploy/prometheus")).output();
        let done = done.expect("promtool is there: run make test");
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{arguments:?}\n{out}\n{err}");
    }
}

#[test]
fn critical_alerts_go_to_whoever_is_on_call() {
    let config = root().join("deploy/prometheus/alertmanager.yml");
    let amtool = |arguments: &[&str]| {
        let done = Command::new("amtool").args(arguments).output().expect("amtool is there: run make test");
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{arguments:?}\n{out}\n{err}");
        out.trim().to_owned()
    };
    amtool(&["check-config", config.to_str().unwrap()]);
    let file = format!("--config.file={}", config.display());
    for (severity, receiver) in [("severity=critical", "on-call"), ("severity=warning", "team")] {
        assert_eq!(amtool(&["config", "routes", "test", &file, severity]), receiver);
    }
}

both! {
    async fn counters_that_alerts_watch_are_there_before_their_first_event(db) {
        let world = World::start(db).await;
        let scrape = Scrape::of(&world).await;
        let rules = read("deploy/prometheus/trunkline.rules.yml");
        let watched = watched(&rules);
        assert!(watched.contains(&("trunkline_db_errors_total", vec!["kind=\"disk_full\""])), "{watched:?}");
        for (name, labels) in watched.into_iter().filter(|(name, _)| *name != UNKNOWN_CALLERS) {
            let is_it = |line: &str| {
                let rest = line.strip_prefix(name).filter(|rest| rest.starts_with(['{', ' ']));
                rest.is_some_and(|rest| labels.iter().all(|label| rest.contains(label)))
            };
            assert!(scrape.0.lines().any(is_it), "a new node has no {name} with {labels:?}");
        }
        world.end().await;
    }
}

sqlite! {
    async fn prometheus_evaluates_every_alert_and_panel_on_what_the_service_reports(db) {
        let world = World::start(db).await;
        let prometheus = Prometheus::start(&world);
        let alerts = prometheus.alerts().await;
        let mut asked = Vec::new();
        for alert in &alerts {
            assert_eq!(alert["health"], "ok", "{alert}");
            asked.push(alert["query"].as_str().unwrap().to_owned());
        }
        let dashboard: Value = serde_json::from_str(&read("deploy/grafana/trunkline.json")).unwrap();
        expressions(&dashboard, &mut asked);
        assert!(asked.len() > 40, "{asked:?}");
        let documented = read("docs/operations.md");
        for expression in &asked {
            prometheus.get("query", &[("query", expression)]).await;
            for metric in metrics(expression) {
                assert!(documented.contains(&format!("| `{metric}` |")), "there is no metric {metric}: {expression}");
            }
        }
        let sections: BTreeSet<String> =
            read("docs/runbook.md").lines().filter_map(|line| Some(line.strip_prefix("## ")?.to_owned())).collect();
        let names: BTreeSet<String> = alerts.iter().map(|alert| alert["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(sections, names, "docs/runbook.md has one section for each alert");
        for alert in &alerts {
            let name = alert["name"].as_str().unwrap().to_lowercase();
            assert_eq!(alert["annotations"]["runbook"], format!("docs/runbook.md#{name}"));
        }
        world.end().await;
    }

    async fn prometheus_leads_from_a_histogram_to_a_trace(db) {
        let world = World::with(db, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")]).await;
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let caller = world.anyone().header("traceparent", &format!("00-{trace}-00f067aa0ba902b7-01"));
        caller.get("/me").await.expect(401);
        // Not one that is scheduled every minute.
        let job = fx::FETCH;
        let db = &world.node.app.db;
        let job_id = db.tx(job, |conn, job| Box::pin(jobs::enqueue(conn, *job, json!({})))).await.unwrap();
        world.settle().await;
        let prometheus = Prometheus::start(&world);
        prometheus.alerts().await;
        for (histogram, label, value, trace) in [
            ("trunkline_request_seconds", "path", "/me", trace),
            ("trunkline_job_seconds", "kind", job.name, &job_id.simple().to_string()),
        ] {
            let selector = format!("{histogram}_bucket{{{label}=\"{value}\"}}");
            let found = prometheus.exemplar(&selector).await;
            assert_eq!(found["labels"], json!({"trace_id": trace}), "{selector}");
        }
        world.end().await;
    }
}
