//! The operations port: health, readiness, metrics, what switches ask for and, for tests, the clock. Loopback only by
//! default.

mod readings;
mod switch;

use std::time::{Duration, Instant};

use bytes::Bytes;
use data_encoding::BASE64;
use hyper::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};

use api::answer::Rendered;
use api::arriving::Arriving;
use api::headers;
use api::input::whole_body;
use api::problem::Problem;
use api::response::{Response, full, without_body};
use api::schema;
use db::metrics::{Requests, Successes};
use platform::app::App;
use platform::jobs::{self, Runner};
use platform::traces::Answered;
use values::Rfc3339;
use voice::calls;

/// How many files of calls are taken in at once.
pub const IMPORTS_AT_ONCE: usize = 2;

const CLOCK_BODY_BYTES: usize = 4096;
/// Further than this no test needs to go at once.
const ADVANCE_AT_MOST: u64 = 10 * 366 * 24 * 3600;

pub struct Operations {
    pub app: App,
    pub runner: Runner<App>,
    pub request_ids: headers::RequestIds,
    /// Room for files of calls; whoever finds none comes again.
    pub imports: Semaphore,
    pub switch: SwitchRoutes,
    pub decisions: calls::Authorizer,
    /// True once the service is told to stop.
    pub stopping: watch::Receiver<bool>,
}

/// What switches ask for.
pub struct SwitchRoutes([SwitchRoute; 4]);

struct SwitchRoute {
    method: Method,
    path: &'static str,
    /// What its successes are counted with.
    successes: Successes,
}

impl SwitchRoutes {
    pub fn new(requests: &Requests) -> SwitchRoutes {
        let routes = [
            (Method::GET, "/switch/config"),
            (Method::POST, "/switch/authorize"),
            (Method::POST, "/switch/events"),
            (Method::POST, "/switch/cdrs"),
        ];
        SwitchRoutes(routes.map(|(method, path)| {
            let successes = requests.successes(&method, path, StatusCode::OK);
            SwitchRoute { method, path, successes }
        }))
    }

    fn route(&self, path: &str) -> Option<&SwitchRoute> {
        self.0.iter().find(|route| route.path == path)
    }
}

impl SwitchRoute {
    fn count(&self, requests: &Requests, method: &Method, status: StatusCode, took: Duration) {
        if status == self.successes.status && *method == self.method {
            self.successes.answered(took);
        } else {
            requests.answered(method, self.path, status, took);
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_seconds: u64,
}

#[derive(Serialize)]
struct Now {
    now: Rfc3339,
}

impl Operations {
    pub async fn handle(&self, request: Request<Arriving>) -> Response {
        let started = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let request_id = self.request_ids.of(request.headers());
        let route = self.switch.route(&path);
        let span = route.and_then(|_| self.app.traces.begin(request.headers(), || self.app.clock.now()));
        let mut response = self.answer(request).await.unwrap_or_else(|problem| {
            if let Some(cause) = problem.cause() {
                tracing::error!(path, request_id, %cause, "request of the operations port failed");
            }
            problem.render(&path, &request_id)
        });
        headers::finish(response.headers_mut(), &request_id);
        if method == Method::HEAD {
            response = without_body(response);
        }
        let (status, took) = (response.status(), started.elapsed());
        if let Some(route) = route {
            route.count(&self.app.metrics.requests, &method, status, took);
        }
        if let (Some(span), Some(route)) = (span, route) {
            let route = Some(route.path.to_owned());
            self.app.traces.answered(span, Answered { method: &method, route, status, request_id: &request_id, took });
        }
        response
    }

    async fn answer(&self, request: Request<Arriving>) -> Result<Response, Problem> {
        let (allowed, allow) = match request.uri().path() {
            "/healthz" | "/readyz" | "/metrics" | "/switch/config" => (Method::GET, "GET, HEAD, OPTIONS"),
            "/ops/clock" | "/switch/authorize" | "/switch/events" | "/switch/cdrs" => (Method::POST, "POST, OPTIONS"),
            _ => return Err(Problem::not_found()),
        };
        match *request.method() {
            Method::OPTIONS => {
                let mut response = full(StatusCode::NO_CONTENT, "");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
                return Ok(response);
            }
            Method::HEAD if allowed == Method::GET => {}
            ref method if *method == allowed => {}
            _ => return Err(Problem::method_not_allowed(allow.to_owned())),
        }
        match request.uri().path() {
            "/healthz" => Ok(text("ok\n")),
            "/readyz" => self.ready().await,
            "/metrics" => self.metrics().await,
            path => {
                let path = path.to_owned();
                self.admit_switch(request.headers())?;
                self.answer_switch(&path, request).await
            }
        }
    }

    async fn answer_switch(&self, path: &str, request: Request<Arriving>) -> Result<Response, Problem> {
        match path {
            "/switch/config" => switch::config(&self.app).await,
            "/switch/authorize" => switch::authorize(&self.decisions, request).await,
            "/switch/events" => switch::events(&self.app, request).await,
            "/switch/cdrs" => {
                let busy = |_| Problem::unavailable("Other files of calls are being taken in; try again.");
                let _room = self.imports.try_acquire().map_err(busy)?;
                switch::cdrs(&self.app, request).await
            }
            _ => self.move_clock(request).await,
        }
    }

    /// Ready to take requests: the database answers and has what this release needs, its jobs are not far behind, and
    /// nobody asked the service to stop.
    async fn ready(&self) -> Result<Response, Problem> {
        if *self.stopping.borrow() {
            return Err(Problem::unavailable("The service is stopping."));
        }
        self.app.db.ping().await?;
        if !self.app.db.is_migrated().await? {
            return Err(Problem::unavailable("The database lacks migrations of this release."));
        }
        let lag = jobs::lag(&mut *self.app.db.read().await?, self.app.clock.now()).await?;
        let most = self.app.settings.job_lag_at_most;
        if lag > most {
            let (lag, most) = (lag.as_secs(), most.as_secs());
            return Err(Problem::unavailable(format!("Jobs are {lag} seconds behind, more than {most}.")));
        }
        Ok(text("ready\n"))
    }

    async fn metrics(&self) -> Result<Response, Problem> {
        let text = self.app.metrics.text(&readings::readings(&self.app).await).map_err(Problem::internal)?;
        let mut response = full(StatusCode::OK, text);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"));
        Ok(response)
    }

    /// Moves the test clock forward and answers when everything that fell due has run.
    async fn move_clock(&self, request: Request<Arriving>) -> Result<Response, Problem> {
        let Advance { advance_seconds } = read_json(request, CLOCK_BODY_BYTES).await?;
        if advance_seconds > ADVANCE_AT_MOST {
            return Err(Problem::invalid("advance_seconds", format!("must be at most {ADVANCE_AT_MOST}")));
        }
        // Schedules tick from when they are first seen, which may not have come to pass yet.
        self.runner.tick().await?;
        if !self.app.clock.advance(Duration::from_secs(advance_seconds)) {
            return Err(Problem::not_found());
        }
        self.runner.settle().await?;
        Ok(Rendered::json(StatusCode::OK, &Now { now: self.app.clock.now().into() })?.into_response())
    }

    /// The switch secret, as a bearer token or as the password of user `switch`.
    fn admit_switch(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|text| {
            let (scheme, rest) = text.split_once(' ')?;
            if scheme.eq_ignore_ascii_case("bearer") {
                return Some(rest.as_bytes().to_vec());
            }
            let decoded =
                BASE64.decode(rest.trim().as_bytes()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
            decoded.strip_prefix(b"switch:").map(<[u8]>::to_vec)
        });
        let expected = self.app.switch_secret.as_bytes();
        match aws_lc_rs::constant_time::verify_slices_are_equal(&given.unwrap_or_default(), expected) {
            Ok(()) => Ok(()),
            Err(_) => Err(Problem::token_invalid("Send the switch secret as a bearer token.")),
        }
    }
}

/// A body of no more than so many bytes.
async fn read_body(request: Request<Arriving>, limit_bytes: usize) -> Result<Bytes, Problem> {
    whole_body(request.into_body(), limit_bytes).await
}

async fn read_json<T>(request: Request<Arriving>, limit_bytes: usize) -> Result<T, Problem>
where
    T: DeserializeOwned + JsonSchema + 'static,
{
    let body = read_body(request, limit_bytes).await?;
    let value = serde_json::from_slice(&body).map_err(|error| Problem::malformed(format!("Not JSON: {error}.")))?;
    schema::read(value)
}

fn text(body: &'static str) -> Response {
    let mut response = full(StatusCode::OK, body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
