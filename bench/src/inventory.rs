//! Inventory fixtures: imports numbers over the API, as the team does, and creates trunks to order them for.

use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

use crate::Outcome;
use crate::http::{Client, Response, get, post, post_body};
use db::Entropy;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
const HEADER: &str = "e164,country,type,area_name,prefix,capabilities,monthly,setup,regulatory\n";

/// CSV of `groups` inventory groups with `numbers` Dutch numbers each: setup 1 EUR, 0.50 EUR per month.
pub fn csv(groups: u32, numbers: u32) -> Result<String, std::fmt::Error> {
    let mut csv = String::with_capacity((groups * numbers) as usize * 64);
    csv.push_str(HEADER);
    for group in 0..groups {
        for number in 0..numbers {
            writeln!(
                csv,
                "+31{}{number:05},NL,local,Area {group},31{},voice,0.50,1.00,api",
                1000 + group,
                1000 + group
            )?;
        }
    }
    Ok(csv)
}

/// Imports the CSV and waits until the import is completed.
pub async fn import(client: &mut Client, team: &str, csv: &str) -> Outcome<()> {
    let upstream =
        json!({"name": "Numbers BV", "dispatcher_group_id": 1, "base_currency": "EUR", "markup_percent": 10});
    let upstream =
        expect_status(client.send(&post("/v1/admin/upstreams", &auth_headers(team), &upstream)).await?, 201)?;
    let path = format!("/v1/admin/did-inventory/import?upstream_id={}", string_field(&upstream, "id")?);
    let import = expect_status(client.send(&post_body("text/csv", &path, &auth_headers(team), csv)).await?, 202)?;
    let path = format!("/v1/admin/did-inventory/imports/{}", string_field(&import, "id")?);
    loop {
        let report = expect_status(client.send(&get(&path, Some(team))).await?, 200)?;
        match string_field(&report, "status")? {
            "completed" => return Ok(()),
            "failed" => return Err(format!("the inventory import failed: {report}").into()),
            _ => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

/// Creates a trunk that numbers can be ordered for.
pub async fn create_trunk(client: &mut Client, customer: &str) -> Outcome<String> {
    let trunk = json!({"name": "Office", "zone": "eu-west", "channel_cap": 10});
    let trunk = expect_status(client.send(&post("/v1/trunks", &auth_headers(customer), &trunk)).await?, 201)?;
    Ok(string_field(&trunk, "id")?.to_owned())
}

/// Lists the ids of the inventory groups, one page.
pub async fn list_groups(client: &mut Client, customer: &str) -> Outcome<Vec<String>> {
    let page = expect_status(client.send(&get("/v1/numbers/inventory?limit=200", Some(customer))).await?, 200)?;
    let rows = page["data"].as_array().ok_or("the inventory is not a list")?;
    rows.iter().map(|group| Ok(string_field(group, "id")?.to_owned())).collect()
}

/// Headers with the token and a new idempotency key.
pub fn auth_headers(token: &str) -> String {
    format!(
        "Authorization: Bearer {token}\r\nIdempotency-Key: {}\r\n",
        uuid::Builder::from_random_bytes(Entropy.bytes()).into_uuid()
    )
}

/// The body of a response that must have this status.
pub fn expect_status(response: Response, status: u16) -> Outcome<Value> {
    if response.status != status {
        return Err(format!("{}: {}", response.status, String::from_utf8_lossy(&response.body)).into());
    }
    Ok(serde_json::from_slice(&response.body)?)
}

fn string_field<'a>(value: &'a Value, field: &str) -> Outcome<&'a str> {
    value[field].as_str().ok_or_else(|| format!("no {field} in {value}").into())
}
