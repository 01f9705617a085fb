//! Inventory groups and DIDs as the API shows them.

use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
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
    /// Kind of number: `local` (geographic or national), `tollfree` or `mobile`.
    pub enum NumberType {
        Local = "local",
        Tollfree = "tollfree",
        Mobile = "mobile",
    }
}

impl NumberType {
    /// Reads a type or one of its aliases, in any letter case.
    pub fn from_alias(text: &str) -> Result<NumberType, Invalid> {
        match text.to_ascii_lowercase().as_str() {
            "geographic" | "national" => Ok(NumberType::Local),
            "toll_free" | "toll-free" | "freephone" => Ok(NumberType::Tollfree),
            plain => plain.parse(),
        }
    }

    pub fn deserialize_alias<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NumberType, D::Error> {
        NumberType::from_alias(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

text_enum! {
    /// What a number can be used for: `voice`, `sms` or `fax`.
    pub enum NumberCapability {
        Voice = "voice",
        Sms = "sms",
        Fax = "fax",
    }
}

text_enum! {
    /// Whether a number can be ordered right away (`api`) or only after documents are approved (`docs_required`).
    pub enum Regulatory {
        Api = "api",
        DocsRequired = "docs_required",
    }
}

/// Documents that a `docs_required` number needs.
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
    /// State of a DID: `free` can be ordered, `taken` is ordered or rented, `withdrawn` is not for sale.
    pub enum StockState {
        Free = "free",
        Withdrawn = "withdrawn",
        Taken = "taken",
    }
}

/// An inventory group: free numbers that share country, type, area, capabilities, price and requirements.
#[derive(Serialize, JsonSchema)]
pub struct InventoryItem {
    /// Id of the inventory group, to order a number from it.
    pub id: InventoryId,
    /// Country of the numbers (ISO 3166-1 alpha-2).
    pub country: Country,
    /// Type of the numbers.
    #[serde(rename = "type")]
    pub kind: NumberType,
    /// Name of the area, such as Amsterdam; null when the group has none.
    pub area_name: Option<String>,
    /// Digits that the numbers begin with, country code first.
    pub prefix: String,
    /// What the numbers can be used for.
    pub capabilities: Vec<NumberCapability>,
    /// Monthly rental of a number, without VAT.
    pub monthly: Money,
    /// Setup fee, charged once with the first month, without VAT.
    pub setup: Money,
    /// Whether an order needs documents before the number is provisioned.
    pub regulatory: Regulatory,
    /// Documents that an order needs; left out when it needs none.
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

/// Countries with numbers to order.
#[derive(Serialize, JsonSchema)]
pub struct InventoryCountries {
    /// One for each country, in the order of their codes.
    pub data: Vec<InventoryCountry>,
}

/// A country with numbers to order.
#[derive(Serialize, JsonSchema)]
pub struct InventoryCountry {
    /// Country (ISO 3166-1 alpha-2).
    pub country: Country,
    /// Lowest monthly rental of a number there, without VAT.
    pub monthly_from: Money,
}

/// A DID in the inventory, as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct DidInventoryRow {
    /// Id of the DID in the inventory.
    pub id: StockId,
    /// Upstream that the DID comes from.
    pub upstream_id: UpstreamId,
    /// Name of the upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_name: Option<String>,
    /// The DID in E.164 form.
    pub e164: E164,
    /// Country of the DID (ISO 3166-1 alpha-2).
    pub country: Country,
    /// Type of the DID.
    #[serde(rename = "type")]
    pub kind: NumberType,
    /// Monthly rental of the DID, without VAT.
    pub monthly: Money,
    /// Whether the DID is for sale; `false` when it is withdrawn.
    pub is_active: bool,
    /// Documents rule that the team set in place of the imported one; null when the imported one applies.
    pub regulatory_override: Option<Regulatory>,
    /// Whether the DID is free, taken or withdrawn.
    pub state: StockState,
    /// Inventory group that the DID is ordered from.
    pub inventory_id: InventoryId,
}

impl DidInventoryRow {
    pub fn new(row: StockRow, upstream_name: Option<String>) -> DidInventoryRow {
        DidInventoryRow {
            id: row.id,
            upstream_id: row.upstream_id,
            upstream_name,
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

/// Changes to a DID in the inventory; fields that are left out stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DidInventoryUpdate {
    /// `false` withdraws the DID from sale, `true` offers it again; a customer who has it keeps it.
    #[serde(default)]
    pub is_active: Change<bool>,
    /// Documents rule to apply in place of the imported one; null restores the imported one.
    #[serde(default)]
    pub regulatory_override: Change<Option<Regulatory>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_type_is_read_by_its_aliases() {
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
