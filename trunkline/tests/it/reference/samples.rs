//! Every sample of the page, run as it is printed: curl in a shell, TypeScript in Node, Python with httpx.
//!
//! Ids in samples name nothing that exists, so 404 is a good answer, and so is a refused password. What no sample may hear
//! is that it is not a request of this API.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use values::Role;

use crate::world::engines::TestDb;
use crate::world::{World, form};

/// Fields that only something that exists can fill: the sample is well formed, and the answer names these fields alone.
const MUST_EXIST: &[(&str, &[&str])] = &[
    ("post-me-kyb-submit", &["company_registration", "director_id", "proof_of_address"]),
    ("post-me-passkeys", &["attestation_object", "client_data_json"]),
    ("post-calls-simulate", &["trunk_id"]),
    ("put-account-auto-recharge", &["payment_method_id"]),
    ("post-numbers-orders", &["inventory_id", "trunk_id"]),
    ("patch-numbers-id", &["trunk_id"]),
    ("post-admin-credits", &["customer_id"]),
    ("post-admin-credit-requests", &["customer_id"]),
    ("post-admin-did-inventory-import", &["upstream_id"]),
];

const TABLE: &str = "prefix,destination_name,country,rate_per_minute,currency,effective_at\n\
                     4930,Germany Berlin,DE,0.0045,EUR,2026-02-01T00:00:00Z\n";

/// Operations with an access token that take another token in their body.
const SENDS_ANOTHER_TOKEN: &[&str] = &["post-auth-sign-out"];

struct Sample {
    /// Method and path, as in the anchor of its section.
    name: String,
    of_team: bool,
    text: String,
}

impl Sample {
    /// Whether the response goes on until the token or the service ends.
    fn is_stream(&self) -> bool {
        self.name.ends_with("-stream")
    }
}

struct Heard {
    name: String,
    /// Whether the sample sends a token.
    has_token: bool,
    status: u16,
    body: Value,
}

async fn page(world: &World) -> String {
    let page = world.anyone().get(&format!("http://{}/docs", world.node.public)).await;
    String::from_utf8(page.bytes).unwrap()
}

fn samples(page: &str, language: &str) -> Vec<Sample> {
    let sections = page.split("<section class=\"operation\" id=\"").skip(1);
    let samples: Vec<Sample> = sections
        .map(|section| {
            let (_, rest) = section.split_once(&format!("<pre class=\"{language}\">")).unwrap();
            let text = rest.split_once("</pre>").unwrap().0;
            Sample {
                name: section.split('"').next().unwrap().to_owned(),
                of_team: section.contains("with adminBearer"),
                text: text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"),
            }
        })
        .collect();
    assert!(samples.len() > 150, "the page shows {} operations", samples.len());
    samples
}

/// A token that no earlier sample can have ended.
async fn token(world: &World, sample: &Sample) -> String {
    let role = if sample.of_team { Role::Admin } else { Role::Customer };
    world.minted(role).await.token().to_owned()
}

async fn world(db: &TestDb) -> World {
    let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_RETURN_ORIGINS", "https://portal.kanaal.example")];
    World::with(db, &settings).await
}

/// A folder with the files that samples send.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("document.pdf"), form::pdf("")).unwrap();
    std::fs::write(folder.path().join("table.csv"), TABLE).unwrap();
    folder
}

/// Refuses answers that tell of a malformed request.
fn check(heard: &[Heard]) {
    let bad: Vec<String> = heard
        .iter()
        .filter(|heard| !is_understood(heard))
        .map(|Heard { name, status, body, .. }| format!("{name}: {status} {body}"))
        .collect();
    assert!(
        bad.is_empty(),
        "{} of {} samples are not understood. Give the field an example, or a value in \
         crates/api/src/samples/values.json; what must exist goes into MUST_EXIST:\n{}",
        bad.len(),
        heard.len(),
        bad.join("\n")
    );
}

fn is_understood(heard: &Heard) -> bool {
    match heard.status {
        422 => {
            let allowed = MUST_EXIST.iter().find(|(name, _)| *name == heard.name).map_or(&[][..], |(_, fields)| fields);
            let invalid = heard.body["invalid_params"].as_array().unwrap();
            invalid.iter().all(|param| allowed.contains(&param["name"].as_str().unwrap()))
        }
        // A wrong code or password is none of the sample's fault; a lost token would hide everything else.
        401 if heard.has_token && !SENDS_ANOTHER_TOKEN.contains(&heard.name.as_str()) => {
            heard.body["type"] == "urn:service:voice:problem:auth.invalid_credentials"
        }
        400 | 405 | 406 | 411 | 413 | 415 | 431 => false,
        status => (200..500).contains(&status) || status == 503,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_curl_sample_of_the_reference_is_understood() {
    let test = async |db: &TestDb| {
        let (world, folder) = (world(db).await, folder());
        let mut heard = Vec::new();
        for sample in samples(&page(&world).await, "curl").into_iter().filter(|sample| !sample.is_stream()) {
            let script = format!("{} -s -w '\\n%{{http_code}}'", sample.text);
            let mut command = Command::new("bash");
            command.args(["-euc", &script]).env("TOKEN", token(&world, &sample).await).current_dir(folder.path());
            let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{}\n{text}", sample.text);
            let (body, status) = text.rsplit_once('\n').unwrap();
            let body = serde_json::from_str(body).unwrap_or_default();
            let has_token = sample.text.contains("$TOKEN");
            heard.push(Heard { name: sample.name, has_token, status: status.parse().unwrap(), body });
        }
        check(&heard);
        world.stop().await;
    };
    TestDb::sqlite().await.run(test).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_typescript_sample_of_the_reference_is_understood() {
    let node = || Command::new("node");
    TestDb::sqlite().await.run(async |db| programs(db, "typescript", "mjs", node).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_python_sample_of_the_reference_is_understood() {
    let python = || Command::new(root().join("target/openapi-tools/venv/bin/python"));
    TestDb::sqlite().await.run(async |db| programs(db, "python", "py", python).await).await;
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs all samples in one process, which tells what each of them heard.
async fn programs(db: &TestDb, language: &str, extension: &str, interpreter: impl Fn() -> Command) {
    let world = world(db).await;
    let samples = samples(&page(&world).await, language).into_iter().filter(|sample| !sample.is_stream()).collect();
    let heard = run_program(&world, samples, extension, interpreter).await;
    check(&heard);
    world.stop().await;
}

async fn run_program(
    world: &World,
    samples: Vec<Sample>,
    extension: &str,
    interpreter: impl Fn() -> Command,
) -> Vec<Heard> {
    let folder = folder();
    let (mut listed, mut with_token) = (Vec::new(), BTreeSet::new());
    for (number, sample) in samples.into_iter().enumerate() {
        let file = format!("sample{number}.{extension}");
        std::fs::write(folder.path().join(&file), &sample.text).unwrap();
        if sample.text.contains("TOKEN") {
            with_token.insert(sample.name.clone());
        }
        listed.push(json!({"name": sample.name, "file": file, "token": token(world, &sample).await}));
    }
    std::fs::write(folder.path().join("samples.json"), Value::from(listed).to_string()).unwrap();
    let runner = format!("runner.{extension}");
    let source = root().join("trunkline/tests/it/reference").join(&runner);
    std::fs::copy(source, folder.path().join(&runner)).unwrap();
    let mut command = interpreter();
    command.arg(&runner).current_dir(folder.path()).stderr(Stdio::piped());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let output = output.expect("the interpreter is there: run make test");
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaints}");
    let heard: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    heard
        .iter()
        .map(|heard| Heard {
            name: heard["name"].as_str().unwrap().to_owned(),
            has_token: with_token.contains(heard["name"].as_str().unwrap()),
            status: u16::try_from(heard["status"].as_u64().unwrap()).unwrap(),
            body: serde_json::from_str(heard["body"].as_str().unwrap()).unwrap_or_default(),
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_samples_of_streams_run_until_the_service_stops() {
    let python = root().join("target/openapi-tools/venv/bin/python");
    let languages: [(&str, &Path, &str); 3] = [
        ("curl", Path::new("bash"), "sample.sh"),
        ("typescript", Path::new("node"), "sample.mjs"),
        ("python", &python, "sample.py"),
    ];
    let test = async |db: &TestDb| {
        for ((language, interpreter, file), number) in
            languages.into_iter().flat_map(|language| [(language, 0), (language, 1)])
        {
            let (world, folder) = (world(db).await, folder());
            let sample =
                samples(&page(&world).await, language).into_iter().filter(Sample::is_stream).nth(number).unwrap();
            std::fs::write(folder.path().join(file), &sample.text).unwrap();
            let mut command = Command::new(interpreter);
            command.arg(file).env("TOKEN", token(&world, &sample).await).current_dir(folder.path());
            let running = tokio::task::spawn_blocking(move || command.output().unwrap());
            while !world.node.app.event_feed.has_streams() && !running.is_finished() {
                tokio::task::yield_now().await;
            }
            world.stop().await;
            let output = running.await.unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && printed.contains("retry: 2000"), "{}: {output:?}", sample.name);
        }
    };
    TestDb::sqlite().await.run(test).await;
}
