//! Adding up: from lines to the VAT breakdown, and from there to the totals.
//!
//! VAT is worked out once per group of category and rate, over the sum of its lines, and rounded once, half away from
//! zero. Adding up rounded VAT per line would give another amount, and the wrong one.

use crate::decimal::{Decimal, TooLarge};
use crate::model::{Line, Totals, Vat, VatGroup};

/// The VAT breakdown of the lines, in the order in which its groups first appear.
pub fn vat_groups(lines: &[Line]) -> Result<Vec<VatGroup>, TooLarge> {
    let mut groups: Vec<VatGroup> = Vec::new();
    for line in lines {
        match groups.iter_mut().find(|group| group.vat == line.vat) {
            Some(group) => group.taxable = group.taxable.checked_add(line.net).ok_or(TooLarge)?,
            None => groups.push(VatGroup { vat: line.vat, taxable: line.net, amount: 0 }),
        }
    }
    for group in &mut groups {
        group.amount = vat_on(group.taxable, group.vat)?;
    }
    Ok(groups)
}

/// The VAT on a taxable amount in minor units.
pub fn vat_on(taxable: i64, vat: Vat) -> Result<i64, TooLarge> {
    let hundredth = Decimal::new(taxable, 2).ok_or(TooLarge)?;
    hundredth.times(vat.rate, 0)
}

impl Totals {
    pub fn of(groups: &[VatGroup], paid: i64) -> Result<Totals, TooLarge> {
        let net = sum(groups.iter().map(|group| group.taxable))?;
        let vat = sum(groups.iter().map(|group| group.amount))?;
        let gross = net.checked_add(vat).ok_or(TooLarge)?;
        let due = gross.checked_sub(paid).ok_or(TooLarge)?;
        Ok(Totals { lines: net, net, vat, gross, paid, due })
    }
}

pub(crate) fn sum(amounts: impl IntoIterator<Item = i64>) -> Result<i64, TooLarge> {
    amounts.into_iter().try_fold(0_i64, |sum, amount| sum.checked_add(amount).ok_or(TooLarge))
}
