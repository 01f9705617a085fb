//! What of a number is the country's, by the plan of the ITU: calling codes are one to three digits, and none begins
//! with another.

/// Zones whose countries share one digit.
const ONE_DIGIT: [&str; 2] = ["1", "7"];
const TWO_DIGITS: [&str; 44] = [
    "20", "27", "30", "31", "32", "33", "34", "36", "39", "40", "41", "43", "44", "45", "46", "47", "48", "49", "51",
    "52", "53", "54", "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66", "81", "82", "84", "86", "90",
    "91", "92", "93", "94", "95", "98",
];

/// What of these digits follows the calling code; empty if they do not reach beyond it.
pub fn national(digits: &str) -> &str {
    let length = match digits {
        digits if ONE_DIGIT.iter().any(|code| digits.starts_with(code)) => 1,
        digits if TWO_DIGITS.iter().any(|code| digits.starts_with(code)) => 2,
        _ => 3,
    };
    digits.get(length..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_what_follows_the_country() {
        for (digits, area) in [
            ("3120", "20"),
            ("31800", "800"),
            ("1212", "212"),
            ("7495", "495"),
            ("442071", "2071"),
            ("35321", "21"),
            ("97150", "50"),
            ("31", ""),
            ("3", ""),
            ("", ""),
        ] {
            assert_eq!(national(digits), area, "{digits}");
        }
    }
}
