//! The way of a company: signing up, being judged, calling, and looking after its money.

use reqwest::Method;
use serde_json::{Value, json};

use super::calendar::DAY;
use super::cast::{ADMIN, Company, Fate};
use super::stage::{Sent, Stage, paper, text};
use super::traffic::Caller;
use platform::app::StartError;
use values::Rfc3339;

/// A card that pays, and one that pays once and never again.
const CARD: &str = "4242424242424242";
const CARD_OF_ONE_PAYMENT: &str = "4000000000009995";
const CARD_DECLINED: &str = "4000000000000002";

/// What a customer pays in, and below which balance it does so again; in cents.
const TOP_UP: i64 = 15_000;
const LOW: i64 = 4_000;
/// Less is paid in by who pays once and never again.
const FIRST_OF_LITTLE_FAITH: i64 = 3_000;

fn euros(cents: i64) -> Value {
    json!({"amount_minor": cents, "currency": "EUR"})
}

/// Signs up, and goes as far as it will go by itself.
pub async fn sign_up(stage: &mut Stage, company: &'static Company) -> Result<(), StartError> {
    let Company { name, trading_name, country, contact, email, phone, .. } = *company;
    let signup = json!({
        "legal_name": name, "trading_name": trading_name, "country": country, "contact_name": contact,
        "contact_email": email, "contact_phone": phone, "password": "",
    });
    stage.anyone("/beta/signup", signup).await?;
    if company.fate == Fate::SignedUp {
        return Ok(());
    }
    let [line1, postal_code, city] = company.address;
    let address = json!({"line1": line1, "postal_code": postal_code, "city": city, "country": country});
    stage.patch(email, "/account", json!({"postal_address": address, "vat_id": company.vat_id})).await?;
    let minutes = 1_000 + company.weight * 4_000;
    let countries = if company.favourites.is_empty() { vec![country] } else { company.favourites.to_vec() };
    let profile = json!({
        "estimated_minutes_per_month": minutes, "target_countries": countries,
        "traffic_types": [if company.weight > 15 { "call_center" } else { "conversational" }],
    });
    stage.put(email, "/me/traffic-profile", profile).await?;
    let opened = stage.post(email, "/me/card-setup", json!({})).await?;
    if company.fate == Fate::CardPending {
        return Ok(());
    }
    for kind in stage.service.app.settings.kyb_required_docs.clone() {
        stage.call(email, Method::POST, "/me/kyb/documents", paper(kind.as_str(), name)).await?;
    }
    stage.call(email, Method::POST, "/me/kyb/submit", Sent::Nothing).await?;
    let card = if company.fate == Fate::Suspended { CARD_OF_ONE_PAYMENT } else { CARD };
    stage.pay(&opened, card).await
}

/// What the team decides about a company that waits.
pub async fn judge(stage: &mut Stage, company: &'static Company, manager: &str) -> Result<(), StartError> {
    if company.fate <= Fate::Waiting {
        return Ok(());
    }
    let (admin, account) = (ADMIN.1, stage.account(company.email)?);
    match company.fate {
        Fate::Declined => {
            let note = json!({"reviewer_note": "We do not carry traffic of this kind."});
            stage.post(admin, &format!("/admin/beta/{account}/decline"), note).await?;
            return Ok(());
        }
        _ => stage.post(admin, &format!("/admin/beta/{account}/approve"), json!({})).await?,
    };
    let owner = json!({"account_manager_id": manager});
    stage.patch(admin, &format!("/admin/customers/{account}"), owner).await?;
    let intake = text(&stage.get(company.email, "/me/kyb").await?["id"])?;
    match company.fate {
        Fate::UnderReview => {}
        Fate::Rejected => {
            let note = json!({"reviewer_note": "The extract of the register is older than three months."});
            stage.post(admin, &format!("/admin/kyb/{intake}/reject"), note).await?;
        }
        _ => {
            stage.post(admin, &format!("/admin/kyb/{intake}/approve"), json!({})).await?;
        }
    }
    if company.vat_id.is_some() && company.country != "NL" {
        let valid = json!({"vat_status": "valid"});
        stage.patch(admin, &format!("/admin/customers/{account}"), valid).await?;
    }
    Ok(())
}

/// Pays something in, sets up a trunk and takes a number: from now on it calls.
pub async fn go_live(stage: &mut Stage, company: &'static Company) -> Result<Caller, StartError> {
    let who = company.email;
    if company.country == "US" {
        let opened = stage.post(who, "/payments/topups", euros(TOP_UP)).await?;
        stage.pay(&opened, CARD_DECLINED).await?;
    }
    let first = if company.fate == Fate::Suspended { FIRST_OF_LITTLE_FAITH } else { TOP_UP };
    top_up(stage, who, first).await?;
    let trunk = json!({
        "name": "Main", "zone": stage.service.app.settings.zones.first().map(|zone| zone.name.clone()),
        "channel_cap": 60 + company.weight * 5, "cps_limit": 20,
        "inbound_uri": format!("sip:pbx.{}", company.email.split('@').nth(1).unwrap_or_default()),
    });
    let trunk_id = text(&stage.post(who, "/trunks", trunk).await?["id"])?;
    let network = json!({"cidr": company.network, "note": "Our exchange"});
    stage.post(who, &format!("/trunks/{trunk_id}/ip-allow-list"), network).await?;
    let caps = json!({"max_spend_per_day": euros(20_000), "max_rate_per_minute": euros(100)});
    stage.put(who, "/fraud-caps", caps).await?;
    if company.weight >= 10 {
        let card = stage.get(who, "/payments/methods").await?["data"][0]["id"].clone();
        let recharge = json!({
            "enabled": true, "threshold": euros(2_500), "recharge_amount": euros(10_000), "payment_method_id": card,
        });
        stage.put(who, "/account/auto-recharge", recharge).await?;
    }
    let order = order_number(stage, company, &trunk_id, "api").await?;
    let numbers = order["did"].as_str().map(str::to_owned).into_iter().collect();
    Ok(Caller { company, trunk_id, numbers, since: stage.now(), until: None })
}

/// Orders a number of the company's country; nothing where there is none.
async fn order_number(
    stage: &mut Stage,
    company: &'static Company,
    trunk_id: &str,
    regulatory: &str,
) -> Result<Value, StartError> {
    let path = format!("/numbers/inventory?country={}&regulatory={regulatory}", company.country);
    let group = stage.get(company.email, &path).await?["data"][0]["id"].clone();
    if group.is_null() {
        return Ok(Value::Null);
    }
    let order = json!({"inventory_id": group, "trunk_id": trunk_id});
    stage.post(company.email, "/numbers/orders", order).await
}

/// Orders a number that takes papers. Some hand them in, and the team approves; others let it wait.
pub async fn order_with_papers(stage: &mut Stage, caller: &Caller, hands_in: bool) -> Result<(), StartError> {
    let who = caller.company.email;
    let order = order_number(stage, caller.company, &caller.trunk_id, "docs_required").await?;
    let Some(intake) = order["compliance_intake_id"].as_str().filter(|_| hands_in) else { return Ok(()) };
    let path = format!("/compliance/intakes/{intake}");
    let required = stage.get(who, &path).await?["required_docs"].clone();
    for kind in required.as_array().into_iter().flatten().filter_map(Value::as_str) {
        stage.call(who, Method::POST, &format!("{path}/documents"), paper(kind, caller.company.name)).await?;
    }
    stage.call(who, Method::POST, &format!("{path}/submit"), Sent::Nothing).await?;
    stage.call(ADMIN.1, Method::POST, &format!("/admin{path}/review"), Sent::Nothing).await?;
    stage.post(ADMIN.1, &format!("/admin{path}/approve"), json!({})).await?;
    stage.settle().await
}

/// Asks for its calls of the last week as a file.
pub async fn export_calls(stage: &mut Stage, company: &'static Company) -> Result<(), StartError> {
    let (from, to) = (Rfc3339(stage.now().minus(DAY * 7)).to_string(), Rfc3339(stage.now()).to_string());
    let wanted = json!({"from": from, "to": to, "format": "csv", "compression": "gzip"});
    stage.post(company.email, "/cdrs/exports", wanted).await?;
    stage.settle().await
}

/// Looks at the balance, and pays in what it lacks.
pub async fn look_after_money(stage: &mut Stage, company: &'static Company) -> Result<(), StartError> {
    let balance = stage.get(company.email, "/account/balance").await?;
    let cents = balance["current"]["amount_minor"].as_i64().ok_or("a balance lacks its amount")?;
    if cents < LOW { top_up(stage, company.email, TOP_UP).await } else { Ok(()) }
}

async fn top_up(stage: &mut Stage, who: &'static str, cents: i64) -> Result<(), StartError> {
    let opened = stage.post(who, "/payments/topups", euros(cents)).await?;
    stage.pay(&opened, CARD).await
}

/// The team stops a company, which calls no more from then on.
pub async fn suspend(stage: &mut Stage, caller: &mut Caller) -> Result<(), StartError> {
    let account = stage.account(caller.company.email)?;
    let path = format!("/admin/customers/{account}");
    let body = json!({"onboarding_status": "suspended", "reason": "Complaints about unwanted calls."});
    stage.patch(ADMIN.1, &path, body).await?;
    let note = json!({"body": "Three complaints in a week, see the tickets. Answer rate below 20 per cent."});
    stage.post(ADMIN.1, &format!("{path}/notes"), note).await?;
    caller.until = Some(stage.now());
    Ok(())
}
