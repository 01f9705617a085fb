//! Writes an invoice as UN/CEFACT Cross Industry Invoice (CII D22B), in the EN 16931 profile of Factur-X and ZUGFeRD.
//!
//! The schema fixes the order of elements; do not reorder calls.

use crate::date::Date;
use crate::model::{Address, Buyer, Contact, Invoice, Kind, Line, Seller, Vat, VatCategory, VatGroup};
use crate::xml::Xml;

/// BT-24, the specification identifier.
pub const SPECIFICATION_ID: &str = "urn:cen.eu:en16931:2017";

const NAMESPACES: &[(&str, &str)] = &[
    ("xmlns:rsm", "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"),
    ("xmlns:qdt", "urn:un:unece:uncefact:data:standard:QualifiedDataType:100"),
    ("xmlns:ram", "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"),
    ("xmlns:udt", "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100"),
];

/// Writes the invoice as CII XML. It does not check the invoice: see [`Invoice::check`].
pub fn cii(invoice: &Invoice) -> String {
    Xml::document("rsm:CrossIndustryInvoice", NAMESPACES, |xml| {
        xml.within("rsm:ExchangedDocumentContext", |xml| {
            xml.within("ram:GuidelineSpecifiedDocumentContextParameter", |xml| xml.put("ram:ID", SPECIFICATION_ID));
        });
        xml.within("rsm:ExchangedDocument", |xml| document(xml, invoice));
        xml.within("rsm:SupplyChainTradeTransaction", |xml| {
            for line in &invoice.lines {
                xml.within("ram:IncludedSupplyChainTradeLineItem", |xml| item(xml, invoice, line));
            }
            xml.within("ram:ApplicableHeaderTradeAgreement", |xml| agreement(xml, invoice));
            xml.within("ram:ApplicableHeaderTradeDelivery", |xml| {
                xml.within("ram:ActualDeliverySupplyChainEvent", |xml| {
                    date(xml, "ram:OccurrenceDateTime", invoice.supply_date());
                });
            });
            xml.within("ram:ApplicableHeaderTradeSettlement", |xml| settlement(xml, invoice));
        });
    })
}

/// BT-3, the code of UNTDID 1001.
pub(crate) fn type_code(kind: &Kind) -> &'static str {
    match kind {
        Kind::Invoice => "380",
        Kind::CreditNote { .. } => "381",
    }
}

fn document(xml: &mut Xml, invoice: &Invoice) {
    xml.put("ram:ID", &invoice.number);
    xml.put("ram:TypeCode", type_code(&invoice.kind));
    date(xml, "ram:IssueDateTime", invoice.issue_date);
    for note in &invoice.notes {
        xml.put_some_within("ram:IncludedNote", "ram:Content", Some(note));
    }
}

fn item(xml: &mut Xml, invoice: &Invoice, line: &Line) {
    xml.within("ram:AssociatedDocumentLineDocument", |xml| xml.put("ram:LineID", &line.id));
    xml.within("ram:SpecifiedTradeProduct", |xml| xml.put("ram:Name", &line.description));
    xml.within("ram:SpecifiedLineTradeAgreement", |xml| {
        xml.within("ram:NetPriceProductTradePrice", |xml| {
            xml.put("ram:ChargeAmount", &line.unit_price.padded(invoice.currency.places));
        });
    });
    xml.within("ram:SpecifiedLineTradeDelivery", |xml| {
        xml.put_with("ram:BilledQuantity", &[("unitCode", line.unit.code())], &line.quantity.to_string());
    });
    xml.within("ram:SpecifiedLineTradeSettlement", |xml| {
        xml.within("ram:ApplicableTradeTax", |xml| {
            xml.put("ram:TypeCode", "VAT");
            xml.put("ram:CategoryCode", line.vat.category.code());
            rate(xml, line.vat);
        });
        xml.within("ram:SpecifiedTradeSettlementLineMonetarySummation", |xml| {
            xml.put("ram:LineTotalAmount", &invoice.currency.format(line.net));
        });
    });
}

fn agreement(xml: &mut Xml, invoice: &Invoice) {
    xml.put_some("ram:BuyerReference", invoice.buyer.reference.as_deref());
    xml.within("ram:SellerTradeParty", |xml| seller(xml, &invoice.seller));
    xml.within("ram:BuyerTradeParty", |xml| buyer(xml, &invoice.buyer));
}

fn seller(xml: &mut Xml, seller: &Seller) {
    xml.put("ram:Name", &seller.name);
    xml.put_some_within("ram:SpecifiedLegalOrganization", "ram:ID", seller.registration_id.as_deref());
    if let Some(person) = &seller.contact {
        xml.within("ram:DefinedTradeContact", |xml| contact(xml, person));
    }
    address(xml, &seller.address);
    vat_id(xml, seller.vat_id.as_deref());
}

fn buyer(xml: &mut Xml, buyer: &Buyer) {
    xml.put("ram:Name", &buyer.name);
    address(xml, &buyer.address);
    vat_id(xml, buyer.vat_id.as_deref());
}

fn contact(xml: &mut Xml, contact: &Contact) {
    xml.put_some("ram:PersonName", Some(&contact.name));
    let (phone, email) = (contact.phone.as_deref(), contact.email.as_deref());
    xml.put_some_within("ram:TelephoneUniversalCommunication", "ram:CompleteNumber", phone);
    xml.put_some_within("ram:EmailURIUniversalCommunication", "ram:URIID", email);
}

fn address(xml: &mut Xml, address: &Address) {
    xml.within("ram:PostalTradeAddress", |xml| {
        xml.put_some("ram:PostcodeCode", address.postcode.as_deref());
        for (name, line) in ["ram:LineOne", "ram:LineTwo", "ram:LineThree"].into_iter().zip(&address.lines) {
            xml.put_some(name, Some(line));
        }
        xml.put_some("ram:CityName", Some(&address.city));
        xml.put("ram:CountryID", &address.country);
    });
}

fn vat_id(xml: &mut Xml, id: Option<&str>) {
    if let Some(id) = id {
        xml.within("ram:SpecifiedTaxRegistration", |xml| xml.put_with("ram:ID", &[("schemeID", "VA")], id));
    }
}

fn settlement(xml: &mut Xml, invoice: &Invoice) {
    xml.put("ram:PaymentReference", &invoice.number);
    if let Some(accounting) = &invoice.vat_in_accounting_currency {
        xml.put("ram:TaxCurrencyCode", &accounting.currency.code);
    }
    xml.put("ram:InvoiceCurrencyCode", &invoice.currency.code);
    if let Some(iban) = &invoice.seller.iban {
        xml.within("ram:SpecifiedTradeSettlementPaymentMeans", |xml| {
            xml.put("ram:TypeCode", CREDIT_TRANSFER);
            xml.within("ram:PayeePartyCreditorFinancialAccount", |xml| xml.put("ram:IBANID", &without_spaces(iban)));
        });
    }
    for group in &invoice.vat_groups {
        xml.within("ram:ApplicableTradeTax", |xml| tax(xml, invoice, group));
    }
    if let Some(period) = invoice.supply_period {
        xml.within("ram:BillingSpecifiedPeriod", |xml| {
            date(xml, "ram:StartDateTime", period.first);
            date(xml, "ram:EndDateTime", period.last);
        });
    }
    if invoice.payment_terms.is_some() || invoice.due_date.is_some() {
        xml.within("ram:SpecifiedTradePaymentTerms", |xml| {
            xml.put_some("ram:Description", invoice.payment_terms.as_deref());
            if let Some(due) = invoice.due_date {
                date(xml, "ram:DueDateDateTime", due);
            }
        });
    }
    xml.within("ram:SpecifiedTradeSettlementHeaderMonetarySummation", |xml| summation(xml, invoice));
    if let Kind::CreditNote { invoice_number, invoice_date } = &invoice.kind {
        xml.within("ram:InvoiceReferencedDocument", |xml| {
            xml.put("ram:IssuerAssignedID", invoice_number);
            xml.within("ram:FormattedIssueDateTime", |xml| {
                xml.put_with("qdt:DateTimeString", &[("format", "102")], &invoice_date.compact());
            });
        });
    }
}

/// BT-81, the code of UNTDID 4461.
pub(crate) const CREDIT_TRANSFER: &str = "30";

pub(crate) fn without_spaces(iban: &str) -> String {
    iban.split_whitespace().collect()
}

fn tax(xml: &mut Xml, invoice: &Invoice, group: &VatGroup) {
    let category = group.vat.category;
    xml.put("ram:CalculatedAmount", &invoice.currency.format(group.amount));
    xml.put("ram:TypeCode", "VAT");
    xml.put_some("ram:ExemptionReason", invoice.reason_for(category));
    xml.put("ram:BasisAmount", &invoice.currency.format(group.taxable));
    xml.put("ram:CategoryCode", category.code());
    xml.put_some("ram:ExemptionReasonCode", category.exemption_code());
    rate(xml, group.vat);
}

/// Category O has no rate element, not even zero (BR-O-05).
fn rate(xml: &mut Xml, vat: Vat) {
    if vat.category != VatCategory::OutsideScope {
        xml.put("ram:RateApplicablePercent", &vat.rate.padded(2));
    }
}

fn summation(xml: &mut Xml, invoice: &Invoice) {
    let (currency, totals) = (&invoice.currency, &invoice.totals);
    xml.put("ram:LineTotalAmount", &currency.format(totals.lines));
    xml.put("ram:TaxBasisTotalAmount", &currency.format(totals.net));
    xml.put_with("ram:TaxTotalAmount", &[("currencyID", &currency.code)], &currency.format(totals.vat));
    if let Some(accounting) = &invoice.vat_in_accounting_currency {
        let amount = accounting.currency.format(accounting.amount);
        xml.put_with("ram:TaxTotalAmount", &[("currencyID", &accounting.currency.code)], &amount);
    }
    xml.put("ram:GrandTotalAmount", &currency.format(totals.gross));
    xml.put("ram:TotalPrepaidAmount", &currency.format(totals.paid));
    xml.put("ram:DuePayableAmount", &currency.format(totals.due));
}

fn date(xml: &mut Xml, name: &str, date: Date) {
    xml.within(name, |xml| xml.put_with("udt:DateTimeString", &[("format", "102")], &date.compact()));
}
