//! The way of every request: id, limit, token, role, inputs, idempotency, handler, answer. One order for all.

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use hyper::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_MATCH, IF_NONE_MATCH, USER_AGENT};
use hyper::{Method, Request, StatusCode};

use super::answer::{Payload, Rendered};
use super::arriving::Arriving;
use super::auth::{Who, authenticate};
use super::context::{Origin, RequestCtx};
use super::endpoint::{Endpoint, Idempotency};
use super::handler::HandlerOutput;
use super::idempotency::{self, Claim, Snapshot};
use super::input::Inbound;
use super::problem::{Code, Problem};
use super::response::{Response, full, without_body};
use super::router::{BASE, Found, Router};
use super::screen::{self, Form, Visit};
use super::shares::{Full, Shares};
use super::{conditional, headers};
use platform::app::App;
use platform::audit::{self, Outcome};
use platform::limits::{Limit, RateLimitStatus, Subject};
use platform::traces::Answered;
use platform::traffic::Count;
use values::{AccountId, Time};

/// The public service: the table behind the pipeline.
pub struct Service {
    pub app: App,
    router: Router,
    cors: headers::Cors,
    request_ids: headers::RequestIds,
    /// A place for each request; without one it is turned away at once.
    shares: Shares,
}

/// What is learnt of a request on its way.
#[derive(Default)]
struct Seen {
    /// Where the caller stands against its limit, for the response's headers.
    standing: Option<RateLimitStatus>,
    /// Whom a sound token names.
    account: Option<AccountId>,
}

impl Service {
    pub fn new(app: App, router: Router) -> Arc<Service> {
        let cors = headers::Cors::new(&app.settings.cors_origins);
        let shares = Shares::of(app.settings.requests_at_once, u64::from_be_bytes(app.entropy.bytes()));
        let request_ids = headers::RequestIds::new(app.entropy);
        Arc::new(Service { app, router, cors, request_ids, shares })
    }

    /// Answers one request. Never fails and never panics: whatever goes wrong becomes a problem.
    pub async fn handle(&self, request: Request<Arriving>, peer: SocketAddr) -> Response {
        let started = Instant::now();
        let (head, body) = request.into_parts();
        let request_id = self.request_ids.of(&head.headers);
        let span = self.app.traces.begin(&head.headers, || self.app.clock.now());
        let method = head.method.clone();
        let path = head.uri.path().to_owned();
        let origin = head.headers.get(hyper::header::ORIGIN).cloned();

        let found = self.router.find(&method, &path);
        let endpoint: Option<&Endpoint> = match &found {
            Found::Endpoint(endpoint, _) => Some(*endpoint),
            _ => None,
        };
        let (route, is_screen) = (found.route(), matches!(found, Found::Screen(..)));
        let mut seen = Seen::default();
        let work = self.route(found, head, body, peer, &request_id, &mut seen);
        let outcome = match AssertUnwindSafe(work).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(_) => Err(Problem::internal("a handler panicked")),
        };
        let mut response = match outcome {
            Ok(response) => response,
            Err(problem) => {
                report(&problem, &method, route, &request_id);
                let page = is_screen.then(|| screen::apology(&problem, &request_id).ok()).flatten();
                page.unwrap_or_else(|| problem.render(&path, &request_id))
            }
        };
        headers::finish(response.headers_mut(), &request_id);
        if let Some(verdict) = &seen.standing {
            headers::rate_limit(response.headers_mut(), verdict);
        }
        self.cors.answer(origin.as_ref(), response.headers_mut());
        if method == Method::HEAD {
            response = without_body(response);
        }
        let (status, took) = (response.status(), started.elapsed());
        self.count(&method, endpoint, &seen, status, took);
        if let Some(span) = span {
            let route = endpoint.map(|endpoint| format!("{BASE}{}", endpoint.path));
            let answered = Answered { method: &method, route, status, request_id: &request_id, took };
            self.app.traces.answered(span, answered);
        }
        tracing::debug!(%method, route, status = status.as_u16(), request_id, "request");
        response
    }

    fn count(&self, method: &Method, endpoint: Option<&Endpoint>, seen: &Seen, status: StatusCode, took: Duration) {
        let (requests, traffic) = (&self.app.metrics.requests, &self.app.traffic);
        match endpoint {
            Some(endpoint) => endpoint.count(requests, method, status, took),
            None => requests.answered(method, "", status, took),
        }
        traffic.answered(status, took);
        if status.is_client_error() || status.is_server_error() {
            let route = endpoint.map(Endpoint::name).unwrap_or_default();
            if status == StatusCode::TOO_MANY_REQUESTS {
                traffic.count(Count::Limited, route.clone());
            }
            traffic.count(Count::RouteError, route);
            if let Some(account) = seen.account {
                traffic.count(Count::AccountError, account.to_string());
            }
        }
    }

    async fn route(
        &self,
        found: Found<'_>,
        head: hyper::http::request::Parts,
        body: Arriving,
        peer: SocketAddr,
        request_id: &str,
        seen: &mut Seen,
    ) -> Result<Response, Problem> {
        let ip = self.caller_ip(&head.headers, peer);
        let _place = self.shares.take(ip).map_err(|full| match full {
            Full::All => Problem::unavailable("The service is at its limit; try again."),
            Full::Share => Problem::unavailable("Too many of your requests are in work; let some of them end."),
        })?;
        match found {
            Found::Nothing => Err(Problem::not_found()),
            Found::OtherMethods(allow) => Err(Problem::method_not_allowed(allow)),
            Found::Options(allow) => {
                let mut response = full(StatusCode::NO_CONTENT, "");
                self.cors.preflight(&head.headers, &allow, response.headers_mut());
                Ok(response)
            }
            Found::Document(document) => Ok(document.answer(&head.headers)),
            Found::Screen(_, answer, path_values) => {
                let form = match head.method {
                    Method::POST => Form::read(&head.headers, body).await?,
                    _ => Form::default(),
                };
                answer(Visit { app: self.app.clone(), path_values, form }).await
            }
            Found::Endpoint(endpoint, path_values) => {
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
                let inbound = Inbound { head, path_values, body: Some(body), body_digest: None };
                self.answer(endpoint, origin, inbound, seen).await
            }
        }
    }

    async fn answer(
        &self,
        endpoint: &Endpoint,
        origin: Origin,
        inbound: Inbound,
        seen: &mut Seen,
    ) -> Result<Response, Problem> {
        let now = origin.now;
        let if_none_match = inbound.head.headers.get(IF_NONE_MATCH).cloned();

        // A connection is never held while waiting for another, which counting or recording may take: under load all
        // would be held by those who wait. Where counting waits for nothing, the one that told the caller also reads.
        let mut reader = None;
        let principal = if endpoint.who == Who::Anyone {
            self.limit(endpoint.limit, Subject::ip(origin.ip), now, seen).await?;
            None
        } else {
            let mut conn = match endpoint.changes() {
                true => self.app.db.read().await?,
                false => self.app.db.read_consistent().await?,
            };
            let principal = authenticate(&mut conn, &self.app, &inbound.head.headers, now).await?;
            seen.account = Some(principal.account_id);
            reader = Some(conn).filter(|_| !endpoint.changes() && !self.app.db.is_shared());
            self.limit(endpoint.limit, Subject::user(principal.person()), now, seen).await?;
            Some(principal)
        };
        let call = RequestCtx::new(origin, principal);
        let outcome = match admit(&call, &inbound.head.headers) {
            Ok(()) => {
                let conn = match reader {
                    None if !endpoint.changes() => Some(self.app.db.read().await?),
                    reader => reader,
                };
                endpoint.handler.run(call.clone(), conn, inbound).await
            }
            Err(problem) => {
                drop(reader);
                Err(problem)
            }
        };
        seen.standing = call.refused_by().or(seen.standing);
        match outcome {
            Ok(committed) => {
                if !endpoint.changes() {
                    record_read(&call).await?;
                }
                finished(committed, endpoint, if_none_match.as_ref())
            }
            Err(problem) => Err(refused(&call, problem).await),
        }
    }

    async fn limit(&self, limit: Limit, subject: Subject, now: Time, seen: &mut Seen) -> Result<(), Problem> {
        seen.standing = self.app.limits.take(limit, subject, now).await?;
        match &seen.standing {
            Some(verdict) if !verdict.allowed => {
                self.app.metrics.requests.limited.of(limit.name()).inc();
                Err(Problem::rate_limited(verdict.reset_seconds))
            }
            _ => Ok(()),
        }
    }

    /// The caller's address; a forwarded one counts only from proxies we were told to trust.
    fn caller_ip(&self, headers: &HeaderMap, peer: SocketAddr) -> IpAddr {
        let trusted = &self.app.settings.trusted_proxies;
        let is_trusted = |ip: IpAddr| trusted.iter().any(|network| network.contains(&ip));
        let mut ip = peer.ip().to_canonical();
        let forwarded = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
        let hops: Vec<&str> = forwarded.flat_map(|value| value.split(',')).map(str::trim).collect();
        // From the nearest hop outwards, as far as the chain of trust reaches.
        for hop in hops.into_iter().rev() {
            if !is_trusted(ip) {
                break;
            }
            match address_of(hop) {
                Some(next) => ip = next.to_canonical(),
                None => break,
            }
        }
        ip
    }
}

/// A forwarded address; some proxies add the port.
fn address_of(hop: &str) -> Option<IpAddr> {
    hop.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// The versions a change is meant for, however many headers name them. What cannot be read names none that there is.
fn if_match(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(IF_MATCH).iter().map(|value| value.to_str().unwrap_or_default());
    let first = values.next()?.to_owned();
    Some(values.fold(first, |list, value| format!("{list}, {value}")))
}

/// Role, scope and the presence of a key: what can be refused before the body is read.
fn admit(ctx: &RequestCtx, headers: &HeaderMap) -> Result<(), Problem> {
    let endpoint = &ctx.endpoint;
    if let Some(principal) = &ctx.principal {
        principal.check(endpoint.who, endpoint.changes())?;
    }
    if endpoint.idempotency == Idempotency::Required && idempotency::key(headers)?.is_none() {
        return Err(Problem::idempotency_key_required());
    }
    Ok(())
}

/// Takes the caller's key, if one was sent, and finds what it led to before.
pub(super) async fn claim_key(ctx: &RequestCtx, inbound: &Inbound) -> Result<Option<Rendered>, Problem> {
    let Some(principal) = &ctx.principal else { return Ok(None) };
    if ctx.endpoint.idempotency == Idempotency::None {
        return Ok(None);
    }
    let Some(key) = idempotency::key(&inbound.head.headers)? else { return Ok(None) };
    let path = inbound.head.uri.path();
    let claim = Claim::new(principal, ctx.endpoint.method.as_str(), path, key, inbound.body_digest);
    let stored = idempotency::find(&mut *ctx.app.db.read().await?, &ctx.app.keys, &claim, ctx.now).await?;
    ctx.set_claim(claim);
    Ok(stored)
}

/// A read that leaves a trace is answered only once the trace is there. Whatever an impersonator sees leaves one.
async fn record_read(ctx: &RequestCtx) -> Result<(), Problem> {
    let is_impersonated = ctx.principal.as_ref().is_some_and(|principal| principal.impersonator.is_some());
    let seen = is_impersonated.then(|| {
        ctx.note("path", ctx.path.as_str());
        "impersonation.read"
    });
    let Some(action) = ctx.endpoint.audit_action().or(seen) else { return Ok(()) };
    let work = (ctx.clone(), action);
    ctx.app.db.tx(work, |conn, (ctx, action)| Box::pin(ctx.record(conn, action))).await
}

fn finished(
    committed: HandlerOutput,
    endpoint: &Endpoint,
    if_none_match: Option<&HeaderValue>,
) -> Result<Response, Problem> {
    let HandlerOutput { rendered, replayed } = committed;
    let tag = match &rendered.payload {
        Payload::Whole(body) if endpoint.handler.is_tagged() => Some(conditional::etag(body)),
        _ => None,
    };
    let mut response = rendered.into_response();
    if let Some(tag) = tag {
        let known = if_none_match.and_then(|value| value.to_str().ok());
        if known.is_some_and(|list| conditional::matches(list, &tag)) {
            response = full(StatusCode::NOT_MODIFIED, "");
        }
        response.headers_mut().insert(ETAG, HeaderValue::from_str(&tag).map_err(Problem::internal)?);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    if replayed {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// A refusal leaves its audit row and, where a retry should see it again, the stored response: in one transaction.
async fn refused(ctx: &RequestCtx, problem: Problem) -> Problem {
    let problem = documented(&ctx.endpoint, problem);
    let action = ctx.endpoint.audit_action().filter(|_| is_audited(problem.code()));
    let claim = ctx.claim().filter(|_| problem.is_worth_storing());
    if action.is_none() && claim.is_none() {
        return problem;
    }
    let entry = action.map(|action| ctx.audit_entry(action, Outcome::Failure, Some(problem.code().as_str())));
    let kept = Snapshot::of(&rendered(ctx, &problem), &ctx.app.keys);
    let stored = claim.and_then(|claim| Some((claim, kept.ok()?)));
    let written = ctx
        .app
        .db
        .tx((ctx.clone(), entry, stored), |conn, (ctx, entry, stored)| {
            Box::pin(async move {
                if let Some((claim, kept)) = stored {
                    idempotency::store(conn, claim, kept, ctx.now).await?;
                }
                if let Some(entry) = entry {
                    audit::append(conn, &ctx.app.keys, ctx.app.entropy, ctx.now, entry).await?;
                }
                Ok::<_, Problem>(())
            })
        })
        .await;
    if let Err(unwritten) = written {
        tracing::error!(request_id = ctx.request_id, ?unwritten, "a refusal could not be recorded");
    }
    problem
}

/// What failed before it began (bad input, no token, over the limit) is no action; the rest is.
fn is_audited(code: Code) -> bool {
    !matches!(
        code,
        Code::Malformed
            | Code::ValidationFailed
            | Code::UnsupportedMediaType
            | Code::TooLarge
            | Code::RateLimited
            | Code::IdempotencyKeyRequired
            | Code::IdempotencyInProgress
            | Code::ServiceUnavailable
    )
}

fn rendered(ctx: &RequestCtx, problem: &Problem) -> Rendered {
    let (head, body) = problem.render_parts(&ctx.path, &ctx.request_id);
    Rendered { status: problem.code().status(), headers: head, payload: Payload::Whole(body) }
}

/// In debug builds, thus in every test, a problem that the table does not tell of is a fault.
fn documented(endpoint: &Endpoint, problem: Problem) -> Problem {
    if cfg!(debug_assertions) && !endpoint.tells_of(problem.code()) {
        return Problem::internal(format!("{} does not declare {problem:?}", endpoint.path));
    }
    problem
}

fn report(problem: &Problem, method: &Method, route: &str, request_id: &str) {
    let Some(cause) = problem.cause() else { return };
    tracing::error!(%method, route, request_id, code = problem.code().as_str(), cause = %chain(cause), "request failed");
}

fn chain(error: &(dyn std::error::Error + Send + Sync)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
