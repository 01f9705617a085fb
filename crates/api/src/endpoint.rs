//! An endpoint is declared once, as data; the pipeline, OpenAPI, the API reference and the tests read that row.
//!
//! The builder's types require `about`, `who` and `limit`, and `audit` (or `unaudited` with a reason) on a change: a row
//! without them does not compile.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::Duration;

use hyper::{Method, StatusCode};

use super::auth::Who;
use super::deprecation::Deprecation;
use super::handler::{AnyHandler, ReadHandler, Reading, WriteHandler, Writing};
use super::problem::Code;
use super::scopes::Scope;
use db::metrics::{Requests, Successes};
use platform::limits::Limit;
use values::AccountRole;

/// One row of the table.
pub struct Endpoint {
    pub method: Method,
    /// Below `/v1`, with names in braces.
    pub path: &'static str,
    /// What generated clients call it, such as `listTrunks`.
    pub operation_id: &'static str,
    /// Its title in the API reference: begins with a verb, no full stop.
    pub summary: &'static str,
    /// What it does, who may call it, and what happens next.
    pub description: &'static str,
    pub tag: Tag,
    pub who: Who,
    /// The least role of a customer's user that may call it; without one, only owners may.
    pub account_role: Option<AccountRole>,
    /// The scopes of API keys that may call it, any of them; without one it is closed to keys.
    pub scopes: Vec<Scope>,
    /// Open only to pages of the service itself: whoever has a cookie calls it.
    pub same_origin: bool,
    pub limit: Limit,
    pub idempotency: Idempotency,
    pub recent_sign_in: RecentSignIn,
    /// Whether a team member without the second factor that it must have may call it.
    pub open_before_enrollment: bool,
    /// Whether a replica may answer it, see [`EndpointBuilder::reads_replica`].
    pub reads_replica: bool,
    /// Set while it is announced to end.
    pub deprecation: Option<Deprecation>,
    audit: Audit,
    declared_problems: Vec<Code>,
    pub handler: Box<dyn AnyHandler>,
    /// Computed on first use.
    known_problems: OnceLock<BTreeSet<Code>>,
    successes: OnceLock<Successes>,
}

/// A heading of the API reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    pub name: &'static str,
    pub description: &'static str,
}

impl Tag {
    const NONE: Tag = Tag { name: "", description: "" };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idempotency {
    /// Money or provisioning: without a key the request is rejected.
    Required,
    /// A key is honoured if one is sent.
    Honoured,
    /// Reads, and requests without a token.
    None,
}

/// Whether the caller must have signed in within the last [`RECENT_SIGN_IN`](super::auth::RECENT_SIGN_IN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecentSignIn {
    NotNeeded,
    Needed,
    /// Only to set or change this field; the handler asks for it with `RequestCtx::require_recent_sign_in`.
    NeededFor(&'static str),
}

#[derive(Clone, Copy, Debug)]
enum Audit {
    Action(&'static str),
    Unaudited,
}

impl Endpoint {
    pub fn changes(&self) -> bool {
        self.method != Method::GET
    }

    pub fn audit_action(&self) -> Option<&'static str> {
        match self.audit {
            Audit::Action(action) => Some(action),
            Audit::Unaudited => None,
        }
    }

    /// The roles of a customer's users that may call it, as OpenAPI lists them (`x-account-roles`).
    pub fn account_roles(&self) -> Vec<&'static str> {
        let least = self.account_role.unwrap_or(AccountRole::Owner);
        let admitted = AccountRole::ALL.iter().filter(|role| role.covers(least));
        admitted.map(|role| role.as_str()).collect()
    }

    /// Method and path, for statistics.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Whether `If-Match` is supported.
    pub fn is_conditional(&self) -> bool {
        self.method == Method::PATCH || self.method == Method::PUT
    }

    /// Whether a success has an ETag: a read of one resource, and a change that `If-Match` may guard.
    pub fn has_etag(&self) -> bool {
        self.handler.is_tagged() || (self.is_conditional() && self.handler.names_version())
    }

    /// Whether OpenAPI lists this problem for the endpoint.
    pub fn declares(&self, code: Code) -> bool {
        let known = self.known_problems.get_or_init(|| {
            let mut requests = super::openapi::request_schemas();
            self.problems(&self.handler.describe(self.path, &mut requests).problems)
        });
        known.contains(&code)
    }

    /// Counts a response in the metrics.
    pub fn count(&self, requests: &Requests, method: &Method, status: StatusCode, took: Duration) {
        let find = || requests.successes(&self.method, self.path, self.handler.status());
        let successes = self.successes.get_or_init(find);
        if status == successes.status && *method == self.method {
            successes.answered(took);
        } else {
            requests.answered(method, self.path, status, took);
        }
    }

    /// Every problem the endpoint may respond with: from its row, its inputs and its own declaration.
    pub fn problems(&self, of_inputs: &[Code]) -> BTreeSet<Code> {
        let mut codes = BTreeSet::from([Code::Internal, Code::ServiceUnavailable]);
        codes.extend(of_inputs);
        codes.extend(&self.declared_problems);
        if self.who != Who::Anyone {
            codes.extend([Code::TokenInvalid, Code::TokenExpired]);
        }
        // Rows for any signed-in user are closed to some roles or to API keys.
        if self.who != Who::Anyone || self.same_origin {
            codes.insert(Code::Forbidden);
        }
        if self.limit != Limit::None {
            codes.insert(Code::RateLimited);
        }
        if self.idempotency != Idempotency::None {
            codes.extend([Code::IdempotencyKeyRequired, Code::IdempotencyConflict, Code::IdempotencyInProgress]);
        }
        if self.who.admits_team() && !self.open_before_enrollment {
            codes.insert(Code::SecondFactorRequired);
        }
        if self.recent_sign_in != RecentSignIn::NotNeeded {
            codes.insert(Code::ReauthenticationRequired);
        }
        if self.is_conditional() {
            codes.insert(Code::PreconditionFailed);
        }
        codes
    }
}

/// A part of a row that is not set yet.
pub struct Unset;
/// A part of a row that is set.
pub struct Set;

/// A row under construction: whether its description, callers, rate limit and audit action are set.
pub struct EndpointBuilder<D, W, L, A> {
    endpoint: Endpoint,
    parts: PhantomData<(D, W, L, A)>,
}

/// An endpoint that reads.
pub fn get<Args, H>(
    path: &'static str,
    handler: H,
    operation_id: &'static str,
    summary: &'static str,
) -> EndpointBuilder<Unset, Unset, Unset, Set>
where
    Args: 'static,
    H: ReadHandler<Args>,
{
    builder(Method::GET, path, Box::new(Reading(handler, PhantomData)), operation_id, summary)
}

macro_rules! changing {
    ($($name:ident $method:ident),*) => {$(
        /// An endpoint that changes data.
        pub fn $name<Args, H>(
            path: &'static str,
            handler: H,
            operation_id: &'static str,
            summary: &'static str,
        ) -> EndpointBuilder<Unset, Unset, Unset, Unset>
        where
            Args: 'static,
            H: WriteHandler<Args>,
        {
            builder(Method::$method, path, Box::new(Writing(handler, PhantomData)), operation_id, summary)
        }
    )*};
}

changing!(post POST, put PUT, patch PATCH, delete DELETE);

fn builder<D, W, L, A>(
    method: Method,
    path: &'static str,
    handler: Box<dyn AnyHandler>,
    operation_id: &'static str,
    summary: &'static str,
) -> EndpointBuilder<D, W, L, A> {
    let endpoint = Endpoint {
        method,
        path,
        operation_id,
        summary,
        description: "",
        tag: Tag::NONE,
        who: Who::Admin,
        account_role: None,
        scopes: Vec::new(),
        same_origin: false,
        limit: Limit::None,
        idempotency: Idempotency::None,
        recent_sign_in: RecentSignIn::NotNeeded,
        open_before_enrollment: false,
        reads_replica: false,
        deprecation: None,
        audit: Audit::Unaudited,
        declared_problems: Vec::new(),
        handler,
        known_problems: OnceLock::new(),
        successes: OnceLock::new(),
    };
    EndpointBuilder { endpoint, parts: PhantomData }
}

impl<D, W, L, A> EndpointBuilder<D, W, L, A> {
    fn retyped<D2, W2, L2, A2>(self) -> EndpointBuilder<D2, W2, L2, A2> {
        EndpointBuilder { endpoint: self.endpoint, parts: PhantomData }
    }

    /// Requires an `Idempotency-Key`.
    pub fn idempotent(mut self) -> Self {
        self.endpoint.idempotency = Idempotency::Required;
        self
    }

    /// The least role of a customer's user: `Viewer` admits every user of the account, any other that role and owners.
    pub fn account_role(mut self, least: AccountRole) -> Self {
        self.endpoint.account_role = Some(least);
        self
    }

    /// Opens it to API keys with this scope; given twice, with either.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.endpoint.scopes.push(scope);
        self
    }

    /// Open to pages of the service itself only, and never to CORS.
    pub fn same_origin(mut self) -> Self {
        self.endpoint.same_origin = true;
        self
    }

    /// Requires a recent sign-in.
    pub fn recent_sign_in(mut self) -> Self {
        self.endpoint.recent_sign_in = RecentSignIn::Needed;
        self
    }

    /// Open to team members who still have to set up their second factor.
    pub fn before_enrollment(mut self) -> Self {
        self.endpoint.open_before_enrollment = true;
        self
    }

    /// Announces its end: since when it is deprecated, when it ends, and what to use instead.
    pub fn deprecated(mut self, deprecation: Deprecation) -> Self {
        self.endpoint.deprecation = Some(deprecation);
        self
    }

    /// Requires a recent sign-in of a caller that sets or changes this field.
    pub fn recent_sign_in_for(mut self, field: &'static str) -> Self {
        self.endpoint.recent_sign_in = RecentSignIn::NeededFor(field);
        self
    }

    /// Problems of the handler, in addition to those that follow from the row.
    pub fn problems(mut self, codes: &[Code]) -> Self {
        self.endpoint.declared_problems.extend(codes);
        self
    }
}

impl<W, L, A> EndpointBuilder<Unset, W, L, A> {
    /// What it does, who may call it, and what happens next, in one to three sentences.
    pub fn about(mut self, description: &'static str) -> EndpointBuilder<Set, W, L, A> {
        self.endpoint.description = description;
        self.retyped()
    }
}

impl<D, L, A> EndpointBuilder<D, Unset, L, A> {
    /// Who may call it.
    pub fn who(mut self, who: Who) -> EndpointBuilder<D, Set, L, A> {
        self.endpoint.who = who;
        if self.endpoint.changes() && who != Who::Anyone && self.endpoint.idempotency == Idempotency::None {
            self.endpoint.idempotency = Idempotency::Honoured;
        }
        self.retyped()
    }
}

impl<D, W, A> EndpointBuilder<D, W, Unset, A> {
    /// Its rate limit.
    pub fn limit(mut self, limit: Limit) -> EndpointBuilder<D, W, Set, A> {
        self.endpoint.limit = limit;
        self.retyped()
    }
}

impl<D, W, L> EndpointBuilder<D, W, L, Unset> {
    /// Its action in the audit log.
    pub fn audit(mut self, action: &'static str) -> EndpointBuilder<D, W, L, Set> {
        self.endpoint.audit = Audit::Action(action);
        self.retyped()
    }

    /// Not in the audit log, with the reason for the reader of the table.
    pub fn unaudited(self, _reason: &'static str) -> EndpointBuilder<D, W, L, Set> {
        self.retyped()
    }
}

impl<D, W, L> EndpointBuilder<D, W, L, Set> {
    /// Audits a read; the audit row is written before the response.
    pub fn audited_read(mut self, action: &'static str) -> Self {
        self.endpoint.audit = Audit::Action(action);
        self
    }

    /// May be answered by a replica, so by rows that are some seconds old: lists and reports of calls, and nothing that
    /// shows a balance or what somebody may do.
    pub fn reads_replica(mut self) -> Self {
        debug_assert!(!self.endpoint.changes(), "{} changes something", self.endpoint.path);
        self.endpoint.reads_replica = true;
        self
    }
}

impl EndpointBuilder<Set, Set, Set, Set> {
    /// A complete row, under a heading of the API reference.
    pub fn under(mut self, tag: Tag) -> Endpoint {
        self.endpoint.tag = tag;
        self.endpoint
    }
}
