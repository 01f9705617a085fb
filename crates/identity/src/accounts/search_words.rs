//! Search words of an account: the words of its names and its email address.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longer words are cut off here.
const MAX_WORD_CHARS: usize = 40;
/// Words indexed for one account.
const MAX_WORDS: usize = 40;

/// The words of these texts, each once, in lower case and without accents. An email address is a word, and so are its
/// parts.
pub fn search_words<'t>(texts: impl IntoIterator<Item = &'t str>) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for text in texts {
        let text: String = text.nfkd().filter(|c| !is_combining_mark(*c)).collect::<String>().to_lowercase();
        let addresses = text.split_whitespace().filter(|piece| piece.contains('@'));
        let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
        for word in addresses.chain(parts) {
            if words.len() < MAX_WORDS {
                words.insert(word.chars().take(MAX_WORD_CHARS).collect());
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Vec<String> {
        search_words(texts.iter().copied()).into_iter().collect()
    }

    #[test]
    fn names_are_split_into_words_without_case_accents_or_punctuation() {
        assert_eq!(of(&["Müller & Söhne GmbH", "", "MULLER-SÖHNE"]), ["gmbh", "muller", "sohne"]);
    }

    #[test]
    fn an_email_address_is_indexed_whole_and_by_its_parts() {
        assert_eq!(of(&["ann@acme.example"]), ["acme", "ann", "ann@acme.example", "example"]);
    }

    #[test]
    fn the_number_and_length_of_words_are_limited() {
        let many: String = (0..300).map(|number| format!("w{number} ")).collect();
        assert_eq!(of(&[&many]).len(), MAX_WORDS);
        assert_eq!(of(&[&"x".repeat(500)]), ["x".repeat(MAX_WORD_CHARS)]);
    }
}
