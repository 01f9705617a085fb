//! `GET /portal`: what a sign-in page shows before anybody is known.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bootstrap;
use crate::onboarding::AccountStatus;
use api::answer::Json;
use api::context::ReadCtx;
use api::problem::Problem;
use db::{Conn, DbError, params, row, sql};
use platform::app::demo;
use platform::outside::payments::Provider;
use values::{AccountId, Email, Role, Roles};

/// The name of the service until the first admin names the operator.
const NO_CARRIER: &str = "Trunkline";

/// Zone that customers send their calls to.
#[derive(Serialize, JsonSchema)]
pub struct PortalZone {
    /// Name of the zone.
    name: String,
    /// SIP host of the zone; null if the operator has set none.
    sip_address: Option<String>,
}

/// User of a demo database.
#[derive(Serialize, JsonSchema)]
pub struct DemoUser {
    /// Email address to sign in with.
    email: Email,
    /// Who the user is, such as `Owner of Kanaal Contact BV, live`.
    description: String,
}

/// What a sign-in page needs to know.
#[derive(Serialize, JsonSchema)]
pub struct Portal {
    /// Name of the operator.
    carrier_name: String,
    /// Whether payments go to the sandbox provider, so that no real money moves.
    sandbox: bool,
    /// Whether the first admin is still to be created.
    bootstrap_required: bool,
    /// Zones of the service.
    zones: Vec<PortalZone>,
    /// Whether this is a lab, where some rules are relaxed and nobody is a real customer.
    lab: bool,
    /// Whether a network on an allow-list counts only after a proof that it is the customer's.
    allow_list_proof: bool,
    /// Users that the demo made and that can sign in with a password; empty in a database without demo data.
    demo_users: Vec<DemoUser>,
    /// Password of these users; null unless this is a lab and they have the fixed one.
    #[schemars(example = "correct horse battery staple")]
    demo_password: Option<&'static str>,
}

pub async fn show(mut ctx: ReadCtx) -> Result<Json<Portal>, Problem> {
    let app = ctx.request.app.clone();
    let demo_users: Vec<DemoUser> = match demo::is_marked(&mut ctx).await? {
        true => demo_users(&mut ctx).await?.into_iter().map(DemoUser::from).collect(),
        false => Vec::new(),
    };
    let lab = app.settings.lab.is_lab;
    let is_password_told = lab && !demo_users.is_empty() && demo::has_known_password(&mut ctx).await?;
    let zones = app.settings.zones.iter();
    Ok(Json(Portal {
        carrier_name: operator_name(&mut ctx).await?,
        sandbox: app.payments.provider() == Provider::Sandbox,
        bootstrap_required: !bootstrap::exists(&mut ctx).await?,
        zones: zones
            .map(|zone| PortalZone { name: zone.name.clone(), sip_address: zone.sip_address.clone() })
            .collect(),
        lab,
        allow_list_proof: app.settings.allow_list_proof,
        demo_users,
        demo_password: is_password_told.then_some(demo::PASSWORD),
    }))
}

/// The operator's name.
pub async fn operator_name(conn: &mut Conn) -> Result<String, DbError> {
    let found: Option<(String,)> = conn
        .opt(
            sql!(
                "SELECT a.company_name FROM onboardings o JOIN accounts a ON a.id = o.account_id
                 WHERE o.is_carrier ORDER BY a.id LIMIT 1"
            ),
            params![],
        )
        .await?;
    Ok(found.map_or_else(|| NO_CARRIER.to_owned(), |(name,)| name))
}

/// The operator's account, once the first admin has created it.
pub async fn operator(conn: &mut Conn) -> Result<Option<AccountId>, DbError> {
    let found: Option<(AccountId,)> = conn
        .opt(sql!("SELECT account_id FROM onboardings WHERE is_carrier ORDER BY account_id LIMIT 1"), params![])
        .await?;
    Ok(found.map(|(account,)| account))
}

row! {
    struct DemoUserRow {
        email: Email,
        roles: Roles,
        company_name: String,
        beta_status: AccountStatus,
    }
}

impl From<DemoUserRow> for DemoUser {
    fn from(row: DemoUserRow) -> Self {
        let DemoUserRow { email, roles, company_name, beta_status } = row;
        let description = match (roles.has(Role::Admin), roles.is_team()) {
            (true, _) => format!("Admin of {company_name}"),
            (_, true) => format!("Support of {company_name}"),
            _ => format!("Owner of {company_name}, {}", stage(beta_status)),
        };
        DemoUser { email, description }
    }
}

/// How far an account is, in words.
fn stage(status: AccountStatus) -> &'static str {
    match status {
        AccountStatus::BetaSignup => "signing up",
        AccountStatus::BetaCardPending => "card not checked yet",
        AccountStatus::BetaWaitlist => "on the waitlist",
        AccountStatus::BetaApproved => "approved, no top-up yet",
        AccountStatus::BetaDeclined => "declined",
        AccountStatus::Live => "live",
    }
}

/// The users of the demo who can sign in with a password.
async fn demo_users(conn: &mut Conn) -> Result<Vec<DemoUserRow>, DbError> {
    conn.all(
        sql!(
            "SELECT u.email, u.roles, a.company_name, o.beta_status
             FROM demo_users d JOIN users u ON u.id = d.user_id JOIN accounts a ON a.id = u.account_id
             JOIN onboardings o ON o.account_id = a.id
             WHERE u.is_active AND u.password_hash IS NOT NULL ORDER BY u.id LIMIT 50"
        ),
        params![],
    )
    .await
}
