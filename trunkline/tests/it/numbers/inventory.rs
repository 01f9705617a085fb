//! The inventory: imports, inventory groups, and changes by the team.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use values::Role;

use crate::world::World;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::key;
use crate::world::fixtures::numbers::{
    AMSTERDAM, DOCUMENTS_REQUIRED, create_group, create_inventory, customer_with_trunk, free_numbers, import_inventory,
    inventory_csv, inventory_groups, order_number, upload_inventory,
};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};

both! {
    async fn numbers_that_are_alike_form_one_inventory_group(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let mut file = inventory_csv(31_201_000_000, 3, AMSTERDAM);
        file += "0031800123456,NL,freephone,,31800,,0,0,docs_required\n";
        create_inventory(&world, &admin, &file).await;
        let customer = world.minted(Role::Customer).await;
        let all = inventory_groups(&customer, "").await;
        assert_eq!(all.len(), 2);
        let amsterdam = inventory_groups(&customer, "?country=NL&type=local&capability=sms&prefix=%2B3120&regulatory=api").await;
        assert_eq!(amsterdam.len(), 1);
        let expected = json!({
            "id": amsterdam[0]["id"], "country": "NL", "type": "local", "area_name": "Amsterdam", "prefix": "3120",
            "capabilities": ["voice", "sms"], "monthly": {"amount_minor": 150, "currency": "EUR"},
            "setup": {"amount_minor": 500, "currency": "EUR"}, "regulatory": "api",
        });
        assert_eq!(amsterdam[0], expected);
        let shown = customer.get(&format!("/numbers/inventory/{}", expected["id"].as_str().unwrap())).await.ok();
        assert_eq!(shown, expected);
        let free_of_charge = &inventory_groups(&customer, "?regulatory=docs_required").await[0];
        assert_eq!(free_of_charge["required_documents"], json!(["proof_of_address", "director_id"]));
        assert_eq!(free_of_charge["area_name"], json!(null));
        for query in ["?prefix=3120", "?prefix=003120", "?prefix=%2B31%2020", "?prefix=+31-20"] {
            assert_eq!(inventory_groups(&customer, query).await, amsterdam, "{query}");
        }
        for query in ["?prefix=3130", "?capability=fax", "?country=DE", "?type=mobile"] {
            assert!(inventory_groups(&customer, query).await.is_empty(), "{query}");
        }
        assert_eq!(customer.get("/numbers/inventory?prefix=abc").await.invalid(), ["prefix"]);
        assert_eq!(free_numbers(&world.node.app.db).await, 4);
        world.end().await;
    }

    async fn countries_are_listed_with_their_lowest_price_while_numbers_are_free(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let customer = world.minted(Role::Customer).await;
        let countries = async || customer.get("/numbers/inventory/countries").await.ok()["data"].clone();
        assert_eq!(countries().await, json!([]));
        let mut file = inventory_csv(31_201_000_000, 2, AMSTERDAM);
        file += "+31301000000,NL,local,Utrecht,3130,voice,1.20,5.00,api\n+442071000000,GB,local,London,4420,voice,2.00,0,api\n";
        let upstream = create_inventory(&world, &admin, &file).await;
        let of = |country: &str, cents: i64| json!({"country": country, "monthly_from": {"amount_minor": cents, "currency": "EUR"}});
        assert_eq!(countries().await, json!([of("GB", 200), of("NL", 120)]));
        for number in ["442071000000", "31301000000"] {
            let listed = admin.get(&format!("/admin/did-inventory?prefix={number}&upstream_id={upstream}")).await.ok();
            let path = format!("/admin/did-inventory/{}", listed["data"][0]["id"].as_str().unwrap());
            admin.with_key(key()).patch(&path, json!({"is_active": false})).await.ok();
        }
        assert_eq!(countries().await, json!([of("NL", 150)]));
        world.end().await;
    }

    async fn an_inventory_file_with_faults_names_them_and_changes_nothing(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let mut file = inventory_csv(31_201_000_000, 2, AMSTERDAM);
        file += "+31201000001,NL,local,,3130,voice,1.505,,\n";
        let report = import_inventory(&world, &admin, &upstream, &file).await;
        assert_eq!((&report["status"], &report["error_count"]), (&json!("failed"), &json!(2)));
        let reasons: Vec<_> = report["errors"].as_array().unwrap().iter()
            .map(|error| (error["line"].as_i64().unwrap(), error["column"].as_str().unwrap().to_owned())).collect();
        assert_eq!(reasons, [(4, "monthly".to_owned()), (4, "e164".to_owned())]);
        assert_eq!(free_numbers(&world.node.app.db).await, 0);
        assert_eq!(upload_inventory(&admin, &uuid().to_string(), &file).await.invalid(), ["upstream_id"]);
        upload_inventory(&admin, &upstream, "").await.problem(400, "request.malformed");
        world.end().await;
    }

    async fn a_number_imported_again_is_updated_unless_rented(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 3, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, "cora@customer.example", 1000).await;
        order_number(&customer, &group, &trunk).await.expect(201);
        assert_eq!(free_numbers(&world.node.app.db).await, 2);
        let other = create_upstream(&admin, upstream_body()).await;
        let dearer = AMSTERDAM.replace("1.50", "2.50");
        let report = import_inventory(&world, &admin, &other, &inventory_csv(31_201_000_000, 4, &dearer)).await;
        assert_eq!([&report["added"], &report["changed"], &report["kept"]], [&json!(1), &json!(2), &json!(1)]);
        assert_eq!(report["rows_done"], 4);
        assert_eq!(free_numbers(&world.node.app.db).await, 3);
        let offers = inventory_groups(&customer, "").await;
        assert_eq!(offers.len(), 1, "a group without a free number is not listed");
        assert_eq!(offers[0]["monthly"]["amount_minor"], 250);
        let before = customer.get(&format!("/numbers/inventory/{group}")).await.ok();
        assert_eq!(before["monthly"]["amount_minor"], 150, "but it keeps its id");
        order_number(&customer, &group, &trunk).await.problem(409, "inventory.exhausted");
        let again = import_inventory(&world, &admin, &other, &inventory_csv(31_201_000_000, 4, &dearer)).await;
        assert_eq!([&again["added"], &again["changed"], &again["kept"]], [&json!(0), &json!(0), &json!(1)]);
        world.end().await;
    }

    async fn the_team_withdraws_numbers_and_sets_which_need_documents(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        create_group(&world, &admin, 3, AMSTERDAM).await;
        create_inventory(&world, &admin, &inventory_csv(31_301_000_000, 1, DOCUMENTS_REQUIRED)).await;
        let listed = admin.get("/admin/did-inventory?country=NL&type=local&is_active=true&prefix=3120&limit=2").await.ok();
        let numbers = listed["data"].as_array().unwrap();
        assert_eq!(numbers.iter().map(|number| &number["e164"]).collect::<Vec<_>>(), ["+31201000000", "+31201000001"]);
        let next = listed["meta"]["next_cursor"].as_str().unwrap();
        let rest = format!("/admin/did-inventory?country=NL&type=local&is_active=true&prefix=3120&limit=2&cursor={next}");
        assert_eq!(admin.get(&rest).await.ok()["data"].as_array().unwrap().len(), 1);
        let path = format!("/admin/did-inventory/{}", numbers[0]["id"].as_str().unwrap());
        let change = async |body| admin.with_key(key()).patch(&path, body).await.ok();
        let withdrawn = change(json!({"is_active": false})).await;
        assert_eq!((&withdrawn["is_active"], &withdrawn["state"]), (&json!(false), &json!("withdrawn")));
        assert_eq!(free_numbers(&world.node.app.db).await, 3);
        change(json!({"is_active": true, "regulatory_override": "docs_required"})).await;
        assert_eq!(free_numbers(&world.node.app.db).await, 4);
        let customer = world.minted(Role::Customer).await;
        assert_eq!(inventory_groups(&customer, "?regulatory=docs_required&prefix=3120").await.len(), 1);
        // The team's setting survives another import of the number.
        let upstream = numbers[0]["upstream_id"].as_str().unwrap();
        import_inventory(&world, &admin, upstream, &inventory_csv(31_201_000_000, 3, &AMSTERDAM.replace("1.50", "2.00"))).await;
        let offers = inventory_groups(&customer, "?prefix=3120").await;
        let mut terms: Vec<_> = offers.iter().map(|offer| (offer["regulatory"].clone(), offer["monthly"]["amount_minor"].clone())).collect();
        terms.sort_by_key(|(regulatory, _)| regulatory.to_string());
        assert_eq!(terms, [(json!("api"), json!(200)), (json!("docs_required"), json!(200))]);
        change(json!({"regulatory_override": null})).await;
        assert_eq!(inventory_groups(&customer, "?prefix=3120").await.len(), 1);
        assert_eq!(free_numbers(&world.node.app.db).await, 4);
        world.end().await;
    }

    async fn two_changes_of_a_number_at_once_are_both_made(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        create_group(&world, &admin, 1, AMSTERDAM).await;
        let number = admin.get("/admin/did-inventory").await.ok()["data"][0]["id"].as_str().unwrap().to_owned();
        let change = async |rule| {
            let body = json!({"regulatory_override": rule});
            admin.with_key(key()).patch(&format!("/admin/did-inventory/{number}"), body).await.expect(200);
        };
        for _ in 0..10 {
            tokio::join!(change(json!("docs_required")), change(json!(null)));
        }
        assert_eq!(free_numbers(&world.node.app.db).await, 1);
        world.end().await;
    }

    async fn the_rows_of_an_invalid_file_are_counted_too(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let good = inventory_csv(31_201_000_000, 3, &AMSTERDAM.replace("Amsterdam", "\"Amster\ndam\""));
        let report = import_inventory(&world, &admin, &upstream, &good.replacen("31201000001", "oops", 1)).await;
        assert_eq!((&report["status"], &report["rows_total"], &report["rows_done"]), (&json!("failed"), &json!(3), &json!(0)), "{report}");
        world.end().await;
    }

    async fn a_large_inventory_import_is_applied_in_parts(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let report = import_inventory(&world, &admin, &upstream, &inventory_csv(31_201_000_000, 25_000, AMSTERDAM)).await;
        assert_eq!([&report["added"], &report["rows_done"], &report["rows_total"]], [&json!(25_000); 3]);
        assert_eq!(free_numbers(&world.node.app.db).await, 25_000);
        admin.with_key(key()).delete(&format!("/admin/upstreams/{upstream}")).await.problem(409, "resource.in_use");
        world.end().await;
    }
}
