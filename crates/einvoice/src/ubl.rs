//! Writes an invoice as OASIS UBL 2.1, the other syntax of EN 16931.
//!
//! UBL has two document types, Invoice and CreditNote, with different element names; in CII they differ by a code only.
//! The schema fixes the order of elements; do not reorder calls.

use crate::cii::{CREDIT_TRANSFER, SPECIFICATION_ID, type_code, without_spaces};
use crate::model::{Address, Contact, Currency, Invoice, Kind, Line, Vat, VatCategory, VatGroup};
use crate::xml::Xml;

const AGGREGATES: &str = "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2";
const BASICS: &str = "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2";

/// The element names in which the two document types differ.
struct Names {
    root: &'static str,
    namespace: &'static str,
    type_code: &'static str,
    line: &'static str,
    quantity: &'static str,
}

const INVOICE: Names = Names {
    root: "Invoice",
    namespace: "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2",
    type_code: "cbc:InvoiceTypeCode",
    line: "cac:InvoiceLine",
    quantity: "cbc:InvoicedQuantity",
};

const CREDIT_NOTE: Names = Names {
    root: "CreditNote",
    namespace: "urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2",
    type_code: "cbc:CreditNoteTypeCode",
    line: "cac:CreditNoteLine",
    quantity: "cbc:CreditedQuantity",
};

/// Writes the invoice as UBL XML. It does not check the invoice: see [`Invoice::check`].
pub fn ubl(invoice: &Invoice) -> String {
    let names = match invoice.kind {
        Kind::Invoice => &INVOICE,
        Kind::CreditNote { .. } => &CREDIT_NOTE,
    };
    let namespaces = [("xmlns", names.namespace), ("xmlns:cac", AGGREGATES), ("xmlns:cbc", BASICS)];
    Xml::document(names.root, &namespaces, |xml| {
        header(xml, invoice, names);
        xml.within("cac:AccountingSupplierParty", |xml| xml.within("cac:Party", |xml| seller(xml, invoice)));
        xml.within("cac:AccountingCustomerParty", |xml| xml.within("cac:Party", |xml| buyer(xml, invoice)));
        xml.within("cac:Delivery", |xml| xml.put("cbc:ActualDeliveryDate", &invoice.supply_date().to_string()));
        payment(xml, invoice);
        taxes(xml, invoice);
        xml.within("cac:LegalMonetaryTotal", |xml| totals(xml, invoice));
        for line in &invoice.lines {
            xml.within(names.line, |xml| item(xml, invoice, line, names));
        }
    })
}

fn header(xml: &mut Xml, invoice: &Invoice, names: &Names) {
    xml.put("cbc:CustomizationID", SPECIFICATION_ID);
    xml.put("cbc:ID", &invoice.number);
    xml.put("cbc:IssueDate", &invoice.issue_date.to_string());
    if let (Kind::Invoice, Some(due)) = (&invoice.kind, invoice.due_date) {
        xml.put("cbc:DueDate", &due.to_string());
    }
    xml.put(names.type_code, type_code(&invoice.kind));
    // The UBL binding of EN 16931 has room for one note.
    xml.put_some("cbc:Note", Some(&invoice.notes.join("\n")));
    xml.put("cbc:DocumentCurrencyCode", &invoice.currency.code);
    if let Some(accounting) = &invoice.vat_in_accounting_currency {
        xml.put("cbc:TaxCurrencyCode", &accounting.currency.code);
    }
    xml.put_some("cbc:BuyerReference", invoice.buyer.reference.as_deref());
    if let Some(period) = invoice.supply_period {
        xml.within("cac:InvoicePeriod", |xml| {
            xml.put("cbc:StartDate", &period.first.to_string());
            xml.put("cbc:EndDate", &period.last.to_string());
        });
    }
    if let Kind::CreditNote { invoice_number, invoice_date } = &invoice.kind {
        xml.within("cac:BillingReference", |xml| {
            xml.within("cac:InvoiceDocumentReference", |xml| {
                xml.put("cbc:ID", invoice_number);
                xml.put("cbc:IssueDate", &invoice_date.to_string());
            });
        });
    }
}

fn seller(xml: &mut Xml, invoice: &Invoice) {
    let seller = &invoice.seller;
    address(xml, &seller.address);
    vat_id(xml, seller.vat_id.as_deref());
    xml.within("cac:PartyLegalEntity", |xml| {
        xml.put("cbc:RegistrationName", &seller.name);
        xml.put_some("cbc:CompanyID", seller.registration_id.as_deref());
    });
    if let Some(person) = &seller.contact {
        xml.within("cac:Contact", |xml| contact(xml, person));
    }
}

fn buyer(xml: &mut Xml, invoice: &Invoice) {
    address(xml, &invoice.buyer.address);
    vat_id(xml, invoice.buyer.vat_id.as_deref());
    xml.within("cac:PartyLegalEntity", |xml| xml.put("cbc:RegistrationName", &invoice.buyer.name));
}

fn contact(xml: &mut Xml, contact: &Contact) {
    xml.put_some("cbc:Name", Some(&contact.name));
    xml.put_some("cbc:Telephone", contact.phone.as_deref());
    xml.put_some("cbc:ElectronicMail", contact.email.as_deref());
}

fn address(xml: &mut Xml, address: &Address) {
    xml.within("cac:PostalAddress", |xml| {
        let mut lines = address.lines.iter().map(String::as_str);
        xml.put_some("cbc:StreetName", lines.next());
        xml.put_some("cbc:AdditionalStreetName", lines.next());
        xml.put_some("cbc:CityName", Some(&address.city));
        xml.put_some("cbc:PostalZone", address.postcode.as_deref());
        xml.put_some_within("cac:AddressLine", "cbc:Line", lines.next());
        xml.within("cac:Country", |xml| xml.put("cbc:IdentificationCode", &address.country));
    });
}

fn vat_id(xml: &mut Xml, id: Option<&str>) {
    if let Some(id) = id {
        xml.within("cac:PartyTaxScheme", |xml| {
            xml.put("cbc:CompanyID", id);
            scheme(xml);
        });
    }
}

fn scheme(xml: &mut Xml) {
    xml.within("cac:TaxScheme", |xml| xml.put("cbc:ID", "VAT"));
}

fn payment(xml: &mut Xml, invoice: &Invoice) {
    if let Some(iban) = &invoice.seller.iban {
        xml.within("cac:PaymentMeans", |xml| {
            xml.put("cbc:PaymentMeansCode", CREDIT_TRANSFER);
            if let (Kind::CreditNote { .. }, Some(due)) = (&invoice.kind, invoice.due_date) {
                xml.put("cbc:PaymentDueDate", &due.to_string());
            }
            xml.put("cbc:PaymentID", &invoice.number);
            xml.within("cac:PayeeFinancialAccount", |xml| xml.put("cbc:ID", &without_spaces(iban)));
        });
    }
    xml.put_some_within("cac:PaymentTerms", "cbc:Note", invoice.payment_terms.as_deref());
}

fn taxes(xml: &mut Xml, invoice: &Invoice) {
    xml.within("cac:TaxTotal", |xml| {
        amount(xml, "cbc:TaxAmount", &invoice.currency, invoice.totals.vat);
        for group in &invoice.vat_groups {
            xml.within("cac:TaxSubtotal", |xml| subtotal(xml, invoice, group));
        }
    });
    if let Some(accounting) = &invoice.vat_in_accounting_currency {
        xml.within("cac:TaxTotal", |xml| amount(xml, "cbc:TaxAmount", &accounting.currency, accounting.amount));
    }
}

fn subtotal(xml: &mut Xml, invoice: &Invoice, group: &VatGroup) {
    amount(xml, "cbc:TaxableAmount", &invoice.currency, group.taxable);
    amount(xml, "cbc:TaxAmount", &invoice.currency, group.amount);
    xml.within("cac:TaxCategory", |xml| {
        xml.put("cbc:ID", group.vat.category.code());
        rate(xml, group.vat);
        xml.put_some("cbc:TaxExemptionReasonCode", group.vat.category.exemption_code());
        xml.put_some("cbc:TaxExemptionReason", invoice.reason_for(group.vat.category));
        scheme(xml);
    });
}

/// Category O has no rate element, not even zero (BR-O-05).
fn rate(xml: &mut Xml, vat: Vat) {
    if vat.category != VatCategory::OutsideScope {
        xml.put("cbc:Percent", &vat.rate.padded(2));
    }
}

fn totals(xml: &mut Xml, invoice: &Invoice) {
    let (currency, totals) = (&invoice.currency, &invoice.totals);
    amount(xml, "cbc:LineExtensionAmount", currency, totals.lines);
    amount(xml, "cbc:TaxExclusiveAmount", currency, totals.net);
    amount(xml, "cbc:TaxInclusiveAmount", currency, totals.gross);
    amount(xml, "cbc:PrepaidAmount", currency, totals.paid);
    amount(xml, "cbc:PayableAmount", currency, totals.due);
}

fn item(xml: &mut Xml, invoice: &Invoice, line: &Line, names: &Names) {
    xml.put("cbc:ID", &line.id);
    xml.put_with(names.quantity, &[("unitCode", line.unit.code())], &line.quantity.to_string());
    amount(xml, "cbc:LineExtensionAmount", &invoice.currency, line.net);
    xml.within("cac:Item", |xml| {
        xml.put("cbc:Name", &line.description);
        xml.within("cac:ClassifiedTaxCategory", |xml| {
            xml.put("cbc:ID", line.vat.category.code());
            rate(xml, line.vat);
            scheme(xml);
        });
    });
    xml.within("cac:Price", |xml| {
        let currency = &invoice.currency;
        xml.put_with("cbc:PriceAmount", &[("currencyID", &currency.code)], &line.unit_price.padded(currency.places));
    });
}

fn amount(xml: &mut Xml, name: &str, currency: &Currency, amount: i64) {
    xml.put_with(name, &[("currencyID", &currency.code)], &currency.format(amount));
}
