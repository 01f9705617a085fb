//! The client libraries in `clients/`: packed and installed as their users do, then their tests, then the examples of
//! their READMEs against demo data.
//!
//! An example below `<!-- needs METHOD /path -->` is left out while openapi.json does not have that operation.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::client::Client;
use crate::world::engines::TestDb;
use crate::world::payer::fresh_key;
use crate::world::process::{Process, run};

const PRINTED_ADDRESS: &str = "http://127.0.0.1:8080";
const CUSTOMER: &str = "katja@kanaal.example";

/// What every README shows, in the output of its examples.
const SIGHTS: &[&str] = &[
    "signed in as katja@kanaal.example",
    "created trunk ",
    " with 30 channels",
    "pay 50",
    "/checkout/",
    "answered calls",
    "ordered +31",
    "saved invoice ",
    "name ",
    "channel_cap ",
    " was refused",
    "one ticket: ",
    " has 40 channels",
    "followed ",
    "received topup.completed",
    "204",
    "400",
];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The PATH with a Node.js that the client supports.
pub fn path_with_node() -> String {
    let found = Command::new(root().join("tools/ensure-node")).output().unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    format!("{}:{}", String::from_utf8(found.stdout).unwrap().trim(), std::env::var("PATH").unwrap())
}

/// Runs a command to its end, which must be a success, and returns what it printed.
pub fn output(command: &mut Command) -> String {
    let done = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (told, complaints) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?}\n{told}\n{complaints}");
    told.into_owned()
}

/// Whether the API has an operation, given as `METHOD /path`.
fn has_operation(operation: &str) -> bool {
    let document: Value = serde_json::from_slice(&std::fs::read(root().join("openapi.json")).unwrap()).unwrap();
    let (method, path) = operation.split_once(' ').expect("a method and a path");
    document["paths"][path].get(method.to_lowercase()).is_some()
}

/// The examples of a README as one program, in their order.
fn examples(readme: &Path, language: &str, address: &str) -> String {
    let text = std::fs::read_to_string(readme).unwrap();
    let fence = format!("```{language}\n");
    let mut program = String::new();
    let mut parts = text.split(&fence);
    let mut before = parts.next().unwrap();
    let mut count = 0;
    for part in parts {
        let (code, after) = part.split_once("```").expect("an example ends");
        let needed = before.trim_end().rsplit('\n').next().and_then(|line| line.strip_prefix("<!-- needs "));
        if needed.is_none_or(|needed| has_operation(needed.trim_end_matches(" -->"))) {
            program.push_str(code);
            program.push('\n');
        }
        count += 1;
        before = after;
    }
    assert!(count >= 10, "{} has {count} examples", readme.display());
    assert!(program.contains(PRINTED_ADDRESS));
    program.replace(PRINTED_ADDRESS, address)
}

/// A service with demo data, old enough for an invoice. It may call receivers on this machine.
fn demo_service(db: &TestDb, folder: &Path) -> Process {
    let filled = run(db, folder, &[], &["demo", "--days", "35", "--calls", "600"]);
    assert!(filled.status.success(), "{}", String::from_utf8_lossy(&filled.stderr));
    let settings = [
        ("TRUNKLINE_RATE_LIMITS", "off"),
        ("TRUNKLINE_SELLER_VAT_ID", "NL123456782B90"),
        ("TRUNKLINE_ALLOW_PRIVATE_IPS", "on"),
    ];
    Process::serve(db, folder, &settings)
}

/// Looks at the service for what the examples told.
async fn demand_effects(customer: &Client, folder: &Path, trunk: &str, network: &str, told: &str) {
    for sight in SIGHTS {
        assert!(told.contains(sight), "the examples do not show {sight:?}:\n{told}");
    }
    assert!(!told.contains("undefined") && !told.contains("None") && !told.contains("null"), "{told}");
    let trunks = customer.get("/trunks").await.ok();
    let made: Vec<_> = trunks["data"].as_array().unwrap().iter().filter(|one| one["name"] == trunk).collect();
    assert!(made.len() == 1 && made[0]["channel_cap"] == 40, "{trunks}");
    let entries = customer.get(&format!("/trunks/{}/ip-allow-list", made[0]["id"].as_str().unwrap())).await.ok();
    assert_eq!(entries["data"][0]["cidr"], network);
    let tickets = customer.get("/tickets").await.ok();
    let opened = tickets["data"].as_array().unwrap().iter().filter(|one| one["subject"] == "One-way audio");
    assert_eq!(opened.count(), 1, "{tickets}");
    assert!(std::fs::read(folder.join("invoice.pdf")).unwrap().starts_with(b"%PDF-"));
}

/// Has the service deliver a webhook to this receiver, which must verify it.
async fn demand_verified_delivery(customer: &Client, receiver: &mut Command) {
    if !has_operation("POST /webhook-endpoints/{id}/test") {
        return;
    }
    let mut receiver = receiver.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(receiver.stdout.take().unwrap()).lines();
    let port = lines.next().expect("the receiver listens").unwrap();
    let wanted = json!({"url": format!("http://127.0.0.1:{port}/hooks"), "event_types": ["*"]});
    let endpoint = customer.with_key(fresh_key()).post("/webhook-endpoints", wanted).await.expect(201);
    writeln!(receiver.stdin.take().unwrap(), "{}", endpoint["secret"].as_str().unwrap()).unwrap();
    let path = format!("/webhook-endpoints/{}/test", endpoint["id"].as_str().unwrap());
    customer.with_key(fresh_key()).post(&path, json!({})).await.expect(202);
    let verified = lines.next().expect("the receiver verifies").unwrap();
    receiver.wait().unwrap();
    assert_eq!(verified, "verified webhook.test");
}

/// Compiles and runs this program against the packed client.
fn run_typescript(path: &str, folder: &Path, program: &str) -> String {
    let source = root().join("clients/typescript");
    std::fs::write(folder.join("examples.ts"), program).unwrap();
    let config = json!({
        "compilerOptions": {
            "target": "ES2022", "module": "NodeNext", "lib": ["ES2022", "DOM", "DOM.Iterable"], "strict": true,
            "noUncheckedIndexedAccess": true, "exactOptionalPropertyTypes": true, "skipLibCheck": true,
            "types": ["node"], "typeRoots": [source.join("node_modules/@types")],
        },
        "files": ["examples.ts"],
    });
    std::fs::write(folder.join("tsconfig.json"), config.to_string()).unwrap();
    let compiler = source.join("node_modules/typescript/bin/tsc");
    output(Command::new("node").env("PATH", path).current_dir(folder).arg(compiler));
    output(Command::new("node").env("PATH", path).current_dir(folder).arg("examples.js"))
}

/// Packs the client, tests it, and installs the package into this folder.
fn install_typescript(path: &str, folder: &Path) {
    let source = root().join("clients/typescript");
    let npm = || {
        let mut command = Command::new("npm");
        command.env("PATH", path).env("npm_config_update_notifier", "false");
        command
    };
    output(npm().current_dir(&source).args(["pack", "--silent", "--pack-destination"]).arg(folder));
    output(npm().current_dir(&source).args(["run", "test:built"]));
    std::fs::write(folder.join("package.json"), json!({"type": "module", "private": true}).to_string()).unwrap();
    let options = ["install", "--silent", "--offline", "--no-audit", "--no-fund", "./trunkline-client-0.2.0.tgz"];
    output(npm().current_dir(folder).args(options));
    assert!(folder.join("node_modules/@trunkline/client/LICENSE").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_typescript_client_does_what_its_readme_shows() {
    let test = async |db: &TestDb| {
        let (folder, data, path) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), path_with_node());
        let service = std::thread::scope(|scope| {
            let service = scope.spawn(|| demo_service(db, data.path()));
            install_typescript(&path, folder.path());
            service.join().unwrap()
        });
        let readme = root().join("clients/typescript/README.md");
        let told = run_typescript(&path, folder.path(), &examples(&readme, "ts", service.address()));
        let customer = service.sign_in(CUSTOMER).await;
        demand_effects(&customer, folder.path(), "Head office", "8.8.8.16/28", &told).await;
        let receiver = folder.path().join("receiver.mjs");
        std::fs::copy(root().join("clients/typescript/test/receiver.mjs"), &receiver).unwrap();
        demand_verified_delivery(&customer, Command::new("node").env("PATH", &path).arg(receiver)).await;
    };
    TestDb::sqlite().await.run(test).await;
}

/// Python with the packages of the tests and this folder.
fn python(folder: &Path) -> Command {
    let mut command = Command::new(root().join("target/python-client/bin/python"));
    command.env("PYTHONPATH", folder.join("site")).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(folder);
    command
}

/// Builds the wheel, installs it into this folder, and tests it.
fn install_python(folder: &Path) {
    let source = root().join("clients/python");
    output(python(folder).args(["-m", "build", "--wheel", "--no-isolation", "--outdir"]).arg(folder).arg(&source));
    let wheel = "trunkline_client-0.2.0-py3-none-any.whl";
    let mut pip = Command::new(root().join("target/pip/bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-compile"]);
    output(pip.args(["--target", "site", wheel]).current_dir(folder));
    output(python(folder).args(["-m", "pytest", "--quiet"]).arg(&source));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_does_what_its_readme_shows() {
    let test = async |db: &TestDb| {
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let service = std::thread::scope(|scope| {
            let service = scope.spawn(|| demo_service(db, data.path()));
            install_python(folder.path());
            service.join().unwrap()
        });
        let source = root().join("clients/python");
        let program = examples(&source.join("README.md"), "python", service.address());
        std::fs::write(folder.path().join("examples.py"), program).unwrap();
        let ours = [source.join("generator"), source.join("tests")];
        let mut check = python(folder.path());
        check.args(["-m", "mypy", "--strict", "--cache-dir=/dev/null", "site/trunkline", "examples.py"]).args(ours);
        output(&mut check);
        let told = output(python(folder.path()).arg("examples.py"));
        let customer = service.sign_in(CUSTOMER).await;
        demand_effects(&customer, folder.path(), "Branch office", "8.8.8.32/28", &told).await;
        demand_verified_delivery(&customer, python(folder.path()).arg(source.join("tests/receiver.py"))).await;
    };
    TestDb::sqlite().await.run(test).await;
}
