//! VAT: the category and rate that a customer is charged, and the status of its VAT id.
//!
//! `rules` decides by country, VAT id and the team's decisions. The id and its status belong to the account; `checks`
//! verifies it: when the customer requests it, again while VIES does not answer, every month while it is valid, and
//! before an invoice relies on it. Answers of VIES are stored. A customer whose case VIES cannot decide uploads VAT
//! evidence, which the team reviews.
//!
//! - `customer`: `/account/vat` · `admin`: `/admin/customers/{id}/vat/proof-documents`

mod admin;
mod checks;
mod customer;
mod rules;
mod store;
mod types;

pub use admin::{Ruling, list_evidence, rule};
pub use checks::{CHECK, ROUND, check_job, refresh, round_job};
pub use customer::{check, show, upload_evidence};
pub use rules::{Category, Decision, Rate, VatTreatment};
pub use store::names_file;

use rules::{Buyer, Home};

use api::problem::Problem;
use db::Conn;
use identity::accounts::{self, TaxStanding};
use platform::config::TaxSettings;
use values::AccountId;

async fn standing_of(conn: &mut Conn, account: AccountId) -> Result<TaxStanding, Problem> {
    accounts::tax_standing(conn, account).await?.ok_or_else(Problem::not_found)
}

/// The VAT decision for an account now, and the tax data it is based on.
pub async fn assess(
    conn: &mut Conn,
    tax: &TaxSettings,
    account: AccountId,
) -> Result<(Decision, TaxStanding), Problem> {
    let standing = standing_of(conn, account).await?;
    let profile = store::profile(conn, account).await?;
    let home = Home { country: tax.home, rate: Rate(tax.home_rate_basis_points) };
    let buyer = Buyer {
        country: standing.country,
        status: standing.vat_status,
        vat_id: standing.vat_id.as_deref().and_then(|id| id.parse().ok()),
        is_reseller: profile.is_reseller,
        treatment: profile.treatment_for(standing.vat_id.as_deref()),
    };
    Ok((rules::decide(home, &buyer), standing))
}
