//! One successful request per endpoint, and one path to a resource of another account.
//!
//! A new endpoint needs a line here: in `EXAMPLES` if it changes something or has a parameter in its path, and in
//! `STRANGERS` if it has a parameter in its path. The tests of this folder fail with a hint if a line is missing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use api::endpoint::{Endpoint, Idempotency};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use platform::outside::download::Download;
use serde_json::{Value, json};
use totp_rs::{Builder, Secret};
use values::Role;

use super::{account_users, api_keys, billing, cdrs, events, money, numbers, onboarding, payments, rates, team, voice};
use crate::world::client::{Answer, Client, Session};
use crate::world::fixtures::fresh_email;
pub use crate::world::fixtures::key;
use crate::world::fixtures::onboarding::sign_up;
use crate::world::passkey::Passkey;
use crate::world::{PASSWORD, World, form};

/// A request that is ready to be sent.
#[derive(Clone)]
pub struct Request {
    pub caller: Client,
    pub path: String,
    pub body: Option<Value>,
    /// In place of a JSON body: one with a file in it.
    pub form: Option<Vec<u8>>,
    /// In place of a JSON body: a table.
    pub table: Option<String>,
}

pub type Preparation = for<'w> fn(&'w World) -> BoxFuture<'w, Request>;
pub type Stranger = for<'w> fn(&'w World) -> BoxFuture<'w, String>;

#[rustfmt::skip]
const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("POST", "/auth/sign-in", |world| Box::pin(async move {
        let email = fresh_email();
        world.user(&email, Role::Customer).await;
        request(world.anyone(), "/auth/sign-in", json!({"email": email, "password": PASSWORD}))
    })),
    ("POST", "/admin/2fa/verify", |world| Box::pin(async move {
        let email = fresh_email();
        let customer = world.customer(&email).await;
        let code = enrolled(world, &customer, "/me/2fa").await;
        let challenge = world.try_sign_in(&email, PASSWORD).await.ok();
        request(world.anyone(), "/admin/2fa/verify", json!({"tmp_token": challenge["tmp_token"], "code": code}))
    })),
    ("POST", "/auth/passkey/challenge", |world| Box::pin(async move {
        request(world.anyone(), "/auth/passkey/challenge", json!({}))
    })),
    ("POST", "/auth/passkey", |world| Box::pin(async move {
        let mut passkey = Passkey::registered(world, &world.minted(Role::Customer).await).await;
        let options = world.passkey_options(None).await;
        request(world.anyone(), "/auth/passkey", json!({"passkey": passkey.assertion(&options)}))
    })),
    ("POST", "/auth/refresh", |world| Box::pin(async move {
        let session = world.customer(&fresh_email()).await;
        request(world.anyone(), "/auth/refresh", json!({"refresh_token": session.refresh_token}))
    })),
    ("POST", "/auth/reauthenticate", |world| Box::pin(async move {
        let session = world.customer(&fresh_email()).await;
        request(Client::clone(&session), "/auth/reauthenticate", json!({"password": PASSWORD}))
    })),
    ("POST", "/auth/sign-out", |world| Box::pin(async move {
        let session = world.customer(&fresh_email()).await;
        let body = json!({"refresh_token": session.refresh_token});
        request(Client::clone(&session), "/auth/sign-out", body)
    })),
    ("POST", "/auth/forgot-password", |world| Box::pin(async move {
        request(world.anyone(), "/auth/forgot-password", json!({"email": fresh_email()}))
    })),
    ("POST", "/auth/reset-password", |world| Box::pin(async move {
        let email = fresh_email();
        world.user(&email, Role::Customer).await;
        world.anyone().post("/auth/forgot-password", json!({"email": email})).await.expect(202);
        let mail = world.mails().await.into_iter().rfind(|mail| mail.to == email).unwrap();
        let body = json!({"token": mail.token(), "new_password": "another long password"});
        request(world.anyone(), "/auth/reset-password", body)
    })),
    ("POST", "/auth/first-login", |world| Box::pin(async move {
        request(world.anyone(), "/auth/first-login", json!({"token": magic_link(world).await}))
    })),
    ("POST", "/auth/magic-link/redeem", |world| Box::pin(async move {
        request(world.anyone(), "/auth/magic-link/redeem", json!({"token": magic_link(world).await}))
    })),
    ("POST", "/auth/verify-email", |world| Box::pin(async move {
        let email = fresh_email();
        sign_up(world, &email).await;
        let mail = world.mails().await.into_iter().rfind(|mail| mail.to.contains(&email)).unwrap();
        request(world.anyone(), "/auth/verify-email", json!({"token": mail.token(), "password": PASSWORD}))
    })),
    ("DELETE", "/me/sessions", |world| Box::pin(async move {
        bodiless(world.customer(&fresh_email()).await.into_client(), "/me/sessions")
    })),
    ("POST", "/me/password", |world| Box::pin(async move {
        let caller = world.customer(&fresh_email()).await.into_client();
        let body = json!({"current_password": PASSWORD, "new_password": "another long password"});
        request(caller, "/me/password", body)
    })),
    ("POST", "/me/email-verification", |world| Box::pin(async move {
        bodiless(sign_up(world, &fresh_email()).await.into_client(), "/me/email-verification")
    })),
    ("DELETE", "/me/sessions/{id}", |world| Box::pin(async move {
        let email = fresh_email();
        let session = world.customer(&email).await;
        world.sign_in(&email).await;
        // Not the caller's own session: with it the token would end, and the request could not be repeated.
        bodiless(Client::clone(&session), &format!("/me/sessions/{}", other_device(&session).await))
    })),
    ("POST", "/me/2fa/enroll", |world| Box::pin(async move {
        bodiless(world.minted(Role::Customer).await, "/me/2fa/enroll")
    })),
    ("POST", "/me/2fa/confirm", |world| Box::pin(async move {
        confirming(world, Role::Customer, "/me/2fa").await
    })),
    ("POST", "/me/2fa/recovery-codes", |world| Box::pin(async move {
        with_recovery_code(world, Role::Customer, "/me/2fa", "recovery-codes").await
    })),
    ("POST", "/me/2fa/disable", |world| Box::pin(async move {
        with_recovery_code(world, Role::Customer, "/me/2fa", "disable").await
    })),
    ("POST", "/me/passkeys/registration", |world| Box::pin(async move {
        bodiless(world.minted(Role::Customer).await, "/me/passkeys/registration")
    })),
    ("POST", "/me/passkeys", |world| Box::pin(async move {
        let caller = world.minted(Role::Customer).await;
        let options = caller.post("/me/passkeys/registration", json!({})).await.ok();
        let body = Passkey::new(world).attestation(&options);
        request(caller, "/me/passkeys", body)
    })),
    ("DELETE", "/me/passkeys/{id}", |world| Box::pin(async move {
        let (caller, path) = with_passkey(world).await;
        bodiless(caller, &path)
    })),
    ("PATCH", "/account", |world| Box::pin(async move {
        request(world.minted(Role::Customer).await, "/account", json!({"company_name": "Renamed GmbH"}))
    })),
    ("POST", "/auth/cookie", |world| Box::pin(async move {
        let session = world.customer(&fresh_email()).await;
        request(browser(world, None), "/auth/cookie", json!({"refresh_token": session.refresh_token}))
    })),
    ("POST", "/auth/cookie/refresh", |world| Box::pin(async move {
        let session = world.customer(&fresh_email()).await;
        bodiless(browser(world, Some(&session.refresh_token)), "/auth/cookie/refresh")
    })),
    ("DELETE", "/auth/cookie", |world| Box::pin(async move {
        let session = world.customer(&fresh_email()).await;
        bodiless(browser(world, Some(&session.refresh_token)), "/auth/cookie")
    })),
    ("GET", "/files/{token}", |world| Box::pin(async move {
        bodiless(world.anyone(), &format!("/files/{}", signed_link(world).await))
    })),
    ("POST", "/admin/bootstrap", |world| Box::pin(async move {
        request(
            world.anyone().header("X-Bootstrap-Token", &world.node.app.bootstrap_token),
            "/admin/bootstrap",
            json!({"legal_name": "Carrier BV", "contact_name": "Ada", "contact_email": fresh_email(), "password": PASSWORD}),
        )
    })),
    ("POST", "/admin/2fa/enroll", |world| Box::pin(async move {
        bodiless(world.minted(Role::Admin).await, "/admin/2fa/enroll")
    })),
    ("POST", "/admin/2fa/confirm", |world| Box::pin(async move {
        confirming(world, Role::Admin, "/admin/2fa").await
    })),
    ("POST", "/admin/2fa/recovery-codes", |world| Box::pin(async move {
        with_recovery_code(world, Role::Admin, "/admin/2fa", "recovery-codes").await
    })),
    ("POST", "/admin/2fa/disable", |world| Box::pin(async move {
        with_recovery_code(world, Role::Admin, "/admin/2fa", "disable").await
    })),
];

/// A page of the service itself, with a refresh token in its cookie.
pub fn browser(world: &World, refresh_token: Option<&str>) -> Client {
    let page = world.anyone().header("Sec-Fetch-Site", "same-origin");
    match refresh_token {
        Some(token) => page.header("Cookie", &format!("trunkline_refresh={token}")),
        None => page,
    }
}

/// For each path with a parameter: the path of a resource of another account.
#[rustfmt::skip]
const STRANGERS: &[(&str, Stranger)] = &[
    ("/me/sessions/{id}", |world| Box::pin(async move {
        let stranger = world.customer(&fresh_email()).await;
        format!("/me/sessions/{}", first_device(&stranger).await)
    })),
    ("/me/passkeys/{id}", |world| Box::pin(async move { with_passkey(world).await.1 })),
    // A signed link has no owner: the stranger is an altered link.
    ("/files/{token}", |world| Box::pin(async move {
        let token = signed_link(world).await;
        let (first, rest) = token.split_at(1);
        format!("/files/{}{rest}", if first == "A" { "B" } else { "A" })
    })),
];

/// True for changes, for paths with a parameter, and for reads of what must be created first.
pub fn needs_example(endpoint: &Endpoint) -> bool {
    let read = |(method, path, _): &&(&str, &str, Preparation)| (*method, *path) == ("GET", endpoint.path);
    endpoint.changes()
        || endpoint.path.contains('{')
        || onboarding::EXAMPLES.iter().chain(rates::EXAMPLES).any(|line| read(&line))
}

/// The example of an endpoint, by an allowed caller and with a key if one is required.
pub async fn example(world: &World, endpoint: &Endpoint) -> Request {
    keyed(endpoint, prepared(world, endpoint).await)
}

/// The same without the key.
pub async fn prepared(world: &World, endpoint: &Endpoint) -> Request {
    let (method, path) = (endpoint.method.as_str(), endpoint.path);
    let found = EXAMPLES
        .iter()
        .chain(onboarding::EXAMPLES)
        .chain(money::EXAMPLES)
        .chain(payments::EXAMPLES)
        .chain(billing::EXAMPLES)
        .chain(rates::EXAMPLES)
        .chain(voice::EXAMPLES)
        .chain(cdrs::EXAMPLES)
        .chain(account_users::EXAMPLES)
        .chain(api_keys::EXAMPLES)
        .chain(numbers::EXAMPLES)
        .chain(team::EXAMPLES)
        .chain(events::EXAMPLES)
        .find(|(its_method, its_path, _)| (*its_method, *its_path) == (method, path));
    let (_, _, prepare) = found.unwrap_or_else(|| {
        panic!("{method} {path} has no example: add a line to EXAMPLES in trunkline/tests/it/coverage/examples.rs that prepares a request which succeeds")
    });
    prepare(world).await
}

/// Adds an idempotency key if the endpoint requires one.
pub fn keyed(endpoint: &Endpoint, mut request: Request) -> Request {
    if endpoint.idempotency == Idempotency::Required {
        request.caller = request.caller.with_key(key());
    }
    request
}

/// The path of a resource that the endpoint's caller must not see.
pub async fn stranger(world: &World, endpoint: &Endpoint) -> String {
    let found = STRANGERS
        .iter()
        .chain(onboarding::STRANGERS)
        .chain(money::STRANGERS)
        .chain(rates::STRANGERS)
        .chain(payments::STRANGERS)
        .chain(billing::STRANGERS)
        .chain(voice::STRANGERS)
        .chain(cdrs::STRANGERS)
        .chain(account_users::STRANGERS)
        .chain(api_keys::STRANGERS)
        .chain(numbers::STRANGERS)
        .chain(team::STRANGERS)
        .chain(events::STRANGERS)
        .find(|(path, _)| *path == endpoint.path);
    let (_, prepare) = found.unwrap_or_else(|| {
        panic!("{} names a resource: add a line to STRANGERS in trunkline/tests/it/coverage/examples.rs that makes one of another tenant", endpoint.path)
    });
    prepare(world).await
}

pub async fn send(request: &Request, method: &hyper::Method) -> Answer {
    if let Some(form) = &request.form {
        return form::post_bytes(&request.caller, &request.path, form.clone()).await;
    }
    if let Some(table) = &request.table {
        let sent = request.caller.request(method.clone(), &request.path).header("content-type", "text/csv");
        return request.caller.send(sent.body(table.clone())).await;
    }
    request.caller.call(method.clone(), &request.path, request.body.clone()).await
}

pub fn request(caller: Client, path: &str, body: Value) -> Request {
    Request { caller, path: path.to_owned(), body: Some(body), form: None, table: None }
}

pub fn bodiless(caller: Client, path: &str) -> Request {
    Request { caller, path: path.to_owned(), body: None, form: None, table: None }
}

async fn with_passkey(world: &World) -> (Client, String) {
    let caller = world.minted(Role::Customer).await;
    let made = Passkey::new(world).register(&caller).await.expect(201);
    (caller, format!("/me/passkeys/{}", made["id"].as_str().unwrap()))
}

async fn first_device(session: &Session) -> String {
    session.get("/me/sessions").await.ok()["data"][0]["id"].as_str().unwrap().to_owned()
}

async fn other_device(session: &Session) -> String {
    let devices = session.get("/me/sessions").await.ok();
    let other = devices["data"].as_array().unwrap().iter().find(|device| device["current"] == false).unwrap();
    other["id"].as_str().unwrap().to_owned()
}

async fn magic_link(world: &World) -> String {
    let user = world.user(&fresh_email(), Role::Customer).await;
    let app = world.node.app.clone();
    let db = app.db.clone();
    let issue =
        db.tx((app, user), |conn, (app, user)| Box::pin(identity::mailed_links::issue_magic_link(conn, app, *user)));
    let link = issue.await.unwrap();
    link.url.split_once("#token=").unwrap().1.to_owned()
}

async fn signed_link(world: &World) -> String {
    let app = &world.node.app;
    let content = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"an invoice"))]);
    let hash = app.files.put(content, 100).await.unwrap().hash;
    let expires_at = app.clock.now().plus(Duration::from_secs(3600));
    app.links.sign(&Download {
        hash,
        file_name: "invoice.pdf".into(),
        content_type: "application/pdf".into(),
        expires_at,
    })
}

/// Sets up a second factor and returns a recovery code.
async fn enrolled(world: &World, caller: &Client, at: &str) -> String {
    let code = first_code(world, caller, at).await;
    let codes = caller.post(&format!("{at}/confirm"), json!({"code": code})).await.ok();
    codes["recovery_codes"][0].as_str().unwrap().to_owned()
}

async fn first_code(world: &World, caller: &Client, at: &str) -> String {
    let enrollment = caller.post(&format!("{at}/enroll"), json!({})).await.ok();
    let seed = data_encoding::BASE32_NOPAD.decode(enrollment["secret"].as_str().unwrap().as_bytes()).unwrap();
    let totp = Builder::new().with_secret(Secret::from(seed.as_slice())).with_account_name("x").build().unwrap();
    totp.generate(u64::try_from(world.node.app.clock.now().seconds()).unwrap()).to_string()
}

async fn confirming(world: &World, role: Role, at: &str) -> Request {
    let caller = world.minted(role).await;
    let code = first_code(world, &caller, at).await;
    request(caller, &format!("{at}/confirm"), json!({"code": code}))
}

async fn with_recovery_code(world: &World, role: Role, at: &str, what: &str) -> Request {
    let caller = world.minted(role).await;
    let code = enrolled(world, &caller, at).await;
    request(caller, &format!("{at}/{what}"), json!({"code": code}))
}
