//! Pulling decks from an upstream's URL.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::rates::{DECK, import_counts, import_deck, import_report, price};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};

const LAB: [(&str, &str); 1] = [("TRUNKLINE_ALLOW_PRIVATE_IPS", "on")];

/// An upstream's web server: its response, and how often it sent the whole file.
struct Carrier {
    url: String,
    state: Arc<Mutex<State>>,
}

struct State {
    deck: String,
    etag: Option<&'static str>,
    sent: usize,
}

impl Carrier {
    fn start(etag: Option<&'static str>) -> Carrier {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/rates.csv", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State { deck: DECK.to_owned(), etag, sent: 0 }));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = [0; 4096];
                let length = stream.read(&mut request).unwrap();
                let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
                let answer = shared.lock().unwrap().answer(&request);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Carrier { url, state }
    }

    fn set(&self, deck: &str, etag: Option<&'static str>) {
        let mut state = self.state.lock().unwrap();
        (state.deck, state.etag) = (deck.to_owned(), etag);
    }

    fn sent(&self) -> usize {
        self.state.lock().unwrap().sent
    }
}

impl State {
    fn answer(&mut self, request: &str) -> String {
        if self.etag.is_some_and(|etag| request.contains(&format!("if-none-match: {etag}"))) {
            return "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_owned();
        }
        if request.contains(" /moved") {
            return "HTTP/1.1 302 Found\r\nLocation: /rates.csv\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                .to_owned();
        }
        self.sent += 1;
        let tag = self.etag.map(|etag| format!("ETag: {etag}\r\n")).unwrap_or_default();
        let length = self.deck.len();
        format!("HTTP/1.1 200 OK\r\n{tag}Content-Length: {length}\r\nConnection: close\r\n\r\n{}", self.deck)
    }
}

async fn pull(world: &World, admin: &Client, upstream: &str) -> Value {
    let path = format!("/admin/upstreams/{upstream}/rates/import");
    let accepted = admin.with_key(key()).call(Method::POST, &path, None).await.expect(202);
    world.settle().await;
    import_report(admin, upstream, &accepted).await
}

fn pulling_from(url: &str) -> Value {
    let mut body = upstream_body();
    body["rate_import_url"] = json!(url);
    body
}

both! {
    async fn a_pulled_deck_is_imported_only_when_it_changed(db) {
        let world = World::with(db, &LAB).await;
        let admin = world.admin().await;
        for etag in [None, Some("\"v1\"")] {
            let carrier = Carrier::start(etag);
            let upstream = create_upstream(&admin, pulling_from(&carrier.url)).await;
            let first = pull(&world, &admin, &upstream).await;
            assert_eq!((&first["status"], import_counts(&first)), (&json!("completed"), [3, 0, 0, 0]), "{first}");
            assert_eq!((&first["unchanged"], &first["rows_total"]), (&json!(false), &json!(3)));
            let again = pull(&world, &admin, &upstream).await;
            assert_eq!((&again["status"], &again["unchanged"]), (&json!("completed"), &json!(true)));
            assert_eq!(carrier.sent(), if etag.is_some() { 1 } else { 2 });
            carrier.set(&DECK.replace("0.0045", "0.0044"), etag.map(|_| "\"v2\""));
            assert_eq!(import_counts(&pull(&world, &admin, &upstream).await), [0, 0, 0, 1]);
            // A deck uploaded in between is no longer the pulled one.
            import_deck(&world, &admin, &upstream, "", DECK).await;
            assert_eq!(import_counts(&pull(&world, &admin, &upstream).await), [0, 0, 0, 1]);
        }
        world.end().await;
    }

    async fn a_deck_is_pulled_on_its_schedule(db) {
        let world = World::with(db, &LAB).await;
        let admin = world.admin().await;
        let carrier = Carrier::start(None);
        let mut body = pulling_from(&carrier.url);
        body["rate_import_schedule"] = json!("30 * * * *");
        let upstream = create_upstream(&admin, body).await;
        world.advance_to_next(3600).await;
        let sent = carrier.sent();
        world.advance(31 * 60).await;
        assert_eq!(carrier.sent(), sent + 1);
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.0209"));
        let imports = world.minted(values::Role::Admin).await;
        let imports = imports.get(&format!("/admin/upstreams/{upstream}/imports")).await.ok();
        assert_eq!(imports["data"][0]["status"], "completed");
        world.end().await;
    }

    async fn a_pull_url_to_a_private_address_is_not_requested(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        for host in ["127.0.0.1", "localhost", "[::1]", "2130706433", "169.254.169.254"] {
            let inward = create_upstream(&admin, pulling_from(&format!("https://{host}/rates.csv"))).await;
            let refused = pull(&world, &admin, &inward).await;
            assert_eq!(refused["status"], "failed");
            assert_eq!(refused["reason"], "the URL does not point to the public internet", "{host}");
        }
        world.end().await;
    }

    async fn a_redirected_pull_leaves_the_deck_unchanged(db) {
        let world = World::with(db, &LAB).await;
        let admin = world.admin().await;
        let carrier = Carrier::start(None);
        let moved = create_upstream(&admin, pulling_from(&carrier.url.replace("/rates.csv", "/moved"))).await;
        import_deck(&world, &admin, &moved, "", DECK).await;
        let refused = pull(&world, &admin, &moved).await;
        assert_eq!(refused["reason"], "the server responded 302, and redirects are not followed");
        assert_eq!(carrier.sent(), 0);
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.0209"));
        world.end().await;
    }
}
