//! Spans as an OpenTelemetry collector receives them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use platform::app::App;
use platform::jobs;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use values::Role;
use voice::upstreams::decks;

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::metrics::Scrape;
use crate::world::fixtures::switch::call_request;
use crate::world::process::Process;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A server that stands in for the collector: it keeps what it is sent, and answers with one status.
struct Collector {
    url: String,
    exports: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    async fn start(status: u16) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let exports = Arc::<Mutex<Vec<Value>>>::default();
        let kept = exports.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kept = kept.clone();
                let service = service_fn(move |request| answer(request, kept.clone(), status));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Collector { url, exports }
    }

    fn exports(&self) -> Vec<Value> {
        self.exports.lock().unwrap().clone()
    }

    fn spans(&self) -> Vec<Value> {
        let exports = self.exports();
        exports.iter().flat_map(|export| scope(export)["spans"].as_array().unwrap().clone()).collect()
    }
}

async fn answer(
    request: Request<Incoming>,
    kept: Arc<Mutex<Vec<Value>>>,
    status: u16,
) -> Result<Response<Full<Bytes>>, Infallible> {
    assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/v1/traces"));
    assert_eq!(request.headers()["content-type"], "application/json");
    assert_eq!(request.headers()["x-api-key"], "open sesame");
    let body = request.into_body().collect().await.unwrap().to_bytes();
    kept.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
    Ok(Response::builder().status(status).body(Full::new(Bytes::from_static(b"{}"))).unwrap())
}

fn scope(export: &Value) -> &Value {
    &export["resourceSpans"][0]["scopeSpans"][0]
}

fn attribute(of: &Value, name: &str) -> Option<String> {
    let found = of["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == name)?;
    let value = &found["value"];
    value["stringValue"].as_str().or(value["intValue"].as_str()).map(str::to_owned)
}

fn settings(url: &str) -> [(&str, &str); 3] {
    [
        ("TRUNKLINE_OTLP_ENDPOINT", url),
        ("TRUNKLINE_OTLP_HEADERS", "x-api-key=open%20sesame"),
        ("TRUNKLINE_OTLP_SERVICE", "carrier"),
    ]
}

/// Spans that were sent, and that were not.
fn counted(app: &App) -> [f64; 2] {
    let scrape = Scrape::of_metrics(&app.metrics);
    ["sent", "dropped"].map(|outcome| scrape.value(&format!(r#"trunkline_trace_spans_total{{outcome="{outcome}"}}"#)))
}

both! {
    async fn requests_and_jobs_are_exported_as_spans_also_on_shutdown(db) {
        let collector = Collector::start(200).await;
        let world = World::with(db, &settings(&collector.url)).await;
        let app = world.node.app.clone();
        let caller = world.minted(Role::Customer).await;
        let traced = |flags: &str| caller.header("traceparent", &format!("00-{TRACE}-{PARENT}-{flags}"));
        traced("01").header("x-request-id", "request-1").get("/account").await.expect(200);
        // A trace that its caller does not keep.
        traced("00").get("/me").await.expect(200);
        caller.header("traceparent", "hunter2").get("/trunks/0198c0de-0000-7000-8000-00000000cafe").await.expect(404);
        caller.get("/nothing/hunter2?hunter2=hunter2").await.expect(404);
        caller.post("/tickets", json!({"subject": "hunter2"})).await.expect(422);
        world.operations().post("/switch/authorize", call_request(json!({"calling": "hunter2"}))).await.expect(200);
        let now = app.clock.now();
        let id = app.db.tx((), |conn, ()| Box::pin(jobs::enqueue(conn, decks::PULL_DUE, json!({})))).await.unwrap().to_string();
        world.settle().await;
        world.stop().await;

        let spans = collector.spans();
        let named = |name: &str| spans.iter().filter(|span| span["name"] == name).collect::<Vec<_>>();
        let [account] = named("GET /v1/account")[..] else { panic!("{spans:#?}") };
        assert_eq!((&account["traceId"], &account["parentSpanId"], &account["kind"]), (&json!(TRACE), &json!(PARENT), &json!(2)));
        assert_eq!(account["spanId"].as_str().unwrap().len(), 16);
        assert_eq!(
            ["http.request.method", "http.route", "http.response.status_code", "trunkline.request_id"]
                .map(|name| attribute(account, name).unwrap()),
            ["GET", "/v1/account", "200", "request-1"]
        );
        let nanos = |name: &str| account[name].as_str().unwrap().parse::<i64>().unwrap();
        assert!((now.millis() - 60_000) * 1_000_000 < nanos("startTimeUnixNano"));
        assert!(nanos("startTimeUnixNano") < nanos("endTimeUnixNano"));

        assert!(named("GET /v1/me").is_empty());
        let [trunk] = named("GET /v1/trunks/{id}")[..] else { panic!("{spans:#?}") };
        assert_eq!(attribute(trunk, "http.response.status_code").unwrap(), "404");
        assert!(trunk["traceId"].as_str().is_some_and(|id| id.len() == 32 && id != TRACE));
        assert_eq!((trunk.get("parentSpanId"), trunk.get("status")), (None, None));
        let [nothing] = named("GET")[..] else { panic!("{spans:#?}") };
        assert_eq!(attribute(nothing, "http.route"), None);
        assert_eq!(attribute(named("POST /switch/authorize")[0], "http.route").unwrap(), "/switch/authorize");
        let runs = named(&format!("job {}", decks::PULL_DUE.name));
        let run = runs.iter().find(|run| attribute(run, "trunkline.job.id").unwrap() == id).unwrap();
        assert_eq!(["trunkline.job.outcome", "trunkline.job.attempt"].map(|name| attribute(run, name).unwrap()), ["success", "1"]);

        let exports = collector.exports();
        assert_eq!(attribute(&exports[0]["resourceSpans"][0]["resource"], "service.name").unwrap(), "carrier");
        let text = json!(exports).to_string();
        for secret in ["hunter2", "-00000000cafe", caller.token()] {
            assert!(!text.contains(secret), "{secret} was told");
        }
        assert_eq!(counted(&app), [spans.len() as f64, 0.0]);
    }

    async fn a_failing_trace_collector_does_not_affect_requests(db) {
        let refusing = Collector::start(503).await;
        for url in ["http://127.0.0.1:1", &refusing.url] {
            let world = World::with(db, &settings(url)).await;
            let app = world.node.app.clone();
            for _ in 0..3 {
                world.anyone().get("/nothing").await.expect(404);
            }
            world.stop().await;
            let [sent, dropped] = counted(&app);
            assert!(sent == 0.0 && dropped >= 3.0, "{sent} {dropped}");
        }
        assert!(refusing.spans().len() >= 3);

        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let world = World::with(db, &settings(&url)).await;
        world.anyone().get("/nothing").await.expect(404);
        let held = silent.accept().await.unwrap();
        world.anyone().get("/nothing").await.expect(404);
        drop((held, silent));
        world.stop().await;
    }

    async fn lines_of_the_log_have_the_id_of_their_trace(db) {
        let collector = Collector::start(200).await;
        let (folder, log) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
        let settings = [
            &settings(&collector.url)[..],
            &[
                ("TRUNKLINE_LOG", "json"),
                // What has the ids need not be named.
                ("TRUNKLINE_LOG_FILTER", "api=debug,platform=warn"),
                ("TRUNKLINE_FX_URL", "http://127.0.0.1:1/"),
                ("TRUNKLINE_TEST_CLOCK", "on"),
                ("TRUNKLINE_DRAIN_SECONDS", "0"),
            ],
        ];
        let mut service = Process::serve_with_log(db, folder.path(), &settings.concat(), log.path());
        let traced = |flags: &str| service.anyone().header("traceparent", &format!("00-{TRACE}-{PARENT}-{flags}"));
        for caller in [traced("01"), traced("00"), service.anyone()] {
            caller.get("/me").await.expect(401);
        }
        service.advance(24 * 3600).await;
        service.terminate();
        service.wait();

        let lines = std::fs::read_to_string(log.path()).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let named = |message: &str| lines.iter().filter(|line| line["message"] == message).collect::<Vec<_>>();
        let requests = named("request");
        let ids: Vec<&str> = requests.iter().map(|line| line["span"]["trace_id"].as_str().unwrap()).collect();
        assert_eq!(ids[..2], [TRACE, TRACE]);
        let of_traces = |name: &str| -> Vec<Value> {
            let spans = collector.spans().into_iter().filter(|span| span["name"] == name);
            spans.map(|span| span["traceId"].clone()).collect()
        };
        assert_eq!(of_traces("GET /v1/me"), [TRACE, ids[2]]);
        let failed = named("job failed");
        let fx = failed.iter().find(|line| line["kind"] == "fx.fetch").unwrap_or_else(|| panic!("{failed:#?}"));
        let trace = fx["span"]["trace_id"].as_str().unwrap();
        assert_eq!(trace, fx["job"].as_str().unwrap().replace('-', ""));
        assert_eq!(of_traces("job fx.fetch")[0], trace);
    }

    async fn a_callers_trace_is_in_the_log_without_a_collector_too(db) {
        let (folder, log) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
        let service = Process::serve_with_log(db, folder.path(), &[("TRUNKLINE_LOG_FILTER", "api=debug")], log.path());
        let caller = service.anyone().header("x-request-id", "mine");
        caller.header("traceparent", &format!("00-{TRACE}-{PARENT}-00")).get("/me").await.expect(401);
        service.anyone().get("/me").await.expect(401);
        let lines = std::fs::read_to_string(log.path()).unwrap();
        let requests: Vec<&str> = lines.lines().filter(|line| line.contains("route")).collect();
        let [with, without] = requests[..] else { panic!("{lines}") };
        assert!(with.contains(&format!(r#"request{{trace_id={TRACE}}}: request method=GET"#)) && with.contains("mine"), "{with}");
        assert!(!without.contains("trace_id"), "{without}");
    }

    async fn a_sampler_keeps_traces_from_the_collector(db) {
        let collector = Collector::start(200).await;
        let endpoint = format!("{}/v1/traces", collector.url);
        let settings = [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint.as_str()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=open%20sesame"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=voice,deployment.environment=lab"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0"),
        ];
        let world = World::with(db, &settings).await;
        let app = world.node.app.clone();
        world.anyone().get("/me").await.expect(401);
        world.anyone().header("traceparent", &format!("00-{TRACE}-{PARENT}-01")).get("/me").await.expect(401);
        world.stop().await;
        let spans = collector.spans();
        let [kept] = &spans[..] else { panic!("{spans:#?}") };
        assert_eq!(kept["traceId"], TRACE);
        let resource = &collector.exports()[0]["resourceSpans"][0]["resource"];
        let attributes = ["service.name", "deployment.environment"].map(|name| attribute(resource, name).unwrap());
        assert_eq!(attributes, ["voice", "lab"]);
        assert!(attribute(resource, "service.version").is_some());
        assert_eq!(counted(&app), [1.0, 0.0]);
    }
}
