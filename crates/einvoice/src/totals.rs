//! Computes the VAT breakdown from the lines, and the totals from the breakdown.
//!
//! VAT is computed and rounded once per group (category and rate), on the sum of its lines, half away from zero. VAT
//! rounded per line and then added up is a different amount, which EN 16931 rejects.

use crate::decimal::{Decimal, TooLarge};
use crate::model::{Line, Totals, Vat, VatGroup};

/// Groups the lines by VAT category and rate, in order of first appearance.
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

/// The VAT on a taxable amount, both in minor units.
pub fn vat_on(taxable: i64, vat: Vat) -> Result<i64, TooLarge> {
    let one_percent = Decimal::new(taxable, 2).ok_or(TooLarge)?;
    one_percent.times(vat.rate, 0)
}

impl Totals {
    /// The totals of a VAT breakdown of which `paid` is already paid.
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
