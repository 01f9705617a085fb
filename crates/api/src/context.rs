//! The request context that a handler gets, and the transaction in which it changes data.
//!
//! A reading handler gets a `ReadCtx`, a connection that cannot write. A changing handler gets a `RequestCtx` and must
//! return a `Committed`, which only `RequestCtx::commit` can create. So every change runs in a transaction that also
//! holds its audit row and, if the caller sent an idempotency key, the stored response.

use std::marker::PhantomData;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::answer::{Answer, Rendered, Volatile};
use super::auth::Principal;
use super::conditional;
use super::endpoint::Endpoint;
use super::idempotency::{self, Claim, Claimed, RequestFingerprint, StoredResponse};
use super::problem::Problem;
use super::strangers;
use db::{Conn, Db, DbError, Entropy, Reader};
use platform::app::App;
use platform::audit::{self, Actor, Outcome};
use platform::limits::{self, Limit, RateLimitStatus};
use values::{AccountId, Roles, Time, UserId};

/// Who requests what, from where and when.
#[derive(Clone)]
pub struct RequestCtx(Arc<Inner>);

pub struct Inner {
    pub app: App,
    pub endpoint: Arc<Endpoint>,
    /// When the request arrived. The whole request uses this time.
    pub now: Time,
    pub request_id: String,
    /// As requested.
    pub path: String,
    pub ip: IpAddr,
    pub user_agent: Option<String>,
    pub principal: Option<Principal>,
    pub if_match: Option<String>,
    claim: Mutex<Option<Claim>>,
    audit: Mutex<AuditDetails>,
    /// The rate limit that the handler found exceeded.
    exceeded_limit: Mutex<Option<RateLimitStatus>>,
}

/// What handlers add to the audit row.
#[derive(Clone, Default)]
struct AuditDetails {
    subject: Option<Subject>,
    account_id: Option<AccountId>,
    actor: Option<Actor>,
    meta: Map<String, Value>,
}

/// The user that an audit row names.
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

/// What is known of a request before its caller.
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
        let (claim, audit, exceeded_limit) = (Mutex::default(), Mutex::default(), Mutex::default());
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
            audit,
            exceeded_limit,
        }))
    }

    /// A new id, which sorts by the time of the request.
    pub fn new_id<T: From<Uuid>>(&self) -> T {
        Entropy.uuid(self.now).into()
    }

    /// The caller; an error on endpoints without a token.
    pub fn principal(&self) -> Result<&Principal, Problem> {
        self.principal.as_ref().ok_or_else(|| Problem::token_invalid("Sign in first."))
    }

    /// Refuses a caller whose sign-in is not recent, where only the handler knows that it must be.
    pub fn require_recent_sign_in(&self) -> Result<(), Problem> {
        self.principal()?.check_recent_sign_in(self.now)
    }

    /// The database that a report reads outside its `ReadCtx`: a replica where the row allows it, unless the caller's
    /// account just changed something.
    pub async fn reports_db(&self) -> Db {
        match self.may_read_replica() {
            true => self.app.db.for_reports().await,
            false => self.app.db.clone(),
        }
    }

    /// The connection of a reading handler.
    pub(super) async fn reader(&self) -> Result<Reader, DbError> {
        match self.may_read_replica() {
            true => self.app.db.read_for_reports().await,
            false => self.app.db.read_few().await,
        }
    }

    fn may_read_replica(&self) -> bool {
        let (true, Some(writes), Some(principal)) =
            (self.endpoint.reads_replica, &self.app.recent_writes, &self.principal)
        else {
            return false;
        };
        let has_written = writes.has(principal.account_id, self.now);
        if has_written {
            self.app.metrics.database.replica_reads.of("own_write").inc();
        }
        !has_written
    }

    /// Counts the request against a rate limit whose subject only the handler knows.
    pub async fn limit(&self, limit: Limit, subject: limits::Subject) -> Result<(), Problem> {
        match self.app.limits.take(limit, subject, self.now).await? {
            Some(verdict) if !verdict.allowed => {
                self.app.metrics.requests.limited.of(limit.name()).inc();
                *lock(&self.exceeded_limit) = Some(verdict);
                Err(Problem::rate_limited(verdict.reset_seconds))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn exceeded_limit(&self) -> Option<RateLimitStatus> {
        *lock(&self.exceeded_limit)
    }

    /// Sets the user of the audit row, for requests without a token.
    pub fn audit_subject(&self, account_id: AccountId, user_id: UserId, roles: &Roles) {
        lock(&self.audit).subject = Some(Subject { account_id, user_id, actor: actor(roles) });
    }

    /// Sets the account that an action of the team is about, so that it appears in that account's audit log.
    pub fn audit_account(&self, account_id: AccountId) {
        lock(&self.audit).account_id = Some(account_id);
    }

    /// Sets the kind of caller, if it is not a user.
    pub fn audit_actor(&self, actor: Actor) {
        lock(&self.audit).actor = Some(actor);
    }

    /// Adds a value to the audit row. Never a secret.
    pub fn audit_note(&self, name: &str, value: impl Into<Value>) {
        lock(&self.audit).meta.insert(name.to_owned(), value.into());
    }

    /// Adds the old and new value of each field that changed.
    pub fn audit_changes<const N: usize>(&self, before: [(&str, Value); N], after: [(&str, Value); N]) {
        for ((name, from), (_, to)) in before.into_iter().zip(after) {
            self.audit_change(name, from, to);
        }
    }

    /// Adds the old and new value of a field, if they differ.
    pub fn audit_change(&self, name: &str, from: impl Into<Value>, to: impl Into<Value>) {
        let (from, to) = (from.into(), to.into());
        let meta = &mut lock(&self.audit).meta;
        // The transaction may run again and find fewer changes.
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

    /// The caller's idempotency key; always set on endpoints that require one.
    pub fn idempotency_key(&self) -> Result<Uuid, Problem> {
        self.claim().map(|claim| claim.key()).ok_or_else(Problem::idempotency_key_required)
    }

    /// The idempotency key together with the digest of the body.
    pub fn fingerprint(&self) -> Result<RequestFingerprint, Problem> {
        self.claim().map(|claim| claim.fingerprint()).ok_or_else(Problem::idempotency_key_required)
    }

    /// Rejects the request with a normal response body instead of a problem. Only the audit row is written, if the caller
    /// is known.
    pub async fn decline<A: Answer>(&self, answer: A, reason: &'static str) -> Result<Committed<A>, Problem> {
        let rendered = answer.render()?;
        if let Some(entry) = self.failure_entry(reason) {
            let written = self
                .app
                .db
                .tx((self.clone(), entry), |conn, (ctx, entry)| Box::pin(audit::append(conn, &ctx.app.keys, entry)));
            written.await?;
        }
        Ok(Committed { rendered, replayed: false, answer: PhantomData })
    }

    /// Runs `body` in one transaction together with its audit row and stored response.
    ///
    /// `body` may run several times, of which one commits; it may await only its connection.
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
        // Of two writers with the same version in If-Match, one must fail.
        let outcome = if self.if_match.is_some() {
            db.tx_serializable(work, |conn, work| Box::pin(run(conn, work))).await
        } else {
            db.tx(work, |conn, work| Box::pin(run(conn, work))).await
        };
        match outcome {
            Ok(rendered) => {
                if let (Some(writes), Some(principal)) = (&self.app.recent_writes, &self.principal) {
                    writes.note(principal.account_id, self.app.clock.now());
                }
                Ok(Committed { rendered, replayed: false, answer: PhantomData })
            }
            Err(Interrupt::Replay(rendered)) => Ok(Committed { rendered, replayed: true, answer: PhantomData }),
            Err(Interrupt::Problem(problem)) => Err(problem),
        }
    }

    /// Appends an audit row in this transaction. `commit` does so by itself; this is for reads and additional rows.
    pub async fn record(&self, conn: &mut Conn, action: &'static str) -> Result<(), Problem> {
        let entry = self.audit_entry(action, Outcome::Success, None);
        Ok(audit::append(conn, &self.app.keys, &entry).await?)
    }

    /// The audit row of this request as it failed. A failure of nobody known is only counted.
    pub(super) fn failure_entry(&self, reason: &str) -> Option<audit::Entry> {
        let action = self.endpoint.audit_action()?;
        let entry = self.audit_entry(action, Outcome::Failure, Some(reason));
        if entry.user_id.is_none() {
            strangers::count_failure(self, action, reason);
            return None;
        }
        Some(entry)
    }

    /// The audit row of this request, as it ended.
    fn audit_entry(&self, action: &'static str, outcome: Outcome, reason: Option<&str>) -> audit::Entry {
        let mut details = lock(&self.audit).clone();
        if let Some(key) = self.principal.as_ref().and_then(|principal| principal.key.as_ref()) {
            details.meta.insert("api_key".to_owned(), json!({"id": key.id, "name": key.name}));
        }
        let signed_in = self.principal.as_ref().map(|principal| Subject {
            account_id: principal.account_id,
            // With impersonation, the admin is the user of the row.
            user_id: principal.person(),
            actor: if principal.impersonator.is_some() { Actor::Admin } else { actor(&principal.roles) },
        });
        let subject = details.subject.or(signed_in);
        audit::Entry {
            action,
            account_id: details.account_id.or(subject.map(|subject| subject.account_id)),
            user_id: subject.map(|subject| subject.user_id),
            actor: details.actor.or(subject.map(|subject| subject.actor)),
            ip: Some(self.ip),
            user_agent: self.user_agent.clone(),
            outcome,
            reason: reason.map(str::to_owned),
            meta: details.meta,
        }
    }
}

type Body<I, A> = for<'a, 'c> fn(&'a mut Tx<'c>, &'a I) -> BoxFuture<'a, Result<A, Problem>>;

async fn run<I: Send + Sync, A: Answer>(
    conn: &mut Conn,
    (ctx, input, body): &(RequestCtx, I, Body<I, A>),
) -> Result<Rendered, Interrupt> {
    conn.set_now(ctx.now);
    let claim = ctx.claim();
    if let Some(claim) = &claim {
        match idempotency::claim(conn, &ctx.app.keys, claim).await? {
            Claimed::Fresh => {}
            Claimed::Replay(rendered) => return Err(Interrupt::Replay(rendered)),
        }
    }
    let mut tx = Tx { conn, ctx, matched: false };
    let answer = body(&mut tx, input).await?;
    if ctx.if_match.is_some() && !tx.matched {
        return Err(Problem::internal("the handler did not check If-Match").into());
    }
    let rendered = answer.render()?;
    if let Some(claim) = &claim {
        let stored = StoredResponse::new(&rendered, &ctx.app.keys)?;
        idempotency::store(conn, claim, &stored).await?;
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

/// The connection and context of a running transaction.
pub struct Tx<'c> {
    conn: &'c mut Conn,
    pub ctx: &'c RequestCtx,
    matched: bool,
}

impl Tx<'_> {
    /// Compares the caller's `If-Match`, if any, with the current version of the resource.
    pub fn expect_version(&mut self, current: &impl Serialize) -> Result<(), Problem> {
        self.matched = true;
        match &self.ctx.if_match {
            Some(expected) if !conditional::matches(expected, &conditional::etag_of(current)?) => {
                Err(Problem::precondition_failed())
            }
            _ => Ok(()),
        }
    }

    /// The same for a resource with fields that make no new version.
    pub fn expect_stable_version(&mut self, current: &impl Volatile) -> Result<(), Problem> {
        self.expect_version(&current.version()?)
    }

    /// Rejects any `If-Match`, since the resource does not exist yet.
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

/// A committed change, with its response.
pub struct Committed<A> {
    pub(super) rendered: Rendered,
    pub(super) replayed: bool,
    answer: PhantomData<A>,
}

/// The context of a reading handler: the request, and a connection that cannot write.
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
