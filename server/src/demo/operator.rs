//! What the operator's team does: sets up upstreams, rate plans and inventory, publishes notices, and answers tickets.

use reqwest::Method;
use serde_json::{Value, json};

use super::calendar::{DAY, date};
use super::fixtures::{ADMIN, MANAGERS, SUPPORT, TICKETS, Ticket};
use super::prices::{UPSTREAMS, Upstream, deck, inventory};
use super::simulation::{RequestBody, Simulation, text};
use super::wholesale;
use platform::app::StartError;
use values::{Rfc3339, Time};

/// Ids of what the team created.
pub struct Operator {
    /// In the order of `UPSTREAMS`.
    pub upstreams: Vec<String>,
    /// Rate plans.
    pub plans: Vec<String>,
    managers: Vec<String>,
    /// In the order of `TICKETS`; none before the ticket is opened.
    tickets: Vec<Option<String>>,
}

/// The first day: team, upstreams with their rate decks, and inventory.
pub async fn set_up(sim: &mut Simulation) -> Result<Operator, StartError> {
    let admin = ADMIN.1;
    let (name, email) = (SUPPORT.0, sim.taken.free(SUPPORT.1));
    sim.post(admin, "/admin/users", json!({"email": email, "name": name, "roles": ["support"]})).await?;
    let tickets = vec![None; TICKETS.len()];
    let mut operator = Operator { upstreams: Vec::new(), plans: Vec::new(), managers: Vec::new(), tickets };
    for (name, email) in MANAGERS {
        let email = sim.taken.free(email);
        let manager = sim.post(admin, "/admin/account-managers", json!({"name": name, "email": email})).await?;
        operator.managers.push(text(&manager["id"])?);
    }
    set_exchange_rates(sim).await?;
    for Upstream { name, group, currency, markup_percent, address, .. } in &UPSTREAMS {
        let group = sim.taken.free_group(*group);
        let upstream = json!({
            "name": name, "dispatcher_group_id": group, "base_currency": currency, "markup_percent": markup_percent,
            "gateways": [format!("sip:{address}")], "signaling_ips": [address],
        });
        operator.upstreams.push(text(&sim.post(admin, "/admin/upstreams", upstream).await?["id"])?);
    }
    for index in 0..UPSTREAMS.len() {
        import_deck(sim, &operator, index, None).await?;
    }
    wholesale::set_hold_policy(sim, &operator).await?;
    operator.plans = wholesale::create_plans(sim).await?;
    let path = format!("/admin/did-inventory/import?upstream_id={}", operator.upstreams[0]);
    sim.request(admin, Method::POST, &path, RequestBody::Csv(inventory())).await?;
    sim.settle().await?;
    Ok(operator)
}

impl Operator {
    /// The account manager of the company with this index.
    pub fn manager(&self, index: usize) -> &str {
        &self.managers[index % self.managers.len()]
    }
}

/// Imports an upstream's next rate deck. Higher rates take effect at `later`.
pub async fn import_deck(
    sim: &mut Simulation,
    operator: &Operator,
    index: usize,
    later: Option<Time>,
) -> Result<(), StartError> {
    let sheet = deck(&UPSTREAMS[index], later, &mut sim.rng);
    let path = format!("/admin/upstreams/{}/rates/import", operator.upstreams[index]);
    sim.request(ADMIN.1, Method::POST, &path, RequestBody::Csv(sheet)).await?;
    sim.settle().await
}

/// Sets the exchange rates of today.
pub async fn set_exchange_rates(sim: &mut Simulation) -> Result<(), StartError> {
    let mut around = |units: i64| {
        let nearby = units + sim.rng.between(-units / 80, units / 80);
        format!("{}.{:04}", nearby / 10_000, nearby % 10_000)
    };
    let rates = json!({"USD": around(10_850), "GBP": around(8_560), "CHF": around(9_430), "PLN": around(42_700)});
    let today = date(sim.now());
    sim.put(ADMIN.1, "/admin/fx-rates", json!({"base": "EUR", "date": today, "rates": rates})).await?;
    Ok(())
}

/// Publishes a notice.
pub async fn publish_notice(sim: &mut Simulation, notice: &Notice) -> Result<(), StartError> {
    let starts_at = sim.now();
    let body = json!({
        "severity": notice.severity, "title": notice.title, "body": notice.body,
        "starts_at": Rfc3339(starts_at).to_string(), "ends_at": Rfc3339(starts_at.plus(DAY * notice.days)).to_string(),
    });
    sim.post(ADMIN.1, "/admin/notices", body).await?;
    Ok(())
}

pub struct Notice {
    /// When, in percent of the simulated period.
    pub at: i64,
    days: u32,
    severity: &'static str,
    title: &'static str,
    body: &'static str,
}

#[rustfmt::skip]
pub const NOTICES: [Notice; 3] = [
    Notice { at: 20, days: 5, severity: "info", title: "New numbers in London and New York", body: "40 numbers each, available immediately." },
    Notice { at: 55, days: 1, severity: "critical", title: "Calls to Türkiye fail", body: "An upstream has an outage. We are rerouting calls." },
    Notice { at: 97, days: 60, severity: "warning", title: "Maintenance on Sunday night", body: "From 01:00 to 02:00 UTC new calls in eu-west may be rejected for a few seconds." },
];

/// Grants a customer a credit.
pub async fn grant_credit(sim: &mut Simulation, who: &'static str) -> Result<(), StartError> {
    let account = sim.account(who)?;
    sim.prove_identity(ADMIN.1).await?;
    let credit = json!({
        "customer_id": account, "amount": {"amount_minor": 1000, "currency": "EUR"},
        "reason": "Compensation for one-way audio.",
    });
    sim.post(ADMIN.1, "/admin/credits", credit).await?;
    Ok(())
}

/// Sends one message of a ticket: even numbers are the customer's, odd ones the team's.
pub async fn send_ticket_message(
    sim: &mut Simulation,
    operator: &mut Operator,
    index: usize,
    number: usize,
) -> Result<(), StartError> {
    let Ticket { email, priority, subject, messages, is_resolved, .. } = TICKETS[index];
    let Some(message) = messages.get(number) else { return Ok(()) };
    let body = json!({"body": message});
    match &operator.tickets[index] {
        None => {
            let ticket = json!({"subject": subject, "body": message, "priority": priority, "cdr_ids": []});
            operator.tickets[index] = Some(text(&sim.post(email, "/tickets", ticket).await?["id"])?);
        }
        Some(ticket) if number % 2 == 1 => {
            sim.post(SUPPORT.1, &format!("/admin/tickets/{ticket}/messages"), body).await?;
        }
        Some(ticket) => {
            sim.post(email, &format!("/tickets/{ticket}/messages"), body).await?;
        }
    }
    if is_resolved && number + 1 == messages.len() {
        resolve(sim, operator.tickets[index].as_deref()).await?;
    }
    Ok(())
}

async fn resolve(sim: &mut Simulation, ticket: Option<&str>) -> Result<Value, StartError> {
    let path = format!("/admin/tickets/{}", ticket.unwrap_or_default());
    sim.patch(ADMIN.1, &path, json!({"status": "resolved"})).await
}
