//! Pages of the service that give way to screens of the portal. `pages.rs` and `checkout.rs` test them without one.

use reqwest::Method;
use serde_json::json;

use super::{BROWSER, PAGE, portal, visitor};
use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::onboarding::sign_up;
use crate::world::payer::{Payer, set_up_card};

const LINKED: [&str; 4] = ["/", "/reset-password", "/magic-link", "/verify-email"];

/// Where an address redirects to.
async fn redirect(url: &str) -> Option<String> {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
    let answer = client.get(url).send().await.unwrap();
    assert!(answer.status() == 303 || !answer.headers().contains_key("location"));
    Some(answer.headers().get("location")?.to_str().unwrap().to_owned())
}

both! {
    async fn pages_give_way_to_the_screens_of_the_same_path(db) {
        let screens = [&LINKED[..], &["/settings/security"]].concat();
        let world = World::with_portal(db, portal(&screens)).await.unwrap();
        let (visitor, url) = visitor(&world, BROWSER);
        for path in LINKED {
            let answer = visitor.get(&url(path)).await;
            assert_eq!((answer.status, answer.bytes.as_slice()), (200, PAGE), "{path}");
        }
        let changing = redirect(&url("/.well-known/change-password")).await;
        assert_eq!(changing.as_deref(), Some("/settings/security"));
        world.end().await;
    }

    async fn a_page_that_the_portal_does_not_replace_stays(db) {
        let world = World::with_portal(db, portal(&["/"])).await.unwrap();
        let (visitor, url) = visitor(&world, BROWSER);
        assert_eq!(visitor.get(&url("/")).await.bytes, PAGE);
        for path in &LINKED[1..] {
            let answer = visitor.get(&url(path)).await;
            assert!(answer.status == 200 && answer.bytes != PAGE, "{path}");
        }
        let changing = redirect(&url("/.well-known/change-password")).await;
        assert_eq!(changing.as_deref(), Some("/reset-password"));
        let petra = sign_up(&world, "petra@prospect.example").await;
        let form = Payer::at(&set_up_card(&petra).await).call(Method::GET).await;
        assert!(form.status == 200 && String::from_utf8(form.bytes).unwrap().contains("<form method=\"post\">"));
        world.end().await;
    }

    async fn the_sandbox_leads_to_the_checkout_of_the_portal_and_takes_its_form(db) {
        let world = World::with_portal(db, portal(&["/", "/checkout/{id}"])).await.unwrap();
        let petra = sign_up(&world, "petra@prospect.example").await;
        let payer = Payer::at(&set_up_card(&petra).await);
        let screen = redirect(&payer.checkout_url).await.unwrap();
        assert_eq!(screen, format!("/checkout/{}", payer.order_id()));
        let (visitor, url) = visitor(&world, BROWSER);
        let answer = visitor.get(&url(&screen)).await;
        assert_eq!((answer.status, answer.bytes.as_slice()), (200, PAGE));

        let base = payer.checkout_url.rsplit_once('/').unwrap().0.to_owned();
        for stranger in ["0123456789abcdef0123456789abcdef", "no%00thing", "%0D%0Ax"] {
            let nowhere = Payer::at(&json!({"checkout_url": format!("{base}/{stranger}")}));
            assert_eq!(nowhere.call(Method::GET).await.status, 404, "{stranger}");
        }
        payer.pay(&world, "4242424242424242").await;
        assert_eq!(petra.get("/me/payment-method").await.ok()["status"], "verified");
        world.end().await;
    }
}
