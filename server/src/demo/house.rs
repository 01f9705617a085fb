//! What the carrier's team does: it buys, takes numbers in, announces things and answers customers.

use reqwest::Method;
use serde_json::{Value, json};

use super::calendar::{DAY, date};
use super::cast::{ADMIN, MANAGERS, QUESTIONS, Question, SUPPORT};
use super::market::{SUPPLIERS, Supplier, deck, stock};
use super::stage::{Sent, Stage, text};
use platform::app::StartError;
use values::{Rfc3339, Time};

/// Upstreams, by their place among the suppliers.
pub struct House {
    upstreams: Vec<String>,
    managers: Vec<String>,
    /// Tickets, by their place among the questions; those to come have none.
    tickets: Vec<Option<String>>,
}

/// The first day: a team, upstreams with their decks, and numbers to let.
pub async fn open(stage: &mut Stage) -> Result<House, StartError> {
    let admin = ADMIN.1;
    let (name, email) = SUPPORT;
    stage.post(admin, "/admin/users", json!({"email": email, "name": name, "roles": ["support"]})).await?;
    let mut house = House { upstreams: Vec::new(), managers: Vec::new(), tickets: vec![None; QUESTIONS.len()] };
    for (name, email) in MANAGERS {
        let made = stage.post(admin, "/admin/account-managers", json!({"name": name, "email": email})).await?;
        house.managers.push(text(&made["id"])?);
    }
    exchange_rates(stage).await?;
    for Supplier { name, group, currency, markup_percent, address, .. } in &SUPPLIERS {
        let supplier = json!({
            "name": name, "dispatcher_group_id": group, "base_currency": currency, "markup_percent": markup_percent,
            "gateways": [format!("sip:{address}")], "signaling_ips": [address],
        });
        house.upstreams.push(text(&stage.post(admin, "/admin/upstreams", supplier).await?["id"])?);
    }
    for place in 0..SUPPLIERS.len() {
        import_deck(stage, &house, place, None).await?;
    }
    let path = format!("/admin/did-inventory/import?upstream_id={}", house.upstreams[0]);
    stage.call(admin, Method::POST, &path, Sent::Csv(stock())).await?;
    stage.settle().await?;
    Ok(house)
}

impl House {
    /// Who looks after the company at this place.
    pub fn manager(&self, place: usize) -> &str {
        &self.managers[place % self.managers.len()]
    }
}

/// A supplier's next deck, of which some prices rise only later.
pub async fn import_deck(
    stage: &mut Stage,
    house: &House,
    place: usize,
    later: Option<Time>,
) -> Result<(), StartError> {
    let sheet = deck(&SUPPLIERS[place], later, &mut stage.chance);
    let path = format!("/admin/upstreams/{}/rates/import", house.upstreams[place]);
    stage.call(ADMIN.1, Method::POST, &path, Sent::Csv(sheet)).await?;
    stage.settle().await
}

/// What one euro is worth today.
pub async fn exchange_rates(stage: &mut Stage) -> Result<(), StartError> {
    let mut around = |units: i64| {
        let nearby = units + stage.chance.between(-units / 80, units / 80);
        format!("{}.{:04}", nearby / 10_000, nearby % 10_000)
    };
    let rates = json!({"USD": around(10_850), "GBP": around(8_560), "CHF": around(9_430), "PLN": around(42_700)});
    let today = date(stage.now());
    stage.put(ADMIN.1, "/admin/fx-rates", json!({"base": "EUR", "date": today, "rates": rates})).await?;
    Ok(())
}

/// Something for everybody to know, from now on for so many days.
pub async fn announce(stage: &mut Stage, notice: &Notice) -> Result<(), StartError> {
    let starts_at = stage.now();
    let body = json!({
        "severity": notice.severity, "title": notice.title, "body": notice.body,
        "starts_at": Rfc3339(starts_at).to_string(), "ends_at": Rfc3339(starts_at.plus(DAY * notice.days)).to_string(),
    });
    stage.post(ADMIN.1, "/admin/notices", body).await?;
    Ok(())
}

pub struct Notice {
    /// When, in hundredths of the time that is told.
    pub at: i64,
    days: u32,
    severity: &'static str,
    title: &'static str,
    body: &'static str,
}

#[rustfmt::skip]
pub const NOTICES: [Notice; 3] = [
    Notice { at: 20, days: 5, severity: "info", title: "New numbers in London and New York", body: "Forty each, ready to use at once." },
    Notice { at: 55, days: 1, severity: "critical", title: "Calls to Türkiye fail", body: "An upstream has trouble. We route around it." },
    Notice { at: 97, days: 60, severity: "warning", title: "Maintenance on Sunday night", body: "From 01:00 to 02:00 UTC new calls in eu-west may be refused for a few seconds." },
];

/// A gift for a customer who had trouble.
pub async fn say_sorry(stage: &mut Stage, who: &'static str) -> Result<(), StartError> {
    let account = stage.account(who)?;
    let credit = json!({
        "customer_id": account, "amount": {"amount_minor": 1000, "currency": "EUR"},
        "reason": "Sorry for the one-way audio.",
    });
    stage.post(ADMIN.1, "/admin/credits", credit).await?;
    Ok(())
}

/// The next words of a conversation: the customer's, then the team's, in turn.
pub async fn speak(stage: &mut Stage, house: &mut House, place: usize, turn: usize) -> Result<(), StartError> {
    let Question { email, priority, subject, words, is_resolved, .. } = QUESTIONS[place];
    let Some(said) = words.get(turn) else { return Ok(()) };
    let body = json!({"body": said});
    match &house.tickets[place] {
        None => {
            let ticket = json!({"subject": subject, "body": said, "priority": priority, "cdr_ids": []});
            house.tickets[place] = Some(text(&stage.post(email, "/tickets", ticket).await?["id"])?);
        }
        Some(ticket) if turn % 2 == 1 => {
            stage.post(SUPPORT.1, &format!("/admin/tickets/{ticket}/messages"), body).await?;
        }
        Some(ticket) => {
            stage.post(email, &format!("/tickets/{ticket}/messages"), body).await?;
        }
    }
    if is_resolved && turn + 1 == words.len() {
        resolve(stage, house.tickets[place].as_deref()).await?;
    }
    Ok(())
}

async fn resolve(stage: &mut Stage, ticket: Option<&str>) -> Result<Value, StartError> {
    let path = format!("/admin/tickets/{}", ticket.unwrap_or_default());
    stage.patch(ADMIN.1, &path, json!({"status": "resolved"})).await
}
