//! Whether response times reveal that an email has an account: the same request with a known and an unknown email, in
//! turns. There is no other load, so a difference in time is a difference in work.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::http::{Client, post};
use crate::report::{Limit, Line, Spread};
use crate::service::Service;
use crate::{Outcome, on_one_thread};

/// Requests for each kind of email, after `WARM_UP` that are discarded.
const REQUESTS: usize = 200;
const WARM_UP: usize = 10;
/// Maximum difference of the medians: less than network jitter.
const MAX_DIFFERENCE_MS: f64 = 5.0;

const KNOWN: &str = "known@prospect.example";

/// A request whose timing must not reveal whether the email has an account.
struct Question {
    id: &'static str,
    what: &'static str,
    path: &'static str,
    body: fn(&str) -> Value,
}

const QUESTIONS: [Question; 3] = [
    Question {
        id: "signup",
        what: "`POST /v1/signup` with a known email; baseline: an unknown one",
        path: "/v1/signup",
        body: |email| json!({"email": email, "company": "Prospect BV", "expected_volume": "10000"}),
    },
    Question {
        id: "beta-signup",
        what: "`POST /v1/beta/signup` with a known email; baseline: an unknown one",
        path: "/v1/beta/signup",
        body: |email| {
            json!({
                "legal_name": "Prospect BV", "country": "NL", "contact_name": "Petra Prospect", "contact_email": email,
                "password": "correct horse battery staple",
            })
        },
    },
    Question {
        id: "forgot-password",
        what: "`POST /v1/auth/forgot-password` with a known email; baseline: an unknown one",
        path: "/v1/auth/forgot-password",
        body: |email| json!({"email": email}),
    },
];

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    on_one_thread(async {
        let mut lines = Vec::new();
        for question in &QUESTIONS {
            let service = Service::start(work).await?;
            let mut client = Client::connect(service.public).await?;
            let signup = &QUESTIONS[0];
            millis(&mut client, &post(signup.path, "", &(signup.body)(KNOWN))).await?;
            lines.push(compare(&mut client, question).await?);
        }
        Ok(lines)
    })
}

async fn compare(client: &mut Client, question: &Question) -> Outcome<Line> {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + REQUESTS {
        let of_known = post(question.path, "", &(question.body)(KNOWN));
        let of_unknown = post(question.path, "", &(question.body)(&format!("unknown{round}@prospect.example")));
        // Alternate the order, since a request may be slowed by background work of the one before it.
        let (first, second) = if round % 2 == 0 { (&of_known, &of_unknown) } else { (&of_unknown, &of_known) };
        let (first, second) = (millis(client, first).await?, millis(client, second).await?);
        let (of_known, of_unknown) = if round % 2 == 0 { (first, second) } else { (second, first) };
        if round >= WARM_UP {
            known.push(of_known);
            unknown.push(of_unknown);
        }
    }
    let (known, unknown) = (Spread::of(known), Spread::of(unknown));
    let apart = (known.median - unknown.median).abs();
    let limit = Limit::AtMost(MAX_DIFFERENCE_MS, " ms apart");
    let mut line = Line::alone(question.what, known.text(2, " ms"), unknown.text(2, " ms"), apart, limit);
    line.ratio = format!("{apart:.2} ms apart");
    Ok(line.noise(MAX_DIFFERENCE_MS).id(question.id))
}

/// Response time in milliseconds; the status must be 202 in both cases.
async fn millis(client: &mut Client, request: &[u8]) -> Outcome<f64> {
    let started = Instant::now();
    let response = client.send(request).await?;
    let millis = started.elapsed().as_secs_f64() * 1000.0;
    if response.status == 202 {
        Ok(millis)
    } else {
        Err(format!("{}: {}", response.status, String::from_utf8_lossy(&response.body)).into())
    }
}
