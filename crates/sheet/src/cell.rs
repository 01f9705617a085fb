//! Writes CSV cells that are safe to open in a spreadsheet.

/// Appends a text as a CSV cell: quoted if necessary, and with an apostrophe before what a spreadsheet would run as a
/// formula. An E.164 number keeps its plus without one.
pub fn write_cell(out: &mut Vec<u8>, text: &str) {
    let needs_quotes = text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    let mut is_cell_start = !is_e164(text);
    if needs_quotes {
        out.push(b'"');
    }
    for byte in text.bytes() {
        if is_cell_start && matches!(byte, b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r') {
            out.push(b'\'');
        }
        // Where numbers have a decimal comma, spreadsheets split lines at semicolons, and text at line ends, whatever the
        // quotes say.
        is_cell_start = matches!(byte, b';' | b'\t' | b'\n' | b'\r');
        out.extend_from_slice(if byte == b'"' { b"\"\"" } else { std::slice::from_ref(&byte) });
    }
    if needs_quotes {
        out.push(b'"');
    }
}

/// A plus and 7 to 15 digits, the first not zero.
fn is_e164(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        (7..=15).contains(&digits.len())
            && !digits.starts_with('0')
            && digits.bytes().all(|digit| digit.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn cell(text: &str) -> String {
        let mut out = Vec::new();
        write_cell(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn formulas_get_an_apostrophe_and_e164_numbers_do_not() {
        assert_eq!(cell("+31201234567"), "+31201234567");
        for (text, written) in [
            ("=1+1", "'=1+1"),
            ("+31", "'+31"),
            ("+31201234567;x", "'+31201234567;x"),
            ("-1", "'-1"),
            ("Kappa;=1+1", "Kappa;'=1+1"),
            ("a;b\t@c", "a;b\t'@c"),
            ("Kappa\n=1+1;", "\"Kappa\n'=1+1;\""),
            ("@a", "'@a"),
            ("\tx", "'\tx"),
            ("\rx", "\"'\rx\""),
            ("=\"a\",b", "\"'=\"\"a\"\",b\""),
            ("a, b", "\"a, b\""),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(cell(text), written, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_reads_back_as_one_cell(text in any::<String>()) {
            let line = format!("{},end\n", cell(&text));
            let read = read_csv(&line);
            prop_assert_eq!(read.len(), 2);
            // Nothing is lost, and what is added are apostrophes.
            let mut rest = text.chars().peekable();
            let added: String = read[0].chars().filter(|letter| rest.next_if_eq(letter).is_none()).collect();
            prop_assert!(rest.next().is_none() && added.chars().all(|letter| letter == '\''), "{:?}", read[0]);
            for cell in read[0].split([';', '\t', '\n', '\r']) {
                prop_assert!(!cell.starts_with(['=', '-', '@']));
            }
            prop_assert!(!read[0].starts_with('\t'));
        }
    }

    /// Splits one line by the rules of RFC 4180.
    fn read_csv(line: &str) -> Vec<String> {
        let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
        let mut rest = line.strip_suffix('\n').unwrap().chars().peekable();
        while let Some(next) = rest.next() {
            match (next, quoted) {
                ('"', true) if rest.peek() == Some(&'"') => cell.extend(rest.next()),
                ('"', _) => quoted = !quoted,
                (',', false) => cells.push(std::mem::take(&mut cell)),
                (other, _) => cell.push(other),
            }
        }
        cells.push(cell);
        cells
    }
}
