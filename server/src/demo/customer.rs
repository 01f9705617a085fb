//! What customers do: sign up, upload documents, go live, order numbers, connect programs and top up; and how the team
//! decides on them, or the bank of a card.

use reqwest::Method;
use serde_json::{Value, json};

use super::calendar::DAY;
use super::fixtures::{ADMIN, Company, Stage};
use super::simulation::{RequestBody, Simulation, document, text};
use super::traffic::Caller;
use platform::app::StartError;
use values::Rfc3339;

/// Test cards of the sandbox: always paid, paid only once, always declined, paid and disputed at once.
const CARD: &str = "4242424242424242";
const CARD_PAYS_ONCE: &str = "4000000000009995";
const CARD_DECLINED: &str = "4000000000000002";
const CARD_DISPUTED: &str = "4000000000000259";

/// A customer tops up by this amount when its balance falls below the limit; in cents.
const TOP_UP_CENTS: i64 = 15_000;
const LOW_BALANCE_CENTS: i64 = 4_000;
/// The only top-up of the customer that is suspended later.
const SMALL_TOP_UP_CENTS: i64 = 3_000;
/// A top-up that the bank of its card disputes.
const DISPUTED_TOP_UP_CENTS: i64 = 5_000;

/// Webhook endpoints of a customer: URL, description and types of events.
const WEBHOOK_ENDPOINTS: [(&str, &str, &[&str]); 2] = [
    (
        "https://erp.thames.example/trunkline",
        "Bookkeeping",
        &["invoice.issued", "invoice.paid", "topup.completed", "payment.disputed"],
    ),
    ("https://noc.thames.example/webhooks/trunkline", "Alerts for the network team", &["*"]),
];

fn euros(cents: i64) -> Value {
    json!({"amount_minor": cents, "currency": "EUR"})
}

/// Signs up and completes the onboarding steps of its stage.
pub async fn sign_up(sim: &mut Simulation, company: &'static Company) -> Result<(), StartError> {
    let Company { name, trading_name, country, contact, email, phone, .. } = *company;
    let signup = json!({
        "legal_name": name, "trading_name": trading_name, "country": country, "contact_name": contact,
        "contact_email": sim.taken.free(email), "contact_phone": phone, "password": "",
    });
    sim.post_anonymous("/beta/signup", signup).await?;
    if company.stage == Stage::SignedUp {
        return Ok(());
    }
    let [line1, postal_code, city] = company.address;
    let address = json!({"line1": line1, "postal_code": postal_code, "city": city, "country": country});
    sim.patch(email, "/account", json!({"postal_address": address, "vat_id": company.vat_id})).await?;
    let minutes = 1_000 + company.weight * 4_000;
    let countries = if company.main_countries.is_empty() { vec![country] } else { company.main_countries.to_vec() };
    let profile = json!({
        "estimated_minutes_per_month": minutes, "target_countries": countries,
        "traffic_types": [if company.weight > 15 { "call_center" } else { "conversational" }],
    });
    sim.put(email, "/me/traffic-profile", profile).await?;
    let opened = sim.post(email, "/me/card-setup", json!({})).await?;
    if company.stage == Stage::CardPending {
        return Ok(());
    }
    for kind in sim.service.app.settings.kyb_required_docs.clone() {
        sim.request(email, Method::POST, "/me/kyb/documents", document(kind.as_str(), name)).await?;
    }
    sim.request(email, Method::POST, "/me/kyb/submit", RequestBody::Empty).await?;
    let card = if company.stage == Stage::Suspended { CARD_PAYS_ONCE } else { CARD };
    sim.pay(&opened, card).await
}

/// The team's decision about a company on the waitlist.
pub async fn review(sim: &mut Simulation, company: &'static Company, manager: &str) -> Result<(), StartError> {
    if company.stage <= Stage::Waiting {
        return Ok(());
    }
    let (admin, account) = (ADMIN.1, sim.account(company.email)?);
    match company.stage {
        Stage::Declined => {
            let note = json!({"reviewer_note": "We do not accept this type of traffic."});
            sim.post(admin, &format!("/admin/beta/{account}/decline"), note).await?;
            return Ok(());
        }
        _ => sim.post(admin, &format!("/admin/beta/{account}/approve"), json!({})).await?,
    };
    let owner = json!({"account_manager_id": manager});
    sim.patch(admin, &format!("/admin/customers/{account}"), owner).await?;
    let intake = text(&sim.get(company.email, "/me/kyb").await?["id"])?;
    match company.stage {
        Stage::UnderReview => {}
        Stage::Rejected => {
            let note = json!({"reviewer_note": "The company registration is older than three months."});
            sim.post(admin, &format!("/admin/kyb/{intake}/reject"), note).await?;
        }
        _ => {
            sim.post(admin, &format!("/admin/kyb/{intake}/approve"), json!({})).await?;
        }
    }
    if company.vat_id.is_some() && company.country != "NL" {
        let valid = json!({"vat_status": "valid"});
        sim.patch(admin, &format!("/admin/customers/{account}"), valid).await?;
    }
    Ok(())
}

/// Tops up, creates a trunk and orders a number. The company makes calls from now on.
pub async fn go_live(sim: &mut Simulation, company: &'static Company) -> Result<Caller, StartError> {
    let who = company.email;
    if company.country == "US" {
        let opened = sim.post(who, "/payments/topups", euros(TOP_UP_CENTS)).await?;
        sim.pay(&opened, CARD_DECLINED).await?;
    }
    let first = if company.stage == Stage::Suspended { SMALL_TOP_UP_CENTS } else { TOP_UP_CENTS };
    top_up(sim, who, first).await?;
    sim.prove_identity(who).await?;
    let trunk = json!({
        "name": "Main", "zone": sim.service.app.settings.zones.first().map(|zone| zone.name.clone()),
        "channel_cap": 60 + company.weight * 5, "cps_limit": 20,
        "inbound_uri": format!("sip:pbx.{}", company.email.split('@').nth(1).unwrap_or_default()),
    });
    let trunk_id = text(&sim.post(who, "/trunks", trunk).await?["id"])?;
    let network = json!({"cidr": company.network, "note": "Office PBX"});
    sim.post(who, &format!("/trunks/{trunk_id}/ip-allow-list"), network).await?;
    let caps = json!({"max_spend_per_day": euros(20_000), "max_rate_per_minute": euros(100)});
    sim.put(who, "/fraud-caps", caps).await?;
    if company.weight >= 10 {
        let card = sim.get(who, "/payments/methods").await?["data"][0]["id"].clone();
        let recharge = json!({
            "enabled": true, "threshold": euros(2_500), "recharge_amount": euros(10_000), "payment_method_id": card,
        });
        sim.put(who, "/account/auto-recharge", recharge).await?;
    }
    let order = order_number(sim, company, &trunk_id, "api").await?;
    let numbers = order["did"].as_str().map(str::to_owned).into_iter().collect();
    Ok(Caller { company, trunk_id, numbers, since: sim.now(), until: None })
}

/// Orders a number of the company's country, if there is one.
async fn order_number(
    sim: &mut Simulation,
    company: &'static Company,
    trunk_id: &str,
    regulatory: &str,
) -> Result<Value, StartError> {
    let path = format!("/numbers/inventory?country={}&regulatory={regulatory}", company.country);
    let group = sim.get(company.email, &path).await?["data"][0]["id"].clone();
    if group.is_null() {
        return Ok(Value::Null);
    }
    let order = json!({"inventory_id": group, "trunk_id": trunk_id});
    sim.post(company.email, "/numbers/orders", order).await
}

/// Orders a number that requires documents. With `uploads`, they are uploaded and approved; else the order waits.
pub async fn order_regulated_number(sim: &mut Simulation, caller: &Caller, uploads: bool) -> Result<(), StartError> {
    let who = caller.company.email;
    let order = order_number(sim, caller.company, &caller.trunk_id, "docs_required").await?;
    let Some(intake) = order["compliance_intake_id"].as_str().filter(|_| uploads) else { return Ok(()) };
    let path = format!("/compliance/intakes/{intake}");
    let required = sim.get(who, &path).await?["required_docs"].clone();
    for kind in required.as_array().into_iter().flatten().filter_map(Value::as_str) {
        sim.request(who, Method::POST, &format!("{path}/documents"), document(kind, caller.company.name)).await?;
    }
    sim.request(who, Method::POST, &format!("{path}/submit"), RequestBody::Empty).await?;
    sim.request(ADMIN.1, Method::POST, &format!("/admin{path}/review"), RequestBody::Empty).await?;
    sim.post(ADMIN.1, &format!("/admin{path}/approve"), json!({})).await?;
    sim.settle().await
}

/// Creates an export of the CDRs of the last week.
pub async fn export_cdrs(sim: &mut Simulation, company: &'static Company) -> Result<(), StartError> {
    let (from, to) = (Rfc3339(sim.now().minus(DAY * 7)).to_string(), Rfc3339(sim.now()).to_string());
    let export = json!({"from": from, "to": to, "format": "csv", "compression": "gzip"});
    sim.post(company.email, "/cdrs/exports", export).await?;
    sim.settle().await
}

/// Tops up if the balance is low.
pub async fn check_balance(sim: &mut Simulation, company: &'static Company) -> Result<(), StartError> {
    let balance = sim.get(company.email, "/account/balance").await?;
    let cents = balance["current"]["amount_minor"].as_i64().ok_or("the balance has no amount")?;
    if cents < LOW_BALANCE_CENTS { top_up(sim, company.email, TOP_UP_CENTS).await } else { Ok(()) }
}

async fn top_up(sim: &mut Simulation, who: &'static str, cents: i64) -> Result<(), StartError> {
    let opened = sim.post(who, "/payments/topups", euros(cents)).await?;
    sim.pay(&opened, CARD).await
}

/// Creates an API key and webhook endpoints. The endpoints are disabled, since nothing of the demo leaves the machine.
pub async fn connect_programs(sim: &mut Simulation, company: &'static Company) -> Result<(), StartError> {
    let who = company.email;
    sim.prove_identity(who).await?;
    let key = json!({"name": "Bookkeeping", "scopes": ["billing:read", "calls:read"]});
    sim.post(who, "/account/api-keys", key).await?;
    for (url, description, event_types) in WEBHOOK_ENDPOINTS {
        let endpoint = json!({"url": url, "description": description, "event_types": event_types, "enabled": false});
        sim.post(who, "/webhook-endpoints", endpoint).await?;
    }
    Ok(())
}

/// Tops up with a card whose bank disputes the payment at once, and returns the checkout.
pub async fn dispute_top_up(sim: &mut Simulation, company: &'static Company) -> Result<Value, StartError> {
    let who = company.email;
    let opened = sim.post(who, "/payments/topups", euros(DISPUTED_TOP_UP_CENTS)).await?;
    sim.pay(&opened, CARD_DISPUTED).await?;
    // The dispute has switched auto-recharge off, but the balance must last for the calls to come.
    let mut recharge = sim.get(who, "/account/auto-recharge").await?;
    if !recharge["payment_method_id"].is_null() {
        recharge["enabled"] = true.into();
        sim.put(who, "/account/auto-recharge", recharge).await?;
    }
    Ok(opened)
}

/// The bank of the card decides for its holder: the payment of this checkout is lost.
pub async fn lose_dispute(sim: &Simulation, opened: &Value) -> Result<(), StartError> {
    sim.submit_checkout(opened, "action=lose".to_owned()).await
}

/// The team suspends a company. It makes no more calls.
pub async fn suspend(sim: &mut Simulation, caller: &mut Caller) -> Result<(), StartError> {
    let account = sim.account(caller.company.email)?;
    let path = format!("/admin/customers/{account}");
    let body = json!({"onboarding_status": "suspended", "reason": "Complaints about unwanted calls."});
    sim.patch(ADMIN.1, &path, body).await?;
    let note = json!({"body": "Three complaints in a week, see the tickets. ASR below 20 percent."});
    sim.post(ADMIN.1, &format!("{path}/notes"), note).await?;
    caller.until = Some(sim.now());
    Ok(())
}
