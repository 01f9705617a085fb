//! Statements of upstreams, reconciled with our CDRs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod files;
mod killed;

use std::collections::BTreeMap;
use std::fmt::Write;

use reqwest::Method;
use rust_xlsxwriter::{ExcelDateTime, Format, Workbook};
use serde_json::{Value, json};
use values::Role;

use crate::world::client::{Answer, Client};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, rfc3339, unanswered_line};
use crate::world::fixtures::rates::{DECK_HEADER, import_deck, set_usd_rate};
use crate::world::fixtures::switch::{CALL_DECK, Scene};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::fixtures::{count, key};

const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const KINDS: [&str; 5] = ["only_ours", "only_theirs", "duration_differs", "rate_differs", "matched"];

pub async fn upload(admin: &Client, upstream: &str, query: &str, file: &[u8]) -> Answer {
    let content_type = if file.starts_with(b"PK") { XLSX } else { "text/csv" };
    let path = format!("/admin/upstreams/{upstream}/statements{query}");
    let request = admin.with_key(key()).request(Method::POST, &path);
    admin.send(request.header("content-type", content_type).body(file.to_vec())).await
}

/// Uploads a statement and returns it once it is compared.
pub async fn reconciled(scene: &Scene, query: &str, file: &[u8]) -> Value {
    let accepted = upload(&scene.admin, &scene.upstream, query, file).await.expect(202);
    assert_eq!((&accepted["status"], &accepted["totals"]), (&json!("queued"), &Value::Null));
    scene.world.settle().await;
    scene.admin.get(&path_of(&accepted)).await.ok()
}

pub fn path_of(statement: &Value) -> String {
    let text = |name: &str| statement[name].as_str().unwrap();
    format!("/admin/upstreams/{}/statements/{}", text("upstream_id"), text("id"))
}

/// How many lines there are of each kind.
pub fn counts(statement: &Value) -> [i64; 5] {
    KINDS.map(|kind| statement["totals"][kind]["count"].as_i64().unwrap())
}

/// All lines, page by page.
async fn all_lines(client: &Client, statement: &Value, query: &str) -> Vec<Value> {
    let path = format!("{}/lines?limit=7{query}", path_of(statement));
    let (mut lines, mut next) = (Vec::new(), path.clone());
    loop {
        let page = client.get(&next).await.ok();
        lines.extend(page["data"].as_array().unwrap().iter().cloned());
        let Some(cursor) = page["meta"]["next_cursor"].as_str() else { return lines };
        next = format!("{path}&cursor={cursor}");
    }
}

/// A call as the upstream has it; cost in thousandths of a euro.
#[derive(Clone)]
struct Theirs {
    number: usize,
    started_at: i64,
    seconds: i64,
    cost: i64,
}

/// Advances the clock, after which the admin signs in again.
async fn advance(scene: &mut Scene, seconds: u64) {
    scene.world.advance(seconds).await;
    scene.admin = scene.world.sign_in(crate::world::ADMIN_EMAIL).await.into_client();
}

/// 300 calls, one a minute, each to a number of its own and at 0.001 EUR per second. Returns the upstream's view of them,
/// with differences, and how many there are of each kind.
async fn planted(scene: &mut Scene) -> (Vec<Theirs>, BTreeMap<&'static str, i64>) {
    advance(scene, 40_000).await;
    let began = scene.now() / 1000 * 1000 - 39_000_000;
    let (mut ours, mut theirs, mut expected) = (Vec::new(), Vec::new(), BTreeMap::new());
    for index in 0..300_i64 {
        let (at, seconds, number) = (began + index * 60_000, 10 + index % 200, usize::try_from(index).unwrap());
        let changes = json!({"called": called(number), "upstream_id": scene.upstream});
        let line = Theirs { number, started_at: at, seconds, cost: seconds };
        let (is_ours, line, kinds): (bool, Option<Theirs>, &[&'static str]) = match index % 50 {
            1 => (true, None, &["only_ours"]),
            2 => (false, Some(line), &["only_theirs"]),
            3 => (true, Some(Theirs { seconds: seconds + 3, ..line }), &["duration_differs"]),
            4 => (true, Some(Theirs { cost: seconds + 1, ..line }), &["rate_differs"]),
            // Within the tolerances, and beyond that of the start.
            5 => (true, Some(Theirs { started_at: at + 30_000, seconds: seconds + 2, ..line }), &["matched"]),
            6 => (true, Some(Theirs { started_at: at - 31_000, ..line }), &["only_ours", "only_theirs"]),
            // A second more, at the same rate.
            7 => (true, Some(Theirs { seconds: seconds + 1, cost: seconds + 1, ..line }), &["matched"]),
            _ => (true, Some(line), &["matched"]),
        };
        if is_ours {
            ours.push(cdr_line(scene, &format!("c{index}"), at, seconds, changes));
        }
        theirs.extend(line);
        for kind in kinds {
            *expected.entry(*kind).or_insert(0) += 1;
        }
    }
    // Neither is a call that the upstream charges for.
    ours.push(unanswered_line(scene, "busy", began + 1000, json!({"upstream_id": scene.upstream})));
    import_cdrs(&scene.world, &ours).await;
    (theirs, expected)
}

fn called(number: usize) -> String {
    format!("+312012{number:05}")
}

fn csv(theirs: &[Theirs]) -> String {
    let mut text = "called_number,started_at,duration_seconds,cost\n".to_owned();
    // The upstream does not sort them.
    for Theirs { number, started_at, seconds, cost } in theirs.iter().rev() {
        let number = called(*number).replace('+', "00");
        writeln!(text, "{number},{},{seconds},{}.{:03}", rfc3339(*started_at), cost / 1000, cost % 1000).unwrap();
    }
    text
}

/// The same with a title, other headers, and starts as cells in the time of a zone that is ahead of UTC.
fn workbook(theirs: &[Theirs], offset_seconds: i64) -> Vec<u8> {
    let mut book = Workbook::new();
    let sheet = book.add_worksheet().set_name("CDRs").unwrap();
    let times = Format::new().set_num_format("yyyy-mm-dd hh:mm:ss");
    sheet.write(0, 0, "Statement of Carrier One").unwrap();
    for (column, name) in (0..).zip(["B-Number", "Call Start", "Secs", "Charge (EUR)"]) {
        sheet.write(2, column, name).unwrap();
    }
    for (row, Theirs { number, started_at, seconds, cost }) in (3..).zip(theirs) {
        let start = ExcelDateTime::from_timestamp(started_at / 1000 + offset_seconds).unwrap();
        sheet.write(row, 0, called(*number).trim_start_matches('+').parse::<f64>().unwrap()).unwrap();
        sheet.write_datetime_with_format(row, 1, start, &times).unwrap();
        #[allow(clippy::cast_precision_loss)]
        sheet.write(row, 2, *seconds as f64).unwrap();
        #[allow(clippy::cast_precision_loss)]
        sheet.write(row, 3, *cost as f64 / 1000.0).unwrap();
    }
    book.save_to_buffer().unwrap()
}

fn nanos(money: &Value) -> i64 {
    let text = money["amount"].as_str().unwrap();
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (units, decimals) = text.split_once('.').unwrap();
    sign * (units.parse::<i64>().unwrap() * 1_000_000_000 + format!("{decimals:0<9}").parse::<i64>().unwrap())
}

both! {
    async fn planted_differences_of_each_kind_are_found_in_csv_and_xlsx(db) {
        let mut scene = Scene::start(db, 10_000_000).await;
        let (theirs, expected) = planted(&mut scene).await;
        let expected = KINDS.map(|kind| expected[kind]);
        let statement = reconciled(&scene, "", csv(&theirs).as_bytes()).await;
        assert_eq!((&statement["status"], &statement["reason"]), (&json!("completed"), &Value::Null), "{statement}");
        assert_eq!(counts(&statement), expected, "{statement}");
        assert_eq!((&statement["rows_total"], &statement["rows_done"]), (&json!(theirs.len()), &json!(theirs.len())));
        assert_eq!(statement["lines_done"], expected.iter().sum::<i64>());
        assert_eq!((&statement["mapping"], &statement["start_tolerance_seconds"]), (&Value::Null, &json!(30)));
        let totals = &statement["totals"];
        let sum = |of: fn(&Theirs) -> i64| theirs.iter().map(of).sum::<i64>();
        assert_eq!(totals["all"]["their_seconds"], sum(|line| line.seconds));
        assert_eq!(nanos(&totals["all"]["their_cost"]), sum(|line| line.cost) * 1_000_000);
        for kind in KINDS.into_iter().chain(["all"]) {
            let sums = &totals[kind];
            assert_eq!(nanos(&sums["difference"]), nanos(&sums["their_cost"]) - nanos(&sums["our_cost"]), "{sums}");
        }
        assert_eq!(nanos(&totals["rate_differs"]["difference"]), expected[3] * 1_000_000);
        assert_eq!(totals["duration_differs"]["their_seconds"].as_i64().unwrap() - totals["duration_differs"]["our_seconds"].as_i64().unwrap(), 3 * expected[2]);
        assert_eq!(nanos(&totals["only_ours"]["their_cost"]), 0);

        // The same from a workbook, by the saved mapping.
        let mapping = json!({
            "columns": {"called_number": "b-number", "started_at": "Call Start", "duration_seconds": "secs", "cost": "Charge (EUR)"},
            "time_zone": "Asia/Kolkata", "start_tolerance_seconds": 30, "duration_tolerance_seconds": 2,
        });
        let path = format!("/admin/upstreams/{}/statement-mapping", scene.upstream);
        let saved = scene.admin.with_key(key()).call(Method::PUT, &path, Some(mapping)).await.ok();
        let again = reconciled(&scene, "", &workbook(&theirs, 19_800)).await;
        assert_eq!((&again["status"], counts(&again)), (&json!("completed"), expected), "{again}");
        assert_eq!((&again["totals"], &again["mapping"]), (totals, &saved));
        let listed = scene.admin.get(&format!("/admin/upstreams/{}/statements?limit=1", scene.upstream)).await.ok();
        assert_eq!((&listed["data"][0]["id"], listed["data"][0].get("errors")), (&again["id"], None));
        assert!(listed["meta"]["next_cursor"].is_string());
        scene.end().await;
    }

    async fn lines_are_listed_by_kind_and_sent_as_csv(db) {
        let mut scene = Scene::start(db, 10_000_000).await;
        let (theirs, expected) = planted(&mut scene).await;
        let statement = reconciled(&scene, "", csv(&theirs).as_bytes()).await;
        let support = scene.world.minted(Role::Support).await;
        let lines = all_lines(&support, &statement, "").await;
        assert_eq!(lines.len() as i64, expected.values().sum::<i64>());
        let rank = |line: &Value| KINDS.iter().position(|kind| line["kind"] == *kind).unwrap();
        let start = |line: &Value| {
            let side = if line["theirs"].is_null() { "ours" } else { "theirs" };
            line[side]["started_at"].as_str().unwrap().to_owned()
        };
        assert!(lines.is_sorted_by_key(|line| (rank(line), start(line))));
        for kind in KINDS {
            let of_kind = all_lines(&support, &statement, &format!("&kind={kind}")).await;
            let filtered: Vec<Value> = lines.iter().filter(|line| line["kind"] == kind).cloned().collect();
            assert_eq!(of_kind, filtered);
            let csv = support.get(&format!("{}/lines?kind={kind}&format=csv", path_of(&statement))).await;
            assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
            let text = String::from_utf8(csv.bytes).unwrap();
            assert!(text.starts_with("kind,called,their_line,"), "{text}");
            assert_eq!(text.lines().count(), filtered.len() + 1);
            assert!(text.lines().skip(1).all(|line| line.starts_with(kind) && line.split(',').count() == 15), "{text}");
        }
        let differs = lines.iter().find(|line| line["kind"] == "rate_differs").unwrap();
        let (ours, theirs) = (&differs["ours"], &differs["theirs"]);
        assert_eq!(nanos(&theirs["cost"]) - nanos(&ours["cost"]), 1_000_000);
        assert_eq!((&differs["difference"]["amount"], &ours["rate_per_minute"]["amount"]), (&json!("0.001"), &json!("0.06")));
        let cdr = scene.admin.get(&format!("/admin/cdrs/{}", ours["cdr_id"].as_str().unwrap())).await.ok();
        assert_eq!((&cdr["called"], &cdr["started_at"]), (&differs["called"], &ours["started_at"]));
        let all = support.get(&format!("{}/lines?format=csv", path_of(&statement))).await;
        assert_eq!(String::from_utf8(all.bytes).unwrap().lines().count(), lines.len() + 1);
        scene.end().await;
    }

    async fn tolerances_and_period_are_those_of_the_request(db) {
        let mut scene = Scene::start(db, 10_000_000).await;
        let (theirs, expected) = planted(&mut scene).await;
        let file = csv(&theirs);
        let wide = reconciled(&scene, "?start_tolerance_seconds=31&duration_tolerance_seconds=3", file.as_bytes()).await;
        let moved = 6;
        let [only_ours, only_theirs, ..] = counts(&wide);
        assert_eq!(only_ours, expected["only_ours"] - moved);
        assert_eq!(only_theirs, expected["only_theirs"] - moved);
        // With three seconds more at the same cost they match.
        assert_eq!(wide["totals"]["duration_differs"]["count"], 0);
        let first = theirs.iter().map(|line| line.started_at).min().unwrap();
        let (from, to) = (first + 600_000, first + 1_200_000);
        let query = format!("?period_from={}&period_to={}", rfc3339(from), rfc3339(to));
        let part = reconciled(&scene, &query, file.as_bytes()).await;
        assert_eq!((&part["period_from"], &part["period_to"]), (&json!(rfc3339(from)), &json!(rfc3339(to))));
        assert_eq!(counts(&part), [0, 0, 0, 0, 10], "{part}");
        assert_eq!(part["outside_rows"].as_i64(), Some(theirs.len() as i64 - 10));
        // An empty statement leaves all calls to us.
        let empty = "called_number,started_at,duration_seconds,cost\n31201234567,2026-01-01T00:00:00Z,0,0\n";
        let none = reconciled(&scene, &query, empty.as_bytes()).await;
        assert_eq!((counts(&none), &none["unanswered_rows"]), ([10, 0, 0, 0, 0], &json!(1)), "{none}");
        let undated = reconciled(&scene, "", empty.as_bytes()).await;
        assert_eq!(undated["status"], "failed");
        assert!(undated["reason"].as_str().unwrap().contains("no answered calls"), "{undated}");
        for (query, field) in [
            ("?start_tolerance_seconds=3601", "start_tolerance_seconds"),
            ("?duration_tolerance_seconds=-1", "duration_tolerance_seconds"),
            ("?period_from=yesterday", "period_from"),
        ] {
            assert_eq!(upload(&scene.admin, &scene.upstream, query, file.as_bytes()).await.invalid(), [field]);
        }
        scene.end().await;
    }

    async fn costs_are_compared_in_the_currency_of_the_upstream(db) {
        let mut scene = Scene::start(db, 10_000_000).await;
        set_usd_rate(&scene.admin, "1.25").await;
        let mut body = upstream_body();
        (body["base_currency"], body["markup_percent"]) = (json!("USD"), json!(0));
        let dollars = create_upstream(&scene.admin, body).await;
        let deck = |rate: &str| format!("{DECK_HEADER}31,Netherlands,NL,{rate}\n");
        import_deck(&scene.world, &scene.admin, &dollars, "", &deck("0.0123")).await;
        scene.upstream = dollars;
        advance(&mut scene, 3600).await;
        let began = scene.now() / 1000 * 1000 - 3_000_000;
        let line = |id: &str, at: i64| cdr_line(&scene, id, at, 61, json!({"upstream_id": scene.upstream}));
        import_cdrs(&scene.world, &[line("one", began), line("two", began + 600_000)]).await;
        // A later price does not change what the calls cost.
        import_deck(&scene.world, &scene.admin, &scene.upstream, "", &deck("0.02")).await;
        // 0.0123 × 61 / 60 is 0.012505.
        let costs = format!(
            "called_number,started_at,duration_seconds,cost\n+31201234567,{},61,0.0125\n+31201234567,{},61,0.0126\n",
            rfc3339(began), rfc3339(began + 600_000),
        );
        let statement = reconciled(&scene, "", costs.as_bytes()).await;
        assert_eq!(counts(&statement), [0, 0, 0, 1, 1], "{statement}");
        let all = &statement["totals"]["all"];
        assert_eq!((&all["our_cost"]["amount"], &all["our_cost"]["currency"]), (&json!("0.02501"), &json!("USD")));
        let rates = costs.replace("cost", "rate_per_minute").replace("0.0125", "0.0123").replace("0.0126", "0.02");
        let statement = reconciled(&scene, "", rates.as_bytes()).await;
        assert_eq!(counts(&statement), [0, 0, 0, 1, 1], "{statement}");
        let lines = all_lines(&scene.admin, &statement, "&kind=rate_differs").await;
        let (ours, theirs) = (&lines[0]["ours"], &lines[0]["theirs"]);
        assert_eq!((&ours["rate_per_minute"]["amount"], &theirs["rate_per_minute"]["amount"]), (&json!("0.0123"), &json!("0.02")));
        assert_eq!((&theirs["cost"]["amount"], &ours["cost"]["amount"]), (&json!("0.020333333"), &json!("0.012505")));
        scene.end().await;
    }

    async fn calls_of_other_upstreams_are_not_compared(db) {
        let mut scene = Scene::start(db, 10_000_000).await;
        let other = create_upstream(&scene.admin, upstream_body()).await;
        import_deck(&scene.world, &scene.admin, &other, "", CALL_DECK).await;
        advance(&mut scene, 3600).await;
        let began = scene.now() / 1000 * 1000 - 3_000_000;
        let line = |id: &str, upstream: &str| cdr_line(&scene, id, began, 60, json!({"upstream_id": upstream}));
        import_cdrs(&scene.world, &[line("mine", &scene.upstream), line("theirs", &other)]).await;
        let file = format!("called_number,started_at,duration_seconds,cost\n+31201234567,{},60,0.06\n", rfc3339(began));
        assert_eq!(counts(&reconciled(&scene, "", file.as_bytes()).await), [0, 0, 0, 0, 1]);
        let statement = upload(&scene.admin, &other, "", file.as_bytes()).await.expect(202);
        scene.world.settle().await;
        assert_eq!(counts(&scene.admin.get(&path_of(&statement)).await.ok()), [0, 0, 0, 0, 1]);
        // The id of a statement leads nowhere under another upstream.
        let path = path_of(&statement).replace(&other, &scene.upstream);
        scene.admin.get(&path).await.problem(404, "not_found");
        scene.admin.get(&format!("{path}/lines")).await.problem(404, "not_found");
        // An upstream with statements is kept, also without a deck.
        let bare = create_upstream(&scene.admin, upstream_body()).await;
        upload(&scene.admin, &bare, "", file.as_bytes()).await.expect(202);
        scene.world.settle().await;
        let path = format!("/admin/upstreams/{bare}");
        scene.admin.with_key(key()).call(Method::DELETE, &path, None).await.problem(409, "resource.in_use");
        scene.end().await;
    }

    async fn lines_are_deleted_when_numbers_may_not_be_kept_any_longer(db) {
        let mut scene = Scene::start(db, 10_000_000).await;
        let (theirs, expected) = planted(&mut scene).await;
        let statement = reconciled(&scene, "", csv(&theirs).as_bytes()).await;
        scene.world.advance(399 * 86_400).await;
        let lines = "SELECT COUNT(*) FROM statement_lines";
        assert_eq!(count(&scene.world.node.app.db, lines).await, expected.values().sum::<i64>());
        scene.world.advance(3 * 86_400).await;
        assert_eq!(count(&scene.world.node.app.db, lines).await, 0);
        let admin = scene.world.minted(Role::Admin).await;
        let kept = admin.get(&path_of(&statement)).await.ok();
        assert!(kept["lines_purged_at"].is_string(), "{kept}");
        assert_eq!(kept["totals"], statement["totals"]);
        scene.end().await;
    }
}

/// A scene without calls, for tests about files.
pub async fn quiet(db: &TestDb) -> Scene {
    Scene::start(db, 0).await
}
