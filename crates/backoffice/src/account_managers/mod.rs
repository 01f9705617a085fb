//! Account managers: the people of the carrier whom customers know by name.
//!
//! They are names and addresses, not users; whoever also signs in is a member of the team besides. One who is not active
//! is given no customers, and those of its own see nobody in its place.

mod store;

pub use store::{AccountManagerId, is_active};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use db::DbError;
use store::ManagerRow;
use values::{Change, Email, Text, Time};

#[derive(Serialize, JsonSchema)]
pub struct AccountManager {
    pub id: AccountManagerId,
    pub name: Text<1, 100>,
    pub email: Email,
    pub is_active: bool,
}

impl From<ManagerRow> for AccountManager {
    fn from(row: ManagerRow) -> Self {
        let ManagerRow { id, name, email, is_active, created_at: _ } = row;
        AccountManager { id, name, email, is_active }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountManagerCreate {
    name: Text<1, 100>,
    email: Email,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountManagerUpdate {
    #[serde(default)]
    name: Change<Text<1, 100>>,
    #[serde(default)]
    email: Change<Email>,
    #[serde(default)]
    is_active: Change<bool>,
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, (i64, AccountManagerId)>,
) -> Result<Page<AccountManager>, Problem> {
    let (at, id) = listing.after.unwrap_or((i64::MAX, AccountManagerId::new(Uuid::max())));
    let rows = store::list(&mut ctx, (Time::from_millis(at), id), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at.millis(), row.id), AccountManager::from)
}

pub async fn create(
    ctx: RequestCtx,
    Body(wanted): Body<AccountManagerCreate>,
) -> Result<Committed<Created<AccountManager>>, Problem> {
    let AccountManagerCreate { name, email } = wanted;
    let id = AccountManagerId::new(ctx.app.entropy.uuid(ctx.now));
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

pub async fn change(
    ctx: RequestCtx,
    Path(id): Path<AccountManagerId>,
    Body(wanted): Body<AccountManagerUpdate>,
) -> Result<Committed<Json<AccountManager>>, Problem> {
    ctx.audit_note("account_manager_id", id.to_string());
    ctx.commit((id, wanted), |tx, (id, wanted)| {
        Box::pin(async move {
            let mut manager = store::find_to_change(tx, *id).await?.ok_or_else(Problem::not_found)?;
            tx.expect_version(&AccountManager::from(manager.clone()))?;
            let AccountManagerUpdate { name, email, is_active } = wanted.clone();
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
    Problem::resource_in_use("This address belongs to another account manager.")
}
