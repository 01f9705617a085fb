//! Browser sessions: the refresh token in a cookie that scripts cannot read.
//!
//! The portal signs in as any client does, then hands its refresh token to `POST /auth/cookie`. From then on the browser
//! holds the token, and a script that an attacker gets into a page finds only an access token of 15 minutes. The rows
//! of these endpoints say `same_origin`: no other site can make a browser call them. A token that is used twice is
//! treated as everywhere, see [`super::refresh`].

use std::net::IpAddr;

use hyper::Uri;
use hyper::header::{COOKIE, HeaderMap, HeaderValue};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::json;

use super::refresh::{self, Rotated};
use super::types::{RefreshRequest, SessionUser, TokenType};
use super::{issue, store};
use crate::users;
use api::answer::{Json, NoContent, SetCookie};
use api::context::{Committed, RequestCtx};
use api::input::{Body, Description, IncomingRequest, Input};
use api::problem::{Code, Problem};

/// The browser sends it to the endpoints of this file only.
const PATH: &str = "/v1/auth";
const NAME: &str = "__Secure-trunkline_refresh";
/// Without TLS a browser refuses the other name.
const NAME_ON_LOOPBACK: &str = "trunkline_refresh";

/// Tokens of a browser session; its refresh token is in the cookie.
#[derive(Serialize, JsonSchema)]
pub struct CookieSessionResponse {
    /// Access token for the `Authorization: Bearer` header; it lasts 15 minutes.
    access_token: String,
    /// When the access token expires (Unix seconds).
    expires_at: i64,
    /// Scheme of the `Authorization` header.
    token_type: TokenType,
    /// User who signed in.
    user: SessionUser,
}

/// The refresh token in the cookie.
pub struct RefreshCookie(String);

impl Input for RefreshCookie {
    async fn read(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        let found = find_cookie(&request.head.headers, name(&ctx.app.public_url));
        let missing = || Problem::token_invalid("The request has no session cookie. Sign in first.");
        found.map(|value| RefreshCookie(value.to_owned())).ok_or_else(missing)
    }

    fn describe(_: &str, _: &mut SchemaGenerator, description: &mut Description) {
        description.parameters.push(json!({
            "name": NAME, "in": "cookie", "required": true, "schema": {"type": "string"},
            "description": "Refresh token, as `POST /auth/cookie` set it. On loopback without TLS the name is \
                            `trunkline_refresh`.",
        }));
        description.problems.push(Code::TokenInvalid);
    }
}

fn find_cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(its_name, value)| *its_name == name && !value.is_empty()).map(|(_, value)| value)
}

/// Whether browsers talk to this service on the same machine and without TLS, as in a lab.
fn is_plain_loopback(public_url: &str) -> bool {
    let Ok(url) = public_url.parse::<Uri>() else { return false };
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_loopback = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    url.scheme_str() == Some("http") && is_loopback
}

fn name(public_url: &str) -> &'static str {
    if is_plain_loopback(public_url) { NAME_ON_LOOPBACK } else { NAME }
}

fn cookie(public_url: &str, value: &str, max_age_seconds: u64) -> Result<HeaderValue, Problem> {
    let secure = if is_plain_loopback(public_url) { "" } else { "; Secure" };
    let name = name(public_url);
    let text = format!("{name}={value}; Path={PATH}; Max-Age={max_age_seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).map_err(Problem::internal)
}

fn cookie_of(ctx: &RequestCtx, rotated: &Rotated) -> Result<HeaderValue, Problem> {
    let lasts = rotated.session_ends_at.since(ctx.now).as_secs();
    cookie(&ctx.app.public_url, &rotated.tokens.refresh_token, lasts)
}

pub async fn set_cookie(
    ctx: RequestCtx,
    Body(request): Body<RefreshRequest>,
) -> Result<Committed<SetCookie<NoContent>>, Problem> {
    let spendable = refresh::check(&ctx, &request.refresh_token).await?;
    ctx.commit(spendable, |tx, spendable| {
        Box::pin(async move {
            let rotated = refresh::rotate(tx, spendable).await?;
            Ok(SetCookie { answer: NoContent, cookie: cookie_of(tx.ctx, &rotated)? })
        })
    })
    .await
}

pub async fn refresh_cookie(
    ctx: RequestCtx,
    RefreshCookie(token): RefreshCookie,
) -> Result<Committed<SetCookie<Json<CookieSessionResponse>>>, Problem> {
    let spendable = refresh::check(&ctx, &token).await?;
    ctx.commit(spendable, |tx, spendable| {
        Box::pin(async move {
            let rotated = refresh::rotate(tx, spendable).await?;
            let cookie = cookie_of(tx.ctx, &rotated)?;
            let tokens = rotated.tokens;
            let answer = Json(CookieSessionResponse {
                access_token: tokens.access_token,
                expires_at: tokens.expires_at,
                token_type: tokens.token_type,
                user: tokens.user,
            });
            Ok(SetCookie { answer, cookie })
        })
    })
    .await
}

/// Needs no access token: whoever signs out may have slept for longer than one lasts.
pub async fn clear_cookie(
    ctx: RequestCtx,
    RefreshCookie(token): RefreshCookie,
) -> Result<Committed<SetCookie<NoContent>>, Problem> {
    let mut conn = ctx.app.db.read().await?;
    let token = store::find_refresh_token(&mut conn, &issue::hash(&token)).await?;
    let user = match &token {
        Some(token) => users::find(&mut conn, token.user_id).await?,
        None => None,
    };
    drop(conn);
    if let Some(user) = &user {
        ctx.audit_subject(user.account_id, user.id, &user.roles);
    }
    // A cookie that is no longer good is cleared too: a page cannot do it.
    let session = token.filter(|_| user.is_some()).map(|token| token.session_id);
    ctx.commit(session, |tx, session| {
        Box::pin(async move {
            if let Some(session) = session {
                store::end_session(tx, *session).await?;
                store::revoke_access_of_session(tx, *session).await?;
            }
            Ok(SetCookie { answer: NoContent, cookie: cookie(&tx.ctx.app.public_url, "", 0)? })
        })
    })
    .await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_a_service_on_loopback_without_tls_has_a_cookie_without_secure() {
        for url in ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:8080"] {
            let cookie = cookie(url, "token", 60).unwrap();
            assert_eq!(cookie, "trunkline_refresh=token; Path=/v1/auth; Max-Age=60; HttpOnly; SameSite=Strict");
        }
        for url in ["https://127.0.0.1", "https://localhost", "http://trunkline.example", "http://192.0.2.1"] {
            let cookie = cookie(url, "token", 60).unwrap();
            assert_eq!(
                cookie,
                "__Secure-trunkline_refresh=token; Path=/v1/auth; Max-Age=60; HttpOnly; SameSite=Strict; Secure"
            );
        }
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=b; trunkline_refresh=; xtrunkline_refresh=no"));
        headers.append(COOKIE, HeaderValue::from_static("c=d; trunkline_refresh=yes=="));
        assert_eq!(find_cookie(&headers, NAME_ON_LOOPBACK), Some("yes=="));
        assert_eq!(find_cookie(&headers, NAME), None);
    }
}
