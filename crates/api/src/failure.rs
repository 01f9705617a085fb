//! What becomes of a request that failed: its audit row, its stored response, and the log line of its cause.

use hyper::Method;

use super::answer::{Payload, Rendered};
use super::context::RequestCtx;
use super::endpoint::Endpoint;
use super::idempotency::{self, StoredResponse};
use super::problem::{Code, Problem};
use platform::audit;

/// What a request that failed is answered with.
pub enum Failure {
    Problem(Problem),
    /// The same request was sent twice at once: this is the answer to the other.
    Replayed(Rendered),
}

/// Writes the audit row of a failed request and, if the problem is replayed to retries, the stored response.
pub async fn record(ctx: &RequestCtx, problem: Problem) -> Failure {
    let problem = check_declared(&ctx.endpoint, problem);
    let code = problem.code();
    let entry = if is_audited(code) { ctx.failure_entry(code.as_str()) } else { None };
    let claim = ctx.claim().filter(|_| problem.is_stored_for_replay());
    if entry.is_none() && claim.is_none() {
        return Failure::Problem(problem);
    }
    let response = StoredResponse::new(&rendered(ctx, &problem), &ctx.app.keys);
    let stored = claim.and_then(|claim| Some((claim, response.ok()?)));
    let written = ctx
        .app
        .db
        .tx((ctx.clone(), entry, stored), |conn, (ctx, entry, stored)| {
            Box::pin(async move {
                if let Some((claim, response)) = stored
                    && !idempotency::store(conn, claim, response).await?
                    && let Ok(Some(answer)) = idempotency::find(conn, &ctx.app.keys, claim).await
                {
                    return Ok(Some(answer));
                }
                if let Some(entry) = entry {
                    audit::append(conn, &ctx.app.keys, entry).await?;
                }
                Ok::<_, Problem>(None)
            })
        })
        .await;
    match written {
        Ok(Some(answer)) => return Failure::Replayed(answer),
        Ok(None) => {}
        Err(error) => {
            tracing::error!(request_id = ctx.request_id, ?error, "audit row of a failed request not written");
        }
    }
    Failure::Problem(problem)
}

/// Requests that fail before the action begins (invalid input, rate limit) are not audited.
fn is_audited(code: Code) -> bool {
    !matches!(
        code,
        Code::Malformed
            | Code::ValidationFailed
            | Code::UnsupportedMediaType
            | Code::TooLarge
            | Code::RequestTimeout
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

/// In debug builds, so in every test, a problem that the endpoint does not declare is an internal error.
fn check_declared(endpoint: &Endpoint, problem: Problem) -> Problem {
    if cfg!(debug_assertions) && !endpoint.declares(problem.code()) {
        return Problem::internal(format!("{} does not declare {problem:?}", endpoint.path));
    }
    problem
}

pub fn log_cause(problem: &Problem, method: &Method, route: &str, request_id: &str) {
    let Some(cause) = problem.cause() else { return };
    let (code, cause) = (problem.code().as_str(), with_sources(cause));
    tracing::error!(%method, route, request_id, code, %cause, "request failed");
}

fn with_sources(error: &(dyn std::error::Error + Send + Sync)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
