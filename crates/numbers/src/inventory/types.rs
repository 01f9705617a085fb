//! Numbers and their groups over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::{GroupRow, StockRow};
use identity::balance::CURRENCY;
use values::{Change, Country, DocKind, E164, Invalid, Money, UpstreamId, id, text_enum};

id! {
    /// Id of an inventory group.
    pub struct InventoryId;
}

id! {
    /// Id of a DID in the inventory.
    pub struct StockId;
}

text_enum! {
    pub enum NumberType {
        Local = "local",
        Tollfree = "tollfree",
        Mobile = "mobile",
    }
}

impl NumberType {
    /// What else it is called, in any letter case.
    pub fn from_alias(text: &str) -> Result<NumberType, Invalid> {
        match text.to_ascii_lowercase().as_str() {
            "geographic" | "national" => Ok(NumberType::Local),
            "toll_free" | "toll-free" | "freephone" => Ok(NumberType::Tollfree),
            plain => plain.parse(),
        }
    }
}

text_enum! {
    pub enum NumberCapability {
        Voice = "voice",
        Sms = "sms",
        Fax = "fax",
    }
}

text_enum! {
    /// Whether a number can be ordered at once, or only with documents.
    pub enum Regulatory {
        Api = "api",
        DocsRequired = "docs_required",
    }
}

/// What an order of such a number has to be accompanied by.
const REQUIRED_DOCUMENTS: [&str; 2] = ["proof_of_address", "director_id"];

impl Regulatory {
    pub fn required_documents(self) -> Vec<DocKind> {
        match self {
            Regulatory::Api => Vec::new(),
            Regulatory::DocsRequired => REQUIRED_DOCUMENTS.map(DocKind::named).to_vec(),
        }
    }
}

text_enum! {
    /// Who has a number.
    pub enum StockState {
        /// Nobody, and anybody may.
        Free = "free",
        /// Nobody, and nobody may.
        Withdrawn = "withdrawn",
        Taken = "taken",
    }
}

/// A group of free numbers that are alike.
#[derive(Serialize, JsonSchema)]
pub struct InventoryItem {
    pub id: InventoryId,
    pub country: Country,
    #[serde(rename = "type")]
    pub kind: NumberType,
    pub area_name: Option<String>,
    /// Digits that the numbers begin with, country code first.
    pub prefix: String,
    pub capabilities: Vec<NumberCapability>,
    pub monthly: Money,
    pub setup: Money,
    pub regulatory: Regulatory,
    /// What an order has to be accompanied by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_documents: Vec<DocKind>,
}

impl From<GroupRow> for InventoryItem {
    fn from(row: GroupRow) -> Self {
        InventoryItem {
            id: row.id,
            country: row.country,
            kind: row.kind,
            area_name: Some(row.area_name).filter(|name| !name.is_empty()),
            prefix: row.prefix,
            capabilities: row.capabilities.0,
            monthly: Money::from_nanos(row.monthly, CURRENCY),
            setup: Money::from_nanos(row.setup, CURRENCY),
            regulatory: row.regulatory,
            required_documents: row.regulatory.required_documents(),
        }
    }
}

/// A number of the stock, as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct DidInventoryRow {
    pub id: StockId,
    pub upstream_id: UpstreamId,
    pub e164: E164,
    pub country: Country,
    #[serde(rename = "type")]
    pub kind: NumberType,
    pub monthly: Money,
    /// Whether it may be let.
    pub is_active: bool,
    /// What the team says in place of the upstream.
    pub regulatory_override: Option<Regulatory>,
    pub state: StockState,
    /// The group it is ordered from.
    pub inventory_id: InventoryId,
}

impl From<StockRow> for DidInventoryRow {
    fn from(row: StockRow) -> Self {
        DidInventoryRow {
            id: row.id,
            upstream_id: row.upstream_id,
            e164: row.e164,
            country: row.country,
            kind: row.kind,
            monthly: Money::from_nanos(row.monthly, CURRENCY),
            is_active: row.is_active,
            regulatory_override: row.regulatory_override,
            state: row.state,
            inventory_id: row.group_id,
        }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DidInventoryUpdate {
    #[serde(default)]
    pub is_active: Change<bool>,
    #[serde(default)]
    pub regulatory_override: Change<Option<Regulatory>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_the_names_that_others_give_it() {
        for (text, kind) in [
            ("local", NumberType::Local),
            ("Geographic", NumberType::Local),
            ("NATIONAL", NumberType::Local),
            ("toll_free", NumberType::Tollfree),
            ("Toll-Free", NumberType::Tollfree),
            ("freephone", NumberType::Tollfree),
            ("tollfree", NumberType::Tollfree),
            ("Mobile", NumberType::Mobile),
        ] {
            assert_eq!(NumberType::from_alias(text), Ok(kind));
        }
        assert!(NumberType::from_alias("premium").is_err());
    }
}
