//! Numbers to order, brought in over HTTP as the team would.

use std::fmt::Write;
use std::time::Duration;

use platform::entropy::Entropy;
use serde_json::{Value, json};

use crate::Outcome;
use crate::http::{Answer, Client, get, post, send};

const LOOK: Duration = Duration::from_millis(20);
const HEADER: &str = "e164,country,type,area_name,prefix,capabilities,monthly,setup,regulatory\n";

/// So many groups of so many Dutch numbers, each a euro to set up and half a euro a month.
pub fn sheet(groups: u32, numbers: u32) -> Result<String, std::fmt::Error> {
    let mut sheet = String::with_capacity((groups * numbers) as usize * 64);
    sheet.push_str(HEADER);
    for group in 0..groups {
        for number in 0..numbers {
            writeln!(
                sheet,
                "+31{}{number:05},NL,local,Area {group},31{},voice,0.50,1.00,api",
                1000 + group,
                1000 + group
            )?;
        }
    }
    Ok(sheet)
}

/// Puts a sheet into the stock and waits until it is there.
pub async fn bring_in(client: &mut Client, team: &str, sheet: &str) -> Outcome<()> {
    let upstream =
        json!({"name": "Numbers BV", "dispatcher_group_id": 1, "base_currency": "EUR", "markup_percent": 10});
    let upstream = expect(client.send(&post("/v1/admin/upstreams", &with_key(team), &upstream)).await?, 201)?;
    let path = format!("/v1/admin/did-inventory/import?upstream_id={}", text(&upstream, "id")?);
    let import = expect(client.send(&send("text/csv", &path, &with_key(team), sheet)).await?, 202)?;
    let path = format!("/v1/admin/did-inventory/imports/{}", text(&import, "id")?);
    loop {
        let report = expect(client.send(&get(&path, Some(team))).await?, 200)?;
        match text(&report, "status")? {
            "completed" => return Ok(()),
            "failed" => return Err(format!("the numbers were not taken: {report}").into()),
            _ => tokio::time::sleep(LOOK).await,
        }
    }
}

/// A trunk for a customer, which numbers can be ordered for.
pub async fn trunk(client: &mut Client, customer: &str) -> Outcome<String> {
    let trunk = json!({"name": "Office", "zone": "eu-west", "channel_cap": 10});
    let trunk = expect(client.send(&post("/v1/trunks", &with_key(customer), &trunk)).await?, 201)?;
    Ok(text(&trunk, "id")?.to_owned())
}

/// The groups there are, on one page.
pub async fn groups(client: &mut Client, customer: &str) -> Outcome<Vec<String>> {
    let page = expect(client.send(&get("/v1/numbers/inventory?limit=200", Some(customer))).await?, 200)?;
    let rows = page["data"].as_array().ok_or("the inventory is no list")?;
    rows.iter().map(|group| Ok(text(group, "id")?.to_owned())).collect()
}

pub fn with_key(token: &str) -> String {
    format!(
        "Authorization: Bearer {token}\r\nIdempotency-Key: {}\r\n",
        uuid::Builder::from_random_bytes(Entropy.bytes()).into_uuid()
    )
}

pub fn expect(answer: Answer, status: u16) -> Outcome<Value> {
    if answer.status != status {
        return Err(format!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body)).into());
    }
    Ok(serde_json::from_slice(&answer.body)?)
}

fn text<'a>(value: &'a Value, field: &str) -> Outcome<&'a str> {
    value[field].as_str().ok_or_else(|| format!("no {field} in {value}").into())
}
