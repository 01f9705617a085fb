//! Price notices in the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::impact::{DestinationImpact, Impact};
use super::store::NoticeRow;
use api::checks::{Given, must};
use identity::balance::CURRENCY;
use values::{AccountId, Email, ExactMoney, Money, Rfc3339, Text, Time, id, text_enum};

id! {
    /// Id of a price notice.
    pub struct PriceNoticeId;
}

text_enum! {
    /// What changed the prices: `deck` is an imported rate deck, `upstream` the markup or status of an upstream,
    /// `rate_plan` a new version of the customer's rate plan, and `assignment` another rate plan for the customer.
    pub enum ChangeCause {
        Deck = "deck",
        Upstream = "upstream",
        RatePlan = "rate_plan",
        Assignment = "assignment",
    }
}

text_enum! {
    /// Format of the file with the changed prices.
    pub enum NoticeFormat {
        /// CSV with a header line.
        Csv = "csv",
        /// Workbook with one sheet.
        Xlsx = "xlsx",
    }
}

/// Notice of a price change. It counts prefixes by what the change does to their numbers.
#[derive(Serialize, JsonSchema)]
pub struct PriceNotice {
    /// Id of the notice.
    pub id: PriceNoticeId,
    /// Last moment of the old prices (RFC 3339, UTC).
    pub from: Rfc3339,
    /// When all new prices are in force (RFC 3339, UTC).
    pub to: Rfc3339,
    /// Prefixes that cost more: a higher price per minute, connect fee, increment or minimum.
    pub increased: i64,
    /// Prefixes that cost less.
    pub decreased: i64,
    /// Prefixes that were not sold before.
    pub added: i64,
    /// Prefixes that are not sold any more.
    pub removed: i64,
    /// Formats that the changes can be downloaded in; empty if there are more than 100,000, which `GET /rates/diff` lists.
    pub formats: Vec<NoticeFormat>,
    /// What the change means for the calls of the 30 UTC days before the notice.
    pub impact: PriceImpact,
    /// When the customer was notified (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

/// The calls of 30 days as they were charged, and what the new prices would make of them; an estimate by destination and
/// average duration.
#[derive(Serialize, JsonSchema)]
pub struct PriceImpact {
    /// When the first day begins (RFC 3339, UTC).
    pub from: Rfc3339,
    /// When the last day ends (RFC 3339, UTC).
    pub to: Rfc3339,
    /// Answered calls that are compared.
    pub calls: i64,
    /// Minutes of these calls.
    pub minutes: f64,
    /// What these calls were charged, without VAT.
    pub before: ExactMoney,
    /// What they would be charged at the new prices, without VAT.
    pub after: ExactMoney,
    /// How much more that is; negative if it is less.
    pub change: ExactMoney,
    /// Answered calls to destinations that are not sold any more; they are not compared.
    pub unsold_calls: i64,
}

/// Price notice with its impact by destination.
#[derive(Serialize, JsonSchema)]
pub struct PriceNoticeDetails {
    #[serde(flatten)]
    pub notice: PriceNotice,
    /// Up to 100 destinations that were called and whose prices change, the largest change first.
    pub destinations: Vec<DestinationPriceImpact>,
}

/// The calls to a destination whose prices change.
#[derive(Serialize, JsonSchema)]
pub struct DestinationPriceImpact {
    /// Country of the destination (ISO 3166-1 alpha-2).
    pub country: String,
    /// Name of the destination.
    pub destination_name: String,
    /// Answered calls.
    pub calls: i64,
    /// Answered minutes.
    pub minutes: f64,
    /// What the calls were charged, without VAT.
    pub before: ExactMoney,
    /// What they would be charged at the new prices, without VAT; null if the destination is not sold any more.
    pub after: Option<ExactMoney>,
}

/// Price notice as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminPriceNotice {
    /// Id of the customer.
    pub customer_id: Uuid,
    /// Name of the customer.
    pub customer_name: Option<String>,
    /// What changed the prices.
    pub cause: ChangeCause,
    /// Addresses that the notice was mailed to.
    pub mailed_to: Vec<Email>,
    #[serde(flatten)]
    pub notice: PriceNotice,
}

/// Filters for the team's list of price notices.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminNoticeFilters {
    /// Return notices to this customer only.
    #[serde(default)]
    pub customer_id: Option<AccountId>,
}

/// Which file to download.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileQuery {
    /// Format of the file; `csv` if left out.
    #[serde(default)]
    pub format: Option<NoticeFormat>,
}

/// The rules of a request that may waive the notice of increases: not without a reason.
pub fn check_waiver(given: &Given<'_>) {
    given.check_with("waive_notice", "reason", |is_waived: bool, reason: Option<Text<1, 500>>| {
        must(!is_waived || reason.is_some(), "needs a reason")
    });
    given.check_with("reason", "waive_notice", |_: Text<1, 500>, is_waived: Option<bool>| {
        must(is_waived == Some(true), "is only allowed together with waive_notice")
    });
}

fn money(nanos: i64) -> ExactMoney {
    ExactMoney(Money::from_nanos(nanos, CURRENCY))
}

fn minutes(seconds: i64) -> f64 {
    seconds as f64 / 60.0
}

impl From<&NoticeRow> for PriceNotice {
    fn from(row: &NoticeRow) -> Self {
        let csv = row.csv_hash.map(|_| NoticeFormat::Csv);
        let xlsx = row.xlsx_hash.map(|_| NoticeFormat::Xlsx);
        PriceNotice {
            id: row.id,
            from: Rfc3339(row.from_at),
            to: Rfc3339(row.to_at),
            increased: row.increased,
            decreased: row.decreased,
            added: row.added,
            removed: row.removed,
            formats: csv.into_iter().chain(xlsx).collect(),
            impact: PriceImpact::from(&row.impact),
            created_at: Rfc3339(row.created_at),
        }
    }
}

impl From<&Impact> for PriceImpact {
    fn from(impact: &Impact) -> Self {
        PriceImpact {
            from: Rfc3339(Time::from_millis(impact.from)),
            to: Rfc3339(Time::from_millis(impact.to)),
            calls: impact.calls,
            minutes: minutes(impact.seconds),
            before: money(impact.before),
            after: money(impact.after),
            change: money(impact.after.saturating_sub(impact.before)),
            unsold_calls: impact.unsold_calls,
        }
    }
}

impl From<NoticeRow> for PriceNoticeDetails {
    fn from(row: NoticeRow) -> Self {
        let notice = PriceNotice::from(&row);
        PriceNoticeDetails { notice, destinations: row.impact.destinations.into_iter().map(Into::into).collect() }
    }
}

impl From<DestinationImpact> for DestinationPriceImpact {
    fn from(one: DestinationImpact) -> Self {
        DestinationPriceImpact {
            country: one.country,
            destination_name: one.name,
            calls: one.calls,
            minutes: minutes(one.seconds),
            before: money(one.before),
            after: one.after.map(money),
        }
    }
}

impl AdminPriceNotice {
    pub fn new(row: NoticeRow, customer_name: Option<String>) -> AdminPriceNotice {
        AdminPriceNotice {
            customer_id: row.account_id.uuid(),
            customer_name,
            cause: row.cause,
            notice: PriceNotice::from(&row),
            mailed_to: row.mailed_to.0,
        }
    }
}
