//! Wholesale prices: rate plans for some customers, a rate deck that waits for a decision, a statement of an upstream
//! that differs from our CDRs, and disputes about calls.

use std::fmt::Write;

use reqwest::Method;
use serde_json::{Value, json};

use super::calendar::DAY;
use super::fixtures::{ADMIN, Company};
use super::operator::Operator;
use super::prices::{UPSTREAMS, deck_with_increases};
use super::simulation::{RequestBody, Simulation, text};
use platform::app::StartError;
use values::Rfc3339;

/// A rate plan, and the customer that has it.
struct Plan {
    name: &'static str,
    base: &'static str,
    markup_percent: i64,
    rules: fn() -> Value,
    email: &'static str,
}

#[rustfmt::skip]
const PLANS: [Plan; 3] = [
    Plan { name: "Benelux volume", base: "list", markup_percent: 0, rules: benelux_rules, email: "katja@kanaal.example" },
    Plan { name: "Partner discount", base: "list", markup_percent: -4, rules: || json!([]), email: "ruth@rheinruf.example" },
    Plan { name: "Cost plus", base: "cost", markup_percent: 14, rules: || json!([]), email: "theo@thames.example" },
];

fn benelux_rules() -> Value {
    json!([
        {"match": {"country": "NL"}, "markup_pct": -9},
        {"match": {"country": "BE"}, "markup_pct": -6},
        {"match": {"destination_name": "Germany mobile"}, "markup_pct": -3.5},
        {"match": {"prefix": "3188"}, "rate_per_minute": {"amount": "0.0075", "currency": "EUR"}},
    ])
}

/// The upstream whose decks are held, as an index of `UPSTREAMS`.
const HELD: usize = 2;

/// A dispute about the latest answered call of a customer, and the decision of the team, if there is one.
pub struct CallDispute {
    email: &'static str,
    /// When, in percent of the simulated period.
    pub at: i64,
    reason: &'static str,
    note: Option<&'static str>,
}

pub const DISPUTES: [CallDispute; 2] = [
    CallDispute {
        email: "ruth@rheinruf.example",
        at: 82,
        reason: "We heard only silence on this call, and hung up.",
        note: Some("The upstream confirmed one-way audio. We have credited the call."),
    },
    CallDispute {
        email: "theo@thames.example",
        at: 96,
        reason: "Our PBX recorded a shorter call than the one you charged.",
        note: None,
    },
];

/// Creates the rate plans.
pub async fn create_plans(sim: &mut Simulation) -> Result<Vec<String>, StartError> {
    let mut ids = Vec::new();
    for Plan { name, base, markup_percent, rules, .. } in PLANS {
        let name = sim.taken.free_plan(name);
        let plan = json!({"name": name, "base": base, "markup_pct": markup_percent, "rules": rules()});
        ids.push(text(&sim.post(ADMIN.1, "/admin/rate-plans", plan).await?["id"])?);
    }
    Ok(ids)
}

/// Gives a customer the plan that was agreed with it, if there is one.
pub async fn assign_plan(sim: &mut Simulation, operator: &Operator, company: &Company) -> Result<(), StartError> {
    let Some(position) = PLANS.iter().position(|plan| plan.email == company.email) else { return Ok(()) };
    let path = format!("/admin/customers/{}/rate-plan", sim.account(PLANS[position].email)?);
    let reason = "Agreed in the contract, before the first call.";
    let body = json!({"rate_plan_id": operator.plans[position], "waive_notice": true, "reason": reason});
    sim.put(ADMIN.1, &path, body).await?;
    sim.settle().await
}

/// Holds decks of an upstream that raise rates by much.
pub async fn set_hold_policy(sim: &mut Simulation, operator: &Operator) -> Result<(), StartError> {
    let policy = json!({"changed_percent": null, "increase_percent": 60, "below_cost": false});
    sim.put(ADMIN.1, &format!("/admin/upstreams/{}/hold-policy", operator.upstreams[HELD]), policy).await?;
    Ok(())
}

/// Imports a deck that is held.
pub async fn import_held_deck(sim: &mut Simulation, operator: &Operator) -> Result<(), StartError> {
    let sheet = deck_with_increases(&UPSTREAMS[HELD], &mut sim.rng);
    let path = format!("/admin/upstreams/{}/rates/import", operator.upstreams[HELD]);
    sim.request(ADMIN.1, Method::POST, &path, RequestBody::Csv(sheet)).await?;
    sim.settle().await
}

/// The upstream that sends a statement, as an index of `UPSTREAMS`; it charges in euros, as we do.
const STATED: usize = 0;
/// The days that the statement covers.
const STATED_DAYS: u32 = 3;

/// Reconciles a statement of an upstream, in which a few calls are missing, longer, or dearer.
pub async fn send_statement(sim: &mut Simulation, operator: &Operator) -> Result<(), StartError> {
    let upstream = &operator.upstreams[STATED];
    let (from, to) = (sim.now().minus(DAY * STATED_DAYS), sim.now());
    let range = format!("from={}&to={}", Rfc3339(from), Rfc3339(to));
    let path = format!("/admin/cdrs?upstream_id={upstream}&status=answered&leg=termination&limit=1000&{range}");
    let page = sim.get(ADMIN.1, &path).await?;
    let mut file = "B-Number,Call Start,Duration (s),Charge (EUR)\n".to_owned();
    for (number, call) in page["data"].as_array().into_iter().flatten().enumerate() {
        let (seconds, nanos) = (call["duration_seconds"].as_i64().unwrap_or_default(), nanos(&call["our_cost"])?);
        let (seconds, nanos) = match number % 40 {
            // Not in the statement.
            0 => continue,
            1 => (seconds + 47, nanos + nanos / 4),
            2 => (seconds, nanos + nanos / 10 + 1_000_000),
            _ => (seconds, nanos),
        };
        let (called, started_at) = (text(&call["called"])?, text(&call["started_at"])?);
        // Writing to a String does not fail.
        let _ =
            writeln!(file, "{called},{started_at},{seconds},{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    }
    let made_up = Rfc3339(from.plus(DAY));
    let _ = writeln!(file, "+31209990001,{made_up},310,0.021700000");
    let path =
        format!("/admin/upstreams/{upstream}/statements?period_from={}&period_to={}", Rfc3339(from), Rfc3339(to));
    sim.request(ADMIN.1, Method::POST, &path, RequestBody::Csv(file)).await?;
    sim.settle().await
}

/// An exact amount in billionths.
fn nanos(money: &Value) -> Result<i64, StartError> {
    let amount = text(&money["amount"])?;
    let (whole, fraction) = amount.split_once('.').unwrap_or((&amount, ""));
    Ok(whole.parse::<i64>()? * 1_000_000_000 + format!("{fraction:0<9}").parse::<i64>()?)
}

/// Disputes the latest call that cost money, if there is one, and decides about it.
pub async fn dispute_call(sim: &mut Simulation, dispute: &CallDispute) -> Result<(), StartError> {
    let page = sim.get(dispute.email, "/cdrs?status=answered&leg=termination&limit=100").await?;
    let calls = page["data"].as_array().into_iter().flatten();
    let mut charged = calls.filter(|call| call["customer_charge"]["amount_minor"].as_i64() > Some(0));
    let Some(call) = charged.next().and_then(|call| call["id"].as_str()) else { return Ok(()) };
    let opened = sim.post(dispute.email, &format!("/cdrs/{call}/dispute"), json!({"reason": dispute.reason})).await?;
    if let Some(note) = dispute.note {
        let path = format!("/admin/disputes/{}/resolve", text(&opened["id"])?);
        sim.prove_identity(ADMIN.1).await?;
        sim.post(ADMIN.1, &path, json!({"outcome": "credit", "note": note})).await?;
    }
    sim.settle().await
}
