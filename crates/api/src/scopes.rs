//! What an API key may do. The row of an endpoint names the scope that opens it to keys; a row without one is closed.

use serde_json::{Value, json};
use values::{AccountRole, text_enum};

text_enum! {
    /// What an API key may do; a write scope includes its read scope.
    pub enum Scope {
        /// Account, notifications, events and notices.
        AccountRead = "account:read",
        /// Balance, ledger, top-ups, saved cards, invoices and VAT.
        BillingRead = "billing:read",
        BillingWrite = "billing:write",
        /// Trunks, allow-lists and fraud caps.
        TrunksRead = "trunks:read",
        TrunksWrite = "trunks:write",
        NumbersRead = "numbers:read",
        NumbersWrite = "numbers:write",
        /// CDRs, live calls, statistics, quotas and exports.
        CallsRead = "calls:read",
        RatesRead = "rates:read",
        /// Tickets, to read and to write.
        SupportWrite = "support:write",
        /// Webhook endpoints, to read and to write.
        WebhooksWrite = "webhooks:write",
        /// What the team reads of all customers.
        AdminRead = "admin:read",
        /// Imports of rate decks.
        RatesWrite = "rates:write",
        /// Imports of CDRs, on the operations port.
        CdrsWrite = "cdrs:write",
    }
}

impl Scope {
    /// Whether a key with this scope may do what takes `needed`.
    pub fn covers(self, needed: Scope) -> bool {
        let includes = matches!(
            (self, needed),
            (Scope::BillingWrite, Scope::BillingRead)
                | (Scope::TrunksWrite, Scope::TrunksRead)
                | (Scope::NumbersWrite, Scope::NumbersRead)
        );
        includes || self == needed
    }

    /// Whether it is for keys of the team, and not of customers.
    pub fn is_team(self) -> bool {
        matches!(self, Scope::AdminRead | Scope::RatesWrite | Scope::CdrsWrite)
    }

    /// The least role of a user who may give it to a key: nobody hands on what it may not do itself.
    pub fn least_role(self) -> AccountRole {
        match self {
            Scope::BillingWrite => AccountRole::Billing,
            Scope::TrunksWrite | Scope::NumbersWrite | Scope::WebhooksWrite => AccountRole::Technical,
            _ => AccountRole::Viewer,
        }
    }

    /// The schema of the scopes of the team, or of customers.
    pub fn schema(is_team: bool) -> Value {
        let scopes: Vec<&str> =
            Scope::ALL.iter().filter(|scope| scope.is_team() == is_team).map(|scope| scope.as_str()).collect();
        json!({"type": "string", "enum": scopes})
    }
}
