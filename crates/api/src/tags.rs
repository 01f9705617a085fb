//! The headings of the API reference: each groups operations and says what they are about.

use crate::endpoint::Tag;

macro_rules! tags {
    ($($constant:ident = $name:literal, $description:literal;)*) => {
        $(pub const $constant: Tag = Tag { name: $name, description: $description };)*

        /// All of them, in the order of the API reference.
        pub const ALL: &[Tag] = &[$($constant),*];
    };
}

tags! {
    AUTHENTICATION = "Authentication",
        "Sign-in with password, second factor or magic link; refresh tokens; password reset.";
    ONBOARDING = "Onboarding",
        "From signup to an approved account: beta status, traffic profile, KYB and card verification.";
    COMPLIANCE = "Compliance",
        "Compliance intakes: the documents that a KYB review or a number order requires.";
    CURRENT_USER = "Current user",
        "The signed-in user: its account, its sessions and its second factor.";
    ACCOUNT = "Account",
        "Company details of the account, its users and its API keys.";
    BALANCE = "Balance",
        "Prepaid balance, ledger, auto-recharge and low-balance alert.";
    NOTIFICATIONS = "Notifications",
        "What happened to the account, as codes with a payload. Clients map a code to a text.";
    EVENTS = "Events",
        "What happened to the account, for programs: a list, a live stream, and webhooks.";
    SUPPORT = "Support",
        "Support tickets of the account, and notices of the operator.";
    PAYMENTS = "Payments",
        "Top-ups and saved cards. Card details go to the payment provider's checkout only.";
    VAT = "VAT",
        "VAT id, its checks, and VAT evidence of the account.";
    INVOICES = "Invoices",
        "Monthly invoices and their PDFs.";
    TRUNKS = "Trunks",
        "SIP trunks, their IP allow-lists, and the account's fraud caps.";
    NUMBERS = "Numbers",
        "Rented numbers (DIDs), the inventory to order from, and number orders.";
    RATES = "Rates",
        "Sell rates by prefix: list, lookup, comparison and export; notices of price changes.";
    CDRS = "CDRs",
        "Call detail records, their exports, rollups such as ASR and ACD, peak concurrent calls and zone quotas.";
    FILES = "Files",
        "Downloads by signed link.";
    WEBHOOKS = "Provider webhooks",
        "Webhooks that the payment provider sends to Trunkline.";
    ADMIN_ACCESS = "Admin access",
        "Creation of the first admin, the second factor of admins, the API keys of the team, and demo data.";
    CUSTOMERS = "Customers",
        "Customers as the team sees them: search, suspension, impersonation, notes, account managers.";
    ADMIN_SUPPORT = "Admin support",
        "Tickets of all customers, and the notices that all users see.";
    TEAM = "Team",
        "Team members and their roles, and the audit log.";
    BETA_QUEUE = "Beta queue",
        "Review of the accounts that signed up for the private beta.";
    KYB_REVIEW = "KYB review",
        "Review of KYB intakes.";
    COMPLIANCE_REVIEW = "Compliance review",
        "Review of all compliance intakes and their documents.";
    ADMIN_BILLING = "Admin billing",
        "Credits, balance limits, dunning, exchange rates, and invoices of all customers.";
    LIVE_CALLS = "Live calls",
        "Live calls of all customers, and the zone quotas that limit them.";
    UPSTREAMS = "Upstreams",
        "Upstreams, their rate decks, what they charge, and the routes to a number.";
    RATE_PLANS = "Rate plans",
        "Prices of some customers: markups and rules over the tariff, who has which plan, and who was notified of changes.";
    DID_INVENTORY = "DID inventory",
        "All DIDs that can be rented out, and their imports.";
    DASHBOARDS = "Dashboards",
        "Traffic of the service, its security, and its state.";
    ADMIN_EVENTS = "Admin events",
        "Events of all customers: a list, a live stream, and webhooks of the team.";
    ADMIN_CDRS = "Admin CDRs",
        "CDRs of all customers, with cost and margin.";
    ADMIN_PAYMENTS = "Admin payments",
        "Payments of all customers, refunds and chargebacks.";
}
