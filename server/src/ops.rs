//! The operations port: health checks, metrics, the endpoints of switches and, for tests, the clock.
//!
//! Every path is a row of one table ([`OpsEndpoint`]); [`Operations::handle`] does for all of them what the row says:
//! method, access, concurrency, body limit, metrics and traces. The port listens on loopback by default.

mod access;
mod endpoint;
mod readings;
mod switch;

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tracing::Instrument;

use api::answer::Rendered;
use api::document::weight_of;
use api::headers;
use api::incoming_body::IncomingBody;
use api::input::{parse_json, read_body};
use api::problem::Problem;
use api::response::{Response, full, without_body};
use db::metrics::OPEN_METRICS;
use endpoint::{Access, OpsEndpoint, OpsRequest};
use platform::app::App;
use platform::disk;
use platform::jobs::{self, Runner};
use platform::traces::{OpenSpan, RequestEnd};
use values::Rfc3339;
use voice::calls;

const MAX_CLOCK_BODY_BYTES: usize = 4096;
/// A health check is not kept waiting for longer.
const MAX_DATABASE_WAIT: Duration = Duration::from_secs(5);
/// Ten years.
const MAX_ADVANCE_SECONDS: u64 = 10 * 366 * 24 * 3600;

pub struct Operations {
    app: App,
    runner: Runner<App>,
    request_ids: headers::RequestIds,
    endpoints: Vec<OpsEndpoint>,
    decisions: calls::Authorizer,
    /// True once the service stops.
    stopping: watch::Receiver<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClockAdvance {
    /// Seconds to move the test clock forward.
    #[schemars(range(max = MAX_ADVANCE_SECONDS))]
    advance_seconds: u64,
}

#[derive(Serialize)]
struct ClockTime {
    now: Rfc3339,
}

/// The endpoints that are not for switches.
fn endpoints() -> [OpsEndpoint; 4] {
    let get = |path, handler| OpsEndpoint {
        method: Method::GET,
        path,
        access: Access::Open,
        max_body_bytes: 0,
        queue: None,
        successes: None,
        handler,
    };
    [
        get("/healthz", |_, _| Box::pin(async { Ok(text("ok\n")) })),
        get("/readyz", |ops, _| Box::pin(ops.ready())),
        get("/metrics", |ops, request| Box::pin(ops.metrics(request.headers))),
        OpsEndpoint {
            method: Method::POST,
            access: Access::ClockSecret,
            max_body_bytes: MAX_CLOCK_BODY_BYTES,
            ..get("/ops/clock", |ops, request| Box::pin(ops.advance_clock(request.body)))
        },
    ]
}

impl Operations {
    pub fn new(app: App, runner: Runner<App>, stopping: watch::Receiver<bool>) -> Operations {
        let mut endpoints = Vec::from(endpoints());
        endpoints.extend(switch::endpoints(&app.metrics.requests));
        let (request_ids, decisions) = (headers::RequestIds::default(), calls::Authorizer::new(app.clone()));
        Operations { app, runner, request_ids, endpoints, decisions, stopping }
    }

    pub async fn handle(&self, request: Request<IncomingBody>, peer: SocketAddr) -> Response {
        let endpoint = self.endpoints.iter().find(|endpoint| endpoint.path == request.uri().path());
        let is_traced = endpoint.is_some_and(OpsEndpoint::is_measured);
        let begin = || self.app.traces.begin_request(request.headers(), || self.app.clock.now());
        let span = is_traced.then(begin).flatten();
        let log = span.as_ref().map_or_else(tracing::Span::none, OpenSpan::log_span);
        self.respond(endpoint, request, peer, span).instrument(log).await
    }

    async fn respond(
        &self,
        endpoint: Option<&OpsEndpoint>,
        request: Request<IncomingBody>,
        peer: SocketAddr,
        span: Option<OpenSpan>,
    ) -> Response {
        let started = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let request_id = self.request_ids.of(request.headers());
        let ip = headers::caller_ip(request.headers(), peer, &self.app.settings.trusted_proxies);
        let mut response = self.dispatch(endpoint, request, ip).await.unwrap_or_else(|problem| {
            if let Some(cause) = problem.cause() {
                tracing::error!(path, request_id, %cause, "request to the operations port failed");
            }
            problem.render(&path, &request_id)
        });
        if response.status() == StatusCode::UNAUTHORIZED {
            // Beside the bearer token that every 401 asks for.
            response.headers_mut().append(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"switch\""));
        }
        headers::finish(response.headers_mut(), &request_id);
        if method == Method::HEAD {
            response = without_body(response);
        }
        let (status, took) = (response.status(), started.elapsed());
        if let Some(endpoint) = endpoint {
            endpoint.count(&self.app.metrics.requests, &method, status, took);
        }
        if let Some(span) = span {
            let path = endpoint.map(|endpoint| endpoint.path);
            let end = RequestEnd { method: &method, base: "", path, status, request_id: &request_id, took };
            self.app.traces.end_request(span, end);
        }
        response
    }

    async fn dispatch(
        &self,
        endpoint: Option<&OpsEndpoint>,
        request: Request<IncomingBody>,
        ip: IpAddr,
    ) -> Result<Response, Problem> {
        headers::check_host(request.version(), request.headers())?;
        let endpoint = endpoint.ok_or_else(Problem::not_found)?;
        if *request.method() == Method::OPTIONS {
            let mut response = full(StatusCode::NO_CONTENT, "");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(endpoint.allow()));
            return Ok(response);
        }
        if !endpoint.accepts(request.method()) {
            return Err(Problem::method_not_allowed(endpoint.allow().to_owned()));
        }
        let mut key = None;
        let switch = match endpoint.access {
            Access::Open => None,
            Access::SwitchSecret => Some(access::identify_switch(&self.app, request.headers())?),
            Access::SwitchSecretOr(scope, action) => match access::key_in(request.headers()) {
                Some(token) => {
                    key = Some((access::identify_key(&self.app, &token, ip, scope).await?, action));
                    None
                }
                None => Some(access::identify_switch(&self.app, request.headers())?),
            },
            Access::ClockSecret => {
                access::check_clock_secret(&self.app, request.headers())?;
                None
            }
        };
        // Before the body is read: it may be large.
        let _permits = match &endpoint.queue {
            Some(queue) => Some(queue.enter().await?),
            None => None,
        };
        let (head, body) = request.into_parts();
        let body = match endpoint.method {
            Method::GET => Bytes::new(),
            _ => read_body(body, endpoint.max_body_bytes).await?,
        };
        if let Some(switch) = &switch {
            access::check_edge(switch, &body)?;
            if let Some(edge) = &switch.edge {
                self.app.presence.saw_edge(edge, self.app.clock.now());
            }
        }
        let answer = (endpoint.handler)(self, OpsRequest { headers: head.headers, body }).await?;
        if let Some((caller, action)) = key {
            access::audit_key(&self.app, caller, ip, action).await?;
        }
        Ok(answer)
    }

    /// Whether this node can take requests: it is not stopping, its disks have room, the database is reachable and
    /// migrated, and the jobs that people wait for are not too far behind.
    async fn ready(&self) -> Result<Response, Problem> {
        if *self.stopping.borrow() {
            return Err(Problem::unavailable("The service is stopping."));
        }
        if let Some(full) = disk::find_full(&self.app).await {
            return Err(Problem::unavailable(format!("{full}.")));
        }
        let late = |_| Problem::unavailable("The database does not answer.");
        tokio::time::timeout(MAX_DATABASE_WAIT, self.check_database()).await.map_err(late)??;
        Ok(text(if self.app.settings.lab.is_lab { "ready\nlab\n" } else { "ready\n" }))
    }

    /// Whether the database answers, has every migration, and jobs are not behind.
    async fn check_database(&self) -> Result<(), Problem> {
        self.app.db.ping().await?;
        if !self.app.db.is_migrated().await? {
            return Err(Problem::unavailable("The database lacks migrations of this release."));
        }
        let limit = self.app.settings.max_job_lag;
        let mut reader = self.app.db.read().await?;
        for class in jobs::Class::ALL.iter().filter(|class| class.decides_readiness()) {
            let lag = jobs::lag(&mut reader, *class).await?;
            if lag > limit {
                let (lag, limit) = (lag.as_secs(), limit.as_secs());
                let detail = format!("Jobs of the class {class} are {lag} seconds behind, more than {limit}.");
                return Err(Problem::unavailable(detail));
            }
        }
        Ok(())
    }

    /// In the format that the scraper prefers. Prometheus prefers OpenMetrics, which has exemplars.
    async fn metrics(&self, headers: HeaderMap) -> Result<Response, Problem> {
        let (metrics, readings) = (&self.app.metrics, readings::readings(&self.app).await);
        let plain = weight_of(&headers, "text/plain").unwrap_or_default();
        let (text, media_type) = if weight_of(&headers, OPEN_METRICS).is_some_and(|weight| weight >= plain) {
            let text = metrics.open_metrics(&readings).map_err(Problem::internal)?;
            (text.into(), format!("{OPEN_METRICS}; version=1.0.0; charset=utf-8"))
        } else {
            let text = metrics.text(&readings).map_err(Problem::internal)?;
            (text, "text/plain; version=0.0.4".to_owned())
        };
        let mut response = full(StatusCode::OK, text);
        let media_type = HeaderValue::try_from(media_type).map_err(Problem::internal)?;
        response.headers_mut().insert(CONTENT_TYPE, media_type);
        Ok(response)
    }

    /// Advances the test clock and responds when all jobs that became due have run; 404 with the system's clock.
    async fn advance_clock(&self, body: Bytes) -> Result<Response, Problem> {
        let ClockAdvance { advance_seconds } = parse_json(&body, &self.app.settings, self.app.clock.now())?;
        if !self.app.clock.is_movable() {
            return Err(Problem::not_found());
        }
        // A schedule counts from the tick that first sees it, which must happen before the clock moves.
        self.runner.tick().await?;
        // A job that runs meanwhile would begin at one time and end at another.
        let idle = self.runner.idle().await?;
        self.app.clock.advance(Duration::from_secs(advance_seconds));
        drop(idle);
        self.runner.settle().await?;
        Ok(Rendered::json(StatusCode::OK, &ClockTime { now: self.app.clock.now().into() })?.into_response())
    }
}

fn text(body: &'static str) -> Response {
    let mut response = full(StatusCode::OK, body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
