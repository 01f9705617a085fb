//! The table that decides the VAT of a customer, and the changes of its VAT status.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use identity::accounts::VatStatus;
use platform::outside::vies::Verdict;
use values::{Country, Money, MoneyError, Time, VatId, is_in_union, text_enum};

text_enum! {
    /// VAT treatment set by the team, which overrides the rules; `reverse_charge` needs a VAT id and ends when it changes.
    pub enum VatTreatment {
        Standard = "standard",
        ReverseCharge = "reverse_charge",
        OutsideScope = "outside_scope",
    }
}

text_enum! {
    /// VAT category of a supply, by its EN 16931 code.
    pub enum Category {
        Standard = "S",
        ReverseCharge = "AE",
        OutsideScope = "O",
        Exempt = "E",
    }
}

/// A VAT rate, in hundredths of a percent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Rate(pub i64);

impl Rate {
    pub const ZERO: Rate = Rate(0);

    /// The VAT on an amount in minor units, rounded once.
    pub fn on(self, net: Money) -> Result<Money, MoneyError> {
        let exact = i128::from(net.minor()) * i128::from(self.0);
        let rounded = (exact.abs() * 2 + 10_000) / 20_000 * exact.signum();
        let minor = i64::try_from(rounded).map_err(|_| MoneyError::Overflow)?;
        Money::from_minor(minor, net.currency())
    }
}

/// The country and rate of the seller.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    pub country: Country,
    pub rate: Rate,
}

/// The data that decides a customer's VAT.
#[derive(Clone, Debug)]
pub struct Buyer {
    /// May be `Country::UNKNOWN`.
    pub country: Country,
    pub status: VatStatus,
    /// None unless the format is that of a member state.
    pub vat_id: Option<VatId>,
    pub is_reseller: bool,
    pub treatment: Option<VatTreatment>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decision {
    pub category: Category,
    pub rate: Rate,
}

/// Decides by the place of supply between businesses: at home the home rate; elsewhere in the European Union reverse
/// charge if the customer is a business; outside the Union no VAT.
pub fn decide(home: Home, buyer: &Buyer) -> Decision {
    let category = match buyer.treatment {
        Some(VatTreatment::Standard) => Category::Standard,
        Some(VatTreatment::OutsideScope) => Category::OutsideScope,
        // A reverse-charge invoice must name the VAT id of the customer.
        Some(VatTreatment::ReverseCharge) if buyer.vat_id.is_some() => Category::ReverseCharge,
        Some(VatTreatment::ReverseCharge) => Category::Standard,
        None if buyer.status == VatStatus::Exempt => Category::Exempt,
        None => by_place(home, buyer),
    };
    let rate = if category == Category::Standard { home.rate } else { Rate::ZERO };
    Decision { category, rate }
}

fn by_place(home: Home, buyer: &Buyer) -> Category {
    let valid_id = buyer.vat_id.as_ref().filter(|_| buyer.status == VatStatus::Valid);
    match valid_id {
        // A customer of unknown country is treated as domestic.
        _ if buyer.country == Country::UNKNOWN => Category::Standard,
        Some(_) if buyer.country == home.country && buyer.is_reseller => Category::ReverseCharge,
        _ if buyer.country == home.country => Category::Standard,
        _ if !is_in_union(buyer.country) => Category::OutsideScope,
        // A customer with a VAT id of the home country buys through an establishment there.
        Some(id) if id.country() != home.country => Category::ReverseCharge,
        _ => Category::Standard,
    }
}

/// The status after the customer requests a check. A valid id stays valid meanwhile; an exempt customer needs no check.
pub fn after_request(status: VatStatus) -> Option<VatStatus> {
    match status {
        VatStatus::NotVerified | VatStatus::Pending | VatStatus::Invalid => Some(VatStatus::Pending),
        VatStatus::Valid => Some(VatStatus::Valid),
        VatStatus::Exempt => None,
    }
}

/// The status after the customer uploads VAT evidence, which the team has to review.
pub fn after_evidence(status: VatStatus) -> VatStatus {
    match status {
        VatStatus::NotVerified | VatStatus::Invalid => VatStatus::Pending,
        status => status,
    }
}

/// The status after a check. No answer changes nothing, and no check changes an exemption by the team.
pub fn after_verdict(status: VatStatus, verdict: &Verdict) -> VatStatus {
    match (status, verdict) {
        (VatStatus::Exempt, _) => VatStatus::Exempt,
        (_, Verdict::Valid(_)) => VatStatus::Valid,
        (_, Verdict::Invalid) => VatStatus::Invalid,
        (VatStatus::NotVerified, Verdict::Plausible) => VatStatus::Pending,
        (status, Verdict::Plausible | Verdict::Unknown(_)) => status,
    }
}

const DAY: Duration = Duration::from_secs(24 * 3600);
/// A valid id is checked again after this time.
const MONTH: Duration = DAY.saturating_mul(30);
const MIN_RETRY_PAUSE: Duration = Duration::from_secs(60);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(6 * 3600);

/// When to check again; `failures` counts the checks in a row that were not answered.
pub fn next_check(verdict: &Verdict, failures: i64, now: Time) -> Option<Time> {
    match verdict {
        Verdict::Valid(_) => Some(now.plus(MONTH)),
        Verdict::Invalid => None,
        Verdict::Plausible => Some(now.plus(DAY)),
        Verdict::Unknown(_) => {
            let doublings = u32::try_from(failures.clamp(0, 20)).unwrap_or(20);
            Some(now.plus(MIN_RETRY_PAUSE.saturating_mul(1 << doublings).min(MAX_RETRY_PAUSE)))
        }
    }
}

#[cfg(test)]
mod tests;
