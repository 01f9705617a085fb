//! Compares the responses of the load with the customers' ledgers.

use std::collections::HashMap;
use std::net::SocketAddr;

use serde_json::Value;

use super::client::RetryClient;
use super::did_supplier::DidSupplier;
use super::load::{Action, CheckoutEnd, Operation};
use crate::Outcome;
use crate::customers::Customer;
use crate::service::ADMIN;

/// Counts of what was verified.
#[derive(Default)]
pub struct Verified {
    pub credits: usize,
    pub corrections: usize,
    pub topups: usize,
    /// Active numbers, charged once.
    pub numbers: usize,
    /// Orders that the DID supplier refused: charged once and refunded once.
    pub refunded: usize,
    /// Rejected, declined, cancelled or abandoned: no ledger line.
    pub without_effect: usize,
    /// Lines of all ledgers.
    pub lines: usize,
    /// Requests replayed with the same idempotency key and response.
    pub replayed: usize,
    /// Checkout forms submitted.
    pub checkouts: usize,
    /// Whether `ledger verify` and `audit verify` succeeded too.
    pub self_checks_passed: bool,
}

impl Verified {
    pub fn writes(&self) -> usize {
        self.replayed + self.checkouts
    }
}

pub async fn verify(
    public: SocketAddr,
    customers: &[Customer],
    supplier: &DidSupplier,
    operations: &[Operation],
) -> Outcome<Verified> {
    let mut verified = Verified::default();
    let mut clients: Vec<RetryClient> =
        customers.iter().map(|customer| RetryClient::new(public, &customer.email)).collect();
    let mut ledgers = Vec::new();
    for (index, client) in clients.iter_mut().enumerate() {
        let ledger = read_all(client, "/v1/account/ledger").await?;
        let own: Vec<&Operation> = operations.iter().filter(|operation| operation.customer == index).collect();
        verify_lines(&mut verified, client, supplier, &own, &ledger).await?;
        verify_lists(client, &own).await?;
        verify_balance(client, &ledger).await?;
        verified.lines += ledger.len();
        ledgers.push(ledger);
    }
    let mut team = RetryClient::new(public, ADMIN);
    for operation in operations {
        let client = if matches!(operation.action, Action::Credit { .. }) {
            &mut team
        } else {
            &mut clients[operation.customer]
        };
        let response = client.write(&operation.request).await?;
        if (response.status, &response.body) != (operation.status, &operation.body) {
            let (first, second) = (String::from_utf8_lossy(&operation.body), String::from_utf8_lossy(&response.body));
            return Err(format!("{} got {first}, and when replayed {second}", operation.request.key).into());
        }
        verified.replayed += 1;
    }
    for (client, ledger) in clients.iter_mut().zip(&ledgers) {
        if read_all(client, "/v1/account/ledger").await? != *ledger {
            return Err("a replayed request changed a ledger".into());
        }
    }
    Ok(verified)
}

/// Every operation has the expected ledger lines, and no line is left over.
async fn verify_lines(
    verified: &mut Verified,
    client: &mut RetryClient,
    supplier: &DidSupplier,
    operations: &[&Operation],
    ledger: &[Value],
) -> Outcome<()> {
    let mut left: HashMap<&str, Vec<&Value>> = HashMap::new();
    for line in ledger {
        // Lines of the team have the key in their description, all others a reference.
        let by_the_team = line["kind"] == "credit" || line["kind"] == "correction";
        let cause = if by_the_team { &line["description"] } else { &line["reference"] };
        left.entry(cause.as_str().unwrap_or_default()).or_default().push(line);
    }
    for operation in operations {
        let created: Value = serde_json::from_slice(&operation.body)?;
        match operation.action {
            _ if operation.status != 201 => verified.without_effect += 1,
            Action::Credit { cents } => {
                let line = only(left.remove(operation.request.key.to_string().as_str()), &created)?;
                if *line != created || line["amount"]["amount_minor"] != cents {
                    return Err(format!("the response was {created}, but the ledger has {line}").into());
                }
                *(if cents > 0 { &mut verified.credits } else { &mut verified.corrections }) += 1;
            }
            Action::Topup { cents, end } => {
                verified.checkouts += usize::from(end != CheckoutEnd::Abandoned);
                let topup_id = created["topup_id"].as_str().ok_or("the top-up has no topup_id")?;
                let topup = client.read(&format!("/v1/payments/topups/{topup_id}")).await?;
                let lines = left.remove(topup["id"].as_str().unwrap_or_default());
                if verify_topup(&topup, lines, cents, end)? {
                    verified.topups += 1;
                } else {
                    verified.without_effect += 1;
                }
            }
            Action::Order => {
                let id = created["id"].as_str().ok_or("the order has no id")?;
                let order = client.read(&format!("/v1/numbers/orders/{id}")).await?;
                match verify_order(&order, left.remove(id).unwrap_or_default(), supplier)? {
                    true => verified.numbers += 1,
                    false => verified.refunded += 1,
                }
            }
        }
    }
    if let Some(line) = left.into_values().flatten().next() {
        return Err(format!("unexpected ledger line: {line}").into());
    }
    Ok(())
}

/// Exactly the acknowledged operations are listed.
async fn verify_lists(client: &mut RetryClient, operations: &[&Operation]) -> Outcome<()> {
    let acknowledged = |is_kind: fn(&Action) -> bool| {
        operations.iter().filter(|operation| operation.status == 201 && is_kind(&operation.action)).count()
    };
    for (list, expected) in [
        ("/v1/payments/topups", acknowledged(|action| matches!(action, Action::Topup { .. }))),
        ("/v1/numbers/orders", acknowledged(|action| matches!(action, Action::Order))),
    ] {
        let listed = read_all(client, list).await?.len();
        if listed != expected {
            return Err(format!("{expected} were acknowledged, but {list} has {listed}").into());
        }
    }
    Ok(())
}

/// Returns whether the number is active; a failed order must be refunded, and the DID supplier must agree.
fn verify_order(order: &Value, lines: Vec<&Value>, supplier: &DidSupplier) -> Outcome<bool> {
    let amount = |kind: &str| match lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>()[..] {
        [line] => line["amount"]["amount_minor"].as_i64(),
        _ => None,
    };
    let (charged, refunded) = (amount("number_order"), amount("number_refund"));
    let active_for = order["did"].as_str().and_then(|number| supplier.order_of(number));
    let is_consistent = match order["status"].as_str() {
        Some("active") => lines.len() == 1 && charged == Some(-150) && active_for.as_deref() == order["id"].as_str(),
        Some("failed") => {
            lines.len() == 2
                && charged == Some(-150)
                && refunded == Some(150)
                && active_for.as_deref() != order["id"].as_str()
        }
        _ => false,
    };
    if is_consistent {
        Ok(order["status"] == "active")
    } else {
        Err(format!("order {order} has the ledger lines {lines:?}").into())
    }
}

/// Returns whether the top-up was paid; only then is it in the ledger.
fn verify_topup(topup: &Value, lines: Option<Vec<&Value>>, cents: i64, end: CheckoutEnd) -> Outcome<bool> {
    let status = match end {
        CheckoutEnd::Paid => "completed",
        CheckoutEnd::Declined | CheckoutEnd::Cancelled => "failed",
        CheckoutEnd::Abandoned => "pending",
    };
    if topup["status"] != status || topup["amount_minor"] != cents {
        return Err(format!("a top-up of {cents} should be {status}: {topup}").into());
    }
    if end != CheckoutEnd::Paid {
        return lines
            .map_or(Ok(false), |lines| Err(format!("unpaid top-up {topup} has the ledger lines {lines:?}").into()));
    }
    let line = only(lines, topup)?;
    let same = line["kind"] == "topup"
        && line["amount"]["amount_minor"] == cents
        && line["balance_after"]["amount_minor"] == topup["balance_after_minor"];
    if same { Ok(true) } else { Err(format!("the paid top-up is {topup}, but the ledger has {line}").into()) }
}

/// An acknowledged operation has exactly one ledger line.
fn only<'a>(lines: Option<Vec<&'a Value>>, acknowledged: &Value) -> Outcome<&'a Value> {
    match lines.as_deref() {
        Some([line]) => Ok(line),
        None | Some([]) => Err(format!("{acknowledged} is not in the ledger").into()),
        Some(several) => Err(format!("{acknowledged} is in the ledger {} times", several.len()).into()),
    }
}

/// Running balances add up, are never negative, and the last one is the account's balance.
async fn verify_balance(client: &mut RetryClient, ledger: &[Value]) -> Outcome<()> {
    let cents = |money: &Value| money["amount_minor"].as_i64().ok_or("no amount");
    let mut balance = 0;
    for line in ledger.iter().rev() {
        balance += cents(&line["amount"])?;
        if cents(&line["balance_after"])? != balance || balance < 0 {
            return Err(format!("the balance should be {balance} after {line}").into());
        }
    }
    let shown = cents(&client.read("/v1/account/balance").await?["current"])?;
    if shown == balance { Ok(()) } else { Err(format!("the balance is {shown}, expected {balance}").into()) }
}

/// Reads all pages of a list.
pub async fn read_all(client: &mut RetryClient, list: &str) -> Outcome<Vec<Value>> {
    let mut all = Vec::new();
    let mut path = format!("{list}?limit=200");
    loop {
        let mut page = client.read(&path).await?;
        match page["data"].take() {
            Value::Array(rows) => all.extend(rows),
            other => return Err(format!("{list} is not a list: {other}").into()),
        }
        let Some(cursor) = page["meta"]["next_cursor"].as_str() else { return Ok(all) };
        path = format!("{list}?limit=200&cursor={cursor}");
    }
}
