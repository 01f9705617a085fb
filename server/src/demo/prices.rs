//! Destinations and their prices, the upstreams with their rate decks, and the inventory of numbers.

use std::fmt::Write;

use super::rng::Rng;
use values::{Rfc3339, Time};

/// A country that is called.
pub struct Destination {
    pub country: &'static str,
    pub name: &'static str,
    /// Country calling code.
    code: &'static str,
    /// Length of its numbers, with the calling code.
    digits: usize,
    /// Price per minute to fixed lines, in 1/100,000 of a euro.
    fixed: i64,
    /// The same to mobiles.
    mobile: i64,
    /// Its share of calls, relative to other destinations.
    pub weight: i64,
    areas: &'static [&'static str],
    mobiles: &'static [&'static str],
}

const fn destination(
    (country, name, code, digits): (&'static str, &'static str, &'static str, usize),
    (fixed, mobile): (i64, i64),
    weight: i64,
    areas: &'static [&'static str],
    mobiles: &'static [&'static str],
) -> Destination {
    Destination { country, name, code, digits, fixed, mobile, weight, areas, mobiles }
}

#[rustfmt::skip]
pub const DESTINATIONS: &[Destination] = &[
    destination(("NL", "Netherlands", "31", 11), (420, 1900), 22, &["10", "20", "30", "40", "50", "70", "88"], &["61", "62", "63", "64", "65", "68"]),
    destination(("DE", "Germany", "49", 12), (480, 1700), 18, &["30", "40", "69", "89", "221", "211", "711"], &["151", "152", "157", "160", "170", "171", "172", "175", "176"]),
    destination(("GB", "United Kingdom", "44", 12), (510, 1650), 16, &["20", "121", "131", "141", "161", "113"], &["71", "73", "74", "75", "77", "78", "79"]),
    destination(("US", "United States", "1", 11), (390, 390), 14, &["212", "310", "312", "415", "617", "646", "702", "713", "786", "917"], &[]),
    destination(("FR", "France", "33", 11), (450, 1800), 10, &["1", "2", "3", "4", "5"], &["6", "7"]),
    destination(("BE", "Belgium", "32", 11), (530, 2100), 9, &["2", "3", "9"], &["46", "47", "48", "49"]),
    destination(("ES", "Spain", "34", 11), (440, 1500), 7, &["91", "93", "95", "96"], &["60", "61", "62", "65", "66", "67"]),
    destination(("IT", "Italy", "39", 12), (500, 1900), 7, &["02", "06", "011", "081"], &["320", "328", "333", "335", "347", "349"]),
    destination(("PL", "Poland", "48", 11), (620, 1550), 7, &["12", "22", "58", "61", "71"], &["50", "51", "53", "60", "66", "69", "72"]),
    destination(("TR", "Türkiye", "90", 12), (2400, 8900), 5, &["212", "216", "312", "232"], &["530", "532", "542", "544", "555"]),
    destination(("MA", "Morocco", "212", 12), (6200, 21500), 4, &["522", "537", "535"], &["61", "66", "67", "70"]),
    destination(("IN", "India", "91", 12), (1100, 1150), 5, &["11", "22", "44", "80", "33"], &["98", "99", "97", "90", "81", "70"]),
    destination(("PH", "Philippines", "63", 12), (8700, 11200), 3, &["2", "32", "82"], &["905", "915", "917", "918", "920"]),
    destination(("NG", "Nigeria", "234", 13), (5400, 7600), 2, &["1", "9"], &["803", "805", "806", "813"]),
    destination(("AT", "Austria", "43", 12), (560, 1950), 4, &["1", "316", "512", "662", "732"], &["650", "660", "664", "676", "699"]),
    destination(("CH", "Switzerland", "41", 11), (610, 4900), 4, &["22", "31", "43", "44", "61", "91"], &["76", "77", "78", "79"]),
    destination(("DK", "Denmark", "45", 10), (400, 1400), 3, &["33", "35", "70", "86"], &["20", "22", "26", "40", "50"]),
    destination(("SE", "Sweden", "46", 11), (380, 1350), 4, &["8", "31", "40"], &["70", "72", "73", "76"]),
    destination(("NO", "Norway", "47", 10), (470, 1800), 3, &["21", "22", "23", "55", "73"], &["40", "45", "90", "95", "99"]),
    destination(("FI", "Finland", "358", 12), (2200, 2300), 2, &["9", "2", "3"], &["40", "41", "44", "45", "50"]),
    destination(("IE", "Ireland", "353", 11), (460, 1600), 3, &["1", "21", "61", "91"], &["83", "85", "86", "87", "89"]),
    destination(("PT", "Portugal", "351", 12), (500, 1700), 3, &["21", "22", "23", "28"], &["91", "92", "93", "96"]),
    destination(("GR", "Greece", "30", 12), (540, 1600), 2, &["21", "231", "261"], &["690", "693", "694", "697", "698"]),
    destination(("CZ", "Czechia", "420", 12), (700, 1750), 2, &["2", "5", "37"], &["60", "70", "72", "73", "77"]),
    destination(("RO", "Romania", "40", 11), (520, 1500), 2, &["21", "256", "264"], &["72", "73", "74", "75", "76"]),
    destination(("HU", "Hungary", "36", 11), (560, 1800), 2, &["1", "52", "62"], &["20", "30", "70"]),
    destination(("BG", "Bulgaria", "359", 12), (900, 2600), 1, &["2", "32", "52"], &["87", "88", "89"]),
    destination(("UA", "Ukraine", "380", 12), (8900, 14800), 2, &["44", "32", "48"], &["50", "63", "66", "67", "93"]),
    destination(("EE", "Estonia", "372", 11), (1900, 4300), 1, &["6", "7"], &["51", "53", "55", "56"]),
    destination(("LT", "Lithuania", "370", 11), (1800, 3600), 1, &["5", "37", "46"], &["60", "61", "65", "68"]),
    destination(("LV", "Latvia", "371", 11), (2100, 4800), 1, &["67", "63"], &["20", "22", "26", "29"]),
    destination(("IL", "Israel", "972", 12), (780, 2100), 2, &["2", "3", "4", "9"], &["50", "52", "53", "54"]),
    destination(("AE", "United Arab Emirates", "971", 12), (13800, 14900), 2, &["2", "4", "6"], &["50", "52", "54", "55", "56"]),
    destination(("SA", "Saudi Arabia", "966", 12), (9800, 12900), 1, &["11", "12", "13"], &["50", "53", "54", "55", "56"]),
    destination(("EG", "Egypt", "20", 12), (10900, 12100), 1, &["2", "3"], &["10", "11", "12"]),
    destination(("ZA", "South Africa", "27", 11), (2900, 4900), 2, &["11", "12", "21", "31"], &["60", "71", "72", "82", "83"]),
    destination(("KE", "Kenya", "254", 12), (11900, 13900), 1, &["20", "41"], &["70", "71", "72", "73"]),
    destination(("GH", "Ghana", "233", 12), (14800, 18200), 1, &["30", "31"], &["20", "24", "26", "54"]),
    destination(("TN", "Tunisia", "216", 11), (26900, 31400), 1, &["71", "73"], &["20", "22", "50", "98"]),
    destination(("DZ", "Algeria", "213", 12), (7900, 28800), 1, &["21", "31"], &["55", "66", "77"]),
    destination(("BR", "Brazil", "55", 13), (1200, 2900), 3, &["11", "21", "31", "61"], &["1199", "2199", "3199"]),
    destination(("MX", "Mexico", "52", 12), (800, 1000), 2, &["33", "55", "81"], &[]),
    destination(("AR", "Argentina", "54", 12), (1400, 9800), 1, &["11", "341", "351"], &["911"]),
    destination(("CL", "Chile", "56", 11), (2600, 1900), 1, &["2", "32"], &["92", "94", "96", "98"]),
    destination(("CO", "Colombia", "57", 12), (1800, 1600), 1, &["601", "604", "602"], &["300", "310", "312", "320"]),
    destination(("CN", "China", "86", 13), (1100, 1200), 2, &["10", "20", "21", "755"], &["133", "138", "139", "150", "186"]),
    destination(("JP", "Japan", "81", 12), (1600, 6800), 2, &["3", "6", "45", "52"], &["70", "80", "90"]),
    destination(("KR", "South Korea", "82", 12), (1300, 2600), 1, &["2", "51"], &["10"]),
    destination(("SG", "Singapore", "65", 10), (900, 950), 1, &["6"], &["8", "9"]),
    destination(("MY", "Malaysia", "60", 11), (1500, 2400), 1, &["3", "4", "7"], &["12", "13", "16", "19"]),
    destination(("TH", "Thailand", "66", 11), (1700, 1900), 1, &["2", "38", "53"], &["81", "86", "89", "91"]),
    destination(("VN", "Vietnam", "84", 11), (6900, 7900), 1, &["24", "28"], &["90", "91", "97", "98"]),
    destination(("ID", "Indonesia", "62", 12), (4900, 6200), 1, &["21", "22", "31"], &["811", "812", "813", "821"]),
    destination(("AU", "Australia", "61", 11), (990, 2500), 2, &["2", "3", "7", "8"], &["40", "41", "42", "43"]),
    destination(("NZ", "New Zealand", "64", 10), (1200, 3900), 1, &["3", "4", "9"], &["21", "22", "27"]),
];

/// The destination of a country.
pub fn find(country: &str) -> Option<&'static Destination> {
    DESTINATIONS.iter().find(|destination| destination.country == country)
}

impl Destination {
    /// Prefix, destination name and price of each rate: the country, its codes, and ten ranges below each code.
    fn prefixes(&self) -> Vec<(String, String, i64)> {
        let mut rows = vec![(self.code.to_owned(), self.name.to_owned(), self.fixed)];
        let mut below = |codes: &[&str], destination: &str, price: i64| {
            for code in codes {
                rows.push((format!("{}{code}", self.code), destination.to_owned(), price));
                let ranges =
                    (0..10).map(|range| (format!("{}{code}{range}", self.code), destination.to_owned(), price));
                rows.extend(ranges);
            }
        };
        below(self.areas, self.name, self.fixed);
        below(self.mobiles, &format!("{} mobile", self.name), self.mobile);
        rows
    }

    /// A random number there.
    pub fn number(&self, rng: &mut Rng) -> String {
        let codes = if rng.chance(55) && !self.mobiles.is_empty() { self.mobiles } else { self.areas };
        let prefix = format!("{}{}", self.code, rng.pick(codes).copied().unwrap_or_default());
        let rest = rng.digits(self.digits.saturating_sub(prefix.len()));
        format!("+{prefix}{rest}")
    }
}

/// A destination, chosen by weight.
pub fn random_destination(rng: &mut Rng) -> &'static Destination {
    let total: i64 = DESTINATIONS.iter().map(|destination| destination.weight).sum();
    let mut rest = rng.between(0, total);
    let found = DESTINATIONS.iter().find(|destination| {
        rest -= destination.weight;
        rest < 0
    });
    found.unwrap_or(&DESTINATIONS[0])
}

/// A network that the operator sends calls to.
pub struct Upstream {
    pub name: &'static str,
    pub group: i64,
    pub currency: &'static str,
    pub markup_percent: i64,
    pub address: &'static str,
    /// Its prices in percent of the base prices.
    price_percent: i64,
    /// How many destinations, from the first on, its deck has.
    destinations: usize,
    /// When it sends a new deck, in percent of the simulated period.
    pub decks_at: [i64; 3],
}

#[rustfmt::skip]
pub const UPSTREAMS: [Upstream; 3] = [
    Upstream { name: "Meridian Carrier Services", group: 10, currency: "EUR", markup_percent: 22, address: "203.0.113.10", price_percent: 100, destinations: DESTINATIONS.len(), decks_at: [33, 64, 92] },
    Upstream { name: "Atlantic Voice Exchange", group: 20, currency: "USD", markup_percent: 18, address: "203.0.113.20", price_percent: 112, destinations: DESTINATIONS.len(), decks_at: [36, 67, 92] },
    Upstream { name: "Baltic Transit", group: 30, currency: "EUR", markup_percent: 25, address: "203.0.113.30", price_percent: 93, destinations: 20, decks_at: [39, 70, 92] },
];

/// Countries whose rates rise by much in one deck.
const RAISED: [&str; 3] = ["TR", "MA", "NG"];
const RAISED_PERCENT: i64 = 230;

/// A rate deck as CSV. Prices vary a little with every deck; higher rates take effect at `later`.
pub fn deck(upstream: &Upstream, later: Option<Time>, rng: &mut Rng) -> String {
    deck_with(upstream, later, |_| 100, rng)
}

/// A rate deck as CSV in which three countries are far more expensive.
pub fn deck_with_increases(upstream: &Upstream, rng: &mut Rng) -> String {
    deck_with(upstream, None, |country| if RAISED.contains(&country) { RAISED_PERCENT } else { 100 }, rng)
}

fn deck_with(upstream: &Upstream, later: Option<Time>, percent: fn(&str) -> i64, rng: &mut Rng) -> String {
    let mut sheet = "prefix,destination_name,country,rate_per_minute,connect_fee,billing_increment_seconds,\
                     minimum_seconds,effective_at\n"
        .to_owned();
    for destination in &DESTINATIONS[..upstream.destinations] {
        let drift = rng.between(92, 111);
        let since = later.filter(|_| drift > 102).map(|time| Rfc3339(time).to_string()).unwrap_or_default();
        for (prefix, name, price) in destination.prefixes() {
            let percent = percent(destination.country);
            let rate = price * upstream.price_percent * drift / 10_000 * percent / 100 + rng.between(0, 1 + price / 50);
            let (increment, minimum) = if name.ends_with("mobile") { (6, 6) } else { (1, 1) };
            let row = (destination.country, rate / 100_000, rate % 100_000);
            // Writing to a String does not fail.
            let _ = writeln!(sheet, "{prefix},{name},{},{}.{:05},0,{increment},{minimum},{since}", row.0, row.1, row.2);
        }
    }
    sheet
}

/// Numbers to rent out: country, area, prefix, first number, count, and the other columns of the import.
#[rustfmt::skip]
const INVENTORY: [(&str, &str, &str, u64, u64, &str); 9] = [
    ("NL", "Amsterdam", "3120", 31_208_080_100, 40, "voice|sms,1.50,5.00,api"),
    ("NL", "Rotterdam", "3110", 31_108_080_100, 30, "voice,1.50,5.00,api"),
    ("NL", "Utrecht", "3130", 31_308_080_100, 25, "voice,1.75,5.00,docs_required"),
    ("DE", "Berlin", "4930", 49_308_080_100, 30, "voice,2.20,8.00,api"),
    ("DE", "Frankfurt", "4969", 49_698_080_100, 20, "voice,2.20,8.00,docs_required"),
    ("GB", "London", "4420", 442_080_801_000, 40, "voice,1.20,2.50,api"),
    ("BE", "Brussels", "322", 3_228_080_100, 20, "voice,1.90,6.00,api"),
    ("FR", "Paris", "331", 33_180_801_000, 20, "voice,2.10,6.00,docs_required"),
    ("US", "New York", "1212", 12_128_080_100, 40, "voice|sms,0.90,1.00,api"),
];

/// The inventory as CSV.
pub fn inventory() -> String {
    let mut sheet = "e164,country,type,area_name,prefix,capabilities,monthly,setup,regulatory\n".to_owned();
    for (country, area, prefix, first, count, terms) in INVENTORY {
        for number in first..first + count {
            let _ = writeln!(sheet, "+{number},{country},local,{area},{prefix},{terms}");
        }
    }
    sheet
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn prefixes_are_unique_and_decks_have_thousands() {
        let mut seen = BTreeSet::new();
        for (prefix, ..) in DESTINATIONS.iter().flat_map(Destination::prefixes) {
            assert!(seen.insert(prefix.clone()), "duplicate prefix {prefix}");
        }
        assert!(seen.len() > 3000, "{}", seen.len());
    }

    #[test]
    fn random_numbers_are_valid_and_have_the_right_length() {
        let mut rng = Rng::new(7);
        for _ in 0..5000 {
            let destination = random_destination(&mut rng);
            let number = destination.number(&mut rng);
            assert!(number.parse::<values::E164>().is_ok(), "{number}");
            assert_eq!(number.len(), destination.digits + 1, "{number}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_deck() {
        let draw = |seed| deck(&UPSTREAMS[0], Some(Time::EPOCH), &mut Rng::new(seed));
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
