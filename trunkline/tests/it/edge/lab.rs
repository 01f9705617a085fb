//! The lab of edge tests: two upstreams, a customer with a trunk and a balance, the service, and the edge.

use std::net::UdpSocket;
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use platform::edge::Edge;
use platform::ledger::{self, Book, Entry, Kind};
use serde_json::{Value, json};
use tempfile::TempDir;
use values::{AccountId, Currency, Money, Role};
use voice::cdrs;

use super::messages::Message;
use super::names::Names;
use super::programs::{Kamailio, PhoneResult, Sipp};
use crate::world::accounts;
use crate::world::client::Client;
use crate::world::engines::{TestDb, uuid};
use crate::world::fixtures::numbers::{inventory_csv, inventory_groups, order_number, upload_inventory};
use crate::world::fixtures::rates::upload_deck;
use crate::world::fixtures::switch::trunk_with_source;
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::fixtures::{count, key};
use crate::world::process::Process;

/// The deck of the upstream that is asked first. A second to the Netherlands is sold at a tenth of a cent, to the United
/// Kingdom at half a cent.
const FIRST_DECK: &str = "prefix,destination_name,country,rate_per_minute\n31,Netherlands,NL,0.05\n44,UK,GB,0.25\n";
/// The deck of the other upstream, whose cost equals the sell rate.
const SECOND_DECK: &str = "prefix,destination_name,country,rate_per_minute\n31,Netherlands,NL,0.06\n44,UK,GB,0.3\n";

pub const NANOS_PER_CENT: i64 = 10_000_000;

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A part of loopback that belongs to one test.
pub struct Net {
    prefix: String,
}

impl Net {
    /// Addresses of this test process, which no other test uses.
    pub fn of_this_process() -> Net {
        let first = std::process::id();
        (first..first + 500)
            .map(|number| Net { prefix: format!("127.{}.{}", 64 + (number >> 8) % 128, number % 256) })
            .find(|net| UdpSocket::bind(net.edge()).is_ok())
            .expect("a free part of loopback")
    }

    pub fn host(&self, number: u8) -> String {
        format!("{}.{number}", self.prefix)
    }

    pub fn edge(&self) -> String {
        format!("{}:5060", self.host(1))
    }

    pub fn control(&self) -> String {
        format!("{}:8060", self.host(1))
    }

    pub fn service(&self) -> String {
        format!("{}:9090", self.host(1))
    }

    pub fn customer(&self) -> String {
        self.host(2)
    }

    /// Where the customer's numbers ring.
    pub fn office(&self) -> String {
        self.host(3)
    }

    /// An address on no allow-list.
    pub fn stranger(&self) -> String {
        self.host(9)
    }

    pub fn first_upstream(&self) -> String {
        self.host(11)
    }

    pub fn second_upstream(&self) -> String {
        self.host(12)
    }
}

pub struct Lab<'a> {
    pub db: &'a TestDb,
    pub net: Net,
    pub folder: TempDir,
    /// Host names as the service resolves them.
    pub names: Names,
    pub service: Process,
    pub kamailio: Kamailio,
    /// The first refuses every call, the second answers by the number.
    pub upstreams: Vec<Sipp>,
    pub admin: Client,
    pub customer: Client,
    pub account: AccountId,
    pub trunk: String,
    /// The upstream whose numbers customers may have.
    first_upstream: String,
    ports: AtomicU16,
}

/// Tolerance between a CDR and what the phone saw. The edge gets the answer before the phone and the BYE after it, by
/// the time that two messages take on a busy machine.
const TOLERANCE_MILLIS: i64 = 1000;

/// A CDR: the called number, the status, the seconds, and the charge in nanos.
pub type CdrRow = (String, String, i64, i64);

impl<'a> Lab<'a> {
    /// Starts with this balance in cents and this channel cap.
    pub async fn start(db: &'a TestDb, cents: i64, channels: i64) -> Lab<'a> {
        let (net, folder) = (Net::of_this_process(), TempDir::new().unwrap());
        let names = Names::new(folder.path());
        let service = serve(db, &net, &folder, &[]);
        let admin = accounts::insert(db, Role::Admin, 1).await.remove(0);
        let customer = accounts::insert(db, Role::Customer, 1).await.remove(0);
        let admin = service.sign_in(&admin.email).await;
        let first_upstream = add_upstream(&admin, &net.first_upstream(), 10, FIRST_DECK).await;
        add_upstream(&admin, &net.second_upstream(), 20, SECOND_DECK).await;
        service.advance(0).await;
        let (account, customer) = (customer.account, service.sign_in(&customer.email).await);
        let inbound_uri = format!("sip:{}:5060", net.office());
        let wanted = json!({"channel_cap": channels, "inbound_uri": inbound_uri});
        let trunk = trunk_with_source(&customer, wanted, &net.customer()).await;
        let upstreams = vec![
            Sipp::upstream(folder.path(), "reject_503", &net.first_upstream()),
            Sipp::upstream(folder.path(), "callee", &net.second_upstream()),
        ];
        let address = format!("http://{}", net.service());
        let mut files = Edge::new(&address, service.switch_secret().to_owned(), folder.path().join("data")).unwrap();
        files.render().await.unwrap();
        let kamailio = Kamailio::start(&net, folder.path(), service.switch_secret());
        let ports = AtomicU16::new(5070);
        let lab = Lab {
            db,
            net,
            folder,
            names,
            service,
            kamailio,
            upstreams,
            admin,
            customer,
            account,
            trunk,
            first_upstream,
            ports,
        };
        lab.top_up(cents).await;
        lab.wait_for_upstreams("up", 2).await;
        lab
    }

    /// Waits until so many upstreams do so.
    pub async fn wait_for_upstreams(&self, health: &str, number: i64) {
        let sql = match health {
            "up" => "SELECT COUNT(*) FROM upstreams WHERE health = 'up'",
            _ => "SELECT COUNT(*) FROM upstreams WHERE health = 'down'",
        };
        self.until(&format!("{number} upstreams are {health}"), async || count(self.db, sql).await == number).await;
    }

    /// Waits for a condition; fails on timeout.
    pub async fn until(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let came = comes_true(is_so).await;
        assert!(came, "in vain: {what}; Kamailio says {:#?}", self.kamailio.complaints());
    }

    /// Begins a call of the customer's.
    pub fn dial(&self, scenario: &str, number: &str, talk_millis: u64) -> Sipp {
        self.dial_from(&self.net.customer(), scenario, number, talk_millis)
    }

    pub fn dial_from(&self, address: &str, scenario: &str, number: &str, talk_millis: u64) -> Sipp {
        let port = self.ports.fetch_add(1, Ordering::Relaxed);
        Sipp::phone(self.folder.path(), &self.net.edge(), scenario, (address, port), number, talk_millis)
    }

    /// Begins to prove the network of this address.
    pub fn verify(&self, address: &str, user: &str, password: &str) -> Sipp {
        let port = self.ports.fetch_add(1, Ordering::Relaxed);
        Sipp::prover(self.folder.path(), &self.net.edge(), (address, port), user, password)
    }

    /// Begins this many calls of the customer.
    pub fn dial_many(&self, scenario: &str, number: &str, talk_millis: u64, calls: usize) -> Sipp {
        let (address, port) = (self.net.customer(), self.ports.fetch_add(1, Ordering::Relaxed));
        let (folder, edge) = (self.folder.path(), self.net.edge());
        Sipp::phones(folder, &edge, scenario, (&address, port), number, talk_millis, calls)
    }

    /// Makes a call and returns what the caller saw.
    pub async fn call(&self, scenario: &str, number: &str, talk_millis: u64) -> u16 {
        self.heard(self.dial(scenario, number, talk_millis)).await.code()
    }

    /// What a phone saw, if its calls followed the scenario.
    pub async fn heard(&self, phone: Sipp) -> PhoneResult {
        let heard = phone.over().await;
        assert!(heard.is_complete, "{heard:?}; {:#?}", self.kamailio.complaints());
        heard
    }

    /// Makes a call from another address.
    pub async fn call_from(&self, address: &str, number: &str) -> PhoneResult {
        self.dial_from(address, "caller", number, 100).over().await
    }

    /// All CDRs in call order, once there are this many and no call is live.
    pub async fn cdrs(&self, number: i64) -> Vec<CdrRow> {
        let live = async || count(self.db, "SELECT COUNT(*) FROM live_calls").await;
        let kept = async || count(self.db, "SELECT COUNT(*) FROM cdrs").await;
        self.until(&format!("{number} CDRs"), async || live().await == 0 && kept().await >= number).await;
        let mut conn = self.db.read().await.unwrap();
        let sql = "SELECT called, status, duration_seconds, charge FROM cdrs ORDER BY started_at, id";
        let records: Vec<CdrRow> = conn.all(sql, &[]).await.unwrap();
        assert_eq!(records.len(), usize::try_from(number).unwrap(), "{records:?}");
        records
    }

    /// Compares CDRs with what a phone saw: every answered call has one CDR of the same length, rounded up to seconds
    /// and charged per second.
    pub async fn agrees_with(&self, heard: &PhoneResult, nanos_per_second: i64) {
        let mut conn = self.db.read().await.unwrap();
        let sql = "SELECT call_id, answered_at, ended_at, duration_seconds, charge FROM cdrs WHERE status = 'answered'";
        let records: Vec<(String, i64, i64, i64, i64)> = conn.all(sql, &[]).await.unwrap();
        for talk in &heard.talks {
            let mut of_call = records.iter().filter(|record| record.0 == talk.call_id);
            let (Some((_, answered, ended, seconds, charge)), None) = (of_call.next(), of_call.next()) else {
                panic!("{talk:?} does not have one CDR: {records:?}");
            };
            let kept = ended - answered;
            let is_as_heard = talk.byes.iter().any(|bye| (kept - bye).abs() <= TOLERANCE_MILLIS);
            assert!(is_as_heard, "{talk:?} has a CDR of {kept} ms");
            assert_eq!((*seconds, *charge), ((kept + 999) / 1000, seconds * nanos_per_second), "{talk:?}");
        }
    }

    /// Asserts that both sides of a call got a BYE that neither had sent.
    pub async fn both_got_bye(&self, heard: &PhoneResult) {
        let [talk] = &heard.talks[..] else { panic!("not one call: {heard:?}") };
        let callee = self.upstreams.last().unwrap();
        let is_told = |message: &Message| message.call_id == talk.call_id && message.is_bye() && !message.is_sent;
        self.until("the callee gets the BYE", async || callee.messages().iter().any(is_told)).await;
    }

    /// Answered live calls as the team lists them.
    pub async fn talking(&self) -> Vec<Value> {
        let mut calls = self.admin.get("/admin/calls?limit=200").await.ok()["data"].as_array().unwrap().clone();
        calls.retain(|call| call["answered_at"].is_string());
        calls
    }

    pub async fn live_calls(&self) -> i64 {
        count(self.db, "SELECT COUNT(*) FROM live_calls").await
    }

    pub async fn answered_calls(&self) -> i64 {
        count(self.db, "SELECT COUNT(*) FROM live_calls WHERE answered_at IS NOT NULL").await
    }

    /// The customer's balance and the held part of it, in nanos.
    pub async fn balance_and_held(&self) -> (i64, i64) {
        let mut conn = self.db.read().await.unwrap();
        let balance = ledger::balance(&mut conn, self.account, Currency::EUR).await.unwrap();
        (balance.current.nanos(), balance.held.nanos())
    }

    pub async fn top_up(&self, cents: i64) {
        let from = [(Book::Clearing, Money::from_minor(cents, Currency::EUR).unwrap())];
        let entry = Entry::credit(self.account, Kind::Topup, uuid().to_string(), &from).unwrap();
        let posted =
            self.db.tx(entry, |conn, entry| Box::pin(async move { ledger::credit(conn, entry).await.map(drop) }));
        posted.await.unwrap();
    }

    /// Rents a number to the customer for 2 EUR.
    pub async fn rent_number(&self) -> String {
        let terms = "NL,local,Amsterdam,3120,voice,1.00,1.00,api";
        upload_inventory(&self.admin, &self.first_upstream, &inventory_csv(31_201_000_000, 1, terms)).await.expect(202);
        self.service.advance(0).await;
        let group = inventory_groups(&self.customer, "").await[0]["id"].as_str().unwrap().to_owned();
        let order = order_number(&self.customer, &group, &self.trunk).await.expect(201);
        order["did"].as_str().unwrap().to_owned()
    }

    /// The service once more, after it was killed.
    pub fn serve_again(&mut self) {
        self.serve_again_with(&[]);
    }

    pub fn serve_again_with(&mut self, settings: &[(&str, &str)]) {
        self.service = serve(self.db, &self.net, &self.folder, settings);
    }

    /// Kamailio once more, after it was killed.
    pub async fn carry_again(&mut self) {
        self.carry_again_with(&[]).await;
    }

    pub async fn carry_again_with(&mut self, settings: &[(&str, &str)]) {
        let (folder, secret) = (self.folder.path(), self.service.switch_secret());
        self.kamailio = Kamailio::start_with(&self.net, folder, secret, settings);
        self.until("Kamailio is back", async || self.healthz().await == Some(200)).await;
    }

    /// Waits until Kamailio has saved so many answered calls, which then survive its end.
    pub async fn until_saved(&self, calls: usize) {
        let saved = calls.to_string();
        self.until("the calls are saved", async || self.saved_calls("SELECT COUNT(*) FROM live") == saved).await;
    }

    /// What this statement makes of the calls that Kamailio has saved.
    pub fn saved_calls(&self, sql: &str) -> String {
        let database = self.folder.path().join("run/calls.db");
        let output =
            Command::new("sqlite3").args(["-bail", "-cmd", ".timeout 5000"]).arg(database).arg(sql).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// What Kamailio answers to an order.
    pub async fn order(&self, method: &str) -> String {
        let order = json!({"jsonrpc": "2.0", "method": method, "id": 1});
        let asked = reqwest::Client::new().post(format!("http://{}/RPC", self.net.control())).json(&order);
        asked.send().await.unwrap().text().await.unwrap()
    }

    pub async fn healthz(&self) -> Option<u16> {
        healthz(&self.net).await
    }

    /// Ends the lab after checking the ledger and the CDRs.
    pub async fn end(self) {
        let verified = self.db.snapshot((), |conn, ()| Box::pin(ledger::verify(conn))).await.unwrap();
        verified.unwrap_or_else(|fault| panic!("the ledger is wrong: {fault}"));
        let verified = self.db.snapshot((), |conn, ()| Box::pin(cdrs::verify(conn))).await.unwrap();
        verified.unwrap_or_else(|fault| panic!("the records of calls are wrong: {fault}"));
        assert_eq!(self.balance_and_held().await.1, 0, "money is still held");
        let complaints = self.kamailio.complaints();
        assert!(complaints.is_empty(), "Kamailio complains: {complaints:#?}");
    }
}

/// Waits for a condition; false on timeout.
pub async fn comes_true(is_so: impl AsyncFn() -> bool) -> bool {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    let waiting = async {
        while !is_so().await {
            looks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.is_ok()
}

/// What the edge says of itself.
pub async fn healthz(net: &Net) -> Option<u16> {
    let answer = reqwest::get(format!("http://{}/healthz", net.control())).await;
    answer.ok().map(|answer| answer.status().as_u16())
}

fn serve(db: &TestDb, net: &Net, folder: &TempDir, more: &[(&str, &str)]) -> Process {
    let (ops, edge) = (net.service(), net.host(1));
    let names = Names::settings(folder.path());
    let settings = [
        ("TRUNKLINE_OPS_LISTEN", ops.as_str()),
        ("TRUNKLINE_ALLOW_PRIVATE_IPS", "on"),
        ("TRUNKLINE_RATE_LIMITS", "off"),
        ("TRUNKLINE_TEST_CLOCK", "on"),
        ("TRUNKLINE_EDGE_IPS", edge.as_str()),
    ];
    let names = names.iter().map(|(name, value)| (*name, value.as_str()));
    let settings: Vec<(&str, &str)> = settings.into_iter().chain(names).chain(more.iter().copied()).collect();
    tokio::task::block_in_place(|| Process::serve(db, folder.path(), &settings))
}

async fn add_upstream(admin: &Client, address: &str, group: i64, deck: &str) -> String {
    let mut body: Value = upstream_body();
    (body["markup_percent"], body["dispatcher_group_id"]) = (json!(20), json!(group));
    body["gateways"] = json!([format!("sip:{address}:5060")]);
    body["signaling_ips"] = json!([address]);
    let id = create_upstream(&admin.with_key(key()), body).await;
    upload_deck(admin, &id, "", deck).await.expect(202);
    id
}
