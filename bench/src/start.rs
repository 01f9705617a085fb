//! Start time and memory of the binary.

use std::path::Path;
use std::time::Duration;

use crate::http::{Client, get};
use crate::report::{Limit, Line, Spread};
use crate::service::Service;
use crate::{Outcome, ROUNDS, on_one_thread};

const REQUESTS: usize = 1000;
/// Time for memory to settle after a start or a sign-in.
const SETTLE: Duration = Duration::from_secs(2);

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    on_one_thread(async {
        let (mut ready, mut at_rest, mut after_load) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let service = Service::start(work).await?;
            ready.push(service.ready_after.as_secs_f64());
            tokio::time::sleep(SETTLE).await;
            at_rest.push(service.resident_mib()?);

            let request = get("/v1/me", Some(&service.sign_in().await?));
            tokio::time::sleep(SETTLE).await;
            let mut client = Client::connect(service.public).await?;
            let length = client.send(&request).await?.length;
            for _ in 1..REQUESTS {
                client.send_repeated(&request, length).await?;
            }
            after_load.push(service.resident_mib()?);
        }
        let line = |id: &str, what, values: Vec<f64>, decimals, unit, limit| {
            let spread = Spread::of(values);
            Line::alone(what, spread.text(decimals, unit), String::new(), spread.median, limit).spread(spread).id(id)
        };
        Ok(vec![
            line(
                "ready",
                "Start on an empty folder, from exec to the first `/readyz`",
                ready,
                3,
                " s",
                Limit::AtMost(0.1, " s"),
            ),
            line("memory", "Memory at rest, two seconds after start", at_rest, 1, " MiB", Limit::AtMost(45.0, " MiB")),
            line(
                "memory-loaded",
                "Memory after a sign-in and, two seconds later, 1,000 `GET /v1/me`",
                after_load,
                1,
                " MiB",
                Limit::AtMost(60.0, " MiB"),
            ),
        ])
    })
}
