//! Whom a mail is for, and the name it greets.
//!
//! Anyone can sign up with someone else's email address and any name, and the name appears in the mail to that address.
//! So that it cannot carry spam or phishing, a name that a mail program might turn into a link is left out.

use values::Email;

const MAX_NAME_CHARS: usize = 60;

pub struct Recipient {
    pub email: Email,
    name: Option<String>,
}

impl Recipient {
    pub fn new(email: &Email, name: &str) -> Recipient {
        Recipient { email: email.clone(), name: safe_name(name) }
    }

    /// For an address whose owner is unknown, or must not be named.
    pub fn unnamed(email: &Email) -> Recipient {
        Recipient { email: email.clone(), name: None }
    }

    /// The name on one line, or none if it is not safe to show.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// A name that a stranger chose, on one line; none if a mail program might turn it into a link.
pub fn safe_name(name: &str) -> Option<String> {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let fits = (1..=MAX_NAME_CHARS).contains(&name.chars().count());
    (fits && !name.contains(is_unsafe) && !has_domain(&name)).then_some(name)
}

/// Characters that make a link, break a line or reverse the writing direction.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '/' | '\\' | '@' | ':')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A dot inside a word, as in `example.com` and unlike in `J. R. Smith`.
fn has_domain(name: &str) -> bool {
    name.split(' ').any(|word| word.trim_end_matches(['.', ',']).contains(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_shown_on_one_line() {
        for (name, shown) in [
            ("Anna de Vries", "Anna de Vries"),
            ("  Anna\n\tde Vries ", "Anna de Vries"),
            ("J. R. O'Hara-Müller, Jr.", "J. R. O'Hara-Müller, Jr."),
            ("陳大文", "陳大文"),
        ] {
            assert_eq!(safe_name(name).as_deref(), Some(shown));
        }
    }

    #[test]
    fn a_name_that_could_become_a_link_is_left_out() {
        for name in [
            "",
            " \n",
            "https://evil.example",
            "Win at evil.example now",
            "evil.example.",
            "call tel:+31201234567",
            "mail me@evil",
            "//evil",
            "Anna \u{202e}moc",
            &"a".repeat(61),
        ] {
            assert_eq!(safe_name(name), None, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn no_name_breaks_a_line(name in "(\\PC|\r|\n|\u{0}|\u{85}|\u{2028}){0,80}") {
            let email = "a@b.example".parse().unwrap();
            let name = Recipient::new(&email, &name).name().unwrap_or_default().to_owned();
            prop_assert!(!name.contains(|c: char| c.is_control() || c == '\u{2028}'), "{:?}", name);
        }
    }
}
