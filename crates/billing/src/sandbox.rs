//! The checkout of the sandbox payment provider: what a payer sees, and what follows from the choice.
//!
//! Whoever has the address may choose, once: the order's id cannot be guessed, so a form of another site cannot post
//! here unless it was told.

use hyper::StatusCode;
use serde_json::Value;

use api::html::Html;
use api::problem::Problem;
use api::response::Response;
use api::screen::{Form, Screen, Visit, page, see_other};
use platform::app::App;
use platform::jobs::{JobContext, JobError};
use platform::outside::payments::sandbox::cards::{CardInput, PAYS, TEST_CARDS, pay, year_and_month};
use platform::outside::payments::sandbox::{CheckoutView, Choice};
use platform::outside::payments::{OrderState, Payments};
use values::{Money, Time};

pub use platform::outside::payments::sandbox::CALL_BACK;

/// How long the card that stands in the form is good for, in years.
const YEARS_LEFT: i64 = 4;

/// The checkout page, while the sandbox handles payments.
pub fn screens(payments: &Payments) -> Vec<Screen> {
    match payments {
        Payments::Sandbox(_) => vec![Screen {
            path: "/sandbox/checkout/{order_id}",
            show: |visit| Box::pin(show(visit)),
            submit: Some(|visit| Box::pin(submit(visit))),
        }],
        Payments::Revolut(_) => Vec::new(),
    }
}

pub async fn call_back_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    // What is left from before the settings changed has nobody to tell any more.
    let Payments::Sandbox(sandbox) = &context.app.payments else { return Ok(()) };
    sandbox.send_callback(&payload).await
}

async fn show(visit: Visit) -> Result<Response, Problem> {
    let Payments::Sandbox(sandbox) = &visit.app.payments else { return Err(Problem::not_found()) };
    let offer = sandbox.checkout(order_id(&visit)).await?.ok_or_else(Problem::not_found)?;
    checkout(&visit, &offer, None)
}

async fn submit(visit: Visit) -> Result<Response, Problem> {
    let Payments::Sandbox(sandbox) = &visit.app.payments else { return Err(Problem::not_found()) };
    let offer = sandbox.checkout(order_id(&visit)).await?.ok_or_else(Problem::not_found)?;
    let choice = match chosen(&visit.form, visit.app.clock.now()) {
        Ok(choice) => choice,
        Err(wrong) => return checkout(&visit, &offer, Some(wrong)),
    };
    // Sent twice, or too late, it changes nothing; the payer goes back all the same.
    sandbox.settle(order_id(&visit).to_owned(), choice).await?;
    see_other(&offer.return_url)
}

fn order_id(visit: &Visit) -> &str {
    visit.path_values.first().map(String::as_str).unwrap_or_default()
}

fn chosen(form: &Form, now: Time) -> Result<Choice, &'static str> {
    match form.field("action") {
        Some("pay") => pay(&typed(form, now), year_and_month(now)),
        Some("decline") => Ok(Choice::Declined),
        Some("cancel") => Ok(Choice::Cancelled),
        _ => Err("Choose to pay, to be declined or to walk away."),
    }
}

/// What stands in the form; what is left out is a card that pays.
fn typed(form: &Form, now: Time) -> CardInput {
    let (year, month) = year_and_month(now);
    let field = |name: &str| form.field(name).map(str::to_owned);
    CardInput {
        number: field("card").unwrap_or_else(|| PAYS.to_owned()),
        exp_month: field("exp_month").unwrap_or_else(|| month.to_string()),
        exp_year: field("exp_year").unwrap_or_else(|| (year + YEARS_LEFT).to_string()),
    }
}

/// The form, or what became of the order. `wrong` is said of a form that was sent.
fn checkout(visit: &Visit, offer: &CheckoutView, wrong: Option<&str>) -> Result<Response, Problem> {
    let outcome = match offer.state {
        OrderState::Pending | OrderState::Processing => None,
        OrderState::Completed if offer.amount.is_some() => Some("This is paid."),
        OrderState::Completed => Some("The card was accepted."),
        OrderState::Failed => Some("The card was declined."),
        OrderState::Cancelled => Some("Nobody paid, and this checkout is closed."),
    };
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let targets = visit.app.settings.return_origins();
    let content = |html: &mut Html| match outcome {
        Some(outcome) => {
            html.raw("<p>").text(outcome).raw("</p><p><a href=\"").text(&offer.return_url).raw("\">Go back</a></p>");
        }
        None => form(html, &typed(&visit.form, visit.app.clock.now()), &button(offer.amount), wrong),
    };
    page(status, &title(offer.amount), content, &targets)
}

fn title(amount: Option<Money>) -> String {
    amount.map_or_else(|| "Verify your card".to_owned(), |amount| format!("Top up by {}", priced(amount)))
}

fn button(amount: Option<Money>) -> String {
    amount.map_or_else(|| "Verify the card".to_owned(), |amount| format!("Pay {}", priced(amount)))
}

/// As a till writes it: EUR 25.00.
fn priced(amount: Money) -> String {
    format!("{} {}", amount.currency(), amount.amount())
}

fn form(html: &mut Html, typed: &CardInput, button: &str, wrong: Option<&str>) {
    html.raw("<p>This is a sandbox: no money moves. Do not type the number of a real card.</p>");
    if let Some(wrong) = wrong {
        html.raw("<p class=\"wrong\" role=\"alert\" id=\"wrong\">").text(wrong).raw("</p>");
    }
    html.raw("<form method=\"post\"><label for=\"card\">Card number</label>");
    html.raw("<input id=\"card\" name=\"card\" inputmode=\"numeric\" autocomplete=\"off\" maxlength=\"23\" value=\"");
    html.text(&typed.number).raw("\"><div class=\"pair\">");
    html.raw("<div><label for=\"exp_month\">Month</label><input id=\"exp_month\" name=\"exp_month\" ");
    html.raw("inputmode=\"numeric\" maxlength=\"2\" value=\"");
    html.text(&typed.exp_month).raw("\"></div>");
    html.raw("<div><label for=\"exp_year\">Year</label><input id=\"exp_year\" name=\"exp_year\" ");
    html.raw("inputmode=\"numeric\" maxlength=\"4\" value=\"");
    html.text(&typed.exp_year).raw("\"></div></div>");
    html.raw("<button name=\"action\" value=\"pay\">").text(button).raw("</button>");
    html.raw("<button class=\"quiet\" name=\"action\" value=\"decline\">Be declined</button>");
    html.raw("<button class=\"quiet\" name=\"action\" value=\"cancel\">Walk away</button></form>");
    html.raw("<p class=\"hint\">Numbers to try:</p><table>");
    for (number, meaning) in TEST_CARDS {
        html.raw("<tr><td>").code(number).raw("</td><td>").text(meaning).raw("</td></tr>");
    }
    html.raw("</table>");
}
