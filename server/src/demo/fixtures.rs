//! The users of the demo: the operator's team, companies at every stage of onboarding, and their support tickets.
//!
//! Emails are under `.example`, and calls come from networks reserved for documentation, so none belongs to a real
//! company.

/// The operator and its first admin.
pub const OPERATOR: &str = "Example Carrier BV";
pub const ADMIN: (&str, &str) = ("Ada Admin", "ada@carrier.example");
/// An invited team member, who signs in with a magic link.
pub const SUPPORT: (&str, &str) = ("Sam Support", "sam@carrier.example");
/// Account managers.
pub const MANAGERS: [(&str, &str); 2] =
    [("Maud Manager", "maud@carrier.example"), ("Milan Manager", "milan@carrier.example")];

/// How far a company's onboarding gets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// Signed up, nothing else.
    SignedUp,
    /// Began the card verification and did not finish it.
    CardPending,
    /// Did everything and is on the waitlist.
    Waiting,
    /// Declined by the team.
    Declined,
    /// Approved for the beta; its KYB documents are under review.
    UnderReview,
    /// Approved for the beta; its KYB documents were rejected.
    Rejected,
    /// Approved, without a first top-up.
    Approved,
    /// Makes calls.
    Live,
    /// Made calls and was suspended.
    Suspended,
}

/// When a company calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallPattern {
    /// Nine to five, Monday to Friday.
    Office,
    /// Evenings and weekends.
    Leisure,
    /// Day and night.
    AllDay,
}

pub struct Company {
    pub name: &'static str,
    pub trading_name: &'static str,
    pub country: &'static str,
    pub address: [&'static str; 3],
    pub vat_id: Option<&'static str>,
    pub contact: &'static str,
    pub email: &'static str,
    pub phone: &'static str,
    pub stage: Stage,
    /// When it signs up, in percent of the simulated period.
    pub signs_up_at: i64,
    /// Its share of all calls, relative to other companies.
    pub weight: i64,
    pub pattern: CallPattern,
    /// Countries that it calls most.
    pub main_countries: &'static [&'static str],
    /// The network that its calls come from.
    pub network: &'static str,
}

impl Company {
    /// Whether it ever makes calls.
    pub fn makes_calls(&self) -> bool {
        self.stage >= Stage::Live
    }
}

/// A company that does not make calls yet.
const fn prospect(
    name: &'static str,
    country: &'static str,
    address: [&'static str; 3],
    (contact, email, phone): (&'static str, &'static str, &'static str),
    stage: Stage,
    signs_up_at: i64,
) -> Company {
    Company {
        name,
        trading_name: name,
        country,
        address,
        vat_id: None,
        contact,
        email,
        phone,
        stage,
        signs_up_at,
        weight: 0,
        pattern: CallPattern::Office,
        main_countries: &[],
        network: "",
    }
}

#[rustfmt::skip]
pub const COMPANIES: &[Company] = &[
    Company {
        name: "Kanaal Contact BV", trading_name: "Kanaal", country: "NL", address: ["Keizersgracht 112", "1015 CV", "Amsterdam"],
        vat_id: Some("NL111222333B01"), contact: "Katja de Wit", email: "katja@kanaal.example", phone: "+31208080001",
        stage: Stage::Live, signs_up_at: 0, weight: 32, pattern: CallPattern::Office, main_countries: &["NL", "BE"], network: "192.0.2.0/28",
    },
    Company {
        name: "Rheinruf GmbH", trading_name: "Rheinruf", country: "DE", address: ["Hafenstraße 9", "40213", "Düsseldorf"],
        vat_id: Some("DE136695976"), contact: "Ruth Rhein", email: "ruth@rheinruf.example", phone: "+49308080001",
        stage: Stage::Live, signs_up_at: 0, weight: 24, pattern: CallPattern::Office, main_countries: &["DE", "AT", "CH"], network: "192.0.2.32/28",
    },
    Company {
        name: "Thames Telecom Ltd", trading_name: "Thames", country: "GB", address: ["4 Tooley Street", "SE1 2TU", "London"],
        vat_id: None, contact: "Theo Thames", email: "theo@thames.example", phone: "+442080801999",
        stage: Stage::Live, signs_up_at: 3, weight: 18, pattern: CallPattern::AllDay, main_countries: &["GB", "IE", "US"], network: "198.51.100.0/28",
    },
    Company {
        name: "Bonjour Voyages SARL", trading_name: "Bonjour", country: "FR", address: ["18 rue du Port", "13002", "Marseille"],
        vat_id: Some("FR40303265045"), contact: "Bérénice Blanc", email: "berenice@bonjour.example", phone: "+33180801999",
        stage: Stage::Live, signs_up_at: 12, weight: 11, pattern: CallPattern::Leisure, main_countries: &["FR", "MA", "TN"], network: "198.51.100.32/29",
    },
    Company {
        name: "Polder Taxi Coöperatie UA", trading_name: "Polder Taxi", country: "NL", address: ["Stationsplein 3", "3511 ED", "Utrecht"],
        vat_id: None, contact: "Piet Polder", email: "piet@poldertaxi.example", phone: "+31308080001",
        stage: Stage::Live, signs_up_at: 30, weight: 9, pattern: CallPattern::Leisure, main_countries: &["NL"], network: "198.51.100.64/30",
    },
    Company {
        name: "Northwind Support Inc", trading_name: "Northwind", country: "US", address: ["350 Fifth Avenue", "10118", "New York"],
        vat_id: None, contact: "Nora North", email: "nora@northwind.example", phone: "+12128080199",
        stage: Stage::Live, signs_up_at: 45, weight: 14, pattern: CallPattern::AllDay, main_countries: &["US", "PH", "IN"], network: "198.51.100.96/29",
    },
    Company {
        name: "Quickdial Marketing Ltd", trading_name: "Quickdial", country: "IE", address: ["1 Custom Operator Quay", "D01 XY00", "Dublin"],
        vat_id: None, contact: "Quinn Quick", email: "quinn@quickdial.example", phone: "+35318080001",
        stage: Stage::Suspended, signs_up_at: 8, weight: 10, pattern: CallPattern::AllDay, main_countries: &["TR", "NG"], network: "198.51.100.128/29",
    },
    prospect("Lagos Link Ltd", "NG", ["12 Marina Road", "101221", "Lagos"], ("Lola Link", "lola@lagoslink.example", "+23418080001"), Stage::Approved, 70),
    prospect("Alpenfon AG", "CH", ["Bahnhofstrasse 40", "8001", "Zürich"], ("Aline Alp", "aline@alpenfon.example", "+41448080001"), Stage::UnderReview, 80),
    prospect("Wawel Kontakt sp. z o.o.", "PL", ["ul. Grodzka 5", "31-006", "Kraków"], ("Wanda Wawel", "wanda@wawel.example", "+48128080001"), Stage::Rejected, 60),
    prospect("Cold Callers SL", "ES", ["Gran Vía 28", "28013", "Madrid"], ("Carlos Cold", "carlos@coldcallers.example", "+34918080001"), Stage::Declined, 50),
    prospect("Fjord Desk AS", "NO", ["Bryggen 7", "5003", "Bergen"], ("Frida Fjord", "frida@fjorddesk.example", "+4755808001"), Stage::Waiting, 74),
    prospect("Tejo Atende Lda", "PT", ["Rua Augusta 100", "1100-053", "Lisboa"], ("Tiago Tejo", "tiago@tejo.example", "+351218080001"), Stage::Waiting, 83),
    prospect("Odense Omstilling ApS", "DK", ["Vestergade 20", "5000", "Odense"], ("Olga Omstilling", "olga@odense.example", "+4570808001"), Stage::Waiting, 90),
    prospect("Bosphorus Voice AŞ", "TR", ["Bağdat Caddesi 55", "34710", "İstanbul"], ("Berk Bosphorus", "berk@bosphorus.example", "+902168080001"), Stage::CardPending, 86),
    prospect("Suomi Soitto Oy", "FI", ["Mannerheimintie 2", "00100", "Helsinki"], ("Saara Soitto", "saara@soitto.example", "+35898080001"), Stage::CardPending, 93),
    prospect("Attica Answering IKE", "GR", ["Ermou 15", "105 63", "Athens"], ("Ariadne Attica", "ariadne@attica.example", "+302108080001"), Stage::SignedUp, 91),
    prospect("Prague Phones s.r.o.", "CZ", ["Karlova 3", "110 00", "Praha"], ("Pavel Phones", "pavel@praguephones.example", "+420228080001"), Stage::SignedUp, 96),
];

/// The email of each company's user, and the company's status.
pub fn customer_statuses() -> Vec<(&'static str, &'static str)> {
    let status = |stage| match stage {
        Stage::SignedUp => "signed up",
        Stage::CardPending => "card verification not finished",
        Stage::Waiting => "on the waitlist",
        Stage::Declined => "declined",
        Stage::UnderReview => "KYB under review",
        Stage::Rejected => "KYB rejected",
        Stage::Approved => "approved, no top-up yet",
        Stage::Live => "live, makes calls every day",
        Stage::Suspended => "suspended",
    };
    COMPANIES.iter().map(|company| (company.email, status(company.stage))).collect()
}

/// A support ticket and its messages.
pub struct Ticket {
    /// Email of the user who opens it.
    pub email: &'static str,
    /// When, in percent of the simulated period.
    pub at: i64,
    pub priority: &'static str,
    pub subject: &'static str,
    /// Customer and team in turn; the customer begins.
    pub messages: &'static [&'static str],
    pub is_resolved: bool,
}

#[rustfmt::skip]
pub const TICKETS: &[Ticket] = &[
    Ticket {
        email: "katja@kanaal.example", at: 25, priority: "normal", subject: "One-way audio to German mobiles",
        messages: &["Since this morning callers to +49 151 hear us, but we do not hear them.",
                    "We moved these calls to another route. Could you please try again?",
                    "It works again. Thanks for the quick answer!"],
        is_resolved: true,
    },
    Ticket {
        email: "theo@thames.example", at: 52, priority: "low", subject: "How are seconds counted?",
        messages: &["Our own count of minutes is a little lower than yours. Do you bill per second?",
                    "Fixed lines per second, mobiles in steps of six seconds. GET /rates/lookup returns the increment for any number."],
        is_resolved: false,
    },
    Ticket {
        email: "ruth@rheinruf.example", at: 78, priority: "high", subject: "More channels before the holidays",
        messages: &["We expect twice the calls in December. Can our trunk carry 240 concurrent calls?"],
        is_resolved: false,
    },
    Ticket {
        email: "quinn@quickdial.example", at: 88, priority: "high", subject: "Our calls are rejected",
        messages: &["Every call has been rejected with 403 since yesterday. Why?",
                    "Your account is suspended while we look into complaints about unwanted calls. Please tell us where you got the numbers that you call."],
        is_resolved: false,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_stage_has_a_company_and_no_company_is_real() {
        let stages: BTreeSet<Stage> = COMPANIES.iter().map(|company| company.stage).collect();
        assert_eq!(stages.len(), 9);
        let emails: BTreeSet<&str> = COMPANIES.iter().map(|company| company.email).collect();
        assert_eq!(emails.len(), COMPANIES.len());
        assert!(emails.iter().all(|email| email.ends_with(".example")));
        assert!(COMPANIES.iter().all(|company| company.makes_calls() != company.network.is_empty()));
        assert!(TICKETS.iter().all(|ticket| emails.contains(ticket.email)));
    }
}
