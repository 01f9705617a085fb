//! Hostile SIP: forged headers, malformed packets and floods have no effect.

use std::net::UdpSocket;
use std::time::Duration;

use super::lab::{Lab, NANOS_PER_CENT};
use super::programs::Sipp;
use crate::world::engines::uuid;

/// A phone that sends arbitrary SIP.
pub struct Rogue {
    socket: UdpSocket,
    edge: String,
    /// Where it claims to be reached.
    contact: String,
}

impl Rogue {
    pub fn at(lab: &Lab<'_>, address: &str) -> Rogue {
        let socket = UdpSocket::bind((address, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let contact = socket.local_addr().unwrap().to_string();
        Rogue { socket, edge: lab.net.edge(), contact }
    }

    /// A request to the edge with these parts, and lines of its own.
    pub fn say(&self, method: &str, target: &[u8], from: &[u8], to_tag: &str, call_id: &str, more: &[u8]) {
        let target = [target, b"@", self.edge.as_bytes()].concat();
        self.say_to(&target, method, from, to_tag, call_id, more);
    }

    /// The same with another host in its target.
    fn say_to(&self, target: &[u8], method: &str, from: &[u8], to_tag: &str, call_id: &str, more: &[u8]) {
        let here = self.socket.local_addr().unwrap();
        let branch = uuid().simple();
        let mut text = Vec::new();
        text.extend_from_slice(format!("{method} sip:").as_bytes());
        text.extend_from_slice(target);
        text.extend_from_slice(b" SIP/2.0\r\n");
        text.extend_from_slice(format!("Via: SIP/2.0/UDP {here};branch=z9hG4bK{branch}\r\nFrom: <sip:").as_bytes());
        text.extend_from_slice(from);
        text.extend_from_slice(format!("@{here}>;tag=rogue\r\nTo: <sip:x@{}>{to_tag}\r\n", self.edge).as_bytes());
        text.extend_from_slice(format!("Call-ID: {call_id}\r\nCSeq: 1 {method}\r\n").as_bytes());
        text.extend_from_slice(format!("Contact: <sip:r@{}>\r\nMax-Forwards: 70\r\n", self.contact).as_bytes());
        text.extend_from_slice(more);
        text.extend_from_slice(b"Content-Length: 0\r\n\r\n");
        self.socket.send_to(&text, &self.edge).unwrap();
    }

    /// The final code that comes back to this request. What was answered before may be said again, since nothing here is
    /// acknowledged.
    pub fn hears(&self, method: &str, call_id: &str) -> u16 {
        let (call, sequence) = (format!("\r\nCall-ID: {call_id}\r\n"), format!("\r\nCSeq: 1 {method}\r\n"));
        let mut buffer = [0; 65_536];
        loop {
            let length = self.socket.recv(&mut buffer).expect("an answer");
            let text = String::from_utf8_lossy(&buffer[..length]);
            let code = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
            if code >= 200 && text.contains(&call) && text.contains(&sequence) {
                return code;
            }
        }
    }

    /// Makes an answered call; returns the callee's tag and the route set.
    pub fn talk(&self, target: &[u8], call_id: &str) -> (String, String) {
        self.call_until("SIP/2.0 200", target, call_id)
    }

    /// Calls until this reply; returns the callee's tag and the route set.
    fn call_until(&self, reply: &str, target: &[u8], call_id: &str) -> (String, String) {
        self.say("INVITE", target, b"+31201111111", "", call_id, b"");
        let text = self.received(reply);
        let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        let tag = header("To: ").split_once(";tag=").unwrap().1.to_owned();
        (format!(";tag={tag}"), header("Record-Route: "))
    }

    /// The next message that begins like this.
    fn received(&self, start: &str) -> String {
        let mut buffer = [0; 65_536];
        loop {
            let length = self.socket.recv(&mut buffer).expect("a message");
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            if text.starts_with(start) {
                return text;
            }
        }
    }

    fn invite(&self, target: &[u8], from: &[u8], more: &[u8]) -> u16 {
        let call_id = uuid().to_string();
        self.say("INVITE", target, from, "", &call_id, more);
        self.hears("INVITE", &call_id)
    }
}

/// Answers every request with 200 and these lines, until none came for three seconds; returns their methods.
fn answer_all(socket: &UdpSocket, more: &str) -> Vec<String> {
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut methods, mut buffer) = (Vec::new(), [0; 65_536]);
    while let Ok((length, from)) = socket.recv_from(&mut buffer) {
        let request = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let method = request.split(' ').next().unwrap().to_owned();
        let copied = ["Via: ", "Record-Route: ", "From: ", "Call-ID: ", "CSeq: "];
        let lines = request.lines().filter(|line| copied.iter().any(|name| line.starts_with(name)));
        let to = request.lines().find(|line| line.starts_with("To: ")).unwrap();
        let to = if to.contains(";tag=") { to.to_owned() } else { format!("{to};tag=callee") };
        let copied: String = lines.map(|line| format!("{line}\r\n")).collect();
        if method != "ACK" {
            // Its own route stands above the others.
            let reply = format!("SIP/2.0 200 OK\r\n{more}{copied}{to}\r\nContent-Length: 0\r\n\r\n");
            socket.send_to(reply.as_bytes(), from).unwrap();
        }
        methods.push(method);
        socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    }
    methods
}

on_sqlite! {
    async fn headers_of_customers_and_strangers_have_no_effect(db) {
        let lab = Lab::start(db, 1000, 100).await;
        let rogue = Rogue::at(&lab, &lab.net.customer());
        let busy = b"+31201230486";

        // Variables, quotes and SQL in a name are plain text; the call proceeds to a busy callee.
        let names: [&[u8]; 5] =
            [b"$var(request)", b"+49$shv(breaker_open_until)$hdr(Via)", b"o'brien", b"a%22,%22called%22:%22x", b"$"];
        for name in names {
            assert_eq!(rogue.invite(busy, name, b""), 486, "{}", String::from_utf8_lossy(name));
        }
        for name in [&b"o'brien\\x"[..], b"x'); DROP TABLE dialog;--"] {
            assert_eq!(rogue.invite(busy, name, b""), 400, "{}", String::from_utf8_lossy(name));
        }
        // So are invalid UTF-8 and an endless name.
        assert_eq!(rogue.invite(busy, b"x\xff\xfey", b""), 486);
        assert_eq!(rogue.invite(busy, &[b'a'; 300], b""), 486);
        // A number with such characters is not dialable.
        for number in [&b"+3120123'--;0486"[..], b"+31201%22},{0486", b"$var(answer)"] {
            let code = rogue.invite(number, b"+31201111111", b"");
            assert!([400, 404].contains(&code), "{code} to {}", String::from_utf8_lossy(number));
        }
        // A long header is carried along.
        let long = [&b"X-Long: "[..], &[b'z'; 8000], b"\r\n"].concat();
        assert_eq!(rogue.invite(busy, b"+31201111111", &long), 486);
        // A Route header of the caller is ignored.
        let route = format!("Route: <sip:{}:5060;lr>\r\n", lab.net.second_upstream());
        let stranger = Rogue::at(&lab, &lab.net.stranger());
        assert_eq!(stranger.invite(busy, b"+31201111111", route.as_bytes()), 403);

        // A tag does not make a new call part of a known dialog.
        let ours = format!("Route: <sip:{};lr>\r\n{route}", lab.net.edge());
        for method in ["INVITE", "BYE", "REFER", "UPDATE"] {
            let call_id = uuid().to_string();
            stranger.say(method, busy, b"+31201111111", ";tag=made-up", &call_id, ours.as_bytes());
            assert_eq!(stranger.hears(method, &call_id), 481, "{method}");
        }
        let records = lab.cdrs(8).await;
        assert!(records.iter().all(|record| record.1 == "busy"), "{records:?}");
        lab.end().await;
    }

    async fn a_callers_claimed_identity_does_not_reach_the_upstream(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        let kept = lab.folder.path().join("received");
        lab.upstreams.pop();
        lab.upstreams.push(Sipp::curious_upstream(lab.folder.path(), &lab.net.second_upstream(), &kept));
        let rogue = Rogue::at(&lab, &lab.net.customer());
        let names = ["P-Asserted-Identity", "p-asserted-identity", "P-Preferred-Identity", "Remote-Party-ID", "P-Charge-Info"];
        let forged = names.map(|name| format!("{name}: <sip:+31209999999@forged.example>\r\n")).concat();
        let code = rogue.invite(b"+31201230486", b"+31201111111", format!("{forged}X-Mine: harmless\r\n").as_bytes());
        assert_eq!(code, 486);
        let received = || std::fs::read_to_string(&kept).unwrap_or_default();
        lab.until("the upstream was called", async || received().contains("X-Mine: harmless")).await;
        assert!(!received().contains("31209999999"), "{}", received());
        lab.cdrs(1).await;
        lab.end().await;
    }

    async fn malformed_and_excessive_sip_disturbs_no_call(db) {
        let lab = Lab::start(db, 1000, 100).await;
        let rogue = Rogue::at(&lab, &lab.net.customer());
        let packets: [&[u8]; 7] = [
            b"\0\0\0\0",
            b"INVITE",
            b"INVITE sip:x SIP/2.0\r\n\r\n",
            b"SIP/2.0 200 OK\r\n\r\n",
            b"INVITE sip:+31201234567@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=\r\nCSeq: 99999999999 INVITE\r\nContent-Length: -1\r\n\r\n",
            b"\r\n\r\n",
            &[0xff; 60_000],
        ];
        for packet in packets {
            rogue.socket.send_to(packet, &rogue.edge).unwrap();
        }
        // Headers that fill a packet, and a Call-ID that no table would take.
        let long = [&b"X-Long: "[..], &[b'z'; 60_000], b"\r\n"].concat();
        let fresh = Rogue::at(&lab, &lab.net.customer());
        assert_eq!(fresh.invite(b"+31201230486", b"+31201111111", &long), 513);
        let call_id = "c".repeat(5000);
        fresh.say("INVITE", b"+31201230486", b"+31201111111", "", &call_id, b"");
        assert_eq!(fresh.hears("INVITE", &call_id), 400);
        assert_eq!(lab.call("caller", "+31201234567", 100).await, 200);
        lab.until("nobody is on the line", async || lab.live_calls().await == 0).await;
        lab.end().await;
    }

    async fn a_call_id_is_opaque_and_used_once(db) {
        let lab = Lab::start(db, 1000, 100).await;
        let (rogue, call_id) = (Rogue::at(&lab, &lab.net.customer()), "$shv(failures)'\")--$var(token)");
        let (tag, way) = rogue.talk(b"+31201234567", call_id);
        let way = format!("Route: {way}\r\n");
        rogue.say("ACK", b"x", b"+31201111111", &tag, call_id, way.as_bytes());
        // Once more, as if it were another call, before and after the service knows of the answer: there is no second talk for
        // the same charge.
        let twin = Rogue::at(&lab, &lab.net.customer());
        let twin_hears = || {
            twin.say("INVITE", b"+31201234567", b"+31201111111", "", call_id, b"");
            twin.hears("INVITE", call_id)
        };
        assert_eq!(twin_hears(), 482);
        lab.until("the first goes on", async || lab.answered_calls().await == 1).await;
        assert_eq!(twin_hears(), 482);
        lab.until("the BYE is accepted", async || {
            rogue.say("BYE", b"x", b"+31201111111", &tag, call_id, way.as_bytes());
            rogue.hears("BYE", call_id) == 200
        })
        .await;
        assert_eq!(lab.cdrs(1).await[0].1, "answered");
        let kept: (String,) = lab.db.read().await.unwrap().one("SELECT call_id FROM cdrs", &[]).await.unwrap();
        assert_eq!(kept.0, call_id);
        lab.end().await;
    }

    async fn a_bye_with_forged_tags_ends_no_call(db) {
        let lab = Lab::start(db, 1000, 100).await;
        let talking = lab.dial("caller", "+31201234567", 1500);
        lab.until("somebody talks", async || lab.answered_calls().await == 1).await;
        let call_id: (String,) = lab.db.read().await.unwrap().one("SELECT call_id FROM live_calls", &[]).await.unwrap();
        let stranger = Rogue::at(&lab, &lab.net.stranger());
        let ours = format!("Route: <sip:{};lr>\r\n", lab.net.edge());
        for more in [ours.as_bytes(), b""] {
            stranger.say("BYE", b"+31201234567", b"+31201111111", ";tag=made-up", &call_id.0, more);
            assert_eq!(stranger.hears("BYE", &call_id.0), 481);
        }
        let heard = lab.heard(talking).await;
        lab.cdrs(1).await;
        lab.agrees_with(&heard, NANOS_PER_CENT / 10).await;
        lab.end().await;
    }

    async fn nothing_within_a_call_goes_where_its_customer_points(db) {
        let lab = Lab::start(db, 1000, 100).await;
        let elsewhere = UdpSocket::bind((lab.net.stranger(), 5060)).unwrap();
        elsewhere.set_nonblocking(true).unwrap();
        let target = format!("{}:5060", lab.net.stranger());
        let mut rogue = Rogue::at(&lab, &lab.net.customer());
        rogue.contact = target.clone();

        // Before the answer.
        let call_id = uuid().to_string();
        let (tag, way) = rogue.call_until("SIP/2.0 180", b"+31201230180", &call_id);
        for route in [format!("Route: {way}\r\n"), format!("Route: {way}, <sip:{target};lr>\r\n")] {
            rogue.say_to(format!("x@{target}").as_bytes(), "UPDATE", b"+31201111111", &tag, &call_id, route.as_bytes());
        }
        rogue.hears("INVITE", &call_id);

        // After it: neither an ACK, nor what the edge sends to the Contact of the caller.
        let call_id = uuid().to_string();
        let (tag, way) = rogue.talk(b"+31201230700", &call_id);
        for route in [format!("Route: {way}\r\n"), format!("Route: {way}, <sip:{target};lr>\r\n")] {
            rogue.say_to(format!("x@{target}").as_bytes(), "ACK", b"+31201111111", &tag, &call_id, route.as_bytes());
        }
        let callee = format!("{}:5060", lab.net.second_upstream());
        rogue.say_to(callee.as_bytes(), "ACK", b"+31201111111", &tag, &call_id, format!("Route: {way}\r\n").as_bytes());
        // The callee hangs up, and the edge tells the caller.
        rogue.received("BYE sip:r@");
        let steered = format!("Record-Route: <sip:{target};lr>\r\n");
        assert_eq!(rogue.invite(b"+31201234567", b"+31201111111", steered.as_bytes()), 403);
        lab.cdrs(2).await;
        assert!(elsewhere.recv(&mut [0; 1]).is_err(), "nothing went where the caller pointed");
        lab.end().await;
    }

    async fn the_answer_of_a_customer_points_a_call_nowhere_else(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        lab.kamailio.kill();
        lab.carry_again_with(&[("EDGE_REPLY_SECONDS", "2")]).await;
        let number = lab.rent_number().await;
        let elsewhere = UdpSocket::bind((lab.net.stranger(), 5060)).unwrap();
        elsewhere.set_nonblocking(true).unwrap();
        let (own, target) = (format!("{}:5060", lab.net.office()), format!("{}:5060", lab.net.stranger()));
        for (contact, route, code) in [(&own, Some(&target), 504), (&target, None, 200)] {
            let office = UdpSocket::bind(&own).unwrap();
            let route = route.map(|route| format!("Record-Route: <sip:{route};lr>\r\n")).unwrap_or_default();
            let more = format!("{route}Contact: <sip:{contact}>\r\n");
            let answering = std::thread::spawn(move || answer_all(&office, &more));
            assert_eq!(lab.call_from(&lab.net.first_upstream(), &number).await.code(), code);
            lab.until("the call is over", async || lab.live_calls().await == 0).await;
            assert_eq!(answering.join().unwrap().contains(&"BYE".to_owned()), code == 200);
        }
        assert!(elsewhere.recv(&mut [0; 1]).is_err(), "nothing went where the callee pointed");
        lab.end().await;
    }

    async fn a_bye_with_a_foreign_route_still_reaches_the_callee(db) {
        let lab = Lab::start(db, 1000, 100).await;
        let elsewhere = UdpSocket::bind((lab.net.stranger(), 5060)).unwrap();
        elsewhere.set_nonblocking(true).unwrap();
        let (rogue, call_id) = (Rogue::at(&lab, &lab.net.customer()), uuid().to_string());
        let (tag, way) = rogue.talk(b"+31201234567", &call_id);
        let steered = format!("Route: {way}, <sip:{}:5060;lr>\r\n", lab.net.stranger());
        rogue.say("ACK", b"x", b"+31201111111", &tag, &call_id, format!("Route: {way}\r\n").as_bytes());
        lab.until("the call stands, and nothing leaves it", async || {
            rogue.say("INVITE", b"+882", b"+31201111111", &tag, &call_id, steered.as_bytes());
            rogue.hears("INVITE", &call_id) == 403
        })
        .await;
        lab.until("the BYE is accepted", async || {
            rogue.say("BYE", b"x", b"+31201111111", &tag, &call_id, steered.as_bytes());
            rogue.hears("BYE", &call_id) == 200
        })
        .await;
        // The answer may be reported after the end, which came at once.
        lab.until("the call was answered", async || lab.cdrs(1).await[0].1 == "answered").await;
        assert!(elsewhere.recv(&mut [0; 1]).is_err(), "nothing went where the caller pointed");
        lab.end().await;
    }
}
