//! The page as a browser gets it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use api::problem::Code;

use crate::world::World;
use crate::world::engines::sqlite;

const MAX_BYTES: usize = 1_500_000;
const MAX_PACKED_BYTES: usize = 150_000;

sqlite! {
    async fn the_reference_weighs_little_and_less_when_packed(db) {
        let world = World::start(db).await;
        let url = format!("http://{}/docs", world.node.public);
        let plain = world.anyone().get(&url).await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
        assert!(plain.bytes.len() <= MAX_BYTES, "{} bytes", plain.bytes.len());
        for coding in ["br", "gzip"] {
            let packed = world.anyone().header("Accept-Encoding", coding).get(&url).await;
            assert_eq!((packed.status, packed.header("content-encoding")), (200, Some(coding)));
            assert!(packed.bytes.len() <= MAX_PACKED_BYTES, "{} bytes of {coding}", packed.bytes.len());
        }
        world.end().await;
    }

    async fn every_problem_code_leads_to_its_paragraph(db) {
        let world = World::start(db).await;
        let page = world.anyone().get(&format!("http://{}/docs", world.node.public)).await;
        let page = String::from_utf8(page.bytes).unwrap();
        for code in Code::ALL {
            let anchor = code.as_str().replace('.', "-");
            let heading = format!("<h3 id=\"problem-{anchor}\"><code>{}</code>", code.as_str());
            assert_eq!(page.matches(&heading).count(), 1, "{code:?}");
            assert!(!code.about().is_empty(), "{code:?} does not say when it is sent: add that to its row");
        }
        let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let distinct: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), distinct.len(), "an id is given twice");
        let links = page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap());
        let lost: BTreeSet<&str> = links.filter(|link| !distinct.contains(link)).collect();
        assert!(lost.is_empty(), "links that lead nowhere: {lost:?}");
        world.end().await;
    }

    async fn no_long_pattern_is_shown_and_the_problem_is_described_once(db) {
        let world = World::start(db).await;
        let page = world.anyone().get(&format!("http://{}/docs", world.node.public)).await;
        let page = String::from_utf8(page.bytes).unwrap();
        assert!(!page.contains("[0-9a-fA-F]{8}"), "a pattern of ids is shown");
        assert_eq!(page.matches("<code>invalid_params</code><td>").count(), 1, "the fields of a problem are repeated");
        world.end().await;
    }
}
