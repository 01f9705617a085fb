//! Problem details (RFC 7807): every error response.
//!
//! Each code is in the table below once, with its status and title. A `Problem` is created only by its constructors, so
//! `type` means the same on every endpoint.

mod sources;

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use schemars::JsonSchema;
use serde::Serialize;

use super::response::{Response, full};
use super::scopes::Scope;
use values::{ExactMoney, Money};

/// The prefix of every problem `type`.
pub const URN_PREFIX: &str = "urn:service:voice:problem:";

macro_rules! codes {
    ($($variant:ident = $code:literal, $status:ident, $title:literal $(, $about:literal)?;)*) => {
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

            /// When it is sent and what to do, for the API reference.
            pub const fn about(self) -> &'static str {
                match self { $(Code::$variant => concat!("" $(, $about)?)),* }
            }
        }
    };
}

codes! {
    Malformed = "request.malformed", BAD_REQUEST, "Malformed request",
        "The request is not valid HTTP; its body is not JSON, has a key twice or is incomplete; `Host` is missing, invalid or given twice; or the query string is not UTF-8. Correct the request.";
    IdempotencyKeyRequired = "idempotency.key_required", BAD_REQUEST, "Idempotency-Key required",
        "The endpoint requires an `Idempotency-Key`, or the one sent is not a UUID v4. Send a new UUID v4, and the same one when you retry.";
    InvalidCredentials = "auth.invalid_credentials", UNAUTHORIZED, "Invalid credentials",
        "The email, password or code is wrong. Ask for them again.";
    TokenExpired = "auth.token_expired", UNAUTHORIZED, "Access token expired",
        "A token or link has expired. Refresh the access token with `POST /auth/refresh`, or request a new link.";
    TokenInvalid = "auth.token_invalid", UNAUTHORIZED, "Access token invalid",
        "A token is missing, unknown, spent or revoked. Sign in again.";
    BalanceInsufficient = "balance.insufficient", PAYMENT_REQUIRED, "Insufficient prepaid balance",
        "The request needs `required` and only `available` is there; both are amounts in the body. Top up, then repeat the request.";
    Forbidden = "auth.forbidden", FORBIDDEN, "Forbidden",
        "The caller's role, token scope or second factor does not allow this. Another caller may.";
    ReauthenticationRequired = "auth.reauthentication_required", FORBIDDEN, "Recent sign-in required",
        "The last sign-in is more than 15 minutes old. Call `POST /auth/reauthenticate`, then repeat the request.";
    SecondFactorRequired = "auth.second_factor_required", FORBIDDEN, "Second factor required",
        "A team member must set up a second factor first, with `POST /me/2fa/enroll` or a passkey.";
    AccountNotActive = "account.not_active", FORBIDDEN, "Account not active",
        "The account is suspended, or not approved for this yet. Complete the onboarding, or contact support.";
    NotFound = "not_found", NOT_FOUND, "Resource not found",
        "The resource does not exist, or is not visible to the caller.";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "Method not allowed",
        "The path exists with other methods. See the `Allow` header.";
    RequestTimeout = "request.timeout", REQUEST_TIMEOUT, "Request timeout",
        "The body did not arrive in time, or too slowly. Repeat the request.";
    IdempotencyConflict = "idempotency.conflict", CONFLICT, "Idempotency-Key conflict",
        "The key was first used with another body. Use a new key for a new request.";
    IdempotencyInProgress = "idempotency.in_progress", CONFLICT, "Request still in progress",
        "The first request with this key is still running. Repeat the request after `Retry-After` seconds.";
    StateConflict = "state.conflict", CONFLICT, "State does not allow this",
        "The state of the resource does not allow this, or a limit on their number is reached. The detail names the state.";
    ResourceInUse = "resource.in_use", CONFLICT, "Resource in use",
        "Something else still needs the resource, or has it already. Release it there first.";
    InventoryExhausted = "inventory.exhausted", CONFLICT, "No free number",
        "No number of the group or area is free. Choose another, or try later.";
    PreconditionFailed = "precondition.failed", PRECONDITION_FAILED, "Precondition failed",
        "The resource has changed since the version in `If-Match`. Read it again and repeat the change.";
    TooLarge = "request.too_large", PAYLOAD_TOO_LARGE, "Request too large",
        "The body is larger than the endpoint accepts. The detail names the limit.";
    UnsupportedMediaType = "request.unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type",
        "The body must be `application/json`, or the media type of an upload. Correct `Content-Type`.";
    ValidationFailed = "validation.failed", UNPROCESSABLE_ENTITY, "Validation failed",
        "One or more fields are not valid. `invalid_params` names all of them.";
    RateLimited = "rate_limited", TOO_MANY_REQUESTS, "Rate limit exceeded",
        "Too many requests, or too many password checks or CDR imports in progress. Wait `Retry-After` seconds.";
    HeadersTooLarge = "request.headers_too_large", REQUEST_HEADER_FIELDS_TOO_LARGE, "Request headers too large",
        "The request has more than 128 headers, or more than 32 KiB of them. Send fewer.";
    Internal = "internal", INTERNAL_SERVER_ERROR, "Internal server error",
        "A fault of the service; its log has the cause under the request id. Quote the id when you contact support.";
    UpstreamUnavailable = "upstream.unavailable", SERVICE_UNAVAILABLE, "Upstream carrier unavailable",
        "The DID supplier does not answer. The number order continues, and the same request later returns its outcome.";
    ServiceUnavailable = "service.unavailable", SERVICE_UNAVAILABLE, "Service unavailable",
        "The database, file store or payment provider does not answer, a disk is full, or the service is at capacity or stopping. Repeat the request after `Retry-After` seconds.";
}

/// A field of the request that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct InvalidParam {
    /// Name of the field; nested names have dots, such as `postal_address.country` or `target_countries.2`.
    pub name: String,
    /// What is wrong with the value, such as `is required`.
    pub reason: String,
}

/// Error response (problem details, RFC 7807).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemBody<'a> {
    /// URN of the problem code; stable, so clients branch on it.
    #[serde(rename = "type")]
    #[schemars(url)]
    kind: String,
    /// Short summary of the problem code.
    title: &'static str,
    /// HTTP status code of the response.
    status: u16,
    /// What is wrong with this request and what to do; the text may change.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    /// Path of the request.
    instance: &'a str,
    /// Id of the request; quote it when you contact support.
    request_id: &'a str,
    /// The fields that are not valid; with `validation.failed`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    invalid_params: &'a [InvalidParam],
    /// Seconds to wait before the next try, as in the `Retry-After` header.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    /// Amount that the request requires; with `balance.insufficient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<ExactMoney>,
    /// Amount that is available; with `balance.insufficient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<ExactMoney>,
    /// Scope that the API key lacks; with `auth.forbidden`.
    #[serde(skip_serializing_if = "Option::is_none")]
    required_scope: Option<Scope>,
}

/// Why a request failed. Boxed, so that `Result<_, Problem>` stays small.
pub struct Problem(Box<Inner>);

struct Inner {
    code: Code,
    detail: Option<Cow<'static, str>>,
    invalid_params: Vec<InvalidParam>,
    retry_after: Option<u64>,
    allow: Option<String>,
    shortage: Option<Shortage>,
    required_scope: Option<Scope>,
    /// The underlying error: for the log, never for the client.
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The smallest top-up that a detail suggests: 10.00.
const MIN_TOP_UP_NANOS: i64 = 10_000_000_000;

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
            required_scope: None,
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
            "Send a new UUID v4 in the Idempotency-Key header, and the same one when you retry.",
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
        let top_up = Money::from_nanos(missing.rounded_up().nanos().max(MIN_TOP_UP_NANOS), required.currency());
        Problem::balance_short(
            required,
            available,
            format!("This requires {required}, but only {available} is available. Top up at least {top_up}."),
        )
    }

    /// A balance is too small, with a detail of the caller's own.
    pub fn balance_short(required: Money, available: Money, detail: String) -> Problem {
        let mut problem = Problem::with_detail(Code::BalanceInsufficient, detail);
        problem.0.shortage = Some(Shortage { required, available });
        problem
    }

    pub fn forbidden(detail: &'static str) -> Problem {
        Problem::with_detail(Code::Forbidden, detail)
    }

    /// The API key lacks a scope.
    pub fn scope_required(scope: Scope) -> Problem {
        let mut problem = Problem::with_detail(Code::Forbidden, format!("The API key needs the scope {scope}."));
        problem.0.required_scope = Some(scope);
        problem
    }

    /// The caller signed in too long ago for this.
    pub fn reauthentication_required() -> Problem {
        Problem::with_detail(
            Code::ReauthenticationRequired,
            "This needs a sign-in of the last 15 minutes. Prove your identity again with POST \
             /v1/auth/reauthenticate, then repeat the request.",
        )
    }

    /// A team member must set up a second factor before anything else.
    pub fn second_factor_required() -> Problem {
        Problem::with_detail(
            Code::SecondFactorRequired,
            "The team signs in with a second factor only. Set one up with POST /v1/me/2fa/enroll or a passkey, then \
             repeat the request.",
        )
    }

    /// The account is suspended, or not yet approved for this.
    pub fn account_not_active(detail: &'static str) -> Problem {
        Problem::with_detail(Code::AccountNotActive, detail)
    }

    pub fn not_found() -> Problem {
        Problem::with_detail(Code::NotFound, "The resource does not exist, or you may not see it.")
    }

    /// The resource does not exist any more; the detail says where it is.
    pub fn gone_to(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::NotFound, detail)
    }

    /// There is nothing here until the operator sets something up; the detail says what.
    pub fn not_set_up(detail: &'static str) -> Problem {
        Problem::with_detail(Code::NotFound, detail)
    }

    pub fn method_not_allowed(allow: String) -> Problem {
        let mut problem = Problem::with_detail(Code::MethodNotAllowed, format!("This path allows {allow}."));
        problem.0.allow = Some(allow);
        problem
    }

    pub fn idempotency_conflict() -> Problem {
        Problem::with_detail(
            Code::IdempotencyConflict,
            "This Idempotency-Key was used with a different body before. Use a new key for a new request.",
        )
    }

    pub fn idempotency_in_progress() -> Problem {
        Problem::with_detail(
            Code::IdempotencyInProgress,
            "The first request with this Idempotency-Key is still running. Retry later.",
        )
        .retry_after(1)
    }

    /// The resource's state does not allow this. The detail names the state, and the states that would.
    pub fn state_conflict(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::StateConflict, detail)
    }

    /// Something else still needs the resource.
    pub fn resource_in_use(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::ResourceInUse, detail)
    }

    /// The inventory group has no free number.
    pub fn inventory_exhausted(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::InventoryExhausted, detail)
    }

    pub fn precondition_failed() -> Problem {
        Problem::with_detail(
            Code::PreconditionFailed,
            "The resource has changed since the version in If-Match. Read it again and repeat the change.",
        )
    }

    pub fn too_large(limit_bytes: usize) -> Problem {
        Problem::with_detail(Code::TooLarge, format!("The body must not exceed {limit_bytes} bytes."))
    }

    pub fn request_timeout() -> Problem {
        Problem::with_detail(Code::RequestTimeout, "The body did not arrive in time. Repeat the request.")
    }

    pub fn headers_too_large() -> Problem {
        Problem::with_detail(Code::HeadersTooLarge, "The request has too many or too large headers.")
    }

    pub fn unsupported_media_type(expected: &str) -> Problem {
        Problem::with_detail(Code::UnsupportedMediaType, format!("Send the body as {expected}."))
    }

    /// See `Faults`.
    pub(super) fn validation(invalid_params: Vec<InvalidParam>) -> Problem {
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

    pub fn rate_limited(retry_after: u64) -> Problem {
        Problem::with_detail(Code::RateLimited, "Too many requests. Wait before you retry.").retry_after(retry_after)
    }

    /// The user made too many wrong guesses.
    pub fn too_many_guesses(retry_after: u64) -> Problem {
        Problem::with_detail(
            Code::RateLimited,
            "Too many wrong codes or passwords. Wait before you retry, or use a recovery code or a passkey.",
        )
        .retry_after(retry_after)
    }

    pub fn unavailable(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::ServiceUnavailable, detail).retry_after(1)
    }

    /// An upstream or provider is not reachable. The work continues; repeating the request returns its result.
    pub fn upstream_unavailable(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::with_detail(Code::UpstreamUnavailable, detail).retry_after(5)
    }

    /// An unexpected error. The cause is logged with the request id; the client gets only the id.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Problem {
        let mut problem = Problem::with_detail(
            Code::Internal,
            "An unexpected error occurred. Quote the request id when you contact support.",
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

    /// The invalid fields.
    pub fn invalid_params(&self) -> &[InvalidParam] {
        &self.0.invalid_params
    }

    pub fn cause(&self) -> Option<&(dyn std::error::Error + Send + Sync)> {
        self.0.cause.as_deref()
    }

    /// Whether the problem is stored and replayed to a retry with the same key. Otherwise the retry runs again.
    pub fn is_stored_for_replay(&self) -> bool {
        let status = self.0.code.status();
        status.is_client_error()
            && !matches!(
                self.0.code,
                Code::RateLimited
                    | Code::ReauthenticationRequired
                    | Code::SecondFactorRequired
                    | Code::InvalidCredentials
                    | Code::TokenExpired
                    | Code::TokenInvalid
                    | Code::ValidationFailed
                    | Code::Malformed
                    | Code::PreconditionFailed
                    | Code::IdempotencyKeyRequired
                    | Code::IdempotencyConflict
                    | Code::IdempotencyInProgress
                    | Code::TooLarge
                    | Code::RequestTimeout
                    | Code::UnsupportedMediaType
            )
    }

    /// The response.
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
            required_scope: inner.required_scope,
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

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}) caused by {:?}", self.0.code.as_str(), self.0.detail, self.0.cause)
    }
}
