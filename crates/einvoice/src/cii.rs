//! The invoice as a Cross Industry Invoice (CII D22B), in the EN 16931 profile that Factur-X and ZUGFeRD share.
//!
//! The order of elements is that of the schema, and a validator is strict about it.

use crate::date::Date;
use crate::model::{Address, Buyer, Contact, Invoice, Kind, Line, Seller, Vat, VatCategory, VatGroup};
use crate::xml::Xml;

/// BT-24
pub const GUIDELINE: &str = "urn:cen.eu:en16931:2017";

const NAMESPACES: &[(&str, &str)] = &[
    ("xmlns:rsm", "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"),
    ("xmlns:qdt", "urn:un:unece:uncefact:data:standard:QualifiedDataType:100"),
    ("xmlns:ram", "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"),
    ("xmlns:udt", "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100"),
];

/// The invoice as CII.
pub fn cii(invoice: &Invoice) -> String {
    Xml::document("rsm:CrossIndustryInvoice", NAMESPACES, |xml| {
        xml.within("rsm:ExchangedDocumentContext", |xml| {
            xml.within("ram:GuidelineSpecifiedDocumentContextParameter", |xml| xml.put("ram:ID", GUIDELINE));
        });
        xml.within("rsm:ExchangedDocument", |xml| document(xml, invoice));
        xml.within("rsm:SupplyChainTradeTransaction", |xml| {
            for line in &invoice.lines {
                xml.within("ram:IncludedSupplyChainTradeLineItem", |xml| item(xml, invoice, line));
            }
            xml.within("ram:ApplicableHeaderTradeAgreement", |xml| agreement(xml, invoice));
            xml.within("ram:ApplicableHeaderTradeDelivery", |xml| {
                xml.within("ram:ActualDeliverySupplyChainEvent", |xml| {
                    date(xml, "ram:OccurrenceDateTime", invoice.supplied());
                });
            });
            xml.within("ram:ApplicableHeaderTradeSettlement", |xml| settlement(xml, invoice));
        });
    })
}

/// BT-3
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
            xml.put("ram:LineTotalAmount", &invoice.currency.plain(line.net));
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
    if let Some(who) = &seller.contact {
        xml.within("ram:DefinedTradeContact", |xml| contact(xml, who));
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
    if let Some(home) = &invoice.vat_at_home {
        xml.put("ram:TaxCurrencyCode", &home.currency.code);
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
    if let Some(supply) = invoice.supply {
        xml.within("ram:BillingSpecifiedPeriod", |xml| {
            date(xml, "ram:StartDateTime", supply.first);
            date(xml, "ram:EndDateTime", supply.last);
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
    if let Kind::CreditNote { of, issued } = &invoice.kind {
        xml.within("ram:InvoiceReferencedDocument", |xml| {
            xml.put("ram:IssuerAssignedID", of);
            xml.within("ram:FormattedIssueDateTime", |xml| {
                xml.put_with("qdt:DateTimeString", &[("format", "102")], &issued.compact());
            });
        });
    }
}

/// BT-81, of UNCL 4461
pub(crate) const CREDIT_TRANSFER: &str = "30";

pub(crate) fn without_spaces(iban: &str) -> String {
    iban.split_whitespace().collect()
}

fn tax(xml: &mut Xml, invoice: &Invoice, group: &VatGroup) {
    let category = group.vat.category;
    xml.put("ram:CalculatedAmount", &invoice.currency.plain(group.amount));
    xml.put("ram:TypeCode", "VAT");
    xml.put_some("ram:ExemptionReason", invoice.reason_for(category));
    xml.put("ram:BasisAmount", &invoice.currency.plain(group.taxable));
    xml.put("ram:CategoryCode", category.code());
    xml.put_some("ram:ExemptionReasonCode", category.exemption_code());
    rate(xml, group.vat);
}

/// What lies outside the scope of VAT has no rate, not even one of zero.
fn rate(xml: &mut Xml, vat: Vat) {
    if vat.category != VatCategory::OutsideScope {
        xml.put("ram:RateApplicablePercent", &vat.rate.padded(2));
    }
}

fn summation(xml: &mut Xml, invoice: &Invoice) {
    let (currency, totals) = (&invoice.currency, &invoice.totals);
    xml.put("ram:LineTotalAmount", &currency.plain(totals.lines));
    xml.put("ram:TaxBasisTotalAmount", &currency.plain(totals.net));
    xml.put_with("ram:TaxTotalAmount", &[("currencyID", &currency.code)], &currency.plain(totals.vat));
    if let Some(home) = &invoice.vat_at_home {
        let amount = home.currency.plain(home.amount);
        xml.put_with("ram:TaxTotalAmount", &[("currencyID", &home.currency.code)], &amount);
    }
    xml.put("ram:GrandTotalAmount", &currency.plain(totals.gross));
    xml.put("ram:TotalPrepaidAmount", &currency.plain(totals.paid));
    xml.put("ram:DuePayableAmount", &currency.plain(totals.due));
}

fn date(xml: &mut Xml, name: &str, date: Date) {
    xml.within(name, |xml| xml.put_with("udt:DateTimeString", &[("format", "102")], &date.compact()));
}
