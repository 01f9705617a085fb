//! An upstream that answers 503 for one destination loses it to the next, and gets it back when it has recovered.

use serde_json::Value;

use super::lab::Lab;
use super::programs::Sipp;

/// How many calls to the United Kingdom the first upstream was sent.
fn british_calls(lab: &Lab<'_>) -> usize {
    let messages = lab.upstreams[0].messages();
    let mut calls: Vec<&str> = messages
        .iter()
        .filter(|message| message.is_invite() && !message.is_sent && message.first_line.contains("44"))
        .map(|message| message.call_id.as_str())
        .collect();
    calls.sort_unstable();
    calls.dedup();
    calls.len()
}

/// The first upstream, as the team sees its route to a number.
async fn first_route(lab: &Lab<'_>, number: &str) -> Value {
    let routes = lab.admin.get(&format!("/admin/routes?number={number}")).await.ok();
    routes["candidates"][0].clone()
}

/// Has the first upstream play another scenario.
async fn replace_first(lab: &mut Lab<'_>, scenario: &str) {
    drop(lab.upstreams.remove(0));
    lab.wait_for_upstreams("down", 1).await;
    lab.upstreams.insert(0, Sipp::upstream(lab.folder.path(), scenario, &lab.net.first_upstream()));
    lab.wait_for_upstreams("up", 2).await;
}

on_sqlite! {
    async fn an_upstream_with_503_for_one_prefix_loses_it_within_ten_calls(db) {
        let mut lab = Lab::start(db, 10_000, 100).await;
        replace_first(&mut lab, "reject_44").await;
        // Every caller is served: by the second upstream, at first after the 503 of the first.
        for call in 1..=10 {
            assert_eq!(lab.call("caller", "+442012345678", 100).await, 200);
            lab.cdrs(call).await;
        }
        assert_eq!(british_calls(&lab), 5);
        let route = first_route(&lab, "442012345678").await;
        assert_eq!((&route["state"], &route["place"], &route["attempts"]), (&"open".into(), &2.into(), &5.into()), "{route}");
        // The other destination of the same upstream stays.
        assert_eq!(lab.call("caller", "+31201234567", 100).await, 200);
        lab.cdrs(11).await;
        let route = first_route(&lab, "31201234567").await;
        assert_eq!((&route["state"], &route["place"], &route["asr"]), (&"healthy".into(), &1.into(), &1.0.into()), "{route}");
        assert!(route["pdd_ms"].as_i64().is_some_and(|delay| delay < 10_000), "{route}");

        replace_first(&mut lab, "callee").await;
        lab.service.advance(30).await;
        for call in 12..=13 {
            assert_eq!(lab.call("caller", "+442012345678", 100).await, 200);
            lab.cdrs(call).await;
        }
        let route = first_route(&lab, "442012345678").await;
        assert_eq!((&route["state"], &route["place"], &route["attempts"]), (&"healthy".into(), &1.into(), &7.into()), "{route}");
        lab.end().await;
    }
}
