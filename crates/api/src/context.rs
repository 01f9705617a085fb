//! One request as a handler sees it, and the one way a handler changes anything.
//!
//! A reading handler gets a `ReadCtx`, a connection that cannot write. A changing handler gets a `RequestCtx` and must
//! answer with a `Committed`, which only `RequestCtx::commit` can make: so every change runs in a transaction that also
//! holds its audit row and, where the caller sent an idempotency key, the stored response.

use std::marker::PhantomData;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::answer::{Answer, Rendered};
use super::auth::Principal;
use super::conditional;
use super::endpoint::Endpoint;
use super::idempotency::{self, Claim, Claimed, Mark, Snapshot};
use super::problem::Problem;
use db::{Conn, DbError, Reader};
use platform::app::App;
use platform::audit::{self, Actor, Outcome};
use platform::limits::{self, Limit, RateLimitStatus};
use values::{AccountId, Roles, Time, UserId};

/// Who asks for what, from where and when.
#[derive(Clone)]
pub struct RequestCtx(Arc<Inner>);

pub struct Inner {
    pub app: App,
    pub endpoint: Arc<Endpoint>,
    /// The moment the request arrived; the whole request lives in it.
    pub now: Time,
    pub request_id: String,
    /// As requested.
    pub path: String,
    pub ip: IpAddr,
    pub user_agent: Option<String>,
    pub principal: Option<Principal>,
    pub if_match: Option<String>,
    claim: Mutex<Option<Claim>>,
    notes: Mutex<Notes>,
    /// The limit that the handler found exceeded.
    refused_by: Mutex<Option<RateLimitStatus>>,
}

/// What the audit row should say beyond what the request tells.
#[derive(Clone, Default)]
struct Notes {
    subject: Option<Subject>,
    about: Option<AccountId>,
    actor: Option<Actor>,
    meta: Map<String, Value>,
}

/// Whom an audit row names.
#[derive(Clone, Copy)]
struct Subject {
    account_id: AccountId,
    user_id: UserId,
    actor: Actor,
}

fn actor(roles: &Roles) -> Actor {
    if roles.is_team() { Actor::Admin } else { Actor::Customer }
}

impl Deref for RequestCtx {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// What is known of a request before it is a call.
pub struct Origin {
    pub app: App,
    pub endpoint: Arc<Endpoint>,
    pub now: Time,
    pub request_id: String,
    pub path: String,
    pub ip: IpAddr,
    pub user_agent: Option<String>,
    pub if_match: Option<String>,
}

impl RequestCtx {
    pub fn new(origin: Origin, principal: Option<Principal>) -> RequestCtx {
        let Origin { app, endpoint, now, request_id, path, ip, user_agent, if_match } = origin;
        let (claim, notes, refused_by) = (Mutex::default(), Mutex::default(), Mutex::default());
        RequestCtx(Arc::new(Inner {
            app,
            endpoint,
            now,
            request_id,
            path,
            ip,
            user_agent,
            principal,
            if_match,
            claim,
            notes,
            refused_by,
        }))
    }

    /// The caller. A handler of an endpoint for everyone has none.
    pub fn principal(&self) -> Result<&Principal, Problem> {
        self.principal.as_ref().ok_or_else(|| Problem::token_invalid("This needs a signed-in user."))
    }

    /// Counts the request against a limit that only the handler can know the subject of.
    pub async fn limit(&self, limit: Limit, subject: limits::Subject) -> Result<(), Problem> {
        match self.app.limits.take(limit, subject, self.now).await? {
            Some(verdict) if !verdict.allowed => {
                self.app.metrics.requests.limited.of(limit.name()).inc();
                *lock(&self.refused_by) = Some(verdict);
                Err(Problem::rate_limited(verdict.reset_seconds))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn refused_by(&self) -> Option<RateLimitStatus> {
        *lock(&self.refused_by)
    }

    /// Names the user whom an action concerns when no token says so.
    pub fn concerns(&self, account_id: AccountId, user_id: UserId, roles: &Roles) {
        lock(&self.notes).subject = Some(Subject { account_id, user_id, actor: actor(roles) });
    }

    /// Names the account that an action of the team is about, so that it is found among that account's.
    pub fn about(&self, account_id: AccountId) {
        lock(&self.notes).about = Some(account_id);
    }

    /// Names the kind of caller when it is no user of ours.
    pub fn acted(&self, actor: Actor) {
        lock(&self.notes).actor = Some(actor);
    }

    /// Adds a short value to the audit row. Never a secret.
    pub fn note(&self, name: &str, value: impl Into<Value>) {
        lock(&self.notes).meta.insert(name.to_owned(), value.into());
    }

    /// Adds what each of these fields was and what it has become, where that is not the same.
    pub fn note_changes<const N: usize>(&self, before: [(&str, Value); N], after: [(&str, Value); N]) {
        for ((name, from), (_, to)) in before.into_iter().zip(after) {
            self.note_change(name, from, to);
        }
    }

    /// Adds what a field was and what it has become, if that is not the same.
    pub fn note_change(&self, name: &str, from: impl Into<Value>, to: impl Into<Value>) {
        let (from, to) = (from.into(), to.into());
        let meta = &mut lock(&self.notes).meta;
        // The transaction may run again, and find less to change.
        if from == to {
            meta.remove(name);
        } else {
            meta.insert(name.to_owned(), json!({"from": from, "to": to}));
        }
    }

    pub(super) fn set_claim(&self, claim: Claim) {
        *lock(&self.claim) = Some(claim);
    }

    pub(super) fn claim(&self) -> Option<Claim> {
        lock(&self.claim).clone()
    }

    /// The caller's key, which an endpoint that demands one always has.
    pub fn idempotency_key(&self) -> Result<Uuid, Problem> {
        self.claim().map(|claim| claim.key()).ok_or_else(Problem::idempotency_key_required)
    }

    /// What tells this request from every other of its caller to the same path.
    pub fn mark(&self) -> Result<Mark, Problem> {
        self.claim().map(|claim| claim.mark()).ok_or_else(Problem::idempotency_key_required)
    }

    /// Refuses in the answer's own form instead of with a problem. Only the audit row is written.
    pub async fn decline<A: Answer>(&self, answer: A, reason: &'static str) -> Result<Committed<A>, Problem> {
        let rendered = answer.render()?;
        if let Some(action) = self.endpoint.audit_action() {
            let entry = self.audit_entry(action, Outcome::Failure, Some(reason));
            let written = self.app.db.tx((self.clone(), entry), |conn, (call, entry)| {
                Box::pin(audit::append(conn, &call.app.keys, call.app.entropy, call.now, entry))
            });
            written.await?;
        }
        Ok(Committed { rendered, replayed: false, answer: PhantomData })
    }

    /// Runs `body` in one transaction together with its audit row and stored response.
    ///
    /// `body` may run more than once, never more than once with effect; it may await nothing but its connection.
    pub async fn commit<I, A>(
        &self,
        input: I,
        body: for<'a, 'c> fn(&'a mut Tx<'c>, &'a I) -> BoxFuture<'a, Result<A, Problem>>,
    ) -> Result<Committed<A>, Problem>
    where
        I: Send + Sync + 'static,
        A: Answer,
    {
        let work = (self.clone(), input, body);
        let db = &self.app.db;
        // Two writers that both hold the current version must not both win.
        let outcome = if self.if_match.is_some() {
            db.tx_serializable(work, |conn, work| Box::pin(run(conn, work))).await
        } else {
            db.tx(work, |conn, work| Box::pin(run(conn, work))).await
        };
        self.app.jobs_waker.notify_one();
        match outcome {
            Ok(rendered) => Ok(Committed { rendered, replayed: false, answer: PhantomData }),
            Err(Interrupt::Replay(rendered)) => Ok(Committed { rendered, replayed: true, answer: PhantomData }),
            Err(Interrupt::Problem(problem)) => Err(problem),
        }
    }

    /// Writes down that this happened, in the transaction it happens in. For what a reading endpoint does; a change
    /// that is committed is written down by itself.
    pub async fn record(&self, conn: &mut Conn, action: &'static str) -> Result<(), Problem> {
        let entry = self.audit_entry(action, Outcome::Success, None);
        Ok(audit::append(conn, &self.app.keys, self.app.entropy, self.now, &entry).await?)
    }

    /// The audit row of this request, as it ended.
    pub(super) fn audit_entry(&self, action: &'static str, outcome: Outcome, reason: Option<&str>) -> audit::Entry {
        let notes = lock(&self.notes).clone();
        let signed_in = self.principal.as_ref().map(|principal| Subject {
            account_id: principal.account_id,
            // What an impersonator does is its own doing.
            user_id: principal.person(),
            actor: if principal.impersonator.is_some() { Actor::Admin } else { actor(&principal.roles) },
        });
        let subject = notes.subject.or(signed_in);
        audit::Entry {
            action,
            account_id: notes.about.or(subject.map(|subject| subject.account_id)),
            user_id: subject.map(|subject| subject.user_id),
            actor: notes.actor.or(subject.map(|subject| subject.actor)),
            ip: Some(self.ip),
            user_agent: self.user_agent.clone(),
            outcome,
            reason: reason.map(str::to_owned),
            meta: notes.meta,
        }
    }
}

type Body<I, A> = for<'a, 'c> fn(&'a mut Tx<'c>, &'a I) -> BoxFuture<'a, Result<A, Problem>>;

async fn run<I: Send + Sync, A: Answer>(
    conn: &mut Conn,
    (ctx, input, body): &(RequestCtx, I, Body<I, A>),
) -> Result<Rendered, Interrupt> {
    let claim = ctx.claim();
    if let Some(claim) = &claim {
        match idempotency::claim(conn, &ctx.app.keys, claim, ctx.now).await? {
            Claimed::Fresh => {}
            Claimed::Replay(rendered) => return Err(Interrupt::Replay(rendered)),
        }
    }
    let mut tx = Tx { conn, ctx, matched: false };
    let answer = body(&mut tx, input).await?;
    if ctx.if_match.is_some() && !tx.matched {
        return Err(Problem::internal("the handler did not hold If-Match against the current version").into());
    }
    let rendered = answer.render()?;
    if let Some(claim) = &claim {
        let kept = Snapshot::of(&rendered, &ctx.app.keys)?;
        idempotency::store(conn, claim, &kept, ctx.now).await?;
    }
    if let Some(action) = ctx.endpoint.audit_action() {
        ctx.record(conn, action).await?;
    }
    Ok(rendered)
}

enum Interrupt {
    Problem(Problem),
    Replay(Rendered),
}

impl From<Problem> for Interrupt {
    fn from(problem: Problem) -> Self {
        Interrupt::Problem(problem)
    }
}

impl From<DbError> for Interrupt {
    fn from(error: DbError) -> Self {
        Interrupt::Problem(error.into())
    }
}

/// A connection inside the transaction of a call.
pub struct Tx<'c> {
    conn: &'c mut Conn,
    pub ctx: &'c RequestCtx,
    matched: bool,
}

impl Tx<'_> {
    /// Holds the caller's `If-Match`, if any, against the resource as it is now.
    pub fn expect_version(&mut self, current: &impl Serialize) -> Result<(), Problem> {
        self.matched = true;
        match &self.ctx.if_match {
            Some(expected) if !conditional::matches(expected, &conditional::etag_of(current)?) => {
                Err(Problem::precondition_failed())
            }
            _ => Ok(()),
        }
    }

    /// The same where nothing is there yet, which is no version at all.
    pub fn expect_no_version(&mut self) -> Result<(), Problem> {
        self.matched = true;
        if self.ctx.if_match.is_some() { Err(Problem::precondition_failed()) } else { Ok(()) }
    }
}

impl Deref for Tx<'_> {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        self.conn
    }
}

impl DerefMut for Tx<'_> {
    fn deref_mut(&mut self) -> &mut Conn {
        self.conn
    }
}

/// A change that is committed, with its answer.
pub struct Committed<A> {
    pub(super) rendered: Rendered,
    pub(super) replayed: bool,
    answer: PhantomData<A>,
}

/// What a reading handler is lent.
pub struct ReadCtx {
    pub conn: Reader,
    pub request: RequestCtx,
}

impl Deref for ReadCtx {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.conn
    }
}

impl DerefMut for ReadCtx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.conn
    }
}

impl ReadCtx {
    pub fn principal(&self) -> Result<&Principal, Problem> {
        self.request.principal()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}
