//! Problem details: the only way the service says no.
//!
//! Every code stands once in the table below with its status and title; `Problem`'s constructors are the only
//! way to make one, so a client can rely on `type` meaning one thing everywhere.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use schemars::JsonSchema;
use serde::Serialize;

use super::response::{Response, full};
use db::DbError;
use platform::crypto::passwords::PasswordError;
use platform::ledger::LedgerError;
use platform::outside::files::FilesError;
use values::{ExactMoney, Money};

/// What every problem `type` begins with.
pub const URN_PREFIX: &str = "urn:service:voice:problem:";

macro_rules! codes {
    ($($variant:ident = $code:literal, $status:ident, $title:literal;)*) => {
        /// A stable error code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($variant),* }

        impl Code {
            pub const ALL: &[Code] = &[$(Code::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $code),* }
            }

            pub const fn status(self) -> StatusCode {
                match self { $(Code::$variant => StatusCode::$status),* }
            }

            pub const fn title(self) -> &'static str {
                match self { $(Code::$variant => $title),* }
            }
        }
    };
}

codes! {
    Malformed = "request.malformed", BAD_REQUEST, "Malformed request";
    IdempotencyKeyRequired = "idempotency.key_required", BAD_REQUEST, "Idempotency-Key required";
    InvalidCredentials = "auth.invalid_credentials", UNAUTHORIZED, "Invalid credentials";
    TokenExpired = "auth.token_expired", UNAUTHORIZED, "Access token expired";
    TokenInvalid = "auth.token_invalid", UNAUTHORIZED, "Access token invalid";
    BalanceInsufficient = "balance.insufficient", PAYMENT_REQUIRED, "Insufficient prepaid balance";
    Forbidden = "auth.forbidden", FORBIDDEN, "Forbidden";
    AccountNotActive = "account.not_active", FORBIDDEN, "Account not active";
    NotFound = "not_found", NOT_FOUND, "Resource not found";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    IdempotencyConflict = "idempotency.conflict", CONFLICT, "Idempotency-Key conflict";
    IdempotencyInProgress = "idempotency.in_progress", CONFLICT, "Request still in progress";
    StateConflict = "state.conflict", CONFLICT, "State does not allow this";
    ResourceInUse = "resource.in_use", CONFLICT, "Resource in use";
    InventoryExhausted = "inventory.exhausted", CONFLICT, "No free number";
    PreconditionFailed = "precondition.failed", PRECONDITION_FAILED, "Precondition failed";
    TooLarge = "request.too_large", PAYLOAD_TOO_LARGE, "Request too large";
    UnsupportedMediaType = "request.unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type";
    ValidationFailed = "validation.failed", UNPROCESSABLE_ENTITY, "Validation failed";
    RateLimited = "rate_limited", TOO_MANY_REQUESTS, "Rate limit exceeded";
    Internal = "internal", INTERNAL_SERVER_ERROR, "Internal server error";
    UpstreamUnavailable = "upstream.unavailable", SERVICE_UNAVAILABLE, "Upstream carrier unavailable";
    ServiceUnavailable = "service.unavailable", SERVICE_UNAVAILABLE, "Service unavailable";
}

/// One failing field of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct InvalidParam {
    /// The field, nested names dotted: `postal_address.country`, `target_countries.2`.
    pub name: String,
    pub reason: String,
}

/// The error body (RFC 7807), as clients see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemBody<'a> {
    /// A stable URN; clients branch on it.
    #[serde(rename = "type")]
    #[schemars(url)]
    kind: String,
    title: &'static str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    /// The path of the request.
    instance: &'a str,
    /// The id to cite in a support ticket.
    request_id: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    invalid_params: &'a [InvalidParam],
    /// Seconds to wait before another try.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    /// What would have to be available; with `balance.insufficient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<ExactMoney>,
    /// What is; with `balance.insufficient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<ExactMoney>,
}

/// Why a request was refused. Boxed, so that `Result<_, Problem>` stays small.
pub struct Problem(Box<Inner>);

struct Inner {
    code: Code,
    detail: Option<Cow<'static, str>>,
    invalid_params: Vec<InvalidParam>,
    retry_after: Option<u64>,
    allow: Option<String>,
    shortage: Option<Shortage>,
    /// What really happened: for the log, never for the client.
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What somebody who lacks money is asked for at least, in nanos: 10 euros.
const LEAST_TOP_UP: i64 = 10_000_000_000;

/// Less money than it takes.
struct Shortage {
    required: Money,
    available: Money,
}

impl Problem {
    fn of(code: Code) -> Problem {
        Problem(Box::new(Inner {
            code,
            detail: None,
            invalid_params: Vec::new(),
            retry_after: None,
            allow: None,
            shortage: None,
            cause: None,
        }))
    }

    fn with_detail(code: Code, detail: impl Into<Cow<'static, str>>) -> Problem {
        let mut problem = Problem::of(code);
        problem.0.detail = Some(detail.into());
        problem
    }

    pub fn malformed(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::Malformed, detail)
    }

    pub fn idempotency_key_required() -> Problem {
        Problem::with_detail(
            Code::IdempotencyKeyRequired,
            "Send a UUID v4 of your own in the Idempotency-Key header; repeat it when you retry.",
        )
    }

    pub fn invalid_credentials(detail: &'static str) -> Problem {
        Problem::with_detail(Code::InvalidCredentials, detail)
    }

    pub fn token_expired(detail: &'static str) -> Problem {
        Problem::with_detail(Code::TokenExpired, detail)
    }

    pub fn token_invalid(detail: &'static str) -> Problem {
        Problem::with_detail(Code::TokenInvalid, detail)
    }

    /// The caller's own balance is too small.
    pub fn balance_insufficient(required: Money, available: Money) -> Problem {
        let missing = Money::from_nanos(required.nanos().saturating_sub(available.nanos()), required.currency());
        let top_up = Money::from_nanos(missing.rounded_up().nanos().max(LEAST_TOP_UP), required.currency());
        Problem::balance_short(
            required,
            available,
            format!(
                "This takes {required}, and {available} is available: {missing} is missing. \
                 Top up by at least {top_up}."
            ),
        )
    }

    /// Somebody's balance is too small, and what can be done about it is another matter than topping up.
    pub fn balance_short(required: Money, available: Money, detail: String) -> Problem {
        let mut problem = Problem::with_detail(Code::BalanceInsufficient, detail);
        problem.0.shortage = Some(Shortage { required, available });
        problem
    }

    pub fn forbidden(detail: &'static str) -> Problem {
        Problem::with_detail(Code::Forbidden, detail)
    }

    /// The account is suspended, or not yet approved for this.
    pub fn account_not_active(detail: &'static str) -> Problem {
        Problem::with_detail(Code::AccountNotActive, detail)
    }

    pub fn not_found() -> Problem {
        Problem::with_detail(Code::NotFound, "There is no such resource, or it is not yours to see.")
    }

    pub fn method_not_allowed(allow: String) -> Problem {
        let mut problem = Problem::with_detail(Code::MethodNotAllowed, format!("This path answers to {allow}."));
        problem.0.allow = Some(allow);
        problem
    }

    pub fn idempotency_conflict() -> Problem {
        Problem::with_detail(Code::IdempotencyConflict, "This Idempotency-Key was first used with another body.")
    }

    pub fn idempotency_in_progress() -> Problem {
        Problem::with_detail(
            Code::IdempotencyInProgress,
            "The first request with this Idempotency-Key is still running.",
        )
        .retry_after(1)
    }

    /// The resource's state does not allow the move: names where it is and from where the move would be allowed.
    pub fn state_conflict(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::StateConflict, detail)
    }

    /// Something else still needs the resource.
    pub fn resource_in_use(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::ResourceInUse, detail)
    }

    /// No number is free that would do.
    pub fn inventory_exhausted(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::InventoryExhausted, detail)
    }

    pub fn precondition_failed() -> Problem {
        Problem::with_detail(Code::PreconditionFailed, "The resource has changed since the version named in If-Match.")
    }

    pub fn too_large(limit_bytes: usize) -> Problem {
        Problem::with_detail(Code::TooLarge, format!("The body may have at most {limit_bytes} bytes."))
    }

    pub fn unsupported_media_type(expected: &str) -> Problem {
        Problem::with_detail(Code::UnsupportedMediaType, format!("Send the body as {expected}."))
    }

    /// Names one more failing field.
    pub fn also_invalid(self, name: impl Into<String>, reason: impl Into<String>) -> Problem {
        let mut invalid_params = self.0.invalid_params;
        invalid_params.push(InvalidParam { name: name.into(), reason: reason.into() });
        Problem::validation(invalid_params)
    }

    pub fn validation(mut invalid_params: Vec<InvalidParam>) -> Problem {
        invalid_params.sort();
        invalid_params.dedup();
        let mut problem = Problem::with_detail(
            Code::ValidationFailed,
            match invalid_params.len() {
                1 => "One field is not valid.".to_owned(),
                count => format!("{count} fields are not valid."),
            },
        );
        problem.0.invalid_params = invalid_params;
        problem
    }

    /// A validation failure of a single field.
    pub fn invalid(name: impl Into<String>, reason: impl Into<String>) -> Problem {
        Problem::validation(vec![InvalidParam { name: name.into(), reason: reason.into() }])
    }

    pub fn rate_limited(retry_after: u64) -> Problem {
        Problem::with_detail(Code::RateLimited, "Too many requests; wait before the next one.").retry_after(retry_after)
    }

    pub fn unavailable(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::ServiceUnavailable, detail).retry_after(1)
    }

    /// A carrier does not answer; what was begun goes on, and the same request later hears how.
    pub fn upstream_unavailable(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::UpstreamUnavailable, detail).retry_after(5)
    }

    /// Something that should not happen. The cause is logged once, with the request id; the client learns only the id.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Problem {
        let mut problem = Problem::with_detail(
            Code::Internal,
            "Something went wrong on our side; cite the request id if you write to support.",
        );
        problem.0.cause = Some(cause.into());
        problem
    }

    fn retry_after(mut self, seconds: u64) -> Problem {
        self.0.retry_after = Some(seconds.max(1));
        self
    }

    pub fn code(&self) -> Code {
        self.0.code
    }

    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// What is wrong with which field.
    pub fn invalid_params(&self) -> &[InvalidParam] {
        &self.0.invalid_params
    }

    pub fn cause(&self) -> Option<&(dyn std::error::Error + Send + Sync)> {
        self.0.cause.as_deref()
    }

    /// Failures that leave no trace for a retry: the next try with the same key runs.
    pub fn is_worth_storing(&self) -> bool {
        let status = self.0.code.status();
        status.is_client_error()
            && !matches!(
                self.0.code,
                Code::RateLimited
                    | Code::InvalidCredentials
                    | Code::TokenExpired
                    | Code::TokenInvalid
                    | Code::ValidationFailed
                    | Code::Malformed
                    | Code::IdempotencyKeyRequired
                    | Code::IdempotencyConflict
                    | Code::IdempotencyInProgress
                    | Code::TooLarge
                    | Code::UnsupportedMediaType
            )
    }

    /// The response a client gets.
    pub fn render(&self, instance: &str, request_id: &str) -> Response {
        let (headers, body) = self.render_parts(instance, request_id);
        let mut response = full(self.0.code.status(), body);
        *response.headers_mut() = headers;
        response
    }

    pub fn render_parts(&self, instance: &str, request_id: &str) -> (HeaderMap, Bytes) {
        let inner = &*self.0;
        let body = ProblemBody {
            kind: format!("{URN_PREFIX}{}", inner.code.as_str()),
            title: inner.code.title(),
            status: inner.code.status().as_u16(),
            detail: inner.detail.as_deref(),
            instance,
            request_id,
            invalid_params: &inner.invalid_params,
            retry_after: inner.retry_after,
            required: inner.shortage.as_ref().map(|shortage| shortage.required.into()),
            available: inner.shortage.as_ref().map(|shortage| shortage.available.into()),
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = inner.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(allow) = inner.allow.as_deref().and_then(|allow| HeaderValue::from_str(allow).ok()) {
            headers.insert(ALLOW, allow);
        }
        if inner.code.status() == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        (headers, serde_json::to_vec(&body).unwrap_or_default().into())
    }
}

impl From<DbError> for Problem {
    fn from(error: DbError) -> Self {
        match error {
            DbError::NotFound => Problem::not_found(),
            DbError::Unavailable(_) | DbError::Retry | DbError::LockTimeout => {
                let mut problem = Problem::unavailable("The database does not answer; try again.");
                problem.0.cause = Some(Box::new(error));
                problem
            }
            error => Problem::internal(error),
        }
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Insufficient { required, available } => Problem::balance_insufficient(required, available),
            LedgerError::Conflict { .. } | LedgerError::NoHold { .. } | LedgerError::TooLarge => {
                Problem::state_conflict(format!("The ledger refuses this: {error}."))
            }
            LedgerError::Invalid(_) => Problem::internal(error),
            LedgerError::Db(error) => error.into(),
        }
    }
}

impl From<FilesError> for Problem {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::TooLarge { limit_bytes } => {
                Problem::too_large(usize::try_from(limit_bytes).unwrap_or(usize::MAX))
            }
            FilesError::BrokenOff(_) => Problem::malformed("The file broke off."),
            FilesError::Bucket(error) if error.is_passing() => {
                let mut problem = Problem::unavailable("The file store does not answer; try again.");
                problem.0.cause = Some(Box::new(error));
                problem
            }
            error => Problem::internal(error),
        }
    }
}

impl From<PasswordError> for Problem {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::Busy => Problem::rate_limited(1),
            PasswordError::Broken(cause) => Problem::internal(cause),
        }
    }
}

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}) caused by {:?}", self.0.code.as_str(), self.0.detail, self.0.cause)
    }
}
