//! What the console says while there is no admin.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use super::built;
use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::process::program;
use crate::world::{ADMIN_EMAIL, PASSWORD, plain_http};

/// Starts the service and returns what it prints about the first admin, what it logs, and what this does meanwhile.
async fn printed<T>(
    db: &TestDb,
    folder: &Path,
    settings: &[(&str, &str)],
    meanwhile: impl AsyncFnOnce(&str) -> T,
) -> (String, String, T) {
    let log = folder.join("log");
    let mut command = program(db, folder, settings, &["serve"]);
    command.stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.find(|line| line.contains("No admin yet")).expect("the service speaks of the first admin");
    // Without a portal the token is on a line of its own.
    let told = if told.ends_with("/v1/admin/bootstrap") { format!("{told} {}", lines.next().unwrap()) } else { told };
    let result = meanwhile(&told).await;
    child.kill().unwrap();
    child.wait().unwrap();
    (told, std::fs::read_to_string(log).unwrap(), result)
}

fn token(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("secrets/bootstrap")).unwrap()
}

both! {
    async fn the_console_has_a_link_with_the_bootstrap_token_and_the_log_has_not(db) {
        let folder = tempfile::tempdir().unwrap();
        let (told, log, status) = printed(db, folder.path(), &[], async |told| {
            let origin = told.split("http://").nth(1).unwrap().split('/').next().unwrap();
            let caller = Client::new(plain_http(), format!("http://{origin}/v1"), None);
            let given = told.rsplit(['=', ' ']).next().unwrap();
            let admin = json!({"legal_name": "Carrier BV", "contact_name": "Ada Admin", "contact_email": ADMIN_EMAIL,
                "password": PASSWORD});
            caller.header("X-Bootstrap-Token", given).post("/admin/bootstrap", admin).await.status
        }).await;
        assert_eq!(status, 201, "{told}");
        assert_eq!(told.contains("/welcome#token="), built().is_some(), "{told}");
        assert!(!log.contains(&token(folder.path())), "{log}");
    }

    async fn collected_output_says_where_the_bootstrap_token_is(db) {
        let folder = tempfile::tempdir().unwrap();
        let configured = "a token with spaces, which is 41 long enough";
        let secrets = folder.path().join("secrets/bootstrap").display().to_string();
        for (settings, place) in [
            (vec![("TRUNKLINE_LOG", "json")], secrets.as_str()),
            (vec![("TRUNKLINE_LOG", "json"), ("TRUNKLINE_BOOTSTRAP_TOKEN", configured)], "TRUNKLINE_BOOTSTRAP_TOKEN"),
        ] {
            let (told, log, ()) = printed(db, folder.path(), &settings, async |_| ()).await;
            assert!(told.ends_with(place), "{told}");
            for secret in [token(folder.path()), configured.to_owned()] {
                assert!(!told.contains(&secret) && !log.contains(&secret), "{told}\n{log}");
            }
        }
    }
}
