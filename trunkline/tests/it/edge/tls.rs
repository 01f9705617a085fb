//! An edge that reaches the service over TLS with a certificate of its own.

use super::lab::Lab;
use crate::world::certificates::Authority;

on_sqlite! {
    async fn an_edge_with_a_certificate_carries_calls_over_tls(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        let folder = lab.folder.path().join("certificates");
        std::fs::create_dir(&folder).unwrap();
        let authority = Authority::new(&folder, "ca");
        let (server, switch) = (authority.server("server", &lab.net.host(1)), authority.client("edge-1"));
        let ca = authority.certificate();
        lab.kamailio.kill();
        lab.service.kill();
        lab.serve_again_with(&[
            ("TRUNKLINE_OPS_TLS_CERT", &server.certificate),
            ("TRUNKLINE_OPS_TLS_KEY", &server.key),
            ("TRUNKLINE_OPS_TLS_CLIENT_CA", &ca),
        ]);
        let service = format!("https://switch:{}@{}", lab.service.switch_secret(), lab.net.service());

        // An edge without a certificate gets no decision.
        let trust = [("EDGE_SERVICE", service.as_str()), ("EDGE_TLS_CA", &ca)];
        lab.carry_again_with(&trust).await;
        assert_eq!(lab.call_from(&lab.net.customer(), "+31201234567").await.code(), 503);
        lab.kamailio.kill();
        let identity = [("EDGE_TLS_CERT", switch.certificate.as_str()), ("EDGE_TLS_KEY", &switch.key)];
        lab.carry_again_with(&[&trust[..], &identity].concat()).await;
        lab.wait_for_upstreams("up", 2).await;
        let heard = lab.call_from(&lab.net.customer(), "+31201234567").await;
        assert_eq!(heard.code(), 200);
        lab.cdrs(1).await;
        lab.end().await;
    }
}
