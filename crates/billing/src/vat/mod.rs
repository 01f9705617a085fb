//! VAT: which of it a customer owes, and what is known of its VAT id.
//!
//! `rules` is the table that decides by country, id and what the team has said. The id and its status belong to the
//! account; here is how they are looked at (`checks`): a customer asks, VIES is asked, silence is asked again, and a
//! valid id is asked about every month and before an invoice relies on it. What was heard is kept as proof. A customer
//! whose case VIES does not know hands in papers (`customer`), which the team judges.
//!
//! - `/account/vat` · `team`: `/admin/customers/{id}/vat/proof-documents`

mod checks;
mod customer;
mod rules;
mod store;
mod team;
mod types;

pub use checks::{CHECK, check_job, refresh};
pub use customer::{check, show, upload_proof};
pub use rules::{Category, Decision, Rate, VatTreatment};
pub use store::{names_file, set_terms};
pub use team::{Ruling, rule, show_proofs};

use rules::{Buyer, Home};

use api::problem::Problem;
use db::Conn;
use identity::accounts::{self, TaxStanding};
use platform::config::TaxSettings;
use values::AccountId;

async fn standing_of(conn: &mut Conn, account: AccountId) -> Result<TaxStanding, Problem> {
    accounts::tax_standing(conn, account).await?.ok_or_else(Problem::not_found)
}

/// The VAT that an account owes as things stand, and the standing it follows from.
pub async fn assess(
    conn: &mut Conn,
    tax: &TaxSettings,
    account: AccountId,
) -> Result<(Decision, TaxStanding), Problem> {
    let standing = standing_of(conn, account).await?;
    let profile = store::profile(conn, account).await?;
    let home = Home { country: tax.home, rate: Rate(tax.home_rate_basis_points) };
    let buyer = Buyer {
        country: standing.established_in(),
        status: standing.vat_status,
        vat_id: standing.vat_id.as_deref().and_then(|id| id.parse().ok()),
        is_reseller: profile.is_reseller,
        treatment: profile.treatment,
    };
    Ok((rules::decide(home, &buyer), standing))
}
