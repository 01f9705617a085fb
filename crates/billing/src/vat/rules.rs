//! Which VAT a customer owes us, as one table, and how what we know of its VAT id changes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use identity::accounts::VatStatus;
use platform::outside::vies::Verdict;
use values::{Country, Money, MoneyError, Time, VatId, is_in_union, text_enum};

text_enum! {
    /// What the team has decided about a customer, whatever the rules would say.
    pub enum VatTreatment {
        Standard = "standard",
        ReverseCharge = "reverse_charge",
        OutsideScope = "outside_scope",
    }
}

text_enum! {
    /// The VAT category of what we sell somebody, by its code in an electronic invoice (EN 16931).
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

    /// The VAT on an amount that is stated in minor units: worked out from those, and rounded once.
    pub fn on(self, net: Money) -> Result<Money, MoneyError> {
        let exact = i128::from(net.minor()) * i128::from(self.0);
        let rounded = (exact.abs() * 2 + 10_000) / 20_000 * exact.signum();
        let minor = i64::try_from(rounded).map_err(|_| MoneyError::Overflow)?;
        Money::from_minor(minor, net.currency())
    }
}

/// Where we are established.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    pub country: Country,
    pub rate: Rate,
}

/// What decides about a customer's VAT.
#[derive(Clone, Debug)]
pub struct Buyer {
    /// May be unknown.
    pub country: Country,
    pub status: VatStatus,
    /// Present only if some member state could have given it.
    pub vat_id: Option<VatId>,
    pub is_reseller: bool,
    pub treatment: Option<VatTreatment>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decision {
    pub category: Category,
    pub rate: Rate,
}

/// The table. Rules of the place of supply between businesses: at home our rate, elsewhere in the Union the customer
/// accounts for the VAT if it is a business, beyond the Union there is none.
pub fn decide(home: Home, buyer: &Buyer) -> Decision {
    let category = match buyer.treatment {
        Some(VatTreatment::Standard) => Category::Standard,
        Some(VatTreatment::OutsideScope) => Category::OutsideScope,
        // An invoice that names no id to charge in reverse is none.
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
        // Who is nowhere we know of is taken to be here.
        _ if buyer.country == Country::UNKNOWN => Category::Standard,
        Some(_) if buyer.country == home.country && buyer.is_reseller => Category::ReverseCharge,
        _ if buyer.country == home.country => Category::Standard,
        _ if !is_in_union(buyer.country) => Category::OutsideScope,
        // Who shows an id of ours buys through an establishment here.
        Some(id) if id.country() != home.country => Category::ReverseCharge,
        _ => Category::Standard,
    }
}

/// The customer asks for a check. What is valid stays so until somebody says otherwise; what is exempt needs none.
pub fn asked(status: VatStatus) -> Option<VatStatus> {
    match status {
        VatStatus::NotVerified | VatStatus::Pending | VatStatus::Invalid => Some(VatStatus::Pending),
        VatStatus::Valid => Some(VatStatus::Valid),
        VatStatus::Exempt => None,
    }
}

/// The customer hands in a paper, which somebody has to look at.
pub fn proven(status: VatStatus) -> VatStatus {
    match status {
        VatStatus::NotVerified | VatStatus::Invalid => VatStatus::Pending,
        status => status,
    }
}

/// Somebody was asked. Silence changes nothing, and nothing changes what the team has exempted.
pub fn heard(status: VatStatus, verdict: &Verdict) -> VatStatus {
    match (status, verdict) {
        (VatStatus::Exempt, _) => VatStatus::Exempt,
        (_, Verdict::Valid(_)) => VatStatus::Valid,
        (_, Verdict::Invalid) => VatStatus::Invalid,
        (VatStatus::NotVerified, Verdict::Plausible) => VatStatus::Pending,
        (status, Verdict::Plausible | Verdict::Unknown(_)) => status,
    }
}

const DAY: Duration = Duration::from_secs(24 * 3600);
/// A valid id is looked at again after this long.
const MONTH: Duration = DAY.saturating_mul(30);
const SOONEST: Duration = Duration::from_secs(60);
const LATEST: Duration = Duration::from_secs(6 * 3600);

/// When to look at an id again after so many looks that nobody answered.
pub fn next_check(verdict: &Verdict, failures: i64, now: Time) -> Option<Time> {
    match verdict {
        Verdict::Valid(_) => Some(now.plus(MONTH)),
        Verdict::Invalid => None,
        Verdict::Plausible => Some(now.plus(DAY)),
        Verdict::Unknown(_) => {
            let doublings = u32::try_from(failures.clamp(0, 20)).unwrap_or(20);
            Some(now.plus(SOONEST.saturating_mul(1 << doublings).min(LATEST)))
        }
    }
}

#[cfg(test)]
mod tests;
