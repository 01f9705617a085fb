//! Who lives in the demonstration: the carrier's team, and companies at every point of their way.
//!
//! All of them have addresses under `.example`, and call from networks that are set aside for documentation: none of
//! them can be anybody's.

/// The carrier, and the admin who made it.
pub const CARRIER: &str = "Example Carrier BV";
pub const ADMIN: (&str, &str) = ("Ada Admin", "ada@carrier.example");
/// A member who comes in by a link, as everybody does whom the team invites.
pub const SUPPORT: (&str, &str) = ("Sam Support", "sam@carrier.example");
/// The people customers see as theirs.
pub const MANAGERS: [(&str, &str); 2] =
    [("Maud Manager", "maud@carrier.example"), ("Milan Manager", "milan@carrier.example")];

/// How far a company comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fate {
    /// It signed up, and nothing else.
    SignedUp,
    /// It began to show its card and left.
    CardPending,
    /// It has done everything, and waits.
    Waiting,
    /// It waited, and was turned down.
    Declined,
    /// It was let in, and its papers are still being read.
    UnderReview,
    /// It was let in, and its papers would not do.
    Rejected,
    /// It was let in, and has yet to pay something in.
    Approved,
    /// It calls.
    Live,
    /// It called, and was stopped.
    Suspended,
}

/// When a company's phones are in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rhythm {
    /// From nine to five, from Monday to Friday.
    Office,
    /// In the evening and at the weekend.
    Leisure,
    /// Day and night.
    Always,
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
    pub fate: Fate,
    /// When it signs up, in hundredths of the time that is told.
    pub arrives: i64,
    /// Its share of all calls.
    pub weight: i64,
    pub rhythm: Rhythm,
    /// Where it calls besides everywhere.
    pub favourites: &'static [&'static str],
    /// Where its calls come from.
    pub network: &'static str,
}

impl Company {
    /// Whether it ever calls.
    pub fn calls(&self) -> bool {
        self.fate >= Fate::Live
    }
}

/// Somebody who only wants in: what is not told of such a company is the same for all.
const fn prospect(
    name: &'static str,
    country: &'static str,
    address: [&'static str; 3],
    (contact, email, phone): (&'static str, &'static str, &'static str),
    fate: Fate,
    arrives: i64,
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
        fate,
        arrives,
        weight: 0,
        rhythm: Rhythm::Office,
        favourites: &[],
        network: "",
    }
}

#[rustfmt::skip]
pub const COMPANIES: &[Company] = &[
    Company {
        name: "Kanaal Contact BV", trading_name: "Kanaal", country: "NL", address: ["Keizersgracht 112", "1015 CV", "Amsterdam"],
        vat_id: Some("NL123456782B90"), contact: "Katja de Wit", email: "katja@kanaal.example", phone: "+31208080001",
        fate: Fate::Live, arrives: 0, weight: 32, rhythm: Rhythm::Office, favourites: &["NL", "BE"], network: "192.0.2.0/28",
    },
    Company {
        name: "Rheinruf GmbH", trading_name: "Rheinruf", country: "DE", address: ["Hafenstraße 9", "40213", "Düsseldorf"],
        vat_id: Some("DE136695976"), contact: "Ruth Rhein", email: "ruth@rheinruf.example", phone: "+49308080001",
        fate: Fate::Live, arrives: 0, weight: 24, rhythm: Rhythm::Office, favourites: &["DE", "AT", "CH"], network: "192.0.2.32/28",
    },
    Company {
        name: "Thames Telecom Ltd", trading_name: "Thames", country: "GB", address: ["4 Tooley Street", "SE1 2TU", "London"],
        vat_id: None, contact: "Theo Thames", email: "theo@thames.example", phone: "+442080801999",
        fate: Fate::Live, arrives: 3, weight: 18, rhythm: Rhythm::Always, favourites: &["GB", "IE", "US"], network: "198.51.100.0/28",
    },
    Company {
        name: "Bonjour Voyages SARL", trading_name: "Bonjour", country: "FR", address: ["18 rue du Port", "13002", "Marseille"],
        vat_id: Some("FR40303265045"), contact: "Bérénice Blanc", email: "berenice@bonjour.example", phone: "+33180801999",
        fate: Fate::Live, arrives: 12, weight: 11, rhythm: Rhythm::Leisure, favourites: &["FR", "MA", "TN"], network: "198.51.100.32/29",
    },
    Company {
        name: "Polder Taxi Coöperatie UA", trading_name: "Polder Taxi", country: "NL", address: ["Stationsplein 3", "3511 ED", "Utrecht"],
        vat_id: None, contact: "Piet Polder", email: "piet@poldertaxi.example", phone: "+31308080001",
        fate: Fate::Live, arrives: 30, weight: 9, rhythm: Rhythm::Leisure, favourites: &["NL"], network: "198.51.100.64/30",
    },
    Company {
        name: "Northwind Support Inc", trading_name: "Northwind", country: "US", address: ["350 Fifth Avenue", "10118", "New York"],
        vat_id: None, contact: "Nora North", email: "nora@northwind.example", phone: "+12128080199",
        fate: Fate::Live, arrives: 45, weight: 14, rhythm: Rhythm::Always, favourites: &["US", "PH", "IN"], network: "198.51.100.96/29",
    },
    Company {
        name: "Quickdial Marketing Ltd", trading_name: "Quickdial", country: "IE", address: ["1 Custom House Quay", "D01 XY00", "Dublin"],
        vat_id: None, contact: "Quinn Quick", email: "quinn@quickdial.example", phone: "+35318080001",
        fate: Fate::Suspended, arrives: 8, weight: 10, rhythm: Rhythm::Always, favourites: &["TR", "NG"], network: "198.51.100.128/29",
    },
    prospect("Lagos Link Ltd", "NG", ["12 Marina Road", "101221", "Lagos"], ("Lola Link", "lola@lagoslink.example", "+23418080001"), Fate::Approved, 70),
    prospect("Alpenfon AG", "CH", ["Bahnhofstrasse 40", "8001", "Zürich"], ("Aline Alp", "aline@alpenfon.example", "+41448080001"), Fate::UnderReview, 80),
    prospect("Wawel Kontakt sp. z o.o.", "PL", ["ul. Grodzka 5", "31-006", "Kraków"], ("Wanda Wawel", "wanda@wawel.example", "+48128080001"), Fate::Rejected, 60),
    prospect("Cold Callers SL", "ES", ["Gran Vía 28", "28013", "Madrid"], ("Carlos Cold", "carlos@coldcallers.example", "+34918080001"), Fate::Declined, 50),
    prospect("Fjord Desk AS", "NO", ["Bryggen 7", "5003", "Bergen"], ("Frida Fjord", "frida@fjorddesk.example", "+4755808001"), Fate::Waiting, 74),
    prospect("Tejo Atende Lda", "PT", ["Rua Augusta 100", "1100-053", "Lisboa"], ("Tiago Tejo", "tiago@tejo.example", "+351218080001"), Fate::Waiting, 83),
    prospect("Odense Omstilling ApS", "DK", ["Vestergade 20", "5000", "Odense"], ("Olga Omstilling", "olga@odense.example", "+4570808001"), Fate::Waiting, 90),
    prospect("Bosphorus Voice AŞ", "TR", ["Bağdat Caddesi 55", "34710", "İstanbul"], ("Berk Bosphorus", "berk@bosphorus.example", "+902168080001"), Fate::CardPending, 86),
    prospect("Suomi Soitto Oy", "FI", ["Mannerheimintie 2", "00100", "Helsinki"], ("Saara Soitto", "saara@soitto.example", "+35898080001"), Fate::CardPending, 93),
    prospect("Attica Answering IKE", "GR", ["Ermou 15", "105 63", "Athens"], ("Ariadne Attica", "ariadne@attica.example", "+302108080001"), Fate::SignedUp, 91),
    prospect("Prague Phones s.r.o.", "CZ", ["Karlova 3", "110 00", "Praha"], ("Pavel Phones", "pavel@praguephones.example", "+420228080001"), Fate::SignedUp, 96),
];

/// Whom to sign in as, and what each is good for.
pub fn to_meet() -> Vec<(&'static str, &'static str)> {
    let word = |fate| match fate {
        Fate::SignedUp => "has signed up",
        Fate::CardPending => "has yet to show its card",
        Fate::Waiting => "is on the waitlist",
        Fate::Declined => "was turned down",
        Fate::UnderReview => "waits for its papers to be read",
        Fate::Rejected => "handed in papers that would not do",
        Fate::Approved => "has yet to pay something in",
        Fate::Live => "calls every day",
        Fate::Suspended => "is suspended",
    };
    COMPANIES.iter().map(|company| (company.email, word(company.fate))).collect()
}

/// What a customer asks of support, and what becomes of it.
pub struct Question {
    /// Who asks, by its address.
    pub email: &'static str,
    /// When, in hundredths of the time that is told.
    pub at: i64,
    pub priority: &'static str,
    pub subject: &'static str,
    /// The customer begins, the team answers, and so on in turn.
    pub words: &'static [&'static str],
    pub is_resolved: bool,
}

#[rustfmt::skip]
pub const QUESTIONS: &[Question] = &[
    Question {
        email: "katja@kanaal.example", at: 25, priority: "normal", subject: "One-way audio to German mobiles",
        words: &["Since this morning callers to +49 151 hear us, but we do not hear them.",
                 "Thank you. We moved those calls to another route; could you try once more?",
                 "It works again. Thanks for the quick answer!"],
        is_resolved: true,
    },
    Question {
        email: "theo@thames.example", at: 52, priority: "low", subject: "How are seconds counted?",
        words: &["Our own count of minutes is a little lower than yours. Do you bill by the second?",
                 "Fixed lines by the second, mobiles by six seconds. GET /rates/lookup has the increment of every number."],
        is_resolved: false,
    },
    Question {
        email: "ruth@rheinruf.example", at: 78, priority: "high", subject: "More channels before the holidays",
        words: &["We expect twice the calls in December. Can our trunk carry 240 at once?"],
        is_resolved: false,
    },
    Question {
        email: "quinn@quickdial.example", at: 88, priority: "high", subject: "Our calls are refused",
        words: &["Every call is refused with 403 since yesterday. What is going on?",
                 "Your account is suspended while we look into complaints about unwanted calls. Please tell us where you have your numbers from."],
        is_resolved: false,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_fate_befalls_somebody_and_nobody_is_anybody() {
        let fates: BTreeSet<Fate> = COMPANIES.iter().map(|company| company.fate).collect();
        assert_eq!(fates.len(), 9);
        let emails: BTreeSet<&str> = COMPANIES.iter().map(|company| company.email).collect();
        assert_eq!(emails.len(), COMPANIES.len());
        assert!(emails.iter().all(|email| email.ends_with(".example")));
        assert!(COMPANIES.iter().all(|company| company.calls() != company.network.is_empty()));
        assert!(QUESTIONS.iter().all(|question| emails.contains(question.email)));
    }
}
