//! Calls through Kamailio and the service, 200 per second for 20 seconds, compared with calls directly to the callee; and
//! the same while a switch imports 5,000 CDRs a second.
//!
//! Measures the added time from INVITE to ringing, and checks that every call is answered and has its CDR.

use std::collections::HashMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

use crate::calls::{BATCH, ndjson, post_cdrs};
use crate::customers;
use crate::http::{Client, get, post, post_body};
use crate::report::{Limit, Line};
use crate::service::{ADMIN, Process, bootstrap, configure, sibling_binary, sign_in};
use crate::{Outcome, on_one_thread};

const RATE: usize = 200;
const SECONDS: usize = 20;
const CALLS: usize = RATE * SECONDS;
const TALK_MILLIS: &str = "200";
/// A loopback network not used by anything else here.
const EDGE: &str = "127.200.0.1";
const PHONE: &str = "127.200.0.2";
const CALLEE: &str = "127.200.0.11";
const SECRET: &str = "switch-secret-of-the-benchmark-0123456789";
const DECK: &str = "prefix,destination_name,country,rate_per_minute\n31,Netherlands,NL,0.001\n";
/// Between two batches of imported CDRs.
const IMPORT_INTERVAL: Duration = Duration::from_millis(200);
/// The least share of the CDRs that must have been imported.
const MIN_IMPORTED: f64 = 0.95;
/// Longer than any step takes.
const TIMEOUT: Duration = Duration::from_secs(60);

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    on_one_thread(async {
        let folder = TempDir::new_in(work)?;
        let (service, trunk) = start_service(folder.path()).await?;
        let _callee = ProcessGroup::start(sipp(folder.path(), "callee")?.args(["-i", CALLEE, "-p", "5060"]))?;
        let _edge = start_edge(folder.path()).await?;
        let direct = place_calls(folder.path(), "direct", CALLEE)?;
        let through = place_calls(folder.path(), "through", EDGE)?;
        let busy = place_calls_while_importing(folder.path(), trunk)?;
        let database = folder.path().join("service/trunkline.db");
        let all_stored = wait_until(|| Ok(count_cdrs(&database)? == 2 * CALLS)).await;
        drop(service);
        all_stored.map_err(|_| "not every call has a CDR")?;
        let line = |what, of_direct: f64, of_through: f64, more: &str| {
            let (told, added) = (format!("{of_through:.1} ms, {more}"), of_through - of_direct);
            Line::alone(what, told, format!("{of_direct:.1} ms"), added, Limit::AtMost(5.0, " ms more")).noise(2.0)
        };
        let recorded = format!("{CALLS} of {CALLS} answered and recorded");
        let what =
            "INVITE to 180 through Kamailio with authorization, 200 calls per second for 20 s; baseline: a direct call";
        let quiet = line(what, percentile(&direct, 50), percentile(&through, 50), &recorded).id("invite");
        let (direct_p99, through_p99) = (percentile(&direct, 99), percentile(&through, 99));
        let (ours, baseline) = (format!("{through_p99:.1} ms"), format!("{direct_p99:.1} ms"));
        let what = "p99 of the same; baseline: p99 of a direct call";
        let quiet_p99 = Line::reported(what, ours, baseline, through_p99 - direct_p99).better_when_lower();
        let what = "p99 of the same while 5,000 CDRs a second are imported; baseline: p99 of a direct call";
        let busy = line(what, direct_p99, percentile(&busy, 99), &recorded).id("invite-p99-import");
        Ok(vec![quiet, quiet_p99.noise(2.0).id("invite-p99"), busy])
    })
}

/// Places the calls while another thread imports CDRs of the trunk.
fn place_calls_while_importing(folder: &Path, trunk: Uuid) -> Outcome<Vec<f64>> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let import = scope.spawn(|| import(trunk, &is_over));
        let calls = place_calls(folder, "busy", EDGE);
        is_over.store(true, Ordering::Relaxed);
        import.join().map_err(|_| "the import panicked")??;
        calls
    })
}

/// Imports CDRs until it is over.
fn import(trunk: Uuid, is_over: &AtomicBool) -> Outcome<()> {
    on_one_thread(async {
        let authorization = format!("Authorization: Bearer {SECRET}\r\n");
        let mut client = Client::connect(format!("{EDGE}:9090").parse()?).await?;
        let (mut ticks, mut next, mut due) = (interval(IMPORT_INTERVAL), 0, 0_u32);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let started = Instant::now();
        while !is_over.load(Ordering::Relaxed) {
            ticks.tick().await;
            due += 1;
            let response = client.send(&post_cdrs(&authorization, &ndjson(&[trunk], &mut next)?)).await?;
            if parse("/switch/cdrs", response.status, &response.body)?["accepted"] != BATCH {
                return Err(format!("CDRs were not accepted: {}", String::from_utf8_lossy(&response.body)).into());
            }
        }
        let imported = f64::from(due) * IMPORT_INTERVAL.as_secs_f64() / started.elapsed().as_secs_f64();
        if imported < MIN_IMPORTED {
            return Err(format!("only {:.0} % of the CDRs could be imported", imported * 100.0).into());
        }
        Ok(())
    })
}

/// A process group, killed on drop.
struct ProcessGroup(Child);

impl ProcessGroup {
    fn start(command: &mut Command) -> Outcome<ProcessGroup> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(ProcessGroup(quiet.process_group(0).spawn()?))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

/// Starts the service with an upstream, its rate deck, and a customer with a trunk, which is returned, and credit.
async fn start_service(folder: &Path) -> Outcome<(Process, Uuid)> {
    let data = folder.join("service");
    std::fs::create_dir(&data)?;
    let customer = customers::create(&format!("sqlite://{}/trunkline.db", data.display()), 1).await?.remove(0);
    let settings = [
        ("TRUNKLINE_LISTEN", format!("{EDGE}:8080")),
        ("TRUNKLINE_OPS_LISTEN", format!("{EDGE}:9090")),
        ("TRUNKLINE_ALLOW_PRIVATE_IPS", "on".to_owned()),
        ("TRUNKLINE_SWITCH_SECRET", SECRET.to_owned()),
    ];
    let mut service = Process::start(&sibling_binary("trunkline")?, &["serve"], |command| {
        configure(command, &data).envs(settings);
    })?;
    let public = service.address_after("API")?;
    service.address_after("Operations")?;
    bootstrap(public).await?;
    let (mut client, admin) = (Client::connect(public).await?, sign_in(public, ADMIN).await?);
    let customer_token = sign_in(public, &customer.email).await?;
    let mut create = async |token: &str, path: &str, body: Value| -> Outcome<Value> {
        let response = client.send(&post(path, &headers(token)?, &body)).await?;
        parse(path, response.status, &response.body)
    };
    let upstream = json!({"name": "Callee", "dispatcher_group_id": 10, "base_currency": "EUR", "markup_percent": 20,
        "gateways": [format!("sip:{CALLEE}:5060")]});
    let upstream = create(&admin, "/v1/admin/upstreams", upstream).await?;
    let trunk = json!({"name": "Main", "zone": "eu-west", "channel_cap": 10_000});
    let trunk = create(&customer_token, "/v1/trunks", trunk).await?;
    let allowed = format!("/v1/trunks/{}/ip-allow-list", text(&trunk["id"]));
    create(&customer_token, &allowed, json!({"cidr": PHONE})).await?;
    let credit = json!({"customer_id": customer.id.to_string(), "reason": "Benchmark",
        "amount": {"amount_minor": 100_000, "currency": "EUR"}});
    create(&admin, "/v1/admin/credits", credit).await?;
    let import = format!("/v1/admin/upstreams/{}/rates/import", text(&upstream["id"]));
    let imported = client.send(&post_body("text/csv", &import, &headers(&admin)?, DECK)).await?;
    let imported = parse(&import, imported.status, &imported.body)?;
    let report = format!("/v1/admin/upstreams/{}/imports/{}", text(&upstream["id"]), text(&imported["id"]));
    let started = Instant::now();
    while started.elapsed() < TIMEOUT {
        let response = client.send(&get(&report, Some(&admin))).await?;
        if parse(&report, response.status, &response.body)?["status"] == "completed" {
            return Ok((service, text(&trunk["id"]).parse()?));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("the deck was not imported".into())
}

fn headers(token: &str) -> Outcome<String> {
    let key = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    Ok(format!("Authorization: Bearer {token}\r\nIdempotency-Key: {}\r\n", key.trim()))
}

fn parse(path: &str, status: u16, body: &[u8]) -> Outcome<Value> {
    match status {
        200..300 => Ok(serde_json::from_slice(body)?),
        _ => Err(format!("{path}: {status} {}", String::from_utf8_lossy(body)).into()),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Starts Kamailio with the files that `trunkline switch render` writes.
async fn start_edge(folder: &Path) -> Outcome<ProcessGroup> {
    let files = folder.join("edge");
    let mut render = Command::new(sibling_binary("trunkline")?);
    render.env_clear().env("TRUNKLINE_SWITCH_SECRET", SECRET).args(["switch", "render", "--out"]).arg(&files);
    if !render.args(["--service", &format!("http://{EDGE}:9090")]).stdout(Stdio::null()).status()?.success() {
        return Err("trunkline switch render failed".into());
    }
    let mut run = Command::new(std::env::current_dir()?.join("deploy/kamailio/run"));
    run.env("EDGE_SERVICE", format!("http://switch:{SECRET}@{EDGE}:9090")).env("EDGE_ID", "edge-1");
    run.env("EDGE_LISTEN", format!("udp:{EDGE}:5060")).env("EDGE_CONTROL", format!("tcp:{EDGE}:8060"));
    run.env("EDGE_DATA", files).env("EDGE_RUN", folder.join("run"));
    let edge = ProcessGroup::start(&mut run)?;
    wait_until(|| Ok(std::net::TcpStream::connect((EDGE, 8060)).is_ok())).await?;
    Ok(edge)
}

fn sipp(folder: &Path, scenario: &str) -> Outcome<Command> {
    let mut command = Command::new("sipp");
    let file: PathBuf = std::env::current_dir()?.join("trunkline/tests/sip").join(scenario).with_extension("xml");
    // Without it, SIPp checks its clock and its socket only every 10 ms.
    command.arg("-sf").arg(file).args(["-nostdin", "-timer_resol", "1"]).current_dir(folder);
    Ok(command)
}

/// Places all calls and returns the milliseconds from each INVITE to ringing, from the phone's message trace: SIPp's
/// own response times use a clock with 4 ms ticks, and so does the callee's pause before it answers.
fn place_calls(folder: &Path, name: &str, to: &str) -> Outcome<Vec<f64>> {
    let (rate, calls, messages) = (RATE.to_string(), CALLS.to_string(), folder.join(name));
    let mut phones = sipp(folder, "caller")?;
    phones.args(["-s", "+31201234567", "-key", "calling", "+31201111111", "-i", PHONE, "-p", "5060"]);
    phones.args(["-r", &rate, "-m", &calls, "-d", TALK_MILLIS, "-timeout", "60s", "-timeout_error"]);
    phones.args(["-trace_shortmsg", "-shortmessage_file"]).arg(&messages);
    let mut phones = ProcessGroup::start(phones.arg(format!("{to}:5060")))?;
    if !phones.0.wait()?.success() {
        return Err(format!("calls {name} failed").into());
    }
    let millis = ringing_times(&std::fs::read_to_string(messages)?);
    if millis.len() == CALLS { Ok(millis) } else { Err(format!("{} of {CALLS} calls rang", millis.len()).into()) }
}

/// Milliseconds from INVITE to 180 for each call. A line of the trace has: date, time, Unix seconds, sent or received,
/// Call-ID, CSeq, and the first line of the message.
fn ringing_times(messages: &str) -> Vec<f64> {
    let (mut invites, mut millis) = (HashMap::new(), Vec::new());
    for line in messages.lines() {
        let mut fields = line.split('\t').skip(2);
        let (Some(seconds), Some(_), Some(call)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let (Ok(seconds), Some(message)) = (seconds.parse::<f64>(), fields.nth(1)) else { continue };
        if message.starts_with("INVITE ") {
            invites.entry(call).or_insert(seconds);
        } else if message.starts_with("SIP/2.0 180 ") {
            millis.extend(invites.get(call).map(|sent| (seconds - sent) * 1000.0));
        }
    }
    millis
}

fn count_cdrs(database: &Path) -> Outcome<usize> {
    let connection = rusqlite::Connection::open_with_flags(database, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let count: i64 =
        connection
            .query_one("SELECT COUNT(*) FROM cdrs WHERE status = 'answered' AND NOT imported", [], |row| row.get(0))?;
    Ok(usize::try_from(count)?)
}

fn percentile(values: &[f64], part: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() * part / 100).copied().unwrap_or(f64::NAN)
}

/// Polls until the condition is true.
async fn wait_until(condition: impl Fn() -> Outcome<bool>) -> Outcome<()> {
    let started = Instant::now();
    while started.elapsed() < TIMEOUT {
        if condition()? {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("timed out".into())
}
