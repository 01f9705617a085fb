//! Lines that every mail program shows whole.
//!
//! In a text template a paragraph is one line, however long it gets with a name or a note inside. Here it is broken at
//! spaces; a quoted line stays quoted. A word that is longer than a line, such as a link, is never broken.

const WIDTH: usize = 72;

/// Breaks long lines, and leaves one empty line where templates leave several.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len() + text.len() / WIDTH);
    for line in text.trim().lines() {
        let line = if line == SIGNATURE { line } else { line.trim_end() };
        if !line.is_empty() {
            fold_line(line, &mut folded);
        } else if !folded.ends_with("\n\n") {
            folded.push('\n');
        }
    }
    folded
}

/// What separates a signature ends in a space (RFC 3676, section 4.3).
const SIGNATURE: &str = "-- ";

fn fold_line(line: &str, folded: &mut String) {
    let (prefix, rest) = line.strip_prefix("> ").map_or(("", line), |rest| ("> ", rest));
    folded.push_str(prefix);
    let mut column = prefix.len();
    for (position, word) in rest.split(' ').enumerate() {
        let width = word.chars().count();
        if position > 0 && column + 1 + width > WIDTH {
            folded.push('\n');
            folded.push_str(prefix);
            column = prefix.len();
        } else if position > 0 {
            folded.push(' ');
            column += 1;
        }
        folded.push_str(word);
        column += width;
    }
    folded.push('\n');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paragraphs_are_broken_at_spaces_and_links_are_not() {
        let link = format!("https://trunkline.example/{}", "a".repeat(90));
        let long = "word ".repeat(20);
        let text = format!("\n\nHello,\n \n\n\n{long}\n{link}\n> {long}\n\n-- \nTrunkline\n\n");
        let (fourteen, six) = (["word"; 14].join(" "), ["word"; 6].join(" "));
        let expected = format!("Hello,\n\n{fourteen}\n{six}\n{link}\n> {fourteen}\n> {six}\n\n-- \nTrunkline\n");
        assert_eq!(fold(&text), expected);
    }

    proptest! {
        #[test]
        fn no_word_is_lost_and_no_line_is_too_long(text in "([a-zé]{1,90}|[ \n>]){0,200}") {
            let folded = fold(&text);
            let words = |text: &str| text.split([' ', '\n', '>']).filter(|w| !w.is_empty()).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&folded), words(&text));
            for line in folded.lines() {
                let one_word = line.trim_start_matches("> ").trim().split(' ').count() <= 1;
                prop_assert!(one_word || line.chars().count() <= WIDTH, "{:?}", line);
            }
        }
    }
}
