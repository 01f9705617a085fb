//! A customer proves its network by SIP.

use super::lab::Lab;

on_sqlite! {
    async fn a_network_is_proved_by_a_signed_request_from_it(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        let path = format!("/trunks/{}/ip-allow-list", lab.trunk);
        let proof = lab.customer.get(&path).await.ok()["data"][0]["proof"].clone();
        let (user, password) = (proof["username"].as_str().unwrap(), proof["password"].as_str().unwrap());
        lab.service.kill();
        lab.serve_again_with(&[("TRUNKLINE_ALLOW_LIST_PROOF", "on")]);
        lab.kamailio.kill();
        lab.carry_again().await;
        assert_eq!(lab.call("caller", "+31201234567", 100).await, 403);
        let customer = lab.net.customer();
        for (address, password, code) in
            [(customer.as_str(), "a guess", 403), (lab.net.stranger().as_str(), password, 403), (&customer, password, 200)]
        {
            let heard = lab.verify(address, user, password).over().await;
            assert_eq!((heard.code(), heard.is_complete), (code, true), "{:#?}", lab.kamailio.complaints());
        }
        lab.until("calls are allowed", async || lab.call("caller", "+31201234567", 100).await == 200).await;
        lab.cdrs(1).await;
        lab.end().await;
    }
}
