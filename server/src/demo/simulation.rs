//! The simulated service: a clock that is moved forward, and an HTTP client that signs users in.
//!
//! All requests go over HTTP, as those of real users do.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::fixtures::{ADMIN, SUPPORT};
use super::rng::Rng;
use super::taken::Taken;
use super::{Options, Pending};
use db::Clock;
use identity::{mailed_links, users};
use platform::app::{App, StartError};
use platform::jobs::Runner;
use values::{Email, Time};

/// A token is refreshed when it expires sooner than this.
const TOKEN_MARGIN: Duration = Duration::from_secs(60);

/// The service that is simulated.
pub struct Service {
    pub app: App,
    pub runner: Runner<App>,
    pub public: SocketAddr,
    pub ops: SocketAddr,
    pub stop: Stop,
}

/// Stops the service.
pub type Stop = Box<dyn FnOnce() -> Pending<()> + Send + Sync>;

pub struct Simulation {
    pub service: Service,
    /// The clock that the simulated one catches up with.
    present: Clock,
    http: reqwest::Client,
    password: String,
    pub taken: Taken,
    sessions: BTreeMap<&'static str, Session>,
    pub rng: Rng,
}

struct Session {
    access_token: String,
    refresh_token: String,
    expires_at: Time,
    account_id: String,
}

/// The body of a request.
pub enum RequestBody {
    Empty,
    Json(Value),
    Csv(String),
    Form(Vec<u8>),
}

const BOUNDARY: &str = "boundary-that-is-in-no-document";

impl Simulation {
    pub fn new(service: Service, present: Clock, options: &Options, taken: Taken) -> Result<Simulation, StartError> {
        // No TLS here; and the redirect at the end of a checkout leads to a page that does not exist.
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]);
        let http = client.redirect(reqwest::redirect::Policy::none()).build()?;
        let (password, rng) = (options.password.clone(), Rng::new(options.seed));
        Ok(Simulation { service, present, http, password, taken, sessions: BTreeMap::new(), rng })
    }

    pub fn now(&self) -> Time {
        self.service.app.clock.now()
    }

    /// Moves the clock forward to this time, unless it has passed already.
    pub fn advance_to(&self, moment: Time) {
        self.service.app.clock.advance(moment.since(self.now()));
    }

    /// Moves the clock to the present.
    pub async fn advance_to_present(&self) -> Result<(), StartError> {
        self.advance_to(self.present.now());
        self.settle().await
    }

    /// Runs all jobs that are due.
    pub async fn settle(&self) -> Result<(), StartError> {
        Ok(self.service.runner.settle().await?)
    }

    /// Creates the first admin.
    pub async fn bootstrap(&self, operator: &str, (name, email): (&str, &str)) -> Result<(), StartError> {
        let admin = json!({
            "legal_name": operator, "contact_name": name, "contact_email": self.taken.free(email),
            "password": self.password,
        });
        let request = self.http.post(self.url("/admin/bootstrap")).json(&admin);
        let token = self.service.app.bootstrap_token.clone();
        send("/admin/bootstrap", request.header("X-Bootstrap-Token", token)).await?;
        Ok(())
    }

    /// A POST without a token. Sets the field `password`, if the body has one.
    pub async fn post_anonymous(&self, path: &str, mut body: Value) -> Result<Value, StartError> {
        if body.get("password").is_some() {
            body["password"] = self.password.clone().into();
        }
        send(path, self.http.post(self.url(path)).json(&body)).await
    }

    pub async fn get(&mut self, who: &'static str, path: &str) -> Result<Value, StartError> {
        self.request(who, Method::GET, path, RequestBody::Empty).await
    }

    pub async fn post(&mut self, who: &'static str, path: &str, body: Value) -> Result<Value, StartError> {
        self.request(who, Method::POST, path, RequestBody::Json(body)).await
    }

    pub async fn put(&mut self, who: &'static str, path: &str, body: Value) -> Result<Value, StartError> {
        self.request(who, Method::PUT, path, RequestBody::Json(body)).await
    }

    pub async fn patch(&mut self, who: &'static str, path: &str, body: Value) -> Result<Value, StartError> {
        self.request(who, Method::PATCH, path, RequestBody::Json(body)).await
    }

    /// Proves a user's identity again, before a change that needs a recent sign-in.
    pub async fn prove_identity(&mut self, who: &'static str) -> Result<(), StartError> {
        let proof = json!({"password": self.password});
        self.post(who, "/auth/reauthenticate", proof).await.map(drop)
    }

    /// A request of a user, who is signed in first if necessary. Changes have an idempotency key.
    pub async fn request(
        &mut self,
        who: &'static str,
        method: Method,
        path: &str,
        body: RequestBody,
    ) -> Result<Value, StartError> {
        self.sign_in(who).await?;
        let key = self.rng.uuid().to_string();
        let token = self.sessions.get(who).map(|session| session.access_token.as_str()).unwrap_or_default();
        let mut request = self.http.request(method.clone(), self.url(path)).bearer_auth(token);
        if method != Method::GET {
            request = request.header("Idempotency-Key", key);
        }
        let request = match body {
            RequestBody::Empty => request,
            RequestBody::Json(body) => request.json(&body),
            RequestBody::Csv(sheet) => request.header("Content-Type", "text/csv").body(sheet),
            RequestBody::Form(form) => {
                request.header("Content-Type", format!("multipart/form-data; boundary={BOUNDARY}")).body(form)
            }
        };
        send(path, request).await
    }

    /// The account of a user who has signed in before.
    pub fn account(&self, who: &'static str) -> Result<String, StartError> {
        let session = self.sessions.get(who).ok_or_else(|| format!("{who} has not signed in"))?;
        Ok(session.account_id.clone())
    }

    async fn sign_in(&mut self, who: &'static str) -> Result<(), StartError> {
        let soon = self.now().plus(TOKEN_MARGIN);
        let refresh = match self.sessions.get(who) {
            Some(session) if session.expires_at > soon => return Ok(()),
            // A session of the team ends when it is not used for an hour.
            Some(session) if ![ADMIN.1, SUPPORT.1].contains(&who) => {
                Some(json!({"refresh_token": session.refresh_token}))
            }
            _ => None,
        };
        // Refreshing fails once the session is 30 days old.
        let refreshed = match refresh {
            Some(body) => self.post_anonymous("/auth/refresh", body).await.ok(),
            None => None,
        };
        let body = match refreshed {
            Some(body) => body,
            None => self.start_session(who).await?,
        };
        let session = Session {
            access_token: text(&body["access_token"])?,
            refresh_token: text(&body["refresh_token"])?,
            expires_at: Time::from_seconds(body["expires_at"].as_i64().unwrap_or_default()),
            account_id: text(&body["user"]["account_id"])?,
        };
        self.sessions.insert(who, session);
        Ok(())
    }

    /// Signs in with the password, or with a magic link if the user has none.
    async fn start_session(&self, who: &'static str) -> Result<Value, StartError> {
        if who != SUPPORT.1 {
            return self.post_anonymous("/auth/sign-in", json!({"email": self.taken.free(who), "password": ""})).await;
        }
        let link = self.magic_link(who).await?;
        let token = link.split("#token=").nth(1).unwrap_or_default();
        self.post_anonymous("/auth/first-login", json!({"token": token})).await
    }

    /// A new magic link for this user.
    pub async fn magic_link(&self, who: &str) -> Result<String, StartError> {
        let (app, email): (_, Email) = (self.service.app.clone(), self.taken.free(who).parse()?);
        let db = app.db.clone();
        let link = db.tx((app, email), |conn, (app, email)| {
            Box::pin(async move {
                match users::find_by_email(conn, email).await? {
                    Some(user) => Ok(Some(mailed_links::issue_magic_link(conn, app, user.id).await?.url)),
                    None => Ok::<_, db::DbError>(None),
                }
            })
        });
        Ok(link.await?.ok_or_else(|| format!("no user has the email {who}"))?)
    }

    /// Pays at the sandbox checkout, and runs the jobs that follow.
    pub async fn pay(&self, opened: &Value, card: &str) -> Result<(), StartError> {
        self.submit_checkout(opened, format!("action=pay&card={card}")).await
    }

    /// Submits a form of the sandbox checkout, and runs the jobs that follow.
    pub async fn submit_checkout(&self, opened: &Value, form: String) -> Result<(), StartError> {
        let request = self.http.post(text(&opened["checkout_url"])?).body(form);
        let paid = request.header("Content-Type", "application/x-www-form-urlencoded").send().await?;
        if !paid.status().is_redirection() {
            return Err(format!("the checkout returned {}", paid.status()).into());
        }
        self.settle().await
    }

    /// Sends CDRs as a switch does, and returns how many were accepted.
    pub async fn send_cdrs(&self, lines: String) -> Result<i64, StartError> {
        let url = format!("http://{}/switch/cdrs", self.service.ops);
        let request = self.http.post(url).bearer_auth(self.service.app.switch_secrets.any().unwrap_or_default());
        let answer = send("/switch/cdrs", request.body(lines)).await?;
        match answer["rejected"].as_array().and_then(|rejected| rejected.first()) {
            Some(fault) => Err(format!("a CDR was rejected: {fault}").into()),
            None => Ok(answer["accepted"].as_i64().unwrap_or_default()),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/v1{path}", self.service.public)
    }
}

/// The upload of a document: its kind, and a small PDF.
pub fn document(kind: &str, company: &str) -> RequestBody {
    let pdf = format!(
        "%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Lang (en) /Of ({company}) >>\nendobj\n\
                       trailer << /Root 1 0 R >>\n%%EOF\n"
    );
    let part = |disposition: &str, content: &str| {
        format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n")
    };
    let kind_part = part("name=\"doc_kind\"", kind);
    let file = part(&format!("name=\"file\"; filename=\"{kind}.pdf\""), &pdf);
    RequestBody::Form(format!("{kind_part}{file}--{BOUNDARY}--\r\n").into_bytes())
}

/// The body of a success; any other status is an error.
async fn send(path: &str, request: reqwest::RequestBuilder) -> Result<Value, StartError> {
    let response = request.send().await?;
    let (status, body) = (response.status(), response.bytes().await?);
    if !status.is_success() {
        return Err(format!("{path} returned {status}: {}", String::from_utf8_lossy(&body)).into());
    }
    Ok(serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// A string that must be in a response.
pub fn text(value: &Value) -> Result<String, StartError> {
    Ok(value.as_str().ok_or("a response lacks a field")?.to_owned())
}
