//! An endpoint is declared once, as data. The pipeline, OpenAPI and the tests all read it from there.
//!
//! `who` and `limit` are demanded by the builder's types, and so is `audit` (or the reason why not) on a change:
//! a row without them does not compile.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::Duration;

use hyper::{Method, StatusCode};

use super::auth::Who;
use super::handler::{AnyHandler, ReadHandler, Reading, WriteHandler, Writing};
use super::problem::Code;
use db::metrics::{Requests, Successes};
use platform::limits::Limit;

/// One row of the table.
pub struct Endpoint {
    pub method: Method,
    /// Below `/v1`, with names in braces.
    pub path: &'static str,
    pub summary: &'static str,
    pub tag: &'static str,
    pub who: Who,
    pub limit: Limit,
    pub idempotency: Idempotency,
    audit: Audit,
    declared_problems: Vec<Code>,
    pub handler: Box<dyn AnyHandler>,
    /// Worked out when first asked for.
    known_problems: OnceLock<BTreeSet<Code>>,
    successes: OnceLock<Successes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idempotency {
    /// Money, provisioning or carriers: without a key the request is refused.
    Required,
    /// A key is taken if it is sent.
    Honoured,
    /// Reads, and requests of nobody in particular.
    None,
}

#[derive(Clone, Copy, Debug)]
enum Audit {
    Action(&'static str),
    /// With the reason, for whoever reads the table.
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

    /// Method and path, for whoever reads of it.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Whether `If-Match` means something here.
    pub fn is_conditional(&self) -> bool {
        self.method == Method::PATCH || self.method == Method::PUT
    }

    /// Whether the description of the endpoint tells of this problem.
    pub fn tells_of(&self, code: Code) -> bool {
        let known = self.known_problems.get_or_init(|| {
            let mut requests = super::openapi::request_schemas();
            self.problems(&self.handler.describe(self.path, &mut requests).problems)
        });
        known.contains(&code)
    }

    /// Counts an answer to a request.
    pub fn count(&self, requests: &Requests, method: &Method, status: StatusCode, took: Duration) {
        let find = || requests.successes(&self.method, self.path, self.handler.status());
        let successes = self.successes.get_or_init(find);
        if status == successes.status && *method == self.method {
            successes.answered(took);
        } else {
            requests.answered(method, self.path, status, took);
        }
    }

    /// Every problem the endpoint may answer with: by its policy, its inputs and its own declaration.
    pub fn problems(&self, of_inputs: &[Code]) -> BTreeSet<Code> {
        let mut codes = BTreeSet::from([Code::Internal, Code::ServiceUnavailable]);
        codes.extend(of_inputs);
        codes.extend(&self.declared_problems);
        if self.who != Who::Anyone {
            codes.extend([Code::TokenInvalid, Code::TokenExpired]);
        }
        if !matches!(self.who, Who::Anyone | Who::SignedIn) || (self.who != Who::Anyone && self.changes()) {
            codes.insert(Code::Forbidden);
        }
        if self.limit != Limit::None {
            codes.insert(Code::RateLimited);
        }
        if self.idempotency != Idempotency::None {
            codes.extend([Code::IdempotencyKeyRequired, Code::IdempotencyConflict, Code::IdempotencyInProgress]);
        }
        if self.is_conditional() {
            codes.insert(Code::PreconditionFailed);
        }
        codes
    }
}

/// A part of a row that is still missing.
pub struct Missing;
/// A part that is there.
pub struct Given;

/// A row being written.
pub struct Draft<W, L, A> {
    endpoint: Endpoint,
    parts: PhantomData<(W, L, A)>,
}

/// An endpoint that reads.
pub fn get<Args, H>(path: &'static str, handler: H, summary: &'static str) -> Draft<Missing, Missing, Given>
where
    Args: 'static,
    H: ReadHandler<Args>,
{
    draft(Method::GET, path, Box::new(Reading(handler, PhantomData)), summary)
}

macro_rules! changing {
    ($($name:ident $method:ident),*) => {$(
        /// An endpoint that changes something.
        pub fn $name<Args, H>(path: &'static str, handler: H, summary: &'static str) -> Draft<Missing, Missing, Missing>
        where
            Args: 'static,
            H: WriteHandler<Args>,
        {
            draft(Method::$method, path, Box::new(Writing(handler, PhantomData)), summary)
        }
    )*};
}

changing!(post POST, put PUT, patch PATCH, delete DELETE);

fn draft<W, L, A>(
    method: Method,
    path: &'static str,
    handler: Box<dyn AnyHandler>,
    summary: &'static str,
) -> Draft<W, L, A> {
    let endpoint = Endpoint {
        method,
        path,
        summary,
        tag: "",
        who: Who::Admin,
        limit: Limit::None,
        idempotency: Idempotency::None,
        audit: Audit::Unaudited,
        declared_problems: Vec::new(),
        handler,
        known_problems: OnceLock::new(),
        successes: OnceLock::new(),
    };
    Draft { endpoint, parts: PhantomData }
}

impl<W, L, A> Draft<W, L, A> {
    fn retyped<W2, L2, A2>(self) -> Draft<W2, L2, A2> {
        Draft { endpoint: self.endpoint, parts: PhantomData }
    }

    /// Demands an `Idempotency-Key`.
    pub fn idempotent(mut self) -> Self {
        self.endpoint.idempotency = Idempotency::Required;
        self
    }

    /// Problems of the handler's own, beside those that follow from the rest of the row.
    pub fn problems(mut self, codes: &[Code]) -> Self {
        self.endpoint.declared_problems.extend(codes);
        self
    }
}

impl<L, A> Draft<Missing, L, A> {
    /// Who may call it.
    pub fn who(mut self, who: Who) -> Draft<Given, L, A> {
        self.endpoint.who = who;
        if self.endpoint.changes() && who != Who::Anyone && self.endpoint.idempotency == Idempotency::None {
            self.endpoint.idempotency = Idempotency::Honoured;
        }
        self.retyped()
    }
}

impl<W, A> Draft<W, Missing, A> {
    /// What its calls count against.
    pub fn limit(mut self, limit: Limit) -> Draft<W, Given, A> {
        self.endpoint.limit = limit;
        self.retyped()
    }
}

impl<W, L> Draft<W, L, Missing> {
    /// What the audit log calls it.
    pub fn audit(mut self, action: &'static str) -> Draft<W, L, Given> {
        self.endpoint.audit = Audit::Action(action);
        self.retyped()
    }

    /// Leaves no row in the audit log, for a reason.
    pub fn unaudited(self, _why: &'static str) -> Draft<W, L, Given> {
        self.retyped()
    }
}

impl<W, L> Draft<W, L, Given> {
    /// What the audit log calls a read that must leave a trace: whoever it is answered to is written down first.
    pub fn audited_read(mut self, action: &'static str) -> Self {
        self.endpoint.audit = Audit::Action(action);
        self
    }
}

impl Draft<Given, Given, Given> {
    /// A complete row, under a heading of the API reference.
    pub fn under(mut self, tag: &'static str) -> Endpoint {
        self.endpoint.tag = tag;
        self.endpoint
    }
}
