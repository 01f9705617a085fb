//! Whom a letter is for, and by which name it greets them.
//!
//! Anybody may sign up with anybody's address and call themselves anything. A name is what a letter repeats of a
//! stranger's words to somebody who never asked for them, so it must not carry an advertisement: mail programs turn
//! whatever resembles an address into a link.

use values::Email;

const LONGEST_NAME: usize = 60;

pub struct Addressee {
    pub email: Email,
    name: Option<String>,
}

impl Addressee {
    pub fn new(email: &Email, name: &str) -> Addressee {
        Addressee { email: email.clone(), name: presentable(name) }
    }

    /// For an address whose owner we do not know, or should not name.
    pub fn nameless(email: &Email) -> Addressee {
        Addressee { email: email.clone(), name: None }
    }

    /// The name on one line, if it can pass for one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

fn presentable(name: &str) -> Option<String> {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let fits = (1..=LONGEST_NAME).contains(&name.chars().count());
    (fits && !name.contains(is_treacherous) && !has_domain(&name)).then_some(name)
}

/// What makes a link, breaks a line, or turns the writing direction around.
fn is_treacherous(c: char) -> bool {
    c.is_control()
        || matches!(c, '/' | '\\' | '@' | ':' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
    fn a_name_is_greeted_on_one_line() {
        for (name, greeted) in [
            ("Anna de Vries", "Anna de Vries"),
            ("  Anna\n\tde Vries ", "Anna de Vries"),
            ("J. R. O'Hara-Müller, Jr.", "J. R. O'Hara-Müller, Jr."),
            ("陳大文", "陳大文"),
        ] {
            assert_eq!(presentable(name).as_deref(), Some(greeted));
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
            assert_eq!(presentable(name), None, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn no_name_breaks_a_line(name in "(\\PC|\r|\n|\u{0}|\u{85}|\u{2028}){0,80}") {
            let email = "a@b.example".parse().unwrap();
            let name = Addressee::new(&email, &name).name().unwrap_or_default().to_owned();
            prop_assert!(!name.contains(|c: char| c.is_control() || c == '\u{2028}'), "{:?}", name);
        }
    }
}
