//! The checkout page of the sandbox payment provider, where a payer pays, is declined or cancels, and where a payment
//! can be disputed and the dispute be decided, as the card's bank would.
//!
//! Anybody who has the URL may submit each form, once. There is no CSRF token: the order id cannot be guessed, so
//! another site cannot post here unless it was given the URL. Where the portal has a screen for it, the page leads there;
//! `checkouts` is what that screen uses.

use hyper::StatusCode;
use serde_json::Value;

use api::html::Html;
use api::portal::Screens;
use api::problem::Problem;
use api::response::Response;
use api::screen::{Form, Screen, Show, Visit, page, see_other};
use platform::app::App;
use platform::jobs::{JobContext, JobError};
use platform::outside::payments::sandbox::cards::{CardInput, PAYS, TEST_CARDS, pay, year_and_month};
use platform::outside::payments::sandbox::{CheckoutView, Choice, Sandbox};
use platform::outside::payments::{DisputeState, OrderState, Payments};
use values::{Money, Time};

pub use platform::outside::payments::sandbox::CALL_BACK;

/// Years until the prefilled card expires.
const DEFAULT_CARD_YEARS: i64 = 4;

/// The checkout page, if the sandbox is the payment provider.
pub fn screens(payments: &Payments, portal: &Screens) -> Vec<Screen> {
    let show: Show = match portal.has("/checkout/{order_id}") {
        true => |visit| Box::pin(show_in_portal(visit)),
        false => |visit| Box::pin(show(visit)),
    };
    match payments {
        Payments::Sandbox(_) => {
            vec![Screen { path: "/sandbox/checkout/{order_id}", show, submit: Some(|visit| Box::pin(submit(visit))) }]
        }
        Payments::Revolut(_) => Vec::new(),
    }
}

pub async fn call_back_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    // Jobs left from before the provider was changed have nothing to call back.
    let Payments::Sandbox(sandbox) = &context.app.payments else { return Ok(()) };
    sandbox.send_callback(&payload).await
}

async fn show(visit: Visit) -> Result<Response, Problem> {
    let Payments::Sandbox(sandbox) = &visit.app.payments else { return Err(Problem::not_found()) };
    let offer = sandbox.checkout(order_id(&visit)).await?.ok_or_else(Problem::not_found)?;
    checkout(&visit, &offer, None)
}

async fn show_in_portal(visit: Visit) -> Result<Response, Problem> {
    let Payments::Sandbox(sandbox) = &visit.app.payments else { return Err(Problem::not_found()) };
    let id = order_id(&visit);
    sandbox.checkout(id).await?.ok_or_else(Problem::not_found)?;
    see_other(&format!("/checkout/{id}"))
}

async fn submit(visit: Visit) -> Result<Response, Problem> {
    let Payments::Sandbox(sandbox) = &visit.app.payments else { return Err(Problem::not_found()) };
    let offer = sandbox.checkout(order_id(&visit)).await?.ok_or_else(Problem::not_found)?;
    let id = order_id(&visit).to_owned();
    match visit.form.field("action") {
        Some("dispute") => sandbox.dispute_order(id.clone()).await?,
        Some("win") => sandbox.decide_dispute(id.clone(), DisputeState::Won).await?,
        Some("lose") => sandbox.decide_dispute(id.clone(), DisputeState::Lost).await?,
        _ => return submit_choice(&visit, sandbox, id, &offer).await,
    }
    see_other(&format!("/sandbox/checkout/{id}"))
}

async fn submit_choice(
    visit: &Visit,
    sandbox: &Sandbox,
    id: String,
    offer: &CheckoutView,
) -> Result<Response, Problem> {
    let choice = match parse_choice(&visit.form, visit.app.clock.now()) {
        Ok(choice) => choice,
        Err(error) => return checkout(visit, offer, Some(error)),
    };
    // A second or late submit changes nothing; the payer is redirected all the same.
    sandbox.settle(id, choice).await?;
    see_other(&offer.return_url)
}

fn order_id(visit: &Visit) -> &str {
    visit.path_values.first().map(String::as_str).unwrap_or_default()
}

fn parse_choice(form: &Form, now: Time) -> Result<Choice, &'static str> {
    match form.field("action") {
        Some("pay") => pay(&card_fields(form, now), year_and_month(now)),
        Some("decline") => Ok(Choice::Declined),
        Some("cancel") => Ok(Choice::Cancelled),
        _ => Err("Choose to pay, to decline or to cancel."),
    }
}

/// The card in the form; fields that were not sent default to a card that pays.
fn card_fields(form: &Form, now: Time) -> CardInput {
    let field = |name: &str| form.field(name).map(str::to_owned);
    let card = valid_card(field("card"), now);
    CardInput {
        number: card.number,
        exp_month: field("exp_month").unwrap_or(card.exp_month),
        exp_year: field("exp_year").unwrap_or(card.exp_year),
    }
}

/// A card that has not expired, with this number or else one that pays.
pub fn valid_card(number: Option<String>, now: Time) -> CardInput {
    let (year, month) = year_and_month(now);
    CardInput {
        number: number.unwrap_or_else(|| PAYS.to_owned()),
        exp_month: month.to_string(),
        exp_year: (year + DEFAULT_CARD_YEARS).to_string(),
    }
}

/// The form, or the outcome of the order. `error` says what is wrong with the form that was sent.
fn checkout(visit: &Visit, offer: &CheckoutView, error: Option<&str>) -> Result<Response, Problem> {
    let outcome = match offer.state {
        OrderState::Pending | OrderState::Processing => None,
        OrderState::Completed if offer.amount.is_some() => Some("This is paid."),
        OrderState::Completed => Some("The card was accepted."),
        OrderState::Failed => Some("The card was declined."),
        OrderState::Cancelled => Some("This checkout was closed without a payment."),
    };
    let status = if error.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let targets = visit.app.settings.return_origins();
    let content = |html: &mut Html| match outcome {
        Some(outcome) => {
            html.raw("<p>").text(outcome).raw("</p><p><a href=\"").text(&offer.return_url).raw("\">Go back</a></p>");
            if offer.state == OrderState::Completed && offer.amount.is_some() {
                dispute_form(html, offer.dispute);
            }
        }
        None => form(html, &card_fields(&visit.form, visit.app.clock.now()), &button(offer.amount), error),
    };
    page(status, &title(offer.amount), content, &targets)
}

/// What the card's bank does with a payment.
fn dispute_form(html: &mut Html, dispute: Option<DisputeState>) {
    let (text, buttons): (&str, &[(&str, &str)]) = match dispute {
        None => ("As the bank of the card:", &[("dispute", "Dispute this payment")]),
        Some(DisputeState::Open) => (
            "This payment is disputed. As the bank of the card:",
            &[("win", "Leave it to the merchant"), ("lose", "Take it back")],
        ),
        Some(DisputeState::Won) => ("The dispute was decided: the merchant keeps the payment.", &[]),
        Some(DisputeState::Lost) => ("The dispute was decided: the payment was taken back.", &[]),
    };
    html.raw("<p>").text(text).raw("</p><form method=\"post\">");
    for (action, label) in buttons {
        html.raw("<button class=\"quiet\" name=\"action\" value=\"")
            .text(action)
            .raw("\">")
            .text(label)
            .raw("</button>");
    }
    html.raw("</form>");
}

fn title(amount: Option<Money>) -> String {
    amount.map_or_else(|| "Verify your card".to_owned(), |amount| format!("Top up by {}", format_amount(amount)))
}

fn button(amount: Option<Money>) -> String {
    amount.map_or_else(|| "Verify the card".to_owned(), |amount| format!("Pay {}", format_amount(amount)))
}

/// Formats an amount as `EUR 25.00`.
fn format_amount(amount: Money) -> String {
    format!("{} {}", amount.currency(), amount.amount())
}

fn form(html: &mut Html, card: &CardInput, button: &str, error: Option<&str>) {
    html.raw("<p>This is a sandbox: no money is charged. Do not enter a real card number.</p>");
    if let Some(error) = error {
        html.raw("<p class=\"wrong\" role=\"alert\" id=\"wrong\">").text(error).raw("</p>");
    }
    html.raw("<form method=\"post\"><label for=\"card\">Card number</label>");
    html.raw("<input id=\"card\" name=\"card\" inputmode=\"numeric\" autocomplete=\"off\" maxlength=\"23\" value=\"");
    html.text(&card.number).raw("\"><div class=\"pair\">");
    html.raw("<div><label for=\"exp_month\">Month</label><input id=\"exp_month\" name=\"exp_month\" ");
    html.raw("inputmode=\"numeric\" maxlength=\"2\" value=\"");
    html.text(&card.exp_month).raw("\"></div>");
    html.raw("<div><label for=\"exp_year\">Year</label><input id=\"exp_year\" name=\"exp_year\" ");
    html.raw("inputmode=\"numeric\" maxlength=\"4\" value=\"");
    html.text(&card.exp_year).raw("\"></div></div>");
    html.raw("<button name=\"action\" value=\"pay\">").text(button).raw("</button>");
    html.raw("<button class=\"quiet\" name=\"action\" value=\"decline\">Decline</button>");
    html.raw("<button class=\"quiet\" name=\"action\" value=\"cancel\">Cancel</button></form>");
    html.raw("<p class=\"hint\">Test card numbers:</p><table>");
    for (number, meaning) in TEST_CARDS {
        html.raw("<tr><td>").code(number).raw("</td><td>").text(meaning).raw("</td></tr>");
    }
    html.raw("</table>");
}
