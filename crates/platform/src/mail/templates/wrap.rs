//! Wraps plain-text mail at 72 columns.
//!
//! In a text template a paragraph is one line of any length. It is broken at spaces here; the lines of a quote keep
//! their `> `. A word longer than a line, such as a link, is not broken.

const WIDTH: usize = 72;

/// Breaks long lines, and reduces several empty lines to one.
pub fn wrap(text: &str) -> String {
    let mut wrapped = String::with_capacity(text.len() + text.len() / WIDTH);
    for line in text.trim().lines() {
        let line = if line == SIGNATURE { line } else { line.trim_end() };
        if !line.is_empty() {
            wrap_line(line, &mut wrapped);
        } else if !wrapped.ends_with("\n\n") {
            wrapped.push('\n');
        }
    }
    wrapped
}

/// The signature separator ends in a space (RFC 3676, section 4.3).
const SIGNATURE: &str = "-- ";

fn wrap_line(line: &str, wrapped: &mut String) {
    let (prefix, rest) = line.strip_prefix("> ").map_or(("", line), |rest| ("> ", rest));
    wrapped.push_str(prefix);
    let mut column = prefix.len();
    for (position, word) in rest.split(' ').enumerate() {
        let width = word.chars().count();
        if position > 0 && column + 1 + width > WIDTH {
            wrapped.push('\n');
            wrapped.push_str(prefix);
            column = prefix.len();
        } else if position > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += width;
    }
    wrapped.push('\n');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paragraphs_are_wrapped_at_spaces_and_links_are_not() {
        let link = format!("https://trunkline.example/{}", "a".repeat(90));
        let long = "word ".repeat(20);
        let text = format!("\n\nHello,\n \n\n\n{long}\n{link}\n> {long}\n\n-- \nTrunkline\n\n");
        let (fourteen, six) = (["word"; 14].join(" "), ["word"; 6].join(" "));
        let expected = format!("Hello,\n\n{fourteen}\n{six}\n{link}\n> {fourteen}\n> {six}\n\n-- \nTrunkline\n");
        assert_eq!(wrap(&text), expected);
    }

    proptest! {
        #[test]
        fn no_word_is_lost_and_no_line_is_too_long(text in "([a-zé]{1,90}|[ \n>]){0,200}") {
            let wrapped = wrap(&text);
            let words = |text: &str| -> Vec<String> {
                text.split([' ', '\n', '>']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
            };
            prop_assert_eq!(words(&wrapped), words(&text));
            for line in wrapped.lines() {
                let one_word = line.trim_start_matches("> ").trim().split(' ').count() <= 1;
                prop_assert!(one_word || line.chars().count() <= WIDTH, "{:?}", line);
            }
        }
    }
}
