//! Account managers: the operator's contact persons for customers.
//!
//! An account manager is a name and an email address, not a user. An inactive one gets no new customers, and its own
//! customers see no account manager.

mod store;

pub use store::{AccountManagerId, is_active};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use db::DbError;
use store::ManagerRow;
use values::{Change, Email, Text};

/// Account manager: the operator's contact person for customers.
#[derive(Serialize, JsonSchema)]
pub struct AccountManager {
    /// Id of the account manager.
    pub id: AccountManagerId,
    /// Full name, as customers see it.
    pub name: Text<1, 100>,
    /// Email address, as customers see it; unique among account managers.
    pub email: Email,
    /// Whether customers can be assigned to this account manager and see it.
    pub is_active: bool,
}

impl From<ManagerRow> for AccountManager {
    fn from(row: ManagerRow) -> Self {
        let ManagerRow { id, name, email, is_active, created_at: _ } = row;
        AccountManager { id, name, email, is_active }
    }
}

/// New account manager.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountManagerCreate {
    /// Full name, as customers see it.
    name: Text<1, 100>,
    /// Email address, as customers see it; unique among account managers.
    email: Email,
}

/// Changes to an account manager; fields that are left out stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountManagerUpdate {
    /// Full name, as customers see it.
    #[serde(default)]
    name: Change<Text<1, 100>>,
    /// Email address, as customers see it; unique among account managers.
    #[serde(default)]
    email: Change<Email>,
    /// False hides the account manager from its customers and prevents new assignments.
    #[serde(default)]
    is_active: Change<bool>,
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<AccountManagerId>>,
) -> Result<Page<AccountManager>, Problem> {
    let rows = store::list(&mut ctx, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), AccountManager::from)
}

pub async fn create(
    ctx: RequestCtx,
    Body(request): Body<AccountManagerCreate>,
) -> Result<Committed<Created<AccountManager>>, Problem> {
    let AccountManagerCreate { name, email } = request;
    let id: AccountManagerId = ctx.new_id();
    ctx.audit_note("account_manager_id", id.to_string());
    let new = ManagerRow { id, name, email, is_active: true, created_at: ctx.now };
    ctx.commit(new, |tx, new| {
        Box::pin(async move {
            match store::insert(tx, new).await? {
                true => Ok(Created(new.clone().into())),
                false => Err(taken()),
            }
        })
    })
    .await
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<AccountManagerId>,
    Body(request): Body<AccountManagerUpdate>,
) -> Result<Committed<Json<AccountManager>>, Problem> {
    ctx.audit_note("account_manager_id", id.to_string());
    ctx.commit((id, request), |tx, (id, request)| {
        Box::pin(async move {
            let mut manager = store::find_for_update(tx, *id).await?.ok_or_else(Problem::not_found)?;
            tx.expect_version(&AccountManager::from(manager.clone()))?;
            let AccountManagerUpdate { name, email, is_active } = request.clone();
            name.apply(&mut manager.name);
            email.apply(&mut manager.email);
            is_active.apply(&mut manager.is_active);
            store::update(tx, &manager).await.map_err(|error| match error {
                DbError::Unique(_) => taken(),
                error => error.into(),
            })?;
            Ok(Json(manager.into()))
        })
    })
    .await
}

fn taken() -> Problem {
    Problem::resource_in_use("Another account manager has this email address.")
}
