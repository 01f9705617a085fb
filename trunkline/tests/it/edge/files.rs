//! The switch's files follow the service, and the switch reloads its files.

use std::path::Path;

use platform::edge::{ADDRESSES, DISPATCHER, Edge};
use serde_json::json;

use super::lab::Lab;
use crate::world::fixtures::count;
use crate::world::fixtures::switch::trunk_with_source;
use crate::world::fixtures::upstreams::update_upstream;
use crate::world::process;

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join("data").join(name)).unwrap()
}

on_sqlite! {
    async fn changes_in_the_service_reach_the_switch(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        let service = format!("http://{}", lab.net.service());
        let control = format!("http://{}", lab.net.control());
        let secret = lab.service.switch_secret().to_owned();
        let mut edge = Edge::new(&service, secret.clone(), lab.folder.path().join("data")).unwrap();
        assert!(edge.sync(&control).await.unwrap().is_empty(), "nothing has changed since they were rendered");

        // Another address of the customer's.
        let client = lab.service.sign_in("customer0@example.com").await;
        trunk_with_source(&client, json!({"name": "Second"}), &lab.net.host(3)).await;
        assert_eq!(edge.sync(&control).await.unwrap(), [ADDRESSES]);
        assert!(read(lab.folder.path(), ADDRESSES).contains(&format!("\n1 {} 32 0 trunk=", lab.net.host(3))));
        assert_eq!(lab.call_from(&lab.net.host(3), "+31201234567").await.code(), 200);

        // The upstream that refuses moves to where calls are answered.
        let admin = lab.service.sign_in("admin0@example.com").await;
        let listed = admin.get("/admin/upstreams").await.ok();
        let first = listed["data"].as_array().unwrap().iter().find(|item| item["dispatcher_group_id"] == 10).unwrap();
        let gateways = json!({"gateways": [format!("sip:{}:5060", lab.net.second_upstream())]});
        update_upstream(&admin, first["id"].as_str().unwrap(), gateways).await.ok();
        assert_eq!(edge.sync(&control).await.unwrap(), [DISPATCHER]);
        assert_eq!(lab.call("caller", "+31201234567", 100).await, 200);
        let carried = "SELECT COUNT(*) FROM cdrs JOIN upstreams ON upstreams.id = cdrs.upstream_id
            WHERE dispatcher_group_id = 10";
        lab.cdrs(2).await;
        assert_eq!(count(db, carried).await, 1);

        // The command does the same, and without the service the files stay as they are.
        let before = read(lab.folder.path(), DISPATCHER);
        let out = lab.folder.path().join("data");
        let arguments = ["switch", "render", "--out", out.to_str().unwrap(), "--service", &service];
        let said = process::run(db, lab.folder.path(), &[("TRUNKLINE_SWITCH_SECRET", &secret)], &arguments);
        assert_eq!(String::from_utf8_lossy(&said.stdout), "Nothing has changed.\n", "{said:?}");
        let wrong = "a-secret-that-is-long-enough-but-not-the-right-one";
        let said = process::run(db, lab.folder.path(), &[("TRUNKLINE_SWITCH_SECRET", wrong)], &arguments);
        assert!(!said.status.success() && String::from_utf8_lossy(&said.stderr).contains("responded 401"), "{said:?}");
        lab.service.kill();
        assert!(edge.sync(&control).await.is_err());
        let said = process::run(db, lab.folder.path(), &[("TRUNKLINE_SWITCH_SECRET", &secret)], &arguments);
        let reason = String::from_utf8_lossy(&said.stderr);
        let address = format!("the service at {} cannot be reached: ", lab.net.service());
        assert!(!said.status.success() && reason.contains(&address) && reason.contains("Connection refused"), "{said:?}");
        assert_eq!(read(lab.folder.path(), DISPATCHER), before);
        lab.end().await;
    }
}
