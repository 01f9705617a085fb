//! Sign-in: passwords, second factors, refresh tokens and the links of mails.

use super::tags;
use api::auth::Who::{Anyone, SignedIn};
use api::endpoint::{Endpoint, post};
use api::problem::Code::{Forbidden, InvalidCredentials, NotFound, StateConflict, TokenExpired, TokenInvalid};
use identity::sessions;
use platform::limits::Limit;

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        post("/auth/sign-in", sessions::sign_in, "signIn", "Sign in with email and password")
            .about("Exchanges email and password for an access token and a refresh token. For a user with a second \
                    factor the response is `2fa_required` with a `tmp_token`; send it with a code to `POST \
                    /admin/2fa/verify` within 5 minutes. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("session.sign_in").problems(&[InvalidCredentials])
            .under(tags::AUTHENTICATION),
        post("/admin/2fa/verify", sessions::verify_second_factor,
             "verifySecondFactor", "Verify the second factor of a sign-in")
            .about("Completes the sign-in of a customer or a team member with the `tmp_token` and a one-time or \
                    recovery code. Returns the tokens of the new session; after five tries or 5 minutes sign in again. \
                    No token needed other than `tmp_token`.")
            .who(Anyone).limit(Limit::SignIn).audit("session.second_factor")
            .problems(&[InvalidCredentials, TokenInvalid, TokenExpired, StateConflict]).under(tags::AUTHENTICATION),
        post("/auth/refresh", sessions::refresh, "refreshToken", "Refresh an access token")
            .about("Exchanges a refresh token for a new access token and a new refresh token; the old one stops \
                    working at once. Reusing a spent token ends the session and mails the user, unless it is a lost \
                    response: within 10 seconds, successor unused. No token needed.")
            .who(Anyone).limit(Limit::Refresh).audit("session.refresh").problems(&[TokenInvalid])
            .under(tags::AUTHENTICATION),
        post("/auth/sign-out", sessions::sign_out, "signOut", "Sign out")
            .about("Ends the session that the refresh token belongs to. Access tokens already issued work until they \
                    expire, at most 15 minutes; `DELETE /me/sessions/{id}` revokes them at once. Open to any signed-in \
                    user.")
            .who(SignedIn).limit(Limit::Writes).audit("session.sign_out").problems(&[NotFound])
            .under(tags::AUTHENTICATION),
        post("/auth/forgot-password", sessions::forgot_password,
             "requestPasswordReset", "Request a password reset link")
            .about("Mails a password reset link, valid for 1 hour, if the address belongs to a user. The response is \
                    the same for known and unknown addresses. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("password.forgot").under(tags::AUTHENTICATION),
        post("/auth/reset-password", sessions::reset_password, "resetPassword", "Reset a password with a mailed link")
            .about("Sets a new password with the token of the reset link, which works once. Ends all sessions of the \
                    user and confirms the change by mail. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("password.reset").problems(&[TokenInvalid, TokenExpired])
            .under(tags::AUTHENTICATION),
        post("/auth/first-login", sessions::first_login, "signInWithMagicLink", "Sign in with a magic link")
            .about("Exchanges the token of a magic link for a session. The link works once within 72 hours, and not \
                    for a user with a second factor, who signs in with password and code. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("session.first_login")
            .problems(&[TokenInvalid, TokenExpired, Forbidden]).under(tags::AUTHENTICATION),
        post("/auth/magic-link/redeem", sessions::redeem_magic_link,
             "redeemMagicLink", "Redeem a magic link for tokens")
            .about("Exchanges the token of a magic link for an access token and a refresh token. Works like `POST \
                    /auth/first-login`, but returns `expires_in` in seconds and no user. No token needed.")
            .who(Anyone).limit(Limit::SignIn).audit("session.magic_link")
            .problems(&[TokenInvalid, TokenExpired, Forbidden]).under(tags::AUTHENTICATION),
    ]
}
