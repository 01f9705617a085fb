//! The tour of docs/tour.md, run with bash and curl as printed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::world::engines::TestDb;
use crate::world::process::{Process, program, run};

const PRINTED_ADDRESS: &str = "http://127.0.0.1:8080";

/// What the page asks its reader to type.
fn printed() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tour.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (_, rest) = text.split_once("```sh\n").expect("the page has a tour");
    rest.split_once("```").unwrap().0.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_works_as_it_is_printed() {
    let tour = async |db: &TestDb| {
        let folder = tempfile::tempdir().unwrap();
        let filled = run(db, folder.path(), &[], &["demo", "--days", "7", "--calls", "600"]);
        let told = String::from_utf8(filled.stdout).unwrap();
        assert!(filled.status.success(), "{}", String::from_utf8_lossy(&filled.stderr));
        assert!(told.contains("ada@carrier.example") && told.contains("#token="), "{told}");

        let service = Process::serve(db, folder.path(), &[]);
        let commands = printed();
        assert!(commands.matches("curl -sf ").count() >= 10);
        let script = commands.replace(PRINTED_ADDRESS, service.address());
        let taken = Command::new("bash").args(["-euo", "pipefail", "-c", &script]).output().unwrap();
        let (seen, complaints) = (String::from_utf8_lossy(&taken.stdout), String::from_utf8_lossy(&taken.stderr));
        assert!(taken.status.success(), "{seen}\n{complaints}");
        for sight in ["Kanaal Contact BV", "suspended", "verified", "cheapest", "EUR", "Netherlands", "asr", "open"] {
            assert!(seen.contains(sight), "the tour does not show {sight}:\n{seen}");
        }
        assert!(
            !seen.contains("null,") && !seen.contains(",null"),
            "the tour shows nothing where something should be:\n{seen}"
        );

        // Calls can be kept coming beside it.
        let settings = [("TRUNKLINE_OPS_LISTEN", service.ops_address())];
        let arguments = ["demo", "--live", "--calls-per-minute", "600"];
        let mut command = program(db, folder.path(), &settings, &arguments);
        let mut caller = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(caller.stdout.take().unwrap()).lines().map_while(Result::ok);
        let begun = lines.take(20).any(|line| line.contains(" started, "));
        caller.kill().unwrap();
        caller.wait().unwrap();
        assert!(begun, "no call began");
    };
    TestDb::sqlite().await.run(tour).await;
}
