//! The steps of every request, in one order: request id, route, concurrency, token, rate limit, role, inputs,
//! idempotency key, handler, response headers, metrics. docs/architecture.md has a diagram.

use db::Entropy;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_MATCH, IF_NONE_MATCH, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use tracing::Instrument;

use super::answer::{Payload, Rendered};
use super::auth::{self, Who, bearer};
use super::callers::{self, Callers};
use super::compression::{self, Coding};
use super::concurrency::{ConcurrencyLimits, Place};
use super::context::{Origin, RequestCtx};
use super::document::accepts_html;
use super::endpoint::{Endpoint, Idempotency, RecentSignIn};
use super::failure::{self, Failure};
use super::handler::HandlerOutput;
use super::idempotency::{self, Claim};
use super::incoming_body::IncomingBody;
use super::input::IncomingRequest;
use super::problem::{Code, Problem};
use super::response::{Response, full, without_body};
use super::router::{BASE, RouteMatch, Router};
use super::screen::{self, Form, Visit};
use super::{conditional, headers, manual};
use platform::app::App;
use platform::limits::{Limit, RateLimitStatus, Subject};
use platform::request_stats::Count;
use platform::traces::{OpenSpan, RequestEnd};
use values::{AccountId, Time};

/// The API of `/v1` and the pages beside it.
pub struct Service {
    pub app: App,
    router: Router,
    cors: headers::Cors,
    request_ids: headers::RequestIds,
    concurrency: Arc<ConcurrencyLimits>,
    callers: Callers,
}

/// What the steps find out about a request, for headers and metrics.
#[derive(Default)]
struct Observed {
    /// The state of the caller's rate limit.
    rate_limit: Option<RateLimitStatus>,
    /// The account of a valid token.
    account: Option<AccountId>,
}

impl Service {
    pub fn new(app: App, router: Router) -> Arc<Service> {
        let cors = headers::Cors::new(&app.settings.cors_origins);
        let seed = u64::from_be_bytes(Entropy.bytes());
        let concurrency = Arc::new(ConcurrencyLimits::new(app.settings.max_concurrent_requests, seed));
        let request_ids = headers::RequestIds::default();
        Arc::new(Service { app, router, cors, request_ids, concurrency, callers: Callers::default() })
    }

    /// Handles one request. Every error, also a panic of a handler, becomes a problem.
    pub async fn handle(&self, request: Request<IncomingBody>, peer: SocketAddr) -> Response {
        let span = self.app.traces.begin_request(request.headers(), || self.app.clock.now());
        let log = span.as_ref().map_or_else(tracing::Span::none, OpenSpan::log_span);
        self.respond(request, peer, span).instrument(log).await
    }

    async fn respond(&self, request: Request<IncomingBody>, peer: SocketAddr, span: Option<OpenSpan>) -> Response {
        let started = Instant::now();
        let (head, body) = request.into_parts();
        let request_id = self.request_ids.of(&head.headers);
        let method = head.method.clone();
        let path = head.uri.path().to_owned();
        let origin = head.headers.get(hyper::header::ORIGIN).cloned();
        let reads = matches!(method, Method::GET | Method::HEAD);
        let coding = reads.then(|| Coding::negotiate(&head.headers, compression::DYNAMIC)).flatten();

        let found = self.router.find(&method, &path);
        let endpoint: Option<&Endpoint> = match &found {
            RouteMatch::Endpoint(endpoint, _) => Some(*endpoint),
            _ => None,
        };
        let is_same_origin = found.is_same_origin();
        let is_screen = match found {
            RouteMatch::Screen(..) => true,
            RouteMatch::NoManual => accepts_html(&head.headers),
            _ => false,
        };
        let route = found.route();
        let mut observed = Observed::default();
        let work = self.route(found, head, body, peer, &request_id, &mut observed);
        let outcome = match AssertUnwindSafe(work).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(_) => Err(Problem::internal("a handler panicked")),
        };
        let mut response = match outcome {
            Ok(response) => response,
            Err(problem) => {
                failure::log_cause(&problem, &method, route, &request_id);
                let page = is_screen.then(|| screen::problem_page(&problem, &request_id).ok()).flatten();
                page.unwrap_or_else(|| problem.render(&path, &request_id))
            }
        };
        headers::finish(response.headers_mut(), &request_id);
        if reads && endpoint.is_some() {
            response = compression::apply(response, coding).await;
        }
        if let Some(deprecation) = endpoint.and_then(|endpoint| endpoint.deprecation.as_ref()) {
            deprecation.announce(response.headers_mut());
        }
        if let Some(verdict) = &observed.rate_limit {
            headers::rate_limit(response.headers_mut(), verdict);
        }
        if !is_same_origin {
            self.cors.answer(origin.as_ref(), response.headers_mut());
        }
        if method == Method::HEAD {
            response = without_body(response);
        }
        let (status, took) = (response.status(), started.elapsed());
        self.record_metrics(&method, endpoint, &observed, status, took);
        if let Some(span) = span {
            let path = endpoint.map(|endpoint| endpoint.path);
            let end = RequestEnd { method: &method, base: BASE, path, status, request_id: &request_id, took };
            self.app.traces.end_request(span, end);
        }
        tracing::debug!(%method, route, status = status.as_u16(), request_id, "request");
        response
    }

    fn record_metrics(
        &self,
        method: &Method,
        endpoint: Option<&Endpoint>,
        observed: &Observed,
        status: StatusCode,
        took: Duration,
    ) {
        let (requests, stats) = (&self.app.metrics.requests, &self.app.request_stats);
        match endpoint {
            Some(endpoint) => endpoint.count(requests, method, status, took),
            None => requests.answered(method, "", status, took),
        }
        stats.record(status, took);
        if status.is_client_error() || status.is_server_error() {
            let route = endpoint.map(Endpoint::name).unwrap_or_default();
            if status == StatusCode::TOO_MANY_REQUESTS {
                stats.count(Count::Limited, route.clone());
            }
            stats.count(Count::RouteError, route);
            if let Some(account) = observed.account {
                stats.count(Count::AccountError, account.to_string());
            }
        }
    }

    async fn route(
        &self,
        found: RouteMatch<'_>,
        head: hyper::http::request::Parts,
        mut body: IncomingBody,
        peer: SocketAddr,
        request_id: &str,
        observed: &mut Observed,
    ) -> Result<Response, Problem> {
        headers::check_host(head.version, &head.headers)?;
        if head.headers.get_all(CONTENT_TYPE).iter().nth(1).is_some() {
            return Err(Problem::malformed("The header Content-Type is given twice."));
        }
        let ip = headers::caller_ip(&head.headers, peer, &self.app.settings.trusted_proxies);
        let place = Arc::new(self.concurrency.enter(ip)?);
        body.set_place(place.clone());
        match found {
            RouteMatch::NotFound => match self.router.not_found_page(&head.method, head.uri.path(), &head.headers) {
                Some(page) => page.answer_not_found(&head.headers).await,
                None => Err(Problem::not_found()),
            },
            RouteMatch::NoManual => Err(Problem::not_set_up(manual::ABSENT)),
            RouteMatch::MethodNotAllowed(allow) => Err(Problem::method_not_allowed(allow)),
            RouteMatch::Options(allow, is_same_origin) => {
                let mut response = full(StatusCode::NO_CONTENT, "");
                match is_same_origin {
                    true => headers::allow(&allow, response.headers_mut()),
                    false => self.cors.preflight(&head.headers, &allow, response.headers_mut()),
                }
                Ok(response)
            }
            RouteMatch::Document(document) => document.answer(&head.headers).await,
            RouteMatch::Screen(_, answer, path_values) => {
                let form = match head.method {
                    Method::POST => Form::read(&head.headers, body).await?,
                    _ => Form::default(),
                };
                answer(Visit { app: self.app.clone(), path_values, form }).await
            }
            RouteMatch::Endpoint(endpoint, path_values) => {
                let now = self.app.clock.now();
                let origin = Origin {
                    app: self.app.clone(),
                    now,
                    request_id: request_id.to_owned(),
                    path: head.uri.path().to_owned(),
                    ip,
                    user_agent: head.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).map(str::to_owned),
                    if_match: endpoint.is_conditional().then(|| if_match(&head.headers)).flatten(),
                    endpoint: endpoint.clone(),
                };
                let request = IncomingRequest { head, path_values, body: Some(body), body_digest: None };
                self.answer(endpoint, origin, request, &place, observed).await
            }
        }
    }

    async fn answer(
        &self,
        endpoint: &Endpoint,
        origin: Origin,
        request: IncomingRequest,
        place: &Place,
        observed: &mut Observed,
    ) -> Result<Response, Problem> {
        let now = origin.now;
        let if_none_match = request.head.headers.get(IF_NONE_MATCH).cloned();

        // A database connection is never held while waiting for another one, which rate limits and the audit log may
        // need: under load, waiting requests would hold them all. If rate limits do not use the shared database, the
        // connection that authenticated the caller is reused for reading.
        let mut reader = None;
        let principal = if endpoint.who == Who::Anyone {
            self.limit(endpoint.limit, Subject::ip(origin.ip), now, observed).await?;
            None
        } else {
            let token = bearer(&request.head.headers)?;
            let (principal, conn) = match endpoint.changes() {
                true => callers::look_up(&self.app, self.app.db.read().await?, token, origin.ip, now).await?,
                false => self.callers.find_or_look_up(&self.app, token, origin.ip, now).await?,
            };
            reader = conn.filter(|_| !endpoint.changes() && !self.app.db.is_shared());
            observed.account = Some(principal.account_id);
            place.set_authenticated();
            self.limit(endpoint.limit, principal.limit_subject(), now, observed).await?;
            Some(principal)
        };
        let ctx = RequestCtx::new(origin, principal);
        let outcome = match check_access(&ctx, &request.head.headers) {
            Ok(()) => {
                let mut conn = match reader {
                    None if !endpoint.changes() && ctx.principal.is_some() => Some(ctx.reader().await?),
                    None if !endpoint.changes() => Some(self.app.db.read().await?),
                    reader => reader,
                };
                if let Some(conn) = &mut conn {
                    conn.set_now(ctx.now);
                }
                endpoint.handler.run(ctx.clone(), conn, request).await
            }
            Err(problem) => {
                drop(reader);
                Err(problem)
            }
        };
        observed.rate_limit = ctx.exceeded_limit().or(observed.rate_limit);
        match outcome {
            Ok(committed) => {
                if !endpoint.changes() {
                    record_read(&ctx).await?;
                }
                success_response(committed, endpoint, if_none_match.as_ref())
            }
            Err(problem) => match failure::record(&ctx, problem).await {
                Failure::Replayed(rendered) => {
                    success_response(HandlerOutput { rendered, replayed: true }, endpoint, None)
                }
                Failure::Problem(problem) => Err(problem),
            },
        }
    }

    async fn limit(&self, limit: Limit, subject: Subject, now: Time, observed: &mut Observed) -> Result<(), Problem> {
        observed.rate_limit = self.app.limits.take(limit, subject, now).await?;
        match &observed.rate_limit {
            Some(verdict) if !verdict.allowed => {
                self.app.metrics.requests.limited.of(limit.name()).inc();
                Err(Problem::rate_limited(verdict.reset_seconds))
            }
            _ => Ok(()),
        }
    }
}

/// All `If-Match` headers as one list. A value that is not text matches no version.
fn if_match(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(IF_MATCH).iter().map(|value| value.to_str().unwrap_or_default());
    let first = values.next()?.to_owned();
    Some(values.fold(first, |list, value| format!("{list}, {value}")))
}

/// Role, scope, second factor, recent sign-in and the presence of an idempotency key: what can be checked before the body is read.
fn check_access(ctx: &RequestCtx, headers: &HeaderMap) -> Result<(), Problem> {
    let endpoint = &ctx.endpoint;
    if endpoint.same_origin {
        headers::check_same_origin(headers, &ctx.app.public_url)?;
    }
    if let Some(principal) = &ctx.principal {
        principal.check(endpoint)?;
        if principal.must_enroll && !endpoint.open_before_enrollment {
            return Err(Problem::second_factor_required());
        }
        if endpoint.recent_sign_in == RecentSignIn::Needed {
            principal.check_recent_sign_in(ctx.now)?;
        }
    }
    if endpoint.idempotency == Idempotency::Required && idempotency::key(headers)?.is_none() {
        return Err(Problem::idempotency_key_required());
    }
    Ok(())
}

/// Refuses a caller whose token or key was revoked while the body arrived, which may take long if the caller wants.
pub(super) async fn recheck_caller(ctx: &RequestCtx) -> Result<(), Problem> {
    let Some(principal) = &ctx.principal else { return Ok(()) };
    let mut conn = ctx.app.db.read().await?;
    conn.set_now(ctx.now);
    match auth::valid_until(&mut conn, principal).await? {
        Some(_) => Ok(()),
        None => Err(Problem::token_invalid("The access token was revoked.")),
    }
}

/// Sets the caller's idempotency key, if one was sent, and returns its stored response, if there is one.
pub(super) async fn claim_key(ctx: &RequestCtx, request: &IncomingRequest) -> Result<Option<Rendered>, Problem> {
    let Some(claim) = claim_of(ctx, request)? else { return Ok(None) };
    let stored = idempotency::find(&mut *ctx.app.db.read().await?, &ctx.app.keys, &claim).await?;
    ctx.set_claim(claim);
    Ok(stored)
}

/// The answer to a body that is refused: the stored response, if the same body succeeded under the key before a time in it
/// passed, or else the refusal.
pub(super) async fn replay_or(
    ctx: &RequestCtx,
    request: &IncomingRequest,
    refusal: Problem,
) -> Result<HandlerOutput, Problem> {
    if refusal.code() != Code::ValidationFailed || request.body_digest.is_none() {
        return Err(refusal);
    }
    let Some(claim) = claim_of(ctx, request)? else { return Err(refusal) };
    match idempotency::find(&mut *ctx.app.db.read().await?, &ctx.app.keys, &claim).await {
        Ok(Some(rendered)) => Ok(HandlerOutput { rendered, replayed: true }),
        Ok(None) => Err(refusal),
        // Another body succeeded; this one would not have.
        Err(problem) if problem.code() == Code::IdempotencyConflict => Err(refusal),
        Err(problem) => Err(problem),
    }
}

fn claim_of(ctx: &RequestCtx, request: &IncomingRequest) -> Result<Option<Claim>, Problem> {
    let Some(principal) = &ctx.principal else { return Ok(None) };
    if ctx.endpoint.idempotency == Idempotency::None {
        return Ok(None);
    }
    let Some(key) = idempotency::key(&request.head.headers)? else { return Ok(None) };
    let (method, path) = (ctx.endpoint.method.as_str(), request.head.uri.path());
    Ok(Some(Claim::new(principal, method, path, key, request.body_digest)))
}

/// Writes the audit row of an audited read, before the response is sent. With impersonation, every read is audited.
async fn record_read(ctx: &RequestCtx) -> Result<(), Problem> {
    let is_impersonated = ctx.principal.as_ref().is_some_and(|principal| principal.impersonator.is_some());
    let impersonated = is_impersonated.then(|| {
        ctx.audit_note("path", ctx.path.as_str());
        "impersonation.read"
    });
    let Some(action) = ctx.endpoint.audit_action().or(impersonated) else { return Ok(()) };
    let work = (ctx.clone(), action);
    ctx.app.db.tx(work, |conn, (ctx, action)| Box::pin(ctx.record(conn, action))).await
}

fn success_response(
    committed: HandlerOutput,
    endpoint: &Endpoint,
    if_none_match: Option<&HeaderValue>,
) -> Result<Response, Problem> {
    let HandlerOutput { rendered, replayed } = committed;
    let tag = match &rendered.payload {
        Payload::Whole(body) if endpoint.has_etag() && rendered.status.is_success() => {
            let own = rendered.headers.get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
            Some(own.unwrap_or_else(|| conditional::etag(body)))
        }
        _ => None,
    };
    let mut response = rendered.into_response();
    if let Some(mut tag) = tag {
        if !endpoint.changes() {
            let known = if_none_match.and_then(|value| value.to_str().ok());
            if let Some(known) = known.and_then(|list| conditional::matching(list, &tag)) {
                response = full(StatusCode::NOT_MODIFIED, "");
                // The tag of the coding that the caller has.
                if known != "*" {
                    tag = known.to_owned();
                }
            }
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        }
        response.headers_mut().insert(ETAG, HeaderValue::from_str(&tag).map_err(Problem::internal)?);
    }
    if replayed {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}
