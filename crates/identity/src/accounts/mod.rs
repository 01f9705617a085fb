//! Accounts: the customers' companies, and the operator's own.
//!
//! `GET /account` and `PATCH /account` are the customer's view of itself; `GET /me` shows the same beside the user.
//! `search_words` is the index by which the team finds an account.

mod search_words;
mod store;
mod types;

pub use search_words::search_words;
pub(crate) use store::NO_MAIL;
pub use store::{
    AccountRow, Contact, Details, NewAccount, TaxStanding, assign_manager, contact, delete_new, erase, find, insert,
    is_erased, lock, move_vat_status, set_contact, set_details, settle_country, tax_standing,
};
pub use types::{Account, Address, OnboardingStatus, VatStatus};

use serde_json::{Value, json};

use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Body;
use api::problem::Problem;
use db::Conn;
use types::AccountUpdate;
use values::AccountId;

/// The account as clients see it.
pub async fn view(conn: &mut Conn, id: AccountId) -> Result<Account, Problem> {
    Ok(store::find(conn, id).await?.ok_or_else(Problem::not_found)?.into())
}

pub async fn show(mut ctx: ReadCtx) -> Result<Json<Account>, Problem> {
    let id = ctx.principal()?.account_id;
    Ok(Json(view(&mut ctx, id).await?))
}

pub async fn update(ctx: RequestCtx, Body(changes): Body<AccountUpdate>) -> Result<Committed<Json<Account>>, Problem> {
    let id = ctx.principal()?.account_id;
    ctx.commit((id, changes), |tx, (id, changes)| {
        Box::pin(async move {
            let mut account = store::find_for_update(tx, *id).await?.ok_or_else(Problem::not_found)?;
            if account.onboarding_status == OnboardingStatus::Suspended {
                return Err(Problem::account_not_active(
                    "The account is suspended. Write to support to have it reinstated.",
                ));
            }
            tx.expect_version(&Account::from(account.clone()))?;
            let before = account.clone();
            changes.apply(&mut account);
            tx.ctx.audit_changes(audited_fields(&before), audited_fields(&account));
            account.updated_at = tx.ctx.now;
            store::update(tx, &account).await?;
            if account.company_name != before.company_name {
                store::index_search_words(tx, *id).await?;
            }
            Ok(Json(account.into()))
        })
    })
    .await
}

/// Fields whose changes go to the audit log.
fn audited_fields(row: &AccountRow) -> [(&'static str, Value); 6] {
    [
        ("company_name", json!(row.company_name)),
        ("locale", json!(row.locale)),
        ("postal_address", json!(row.postal_address)),
        ("invoice_address", json!(row.invoice_address)),
        ("vat_id", json!(row.vat_id)),
        ("vat_status", json!(row.vat_status)),
    ]
}
