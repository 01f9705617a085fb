//! Holds what callers were told against what customers read of their ledgers.

use std::collections::HashMap;
use std::net::SocketAddr;

use serde_json::Value;

use super::caller::Caller;
use super::carrier::Carrier;
use super::load::{Deed, End, What};
use crate::Outcome;
use crate::customers::Customer;
use crate::service::ADMIN;

/// What was found to be right.
#[derive(Default)]
pub struct Proved {
    pub credits: usize,
    pub corrections: usize,
    pub topups: usize,
    /// Numbers that work and were charged once.
    pub numbers: usize,
    /// Orders that the carrier refused: charged once, and refunded once.
    pub refunded: usize,
    /// Refused, declined or left alone: they moved nothing.
    pub without_effect: usize,
    /// Lines of all ledgers together.
    pub lines: usize,
    /// Requests with a key that were answered a second time as the first.
    pub replayed: usize,
    /// Forms of checkouts that were sent.
    pub checkouts: usize,
    /// The program's own proofs too.
    pub verified: bool,
}

impl Proved {
    pub fn writes(&self) -> usize {
        self.replayed + self.checkouts
    }
}

pub async fn prove(public: SocketAddr, customers: &[Customer], carrier: &Carrier, deeds: &[Deed]) -> Outcome<Proved> {
    let mut proved = Proved::default();
    let mut callers: Vec<Caller> = customers.iter().map(|customer| Caller::new(public, &customer.email)).collect();
    let mut ledgers = Vec::new();
    for (index, caller) in callers.iter_mut().enumerate() {
        let ledger = everything(caller, "/v1/account/ledger").await?;
        let own: Vec<&Deed> = deeds.iter().filter(|deed| deed.customer == index).collect();
        prove_lines(&mut proved, caller, carrier, &own, &ledger).await?;
        prove_lists(caller, &own).await?;
        prove_balance(caller, &ledger).await?;
        proved.lines += ledger.len();
        ledgers.push(ledger);
    }
    let mut team = Caller::new(public, ADMIN);
    for deed in deeds {
        let caller = if matches!(deed.what, What::Credit { .. }) { &mut team } else { &mut callers[deed.customer] };
        let answer = caller.write(&deed.request).await?;
        if (answer.status, &answer.body) != (deed.status, &deed.body) {
            let (first, second) = (String::from_utf8_lossy(&deed.body), String::from_utf8_lossy(&answer.body));
            return Err(format!("{} was told {first}, and then {second}", deed.request.key).into());
        }
        proved.replayed += 1;
    }
    for (caller, ledger) in callers.iter_mut().zip(&ledgers) {
        if everything(caller, "/v1/account/ledger").await? != *ledger {
            return Err("a request that was repeated changed a ledger".into());
        }
    }
    Ok(proved)
}

/// Every deed has the lines it should have, and no line is left over.
async fn prove_lines(
    proved: &mut Proved,
    caller: &mut Caller,
    carrier: &Carrier,
    deeds: &[&Deed],
    ledger: &[Value],
) -> Outcome<()> {
    let mut left: HashMap<&str, Vec<&Value>> = HashMap::new();
    for line in ledger {
        // The team's own lines say in words what they are for.
        let by_the_team = line["kind"] == "credit" || line["kind"] == "correction";
        let cause = if by_the_team { &line["description"] } else { &line["reference"] };
        left.entry(cause.as_str().unwrap_or_default()).or_default().push(line);
    }
    for deed in deeds {
        let told: Value = serde_json::from_slice(&deed.body)?;
        match deed.what {
            _ if deed.status != 201 => proved.without_effect += 1,
            What::Credit { cents } => {
                let line = only(left.remove(deed.request.key.to_string().as_str()), &told)?;
                if *line != told || line["amount"]["amount_minor"] != cents {
                    return Err(format!("{told} was told, and the ledger says {line}").into());
                }
                *(if cents > 0 { &mut proved.credits } else { &mut proved.corrections }) += 1;
            }
            What::Topup { cents, end } => {
                proved.checkouts += usize::from(end != End::LeftAlone);
                let name = told["topup_id"].as_str().ok_or("a top-up without a name")?;
                let topup = caller.read(&format!("/v1/payments/topups/{name}")).await?;
                let lines = left.remove(topup["id"].as_str().unwrap_or_default());
                if prove_topup(&topup, lines, cents, end)? {
                    proved.topups += 1;
                } else {
                    proved.without_effect += 1;
                }
            }
            What::Order => {
                let id = told["id"].as_str().ok_or("an order without an id")?;
                let order = caller.read(&format!("/v1/numbers/orders/{id}")).await?;
                match prove_order(&order, left.remove(id).unwrap_or_default(), carrier)? {
                    true => proved.numbers += 1,
                    false => proved.refunded += 1,
                }
            }
        }
    }
    if let Some(line) = left.into_values().flatten().next() {
        return Err(format!("nobody asked for {line}").into());
    }
    Ok(())
}

/// What was acknowledged is listed, and nothing else.
async fn prove_lists(caller: &mut Caller, deeds: &[&Deed]) -> Outcome<()> {
    let acknowledged =
        |is_such: fn(&What) -> bool| deeds.iter().filter(|deed| deed.status == 201 && is_such(&deed.what)).count();
    for (list, expected) in [
        ("/v1/payments/topups", acknowledged(|what| matches!(what, What::Topup { .. }))),
        ("/v1/numbers/orders", acknowledged(|what| matches!(what, What::Order))),
    ] {
        let listed = everything(caller, list).await?.len();
        if listed != expected {
            return Err(format!("{expected} were acknowledged, and {list} has {listed}").into());
        }
    }
    Ok(())
}

/// Whether the number works; if it does not, the money is back. The carrier knows the same.
fn prove_order(order: &Value, lines: Vec<&Value>, carrier: &Carrier) -> Outcome<bool> {
    let amount = |kind: &str| match lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>()[..] {
        [line] => line["amount"]["amount_minor"].as_i64(),
        _ => None,
    };
    let (charged, refunded) = (amount("number_order"), amount("number_refund"));
    let works_for = order["did"].as_str().and_then(|number| carrier.order_of(number));
    let is_right = match order["status"].as_str() {
        Some("active") => lines.len() == 1 && charged == Some(-150) && works_for.as_deref() == order["id"].as_str(),
        Some("failed") => {
            lines.len() == 2
                && charged == Some(-150)
                && refunded == Some(150)
                && works_for.as_deref() != order["id"].as_str()
        }
        _ => false,
    };
    if is_right { Ok(order["status"] == "active") } else { Err(format!("{order} has {lines:?}").into()) }
}

/// Whether it was paid, and so is in the ledger.
fn prove_topup(topup: &Value, lines: Option<Vec<&Value>>, cents: i64, end: End) -> Outcome<bool> {
    let status = match end {
        End::Paid => "completed",
        End::Declined | End::WalkedAway => "failed",
        End::LeftAlone => "pending",
    };
    if topup["status"] != status || topup["amount_minor"] != cents {
        return Err(format!("a top-up of {cents} should be {status}: {topup}").into());
    }
    if end != End::Paid {
        return lines.map_or(Ok(false), |lines| Err(format!("{topup} was not paid: {lines:?}").into()));
    }
    let line = only(lines, topup)?;
    let same = line["kind"] == "topup"
        && line["amount"]["amount_minor"] == cents
        && line["balance_after"]["amount_minor"] == topup["balance_after_minor"];
    if same { Ok(true) } else { Err(format!("{topup} was paid, and the ledger says {line}").into()) }
}

/// What was acknowledged is in the ledger once.
fn only<'a>(lines: Option<Vec<&'a Value>>, acknowledged: &Value) -> Outcome<&'a Value> {
    match lines.as_deref() {
        Some([line]) => Ok(line),
        None | Some([]) => Err(format!("{acknowledged} is not in the ledger").into()),
        Some(several) => Err(format!("{acknowledged} is in the ledger {} times", several.len()).into()),
    }
}

/// Each line follows from the one before, none is below zero, and the last is the balance.
async fn prove_balance(caller: &mut Caller, ledger: &[Value]) -> Outcome<()> {
    let cents = |money: &Value| money["amount_minor"].as_i64().ok_or("no amount");
    let mut balance = 0;
    for line in ledger.iter().rev() {
        balance += cents(&line["amount"])?;
        if cents(&line["balance_after"])? != balance || balance < 0 {
            return Err(format!("the balance should be {balance} after {line}").into());
        }
    }
    let shown = cents(&caller.read("/v1/account/balance").await?["current"])?;
    if shown == balance { Ok(()) } else { Err(format!("a balance of {shown} should be {balance}").into()) }
}

/// All pages of a list.
async fn everything(caller: &mut Caller, list: &str) -> Outcome<Vec<Value>> {
    let mut all = Vec::new();
    let mut path = format!("{list}?limit=200");
    loop {
        let mut page = caller.read(&path).await?;
        match page["data"].take() {
            Value::Array(rows) => all.extend(rows),
            other => return Err(format!("{list} is no list: {other}").into()),
        }
        let Some(cursor) = page["meta"]["next_cursor"].as_str() else { return Ok(all) };
        path = format!("{list}?limit=200&cursor={cursor}");
    }
}
