//! Calls to DIDs whose `inbound_uri` points to where nothing may be sent.

use db::params;
use serde_json::json;

use super::lab::Lab;
use super::programs::Sipp;
use crate::world::client::Answer;
use crate::world::fixtures::key;

const NAME: &str = "pbx.customer.test";

async fn set_target(lab: &Lab<'_>, uri: &str) -> Answer {
    lab.customer.with_key(key()).patch(&format!("/trunks/{}", lab.trunk), json!({"inbound_uri": uri})).await
}

/// Stores a target as an older version of the service would have.
async fn store_target(lab: &Lab<'_>, uri: &str) {
    let stored = lab.db.tx(uri.to_owned(), |conn, uri| {
        Box::pin(async move {
            conn.exec("UPDATE trunks SET inbound_uri = $1", params![uri.as_str()]).await?;
            Ok::<_, db::DbError>(())
        })
    });
    stored.await.unwrap();
}

/// The INVITEs that somebody received.
fn invites(who: &Sipp) -> Vec<String> {
    who.messages().into_iter().filter(|message| message.is_invite()).map(|message| message.first_line).collect()
}

on_sqlite! {
    async fn no_call_to_a_did_reaches_an_upstream_whatever_the_dns_says(db) {
        let lab = Lab::start(db, 1000, 100).await;
        let (number, first, second) = (lab.rent_number().await, lab.net.first_upstream(), lab.net.second_upstream());
        let office = Sipp::upstream(lab.folder.path(), "callee", &lab.net.office());
        let call = async || lab.dial_from(&first, "caller", &number, 100).over().await.code();
        for uri in [format!("sip:+88299@{second}:5060"), format!("sip:{}", lab.net.edge())] {
            assert_eq!(set_target(&lab, &uri).await.invalid(), ["inbound_uri"], "{uri}");
            store_target(&lab, &uri).await;
            assert_eq!(call().await, 480, "{uri}");
        }
        lab.names.set(&[(NAME, &second)]);
        set_target(&lab, &format!("sip:{NAME}:5060")).await.ok();
        assert_eq!(call().await, 480);

        // A host that resolves to the office when it is checked, and to the upstream a moment later.
        lab.names.set(&[(NAME, &lab.net.office())]);
        lab.service.advance(60).await;
        assert_eq!(call().await, 200);
        lab.names.set(&[(NAME, &second)]);
        assert_eq!(call().await, 200);
        lab.service.advance(60).await;
        assert_eq!(call().await, 480);
        assert_eq!(invites(&lab.upstreams[1]), Vec::<String>::new());
        // The office was called at the number that was dialled.
        assert_eq!(invites(&office), [(); 2].map(|()| format!("INVITE sip:{number}@{NAME}:5060 SIP/2.0")));
        lab.cdrs(2).await;
        lab.end().await;
    }

    async fn no_call_to_a_did_reaches_loopback_outside_a_lab(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        let (number, first) = (lab.rent_number().await, lab.net.first_upstream());
        let office = Sipp::upstream(lab.folder.path(), "callee", &lab.net.office());
        lab.service.kill();
        lab.serve_again_with(&[("TRUNKLINE_ALLOW_PRIVATE_IPS", "off")]);
        lab.names.set(&[(NAME, &lab.net.office())]);
        for uri in [format!("sip:{}:5060", lab.net.office()), format!("sip:{NAME}:5060"), "sip:localhost".to_owned()] {
            store_target(&lab, &uri).await;
            assert_eq!(lab.dial_from(&first, "caller", &number, 100).over().await.code(), 480, "{uri}");
        }
        assert_eq!(invites(&office), Vec::<String>::new());
        lab.cdrs(0).await;
        lab.end().await;
    }
}
