//! What an account is found by: the words of its names and its address.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Nobody types more of a word than this.
const LONGEST_WORD: usize = 40;
/// A name of two hundred characters has no more words than this that anybody remembers.
const WORDS_AT_MOST: usize = 40;

/// The words of these texts, each once, in lower case and without accents: not every keyboard has them. An address counts as a word, too, and so do its parts.
pub fn words_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in texts {
        let text: String = text.nfkd().filter(|c| !is_combining_mark(*c)).collect::<String>().to_lowercase();
        let addresses = text.split_whitespace().filter(|piece| piece.contains('@'));
        let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
        for word in addresses.chain(parts) {
            if found.len() < WORDS_AT_MOST {
                found.insert(word.chars().take(LONGEST_WORD).collect());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Vec<String> {
        words_of(texts.iter().copied()).into_iter().collect()
    }

    #[test]
    fn names_fall_into_words_without_case_accents_or_marks() {
        assert_eq!(of(&["Müller & Söhne GmbH", "", "MULLER-SÖHNE"]), ["gmbh", "muller", "sohne"]);
    }

    #[test]
    fn an_address_is_found_whole_and_by_its_parts() {
        assert_eq!(of(&["ann@acme.example"]), ["acme", "ann", "ann@acme.example", "example"]);
    }

    #[test]
    fn there_are_only_so_many_and_none_is_endless() {
        let many: String = (0..300).map(|number| format!("w{number} ")).collect();
        assert_eq!(of(&[&many]).len(), WORDS_AT_MOST);
        assert_eq!(of(&[&"x".repeat(500)]), ["x".repeat(LONGEST_WORD)]);
    }
}
