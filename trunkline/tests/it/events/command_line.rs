//! `trunkline events tail` and `trunkline listen`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::trunks::create_trunk;
use crate::world::receiver::{Receiver, Reply};

const CORA: &str = "cora@customer.example";

/// A running command.
struct Running {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
}

impl Running {
    /// The next line that it prints.
    async fn line(&mut self) -> String {
        self.lines.recv().await.expect("the command goes on")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(world: &World, token: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.env_clear().args(arguments).stdin(Stdio::null());
    command.env("TRUNKLINE_URL", format!("http://{}", world.node.public)).env("TRUNKLINE_API_KEY", token);
    command
}

/// Starts a command with the token of a caller.
fn run(world: &World, token: &str, arguments: &[&str]) -> Running {
    let mut child = command(world, token, arguments).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    Running { child, lines }
}

async fn until_connected(world: &World) {
    while world.node.app.event_feed.open_streams() == 0 {
        tokio::task::yield_now().await;
    }
}

both! {
    async fn the_command_line_prints_events_as_they_happen(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let mut tail = run(&world, cora.token(), &["events", "tail", "--types", "trunk.created,trunk.deleted"]);
        until_connected(&world).await;
        let trunk = create_trunk(&cora, "Main").await;
        cora.with_key(key()).patch(&trunk, json!({"name": "Renamed"})).await.ok();
        cora.with_key(key()).delete(&trunk).await.expect(204);
        for (kind, name) in [("trunk.created", "Main"), ("trunk.deleted", "Renamed")] {
            let event: Value = serde_json::from_str(&tail.line().await).unwrap();
            assert_eq!((&event["type"], &event["data"]["name"]), (&json!(kind), &json!(name)));
        }
        world.end().await;
    }

    async fn the_command_line_forwards_events_signed_like_webhooks(db) {
        let (world, receiver) = (World::unlimited(db).await, Receiver::start().await);
        let cora = world.customer(CORA).await;
        let mut listen = run(&world, cora.token(), &["listen", "--forward-to", &receiver.url]);
        assert!(listen.line().await.contains(&receiver.url));
        let secret = listen.line().await;
        let secret = json!(secret.strip_prefix("Signed with ").unwrap());
        until_connected(&world).await;
        create_trunk(&cora, "Main").await;
        let line = listen.line().await;
        assert!(line.starts_with("trunk.created ") && line.contains(" -> 200 in "), "{line}");
        receiver.reply(Reply::Status(500));
        create_trunk(&cora, "Another").await;
        assert!(listen.line().await.contains(" -> 500 in "));
        let sent = receiver.take();
        assert!(sent.len() == 2 && sent.iter().all(|sent| sent.is_signed_with(&secret)));
        assert_eq!(sent[0].event(), cora.get(&format!("/events/{}", sent[0].id())).await.ok());
        world.end().await;
    }

    async fn the_command_line_says_why_the_service_refuses(db) {
        let world = World::unlimited(db).await;
        let mut tail = command(&world, "tl_live_nothing", &["events", "tail"]);
        let output = tokio::task::spawn_blocking(move || tail.output().unwrap()).await.unwrap();
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("the service responded 401: The API key is unknown or revoked"), "{said}");
        world.end().await;
    }
}
