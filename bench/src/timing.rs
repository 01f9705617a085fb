//! Whether the time of an answer tells that an address has an account: the same request for one that has and for one
//! that has none, in turns. Nobody else asks meanwhile, so what is left is the difference in the work.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::http::{Client, post};
use crate::report::{Limit, Line, Spread};
use crate::service::Service;
use crate::{Outcome, alone_on_one_thread};

/// Calls for each kind of address, after these that only warm up.
const CALLS: usize = 200;
const WARM_UP: usize = 10;
/// How far the medians may lie apart: less than a network hides.
const APART_AT_MOST_MS: f64 = 5.0;

const KNOWN: &str = "known@prospect.example";

/// A request that must not tell, and its body for an address.
struct Question {
    what: &'static str,
    path: &'static str,
    body: fn(&str) -> Value,
}

const QUESTIONS: [Question; 3] = [
    Question {
        what: "`POST /v1/signup` with a known email; baseline: an unknown one",
        path: "/v1/signup",
        body: |email| json!({"email": email, "company": "Prospect BV", "expected_volume": "10000"}),
    },
    Question {
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
        what: "`POST /v1/auth/forgot-password` with a known email; baseline: an unknown one",
        path: "/v1/auth/forgot-password",
        body: |email| json!({"email": email}),
    },
];

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    alone_on_one_thread(async {
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
    for call in 0..WARM_UP + CALLS {
        let of_known = post(question.path, "", &(question.body)(KNOWN));
        let of_unknown = post(question.path, "", &(question.body)(&format!("unknown{call}@prospect.example")));
        // Each goes first as often as the other, since a call may feel the follow-up work of the one before it.
        let (first, second) = if call % 2 == 0 { (&of_known, &of_unknown) } else { (&of_unknown, &of_known) };
        let (first, second) = (millis(client, first).await?, millis(client, second).await?);
        let (of_known, of_unknown) = if call % 2 == 0 { (first, second) } else { (second, first) };
        if call >= WARM_UP {
            known.push(of_known);
            unknown.push(of_unknown);
        }
    }
    let (known, unknown) = (Spread::of(known), Spread::of(unknown));
    let apart = (known.median - unknown.median).abs();
    let limit = Limit::AtMost(APART_AT_MOST_MS, " ms apart");
    let mut line = Line::alone(question.what, known.text(2, " ms"), unknown.text(2, " ms"), apart, limit);
    line.ratio = format!("{apart:.2} ms apart");
    Ok(line)
}

/// How long an answer took, which must be the one that everybody gets.
async fn millis(client: &mut Client, request: &[u8]) -> Outcome<f64> {
    let begun = Instant::now();
    let answer = client.send(request).await?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    if answer.status == 202 {
        Ok(took)
    } else {
        Err(format!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body)).into())
    }
}
