//! The service while its past is being lived through, and the people who speak to it.
//!
//! Everything goes over HTTP as it does for anybody: the stage only has the clock in its hand.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::cast::SUPPORT;
use super::chance::Chance;
use crate::serve::Running;
use identity::{sessions, users};
use platform::app::StartError;
use values::{Email, Time};

/// How long before its end a token is no longer relied upon.
const SPARE: Duration = Duration::from_secs(60);

pub struct Stage {
    pub service: Running,
    http: reqwest::Client,
    password: String,
    sessions: BTreeMap<&'static str, Session>,
    pub chance: Chance,
}

struct Session {
    access_token: String,
    refresh_token: String,
    expires_at: Time,
    account_id: String,
}

/// What is sent along with a request.
pub enum Sent {
    Nothing,
    Json(Value),
    Csv(String),
    Form(Vec<u8>),
}

/// Parts the fields of a form; none of our papers has it.
const BOUNDARY: &str = "a-boundary-that-is-in-no-paper";

impl Stage {
    pub fn new(service: Running, password: String, chance: Chance) -> Result<Stage, StartError> {
        // Nothing here speaks TLS, and a checkout leads back to a page that nobody looks at.
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]);
        let http = client.redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(Stage { service, http, password, sessions: BTreeMap::new(), chance })
    }

    pub fn now(&self) -> Time {
        self.service.app.clock.now()
    }

    /// Lets the time come, unless it is past already.
    pub fn come_to(&self, moment: Time) {
        self.service.app.clock.advance(moment.since(self.now()));
    }

    /// Lets the time be what it is for everybody.
    pub async fn catch_up(&self) -> Result<(), StartError> {
        let clock = &self.service.app.clock;
        clock.advance(clock.lag());
        self.settle().await
    }

    /// Lets everything happen that is due.
    pub async fn settle(&self) -> Result<(), StartError> {
        Ok(self.service.runner.settle().await?)
    }

    /// The first admin, before whom there is nobody.
    pub async fn bootstrap(&self, carrier: &str, (name, email): (&str, &str)) -> Result<(), StartError> {
        let admin = json!({
            "legal_name": carrier, "contact_name": name, "contact_email": email, "password": self.password,
        });
        let request = self.http.post(self.address("/admin/bootstrap")).json(&admin);
        let token = self.service.app.bootstrap_token.clone();
        answer("/admin/bootstrap", request.header("X-Bootstrap-Token", token)).await?;
        Ok(())
    }

    /// A request that needs no token. A password in it is the one everybody has.
    pub async fn anyone(&self, path: &str, mut body: Value) -> Result<Value, StartError> {
        if body.get("password").is_some() {
            body["password"] = self.password.clone().into();
        }
        answer(path, self.http.post(self.address(path)).json(&body)).await
    }

    pub async fn get(&mut self, who: &'static str, path: &str) -> Result<Value, StartError> {
        self.call(who, Method::GET, path, Sent::Nothing).await
    }

    pub async fn post(&mut self, who: &'static str, path: &str, body: Value) -> Result<Value, StartError> {
        self.call(who, Method::POST, path, Sent::Json(body)).await
    }

    pub async fn put(&mut self, who: &'static str, path: &str, body: Value) -> Result<Value, StartError> {
        self.call(who, Method::PUT, path, Sent::Json(body)).await
    }

    pub async fn patch(&mut self, who: &'static str, path: &str, body: Value) -> Result<Value, StartError> {
        self.call(who, Method::PATCH, path, Sent::Json(body)).await
    }

    /// A request of somebody's, who signs in for it if need be. Every change has a key of its own.
    pub async fn call(
        &mut self,
        who: &'static str,
        method: Method,
        path: &str,
        sent: Sent,
    ) -> Result<Value, StartError> {
        self.sign_in(who).await?;
        let key = self.chance.uuid().to_string();
        let token = self.sessions.get(who).map(|session| session.access_token.as_str()).unwrap_or_default();
        let mut request = self.http.request(method.clone(), self.address(path)).bearer_auth(token);
        if method != Method::GET {
            request = request.header("Idempotency-Key", key);
        }
        let request = match sent {
            Sent::Nothing => request,
            Sent::Json(body) => request.json(&body),
            Sent::Csv(sheet) => request.header("Content-Type", "text/csv").body(sheet),
            Sent::Form(form) => {
                request.header("Content-Type", format!("multipart/form-data; boundary={BOUNDARY}")).body(form)
            }
        };
        answer(path, request).await
    }

    /// The account of somebody who has signed in before.
    pub fn account(&self, who: &'static str) -> Result<String, StartError> {
        let session = self.sessions.get(who).ok_or_else(|| format!("{who} has never been here"))?;
        Ok(session.account_id.clone())
    }

    async fn sign_in(&mut self, who: &'static str) -> Result<(), StartError> {
        let soon = self.now().plus(SPARE);
        let refresh = match self.sessions.get(who) {
            Some(session) if session.expires_at > soon => return Ok(()),
            Some(session) => Some(json!({"refresh_token": session.refresh_token})),
            None => None,
        };
        // A session ends after thirty days, however often it is refreshed.
        let refreshed = match refresh {
            Some(body) => self.anyone("/auth/refresh", body).await.ok(),
            None => None,
        };
        let body = match refreshed {
            Some(body) => body,
            None => self.come_in(who).await?,
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

    /// By password, or by a link for who was invited and has none.
    async fn come_in(&self, who: &'static str) -> Result<Value, StartError> {
        if who != SUPPORT.1 {
            return self.anyone("/auth/sign-in", json!({"email": who, "password": ""})).await;
        }
        let link = self.link(who).await?;
        let token = link.split("#token=").nth(1).unwrap_or_default();
        self.anyone("/auth/first-login", json!({"token": token})).await
    }

    /// A link that signs somebody in, once.
    pub async fn link(&self, who: &str) -> Result<String, StartError> {
        let (app, email): (_, Email) = (self.service.app.clone(), who.parse()?);
        let db = app.db.clone();
        let link = db.tx((app, email), |conn, (app, email)| {
            Box::pin(async move {
                let now = app.clock.now();
                match users::find_by_email(conn, email).await? {
                    Some(user) => Ok(Some(sessions::issue_magic_link(conn, app, user.id, now).await?.url)),
                    None => Ok::<_, db::DbError>(None),
                }
            })
        });
        Ok(link.await?.ok_or_else(|| format!("nobody has the address {who}"))?)
    }

    /// Pays at a checkout with a card, and lets the news of it arrive.
    pub async fn pay(&self, opened: &Value, card: &str) -> Result<(), StartError> {
        let form = format!("action=pay&card={card}");
        let request = self.http.post(text(&opened["checkout_url"])?).body(form);
        let paid = request.header("Content-Type", "application/x-www-form-urlencoded").send().await?;
        if !paid.status().is_redirection() {
            return Err(format!("the checkout answered {}", paid.status()).into());
        }
        self.settle().await
    }

    /// Hands a switch's lines in, and answers how many were taken.
    pub async fn hand_in(&self, lines: String) -> Result<i64, StartError> {
        let url = format!("http://{}/switch/cdrs", self.service.ops);
        let request = self.http.post(url).bearer_auth(&self.service.app.switch_secret);
        let heard = answer("/switch/cdrs", request.body(lines)).await?;
        match heard["rejected"].as_array().and_then(|rejected| rejected.first()) {
            Some(fault) => Err(format!("a call was refused: {fault}").into()),
            None => Ok(heard["accepted"].as_i64().unwrap_or_default()),
        }
    }

    fn address(&self, path: &str) -> String {
        format!("http://{}/v1{path}", self.service.public)
    }
}

/// A paper as it is handed in: a kind, and a small PDF.
pub fn paper(kind: &str, of: &str) -> Sent {
    let pdf = format!(
        "%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Lang (en) /Of ({of}) >>\nendobj\n\
                       trailer << /Root 1 0 R >>\n%%EOF\n"
    );
    let part = |disposition: &str, content: &str| {
        format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n")
    };
    let kind_part = part("name=\"doc_kind\"", kind);
    let file = part(&format!("name=\"file\"; filename=\"{kind}.pdf\""), &pdf);
    Sent::Form(format!("{kind_part}{file}--{BOUNDARY}--\r\n").into_bytes())
}

/// The body of a success; anything else is told with its path.
async fn answer(path: &str, request: reqwest::RequestBuilder) -> Result<Value, StartError> {
    let response = request.send().await?;
    let (status, body) = (response.status(), response.bytes().await?);
    if !status.is_success() {
        return Err(format!("{path} answered {status}: {}", String::from_utf8_lossy(&body)).into());
    }
    Ok(serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// A text that has to be in an answer.
pub fn text(value: &Value) -> Result<String, StartError> {
    Ok(value.as_str().ok_or("an answer lacks what it should have")?.to_owned())
}
