//! Accounts: the companies that buy from the carrier, and the carrier's own.
//!
//! `GET /account` and `PATCH /account` are the customer's view of itself; `GET /me` shows the same beside the user.

mod store;
mod types;
mod words;

pub use store::{
    NewAccount, TaxStanding, assign_manager, contact, discard, insert, lock, move_vat_status, tax_standing,
};
pub use types::{Account, Address, OnboardingStatus, VatStatus};
pub use words::words_of;

use crate::db::Conn;
use crate::http::answer::Json;
use crate::http::call::{Call, Done, Read};
use crate::http::input::Body;
use crate::http::problem::Problem;
use crate::values::AccountId;
use types::AccountUpdate;

/// The account as clients see it.
pub async fn view(conn: &mut Conn, id: AccountId) -> Result<Account, Problem> {
    Ok(store::find(conn, id).await?.ok_or_else(Problem::not_found)?.into())
}

pub async fn show(mut read: Read) -> Result<Json<Account>, Problem> {
    let id = read.principal()?.account_id;
    Ok(Json(view(&mut read, id).await?))
}

pub async fn update(call: Call, Body(changes): Body<AccountUpdate>) -> Result<Done<Json<Account>>, Problem> {
    let id = call.principal()?.account_id;
    call.commit((id, changes), |tx, (id, changes)| {
        Box::pin(async move {
            let mut account = store::find_to_change(tx, *id).await?.ok_or_else(Problem::not_found)?;
            if account.onboarding_status == OnboardingStatus::Suspended {
                return Err(Problem::account_not_active(
                    "The account is suspended; write to support to have it reinstated.",
                ));
            }
            tx.expect_version(&Account::from(account.clone()))?;
            let name = account.company_name.clone();
            changes.apply(&mut account);
            account.updated_at = tx.call.now;
            store::update(tx, &account).await?;
            if account.company_name != name {
                store::note_words(tx, *id).await?;
            }
            Ok(Json(account.into()))
        })
    })
    .await
}
