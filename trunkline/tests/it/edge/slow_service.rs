//! The edge with a service whose answers and timing the test decides.

use std::sync::{Arc, Mutex};

use data_encoding::BASE64;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncBufReadExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::lab::{Net, comes_true, healthz};
use super::programs::{Kamailio, Sipp};

const SECRET: &str = "secret";
const TOKEN: &str = "0199a000-0000-7000-8000-00000000000a";

/// A service that answers only when the test allows it.
#[derive(Clone)]
struct Oracle {
    /// The status of its answers about calls.
    status: &'static str,
    /// Its decision for every request.
    decision: Arc<Value>,
    speaks: watch::Sender<bool>,
    questions: Arc<Mutex<Vec<Value>>>,
    events: Arc<Mutex<Vec<Value>>>,
}

impl Oracle {
    async fn start(net: &Net, status: &'static str, decision: Value) -> Oracle {
        let listener = TcpListener::bind(net.service()).await.unwrap();
        let (speaks, _) = watch::channel(true);
        let (questions, events) = (Arc::default(), Arc::default());
        let oracle = Oracle { status, decision: Arc::new(decision), speaks, questions, events };
        let answering = oracle.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answering.clone().answer(stream));
            }
        });
        oracle
    }

    /// Answers one connection until it is closed.
    async fn answer(self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let (path, body) = read(&mut stream).await?;
            let (status, answer) = if path == "/switch/authorize" {
                self.questions.lock().unwrap().push(body);
                self.speaks.subscribe().wait_for(|speaks| *speaks).await.ok()?;
                (self.status, (*self.decision).clone())
            } else {
                self.events.lock().unwrap().extend(body["events"].as_array()?.clone());
                ("200 OK", json!({"accepted": 1, "rejected": [], "extend": [], "hang_up": []}))
            };
            let text = answer.to_string();
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
            stream.write_all(answer.as_bytes()).await.ok()?;
        }
    }

    /// Waits for an event of this type.
    async fn wait_for(&self, kind: &str) -> Value {
        let find = || self.events.lock().unwrap().iter().find(|event| event["type"] == kind).cloned();
        assert!(comes_true(async || find().is_some()).await, "no {kind} event");
        find().unwrap()
    }

    fn questions(&self) -> Vec<Value> {
        self.questions.lock().unwrap().clone()
    }
}

/// The path and JSON of a request that has the switch secret.
async fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let basic = format!("Basic {}", BASE64.encode(format!("switch:{SECRET}").as_bytes()));
    let (mut path, mut length, mut is_authorized) = (None, 0, false);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
        match line.trim().split_once([':', ' ']) {
            None => break,
            Some(("POST", rest)) => path = rest.split(' ').next().map(str::to_owned),
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.trim().parse().ok()?,
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => is_authorized = value.trim() == basic,
            Some(_) => {}
        }
    }
    let path = path.filter(|_| is_authorized)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((path, serde_json::from_slice(&body).ok()?))
}

struct Edge {
    net: Net,
    folder: TempDir,
    oracle: Oracle,
    _kamailio: Kamailio,
}

impl Edge {
    async fn start(decision: impl FnOnce(&Net) -> Value) -> Edge {
        Edge::of_service("200 OK", decision).await
    }

    async fn of_service(status: &'static str, decision: impl FnOnce(&Net) -> Value) -> Edge {
        let (net, folder) = (Net::of_this_process(), TempDir::new().unwrap());
        let oracle = Oracle::start(&net, status, decision(&net)).await;
        // The other form of what tests of calls use: the secret on its own, and a URL that ends with a slash.
        let url = format!("http://{}/", net.service());
        let settings = [("EDGE_SERVICE", &*url), ("TRUNKLINE_SWITCH_SECRET", SECRET), ("EDGE_DECISION_SECONDS", "2")];
        let kamailio = Kamailio::with(&net, folder.path(), SECRET, &settings);
        assert!(comes_true(async || healthz(&net).await == Some(200)).await, "{:#?}", kamailio.complaints());
        Edge { net, folder, oracle, _kamailio: kamailio }
    }

    fn dial(&self, scenario: &str, talk_millis: u64) -> Sipp {
        let from = self.net.customer();
        Sipp::phone(self.folder.path(), &self.net.edge(), scenario, (&from, 5070), "+31201234567", talk_millis)
    }
}

fn allowed() -> Value {
    json!({"decision": "allow", "call_token": TOKEN, "max_seconds": 300, "groups": [10]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_can_hang_up_during_authorization() {
    let edge = Edge::start(|_| allowed()).await;
    edge.oracle.speaks.send_replace(false);
    let heard = edge.dial("cancel_early", 200).over().await;
    assert_eq!(
        (heard.code(), heard.is_complete),
        (487, true),
        "neither the INVITE nor the CANCEL waited for a decision"
    );
    edge.oracle.speaks.send_replace(true);
    assert_eq!(edge.oracle.wait_for("failed").await["call_token"], TOKEN, "what was set aside is given back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_decision_is_requested_again_and_released() {
    let edge = Edge::start(|_| allowed()).await;
    edge.oracle.speaks.send_replace(false);
    assert_eq!(edge.dial("caller", 0).over().await.code(), 503);
    edge.oracle.speaks.send_replace(true);
    let failed = edge.oracle.wait_for("failed").await;
    assert_eq!((&failed["call_token"], &failed["sip_code"]), (&json!(TOKEN), &json!(503)));
    let questions = edge.oracle.questions();
    assert!(questions.len() >= 2 && questions.iter().all(|question| *question == questions[0]), "{questions:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edge_with_a_wrong_secret_says_that_it_takes_no_calls() {
    let edge = Edge::of_service("401 Unauthorized", |_| json!({"code": "auth.token_invalid"})).await;
    let is_closed = comes_true(async || {
        assert_eq!(edge.dial("caller", 0).over().await.code(), 503);
        healthz(&edge.net).await == Some(503)
    });
    assert!(is_closed.await, "/healthz still says that the edge takes calls");
}

/// A decision about a call to a DID.
fn inbound(target_uri: &str, next_hop: &str) -> Value {
    let mut decision = allowed();
    (decision["groups"], decision["target_uri"], decision["next_hop"]) =
        (json!([]), json!(target_uri), json!(next_hop));
    decision
}

/// Asserts that the edge refuses a call with this next hop.
async fn refuses(next_hop: impl FnOnce(&Net) -> String) {
    let edge = Edge::start(|net| inbound(&format!("sip:+31201234567@{}", net.host(3)), &next_hop(net))).await;
    let customer = Sipp::upstream(edge.folder.path(), "callee", &edge.net.host(3));
    assert_eq!(edge.dial("caller", 0).over().await.code(), 480);
    assert_eq!(edge.oracle.wait_for("failed").await["sip_code"], 480);
    assert!(customer.messages().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_to_a_did_is_not_sent_to_a_name() {
    refuses(|_| "sip:localhost:5060".to_owned()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_to_a_did_is_not_sent_back_to_the_edge() {
    refuses(|net| format!("sip:{}:5070", net.host(1))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_to_a_did_without_a_next_hop_is_not_sent() {
    refuses(|_| String::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_to_a_did_goes_to_its_trunks_uri() {
    let edge = Edge::start(|net| {
        let host = net.host(3);
        inbound(&format!("sip:+31201234567@{host}:5060"), &format!("sip:{host}:5060"))
    })
    .await;
    let _customer = Sipp::upstream(edge.folder.path(), "callee", &edge.net.host(3));
    let heard = edge.dial("wait_for_bye", 0);
    edge.oracle.wait_for("answered").await;
    drop(heard);
    assert_eq!(edge.oracle.questions()[0]["called"], "+31201234567");
}
