//! How the team gets in: the first admin, and the second factors of admins.

use super::tags;
use api::auth::Who::{Admin, Anyone};
use api::endpoint::{Endpoint, post};
use api::problem::Code::{InvalidCredentials, NotFound, StateConflict};
use identity::{bootstrap, two_factor};
use platform::limits::Limit;

#[rustfmt::skip]
pub fn bootstrap() -> Vec<Endpoint> {
    vec![
        post("/admin/bootstrap", bootstrap::bootstrap, "createFirstAdmin", "Create the first admin")
            .about("Creates the operator's account and its first admin, once per installation. Needs the bootstrap \
                    token instead of an access token; sign in afterwards and enroll a second factor.")
            .who(Anyone).limit(Limit::SignIn).audit("admin.bootstrap").problems(&[StateConflict])
            .under(tags::ADMIN_ACCESS),
    ]
}

#[rustfmt::skip]
pub fn second_factor() -> Vec<Endpoint> {
    vec![
        post("/admin/2fa/enroll", two_factor::enroll, "adminEnrollSecondFactor", "Enroll an admin's second factor")
            .about("Creates a TOTP secret and returns it as text, `otpauth` URL and QR code; confirm it with `POST \
                    /admin/2fa/confirm`. Does the same as `POST /me/2fa/enroll`. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("two_factor.enroll").problems(&[StateConflict, NotFound])
            .under(tags::ADMIN_ACCESS),
        post("/admin/2fa/confirm", two_factor::confirm, "adminConfirmSecondFactor", "Confirm an admin's second factor")
            .about("Activates the enrolled second factor with its first code and returns ten recovery codes, shown \
                    only once. Does the same as `POST /me/2fa/confirm`. Admins only.")
            .who(Admin).limit(Limit::SignIn).audit("two_factor.confirm").problems(&[InvalidCredentials, StateConflict])
            .under(tags::ADMIN_ACCESS),
        post("/admin/2fa/recovery-codes", two_factor::regenerate_recovery_codes,
             "adminRegenerateRecoveryCodes", "Regenerate an admin's recovery codes")
            .about("Replaces the recovery codes with ten new ones, shown only once; requires a one-time or recovery \
                    code. Does the same as `POST /me/2fa/recovery-codes`. Admins only.")
            .who(Admin).limit(Limit::SignIn).audit("two_factor.recovery_codes")
            .problems(&[InvalidCredentials, StateConflict]).under(tags::ADMIN_ACCESS),
        post("/admin/2fa/disable", two_factor::disable, "adminDisableSecondFactor", "Disable an admin's second factor")
            .about("Removes the second factor; requires a one-time or recovery code. Does the same as `POST \
                    /me/2fa/disable`. Admins only.")
            .who(Admin).limit(Limit::SignIn).audit("two_factor.disable").problems(&[InvalidCredentials, StateConflict])
            .under(tags::ADMIN_ACCESS),
    ]
}
