//! Operations that are announced to end: what their responses, OpenAPI and the reference say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use api::answer::Json;
use api::auth::Who;
use api::context::ReadCtx;
use api::deprecation::Deprecation;
use api::endpoint::{Endpoint, Tag, get};
use api::openapi;
use api::problem::{Code, Problem};
use platform::limits::Limit;
use schemars::JsonSchema;
use serde::Serialize;

use crate::world::World;
use crate::world::engines::both;

const NINE_MONTHS: Deprecation = Deprecation { since: "2026-06-01", sunset: "2027-03-01", instead: "GET /new" };
const LEAST_NOTICE: Duration = Duration::from_secs(180 * 86_400);

#[derive(Serialize, JsonSchema)]
struct Word {
    /// A word.
    word: &'static str,
}

async fn say(_: ReadCtx) -> Result<Json<Word>, Problem> {
    Ok(Json(Word { word: "hello" }))
}

async fn refuse(_: ReadCtx) -> Result<Json<Word>, Problem> {
    Err(Problem::state_conflict("Refused."))
}

fn table() -> Vec<Endpoint> {
    let tag = Tag { name: "Words", description: "Endpoints that only tests have." };
    let (anyone, unlimited) = (Who::Anyone, Limit::None);
    let old = get("/old", say, "old", "Say").about("Says.").deprecated(NINE_MONTHS).who(anyone).limit(unlimited);
    let gone = get("/gone", refuse, "gone", "Refuse").about("Refuses.").deprecated(NINE_MONTHS).who(anyone);
    let new = get("/new", say, "new", "Say").about("Says.").who(anyone).limit(unlimited);
    vec![old.under(tag), gone.limit(unlimited).problems(&[Code::StateConflict]).under(tag), new.under(tag)]
}

both! {
    async fn a_deprecated_operation_announces_its_end_in_every_response(db) {
        let world = World::with_table(db, &[], table()).await;
        for (path, status) in [("/old", 200), ("/gone", 409)] {
            let answer = world.anyone().get(path).await;
            assert_eq!(answer.status, status);
            assert_eq!(answer.header("deprecation"), Some("@1780272000"));
            assert_eq!(answer.header("sunset"), Some("Mon, 01 Mar 2027 00:00:00 GMT"));
            let link = answer.header("link").unwrap();
            assert!(link.contains("</docs#deprecation>; rel=\"deprecation\""), "{link}");
        }
        let answer = world.anyone().get("/new").await;
        assert_eq!((answer.header("deprecation"), answer.header("sunset"), answer.header("link")), (None, None, None));
        let page = world.anyone().get(&format!("http://{}/docs", world.node.public)).await;
        let page = String::from_utf8(page.bytes).unwrap();
        assert!(page.contains("id=\"deprecation\""), "the link leads nowhere");
        assert_eq!(page.matches("<span class=\"chip\">deprecated</span>").count(), 2);
        assert!(page.contains("ends on 2027-03-01. Use <code>GET /new</code> instead."));
        world.end().await;
    }
}

#[test]
fn a_deprecated_operation_is_marked_in_openapi() {
    let description = openapi::describe(&table());
    let old = &description["paths"]["/old"]["get"];
    assert_eq!((&old["deprecated"], &old["x-sunset"]), (&true.into(), &"2027-03-01".into()));
    assert!(old["responses"]["200"]["headers"]["Sunset"].is_object());
    assert!(description["components"]["headers"]["Deprecation"].is_object());
    assert!(description["paths"]["/new"]["get"].get("deprecated").is_none());
}

#[test]
fn every_announced_end_is_at_least_six_months_ahead_and_names_what_follows() {
    for endpoint in server::routes::table().iter().chain(&table()) {
        let Some(deprecation) = endpoint.deprecation else { continue };
        let (since, sunset) = deprecation.days().unwrap_or_else(|| panic!("{} has dates that are none", endpoint.path));
        assert!(sunset.start().since(since.start()) >= LEAST_NOTICE, "{} ends too soon", endpoint.path);
        assert!(deprecation.instead.contains(" /"), "{} does not name an operation to use instead", endpoint.path);
    }
}
