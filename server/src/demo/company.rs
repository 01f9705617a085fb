//! The way of a company: signing up, being judged, calling, and looking after its money.

use reqwest::Method;
use serde_json::{Value, json};

use super::cast::{ADMIN, Company, Fate};
use super::stage::{Sent, Stage, paper, text};
use super::traffic::Caller;
use crate::app::StartError;

/// A card that pays, and one that pays once and never again.
const CARD: &str = "4242424242424242";
const CARD_OF_ONE_PAYMENT: &str = "4000000000009995";
const CARD_DECLINED: &str = "4000000000000002";

const PAPERS: [&str; 3] = ["company_registration", "proof_of_address", "director_id"];

/// What a customer pays in, and below which balance it does so again; in cents.
const TOP_UP: i64 = 15_000;
const LOW: i64 = 4_000;

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
    for kind in PAPERS {
        stage.call(email, Method::POST, "/me/kyb/documents", paper(kind, name)).await?;
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
    top_up(stage, who, TOP_UP).await?;
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
    let mut numbers = Vec::new();
    for regulatory in ["api", "docs_required"] {
        numbers.extend(order_number(stage, company, &trunk_id, regulatory).await?);
    }
    Ok(Caller { company, trunk_id, numbers, since: stage.now(), until: None })
}

/// Orders a number of the company's country, if there is one, and answers it once it works.
async fn order_number(
    stage: &mut Stage,
    company: &'static Company,
    trunk_id: &str,
    regulatory: &str,
) -> Result<Option<String>, StartError> {
    let path = format!("/numbers/inventory?country={}&regulatory={regulatory}", company.country);
    let group = stage.get(company.email, &path).await?["data"][0]["id"].clone();
    if group.is_null() {
        return Ok(None);
    }
    let order = json!({"inventory_id": group, "trunk_id": trunk_id});
    let order = stage.post(company.email, "/numbers/orders", order).await?;
    Ok(order["did"].as_str().filter(|_| order["status"] == "active").map(str::to_owned))
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
