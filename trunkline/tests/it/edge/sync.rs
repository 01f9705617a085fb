//! `trunkline switch sync` beside Kamailio.

use platform::edge::POLL_INTERVAL;
use serde_json::json;

use super::lab::Lab;
use super::programs::Helper;
use crate::world::fixtures::key;
use crate::world::fixtures::switch::trunk_with_source;
use crate::world::process;

/// Waits until Kamailio knows this address, or does not; a few turns are enough on a busy machine.
async fn follows(lab: &Lab<'_>, address: &str, is_known: bool) {
    let waiting = lab.until("Kamailio follows", async || {
        lab.order("permissions.addressDump").await.contains(&format!("\"{address}\"")) == is_known
    });
    tokio::time::timeout(POLL_INTERVAL * 4, waiting).await.expect("Kamailio follows in time");
}

on_sqlite! {
    async fn changed_allow_lists_reach_the_switch_while_sync_runs(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        let (out, secret) = (lab.folder.path().join("data"), lab.service.switch_secret().to_owned());
        let (service, control) = (format!("http://{}", lab.net.service()), format!("http://{}", lab.net.control()));
        let place = ["--out", out.to_str().unwrap(), "--service", &service, "--control", &control];
        let settings = [("TRUNKLINE_SWITCH_SECRET", secret.as_str())];
        let arguments = [&["switch", "sync"], &place[..]].concat();
        let sync = Helper::start(process::program(db, lab.folder.path(), &settings, &arguments));

        // The edge caches unknown sources for a while; an allowed address is removed from that cache.
        let (address, other) = (lab.net.stranger(), lab.net.host(4));
        assert_eq!(lab.call_from(&address, "+31201234567").await.code(), 403);
        let second = trunk_with_source(&lab.customer, json!({"name": "Second"}), &address).await;
        follows(&lab, &address, true).await;
        assert_eq!(lab.call_from(&address, "+31201234567").await.code(), 200);

        lab.cdrs(1).await;

        // A change while Kamailio is gone is there when it is back.
        lab.kamailio.kill();
        trunk_with_source(&lab.customer, json!({"name": "Third"}), &other).await;
        lab.carry_again().await;
        follows(&lab, &other, true).await;
        assert_eq!(lab.call_from(&other, "+31201234567").await.code(), 200);

        let list = format!("/trunks/{second}/ip-allow-list");
        let entry = lab.customer.get(&list).await.ok()["data"][0]["id"].as_str().unwrap().to_owned();
        lab.customer.with_key(key()).delete(&format!("{list}/{entry}")).await.expect(204);
        assert_eq!(lab.call_from(&address, "+31201234567").await.code(), 403, "the service knows at once");
        follows(&lab, &address, false).await;
        assert_eq!(lab.call_from(&other, "+31201234567").await.code(), 200);
        lab.cdrs(3).await;
        assert!(sync.stop());
        lab.end().await;
    }
}
