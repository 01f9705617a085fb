//! The real program, killed between an event and its delivery.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use super::LAB;
use crate::world::accounts;
use crate::world::engines::both;
use crate::world::fixtures::events::{events, subscribe};
use crate::world::fixtures::trunks::create_trunk;
use crate::world::process::Process;
use crate::world::receiver::{Receiver, Reply};

both! {
    async fn nothing_is_lost_when_the_service_is_killed_before_it_delivers(db) {
        let receiver = Receiver::start().await;
        let folder = tempfile::TempDir::new().unwrap();
        let settings: Vec<(&str, &str)> = LAB.into_iter().chain([("TRUNKLINE_TEST_CLOCK", "on")]).collect();
        let cora = accounts::insert(db, values::Role::Customer, 1).await.remove(0).email;
        let mut node = Process::serve(db, folder.path(), &settings);
        subscribe(&node.sign_in(&cora).await, &receiver.url, &["trunk.created"]).await;
        for round in 0..3 {
            // Nothing is answered before the kill, so no delivery can count as made.
            receiver.reply(Reply::Hang);
            let caller = node.sign_in(&cora).await;
            for number in 0..5 {
                create_trunk(&caller, &format!("trunk {round} {number}")).await;
            }
            node.kill();
            node = Process::serve(db, folder.path(), &settings);
        }
        receiver.reply(Reply::Status(200));
        receiver.take();
        // The lease of the killed node's job ends, and every pause after a failed attempt.
        node.advance(61).await;
        node.advance(3600).await;
        let expected: BTreeSet<String> = events(&node.sign_in(&cora).await, "").await.iter()
            .map(|event| event["id"].as_str().unwrap().to_owned()).collect();
        let arrived: BTreeSet<String> = receiver.take().iter().map(|sent| sent.id().to_owned()).collect();
        assert_eq!(expected.len(), 15);
        assert_eq!(arrived, expected);
    }
}
