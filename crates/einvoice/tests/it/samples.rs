//! Sample invoices, one for each VAT treatment and for the limits of layout and escaping.

use einvoice::{
    Address, Branding, Buyer, Contact, Currency, Date, Decimal, Invoice, Kind, Line, Period, Seller, Totals, Unit, Vat,
    VatCategory, VatInAccountingCurrency, vat_groups,
};

pub fn date(year: u16, month: u8, day: u8) -> Date {
    Date::new(year, month, day).unwrap()
}

pub fn decimal(units: i64, scale: u32) -> Decimal {
    Decimal::new(units, scale).unwrap()
}

pub fn branding() -> Branding {
    Branding {
        brand: "Noordlijn".to_owned(),
        tagline: Some("Wholesale voice".to_owned()),
        accent: [16, 74, 122],
        footer: Vec::new(),
    }
}

pub fn standard(rate: i64) -> Vat {
    Vat { category: VatCategory::Standard, rate: Decimal::whole(rate) }
}

pub fn without_vat(category: VatCategory) -> Vat {
    Vat { category, rate: Decimal::ZERO }
}

pub fn line(id: usize, description: &str, quantity: Decimal, unit: Unit, unit_price: Decimal, vat: Vat) -> Line {
    let net = quantity.times(unit_price, 2).unwrap();
    Line { id: id.to_string(), description: description.to_owned(), quantity, unit, unit_price, net, vat }
}

/// Recomputes the VAT breakdown and the totals.
pub fn summed(invoice: Invoice, paid: i64) -> Invoice {
    let vat_groups = vat_groups(&invoice.lines).unwrap();
    let totals = Totals::of(&vat_groups, paid).unwrap();
    Invoice { vat_groups, totals, ..invoice }
}

fn usage(vat: Vat) -> Vec<Line> {
    let minutes = |units| decimal(units, 1);
    vec![
        line(1, "Outbound calls, Netherlands fixed", minutes(1_284_503), Unit::Minute, decimal(42, 4), vat),
        line(2, "Outbound calls, Netherlands mobile", minutes(402_118), Unit::Minute, decimal(185, 4), vat),
        line(3, "Outbound calls, Germany mobile", minutes(98_760), Unit::Minute, decimal(2125, 5), vat),
        line(4, "Outbound calls, United Kingdom mobile (Vodafone)", minutes(7_315), Unit::Minute, decimal(29, 3), vat),
        line(5, "Number rental, 250 Dutch geographic numbers", Decimal::whole(250), Unit::Month, decimal(35, 2), vat),
        line(6, "Number porting, one-off", Decimal::whole(3), Unit::One, decimal(75, 1), vat),
    ]
}

/// A Dutch end user.
pub fn domestic() -> Invoice {
    let invoice = Invoice {
        number: "2026-000317".to_owned(),
        kind: Kind::Invoice,
        issue_date: date(2026, 11, 1),
        due_date: Some(date(2026, 11, 15)),
        supply_period: Some(Period { first: date(2026, 10, 1), last: date(2026, 10, 31) }),
        currency: Currency { code: "EUR".to_owned(), places: 2 },
        seller: Seller {
            name: "Noordlijn Telecom B.V.".to_owned(),
            address: Address {
                lines: vec!["Keizersgracht 241".to_owned()],
                postcode: Some("1016 EA".to_owned()),
                city: "Amsterdam".to_owned(),
                country: "NL".to_owned(),
                country_name: "Netherlands".to_owned(),
            },
            vat_id: Some("NL812345678B01".to_owned()),
            registration_id: Some("KvK 34123456".to_owned()),
            contact: Some(Contact {
                name: "Billing".to_owned(),
                phone: Some("+31 20 123 4567".to_owned()),
                email: Some("billing@noordlijn.example".to_owned()),
            }),
            iban: Some("NL91 ABNA 0417 1643 00".to_owned()),
        },
        buyer: Buyer {
            name: "Bakker & Zonen Logistiek B.V.".to_owned(),
            address: Address {
                lines: vec!["Havenstraat 12".to_owned(), "Gebouw C".to_owned()],
                postcode: Some("3011 TD".to_owned()),
                city: "Rotterdam".to_owned(),
                country: "NL".to_owned(),
                country_name: "Netherlands".to_owned(),
            },
            vat_id: Some("NL801234567B01".to_owned()),
            reference: Some("PO 4500012873".to_owned()),
        },
        lines: usage(standard(21)),
        vat_groups: Vec::new(),
        exemption_reason: None,
        totals: Totals { lines: 0, net: 0, vat: 0, gross: 0, paid: 0, due: 0 },
        vat_in_accounting_currency: None,
        payment_terms: Some("Payment within 14 days of the invoice date.".to_owned()),
        notes: vec!["Itemised call records are in your portal under Usage.".to_owned()],
        is_void: false,
    };
    summed(invoice, 0)
}

fn with_vat(vat: Vat) -> Invoice {
    let invoice = domestic();
    let lines = invoice.lines.iter().map(|line| Line { vat, ..line.clone() }).collect();
    Invoice { lines, ..invoice }
}

fn abroad(name: &str, city: &str, country: &str, country_name: &str, vat_id: Option<&str>) -> Buyer {
    let address = Address {
        lines: vec!["1 Main Street".to_owned()],
        postcode: None,
        city: city.to_owned(),
        country: country.to_owned(),
        country_name: country_name.to_owned(),
    };
    Buyer { name: name.to_owned(), address, vat_id: vat_id.map(str::to_owned), reference: None }
}

pub fn reverse_charge() -> Invoice {
    let buyer = abroad("Ελληνικές Επικοινωνίες Α.Ε.", "Αθήνα", "GR", "Greece", Some("EL123456789"));
    let exemption_reason = Some("Reverse charge".to_owned());
    summed(Invoice { buyer, exemption_reason, ..with_vat(without_vat(VatCategory::ReverseCharge)) }, 0)
}

pub fn outside_scope() -> Invoice {
    let invoice = with_vat(without_vat(VatCategory::OutsideScope));
    let buyer = abroad("Pacific Carrier Services LLC", "San Francisco, CA 94105", "US", "United States", None);
    let seller = Seller { vat_id: None, ..invoice.seller.clone() };
    let exemption_reason = Some("Services supplied outside the European Union, not subject to VAT".to_owned());
    summed(Invoice { buyer, seller, exemption_reason, ..invoice }, 0)
}

pub fn exempt() -> Invoice {
    let exemption_reason = Some("Exempt under article 11 of the Dutch VAT act".to_owned());
    summed(Invoice { exemption_reason, ..with_vat(without_vat(VatCategory::Exempt)) }, 0)
}

pub fn mixed_rates() -> Invoice {
    let mut invoice = domestic();
    for (line, vat) in invoice.lines.iter_mut().zip([standard(21), standard(9), without_vat(VatCategory::ZeroRated)]) {
        line.vat = vat;
    }
    summed(invoice, 5_000)
}

pub fn paid_in_full() -> Invoice {
    let invoice = domestic();
    let gross = invoice.totals.gross;
    let payment_terms = Some("Settled from your prepaid balance.".to_owned());
    summed(Invoice { payment_terms, due_date: None, ..invoice }, gross)
}

pub fn in_dollars() -> Invoice {
    let currency = Currency { code: "USD".to_owned(), places: 2 };
    let accounting = Currency { code: "EUR".to_owned(), places: 2 };
    let remark = Some("ECB rate of 30 October 2026: EUR 1 = USD 1.0842".to_owned());
    let vat_in_accounting_currency = Some(VatInAccountingCurrency { currency: accounting, amount: 31_465, remark });
    Invoice { currency, vat_in_accounting_currency, ..domestic() }
}

pub fn credit_note() -> Invoice {
    let invoice = domestic();
    let kind = Kind::CreditNote { invoice_number: invoice.number.clone(), invoice_date: invoice.issue_date };
    let lines = invoice.lines[..2].to_vec();
    let invoice = Invoice {
        number: "2026-000402".to_owned(),
        kind,
        issue_date: date(2026, 11, 9),
        due_date: None,
        lines,
        payment_terms: Some("Added to your balance.".to_owned()),
        notes: vec!["Calls of 14 October were billed at the rate of the day before.".to_owned()],
        ..invoice
    };
    summed(invoice, 0)
}

/// With any number of lines.
pub fn long(lines: usize) -> Invoice {
    let describe = |index: usize| match index % 7 {
        3 => format!(
            "Outbound calls, destination {index}: mobile, special services and everything else that is rated alike"
        ),
        _ => format!("Outbound calls, destination {index}"),
    };
    let row = |index: usize| {
        let quantity = decimal(1_234_567 % (index as i64 * 7_919), 1);
        line(index, &describe(index), quantity, Unit::Minute, decimal(1_000 + index as i64, 5), standard(21))
    };
    summed(Invoice { lines: (1..=lines).map(row).collect(), ..domestic() }, 0)
}

/// With the widest numbers.
pub fn large() -> Invoice {
    let (quantity, price) = (decimal(98_765_432_109_876, 4), decimal(1_234_567_891, 10));
    let lines = vec![line(1_234_567, &"Outbound calls ".repeat(80), quantity, Unit::Minute, price, standard(21))];
    summed(Invoice { lines, ..domestic() }, 0)
}

/// With texts that look like markup, or are in scripts that most fonts lack.
pub fn hostile() -> Invoice {
    let mut invoice = domestic();
    invoice.number = "2026-<b>&\u{1}".to_owned();
    invoice.buyer.name = "</ram:Name><ram:ID>&amp;\u{0}\u{1b}[31m \u{202e}电信株式会社 \u{13000}".to_owned();
    invoice.buyer.address.lines = vec!["]]> <!-- \"quoted\" 'street'".to_owned(), "شارع الاتصالات".to_owned()];
    invoice.buyer.address.city = "ירושלים".to_owned();
    invoice.lines[0].description = format!("endo<!ENTITY{} \u{7f}(){}\\)", "x".repeat(300), " ก".repeat(3));
    invoice.notes = vec!["<script>alert(1)</script> endstream endobj startxref\n</rdf:RDF>".to_owned()];
    invoice.seller.name = "Noordlijn </rdf:RDF> & <pdfaExtension:schemas><rdf:Bag> B.V.".to_owned();
    invoice
}

/// All samples with a name each.
pub fn all() -> Vec<(&'static str, Invoice)> {
    vec![
        ("domestic", domestic()),
        ("reverse-charge", reverse_charge()),
        ("outside-scope", outside_scope()),
        ("exempt", exempt()),
        ("mixed-rates", mixed_rates()),
        ("paid-in-full", paid_in_full()),
        ("in-dollars", in_dollars()),
        ("credit-note", credit_note()),
        ("long", long(200)),
        ("large", large()),
        ("hostile", hostile()),
    ]
}
