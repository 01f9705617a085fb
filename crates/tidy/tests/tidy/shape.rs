//! Sizes, names and leftovers.

use crate::source::Source;
use crate::{File, Finding, demand, has_word, repository, sample};

const MOST_LINES: usize = 500;
const ATTICS: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc"];
const LEFTOVERS: &[&str] = &["TODO", "FIXME", "XXX", "todo!", "unimplemented!"];
/// Beginnings of paths that exist on one machine only.
const MACHINE_PATHS: &[&str] = &["/home/", "/root/", "/tmp/", "/Users/", "/work/"];

/// Written by `make schema`.
const GENERATED: &str = "crates/db/src/sqlite/schema.sql";

fn long_files(files: &[File]) -> Vec<Finding> {
    let code = files.iter().filter(|file| file.has_extension(&["rs", "ts", "sql"]) && file.path != GENERATED);
    code.map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(file, lines)| file.finding(0, format!("has {lines} lines")))
        .collect()
}

fn attics(files: &[File]) -> Vec<Finding> {
    let is_attic = |file: &&File| {
        file.path
            .split('/')
            .any(|part| ATTICS.contains(&part.split('.').next().unwrap_or(part).to_lowercase().as_str()))
    };
    files.iter().filter(is_attic).map(|file| file.finding(0, "has a name that says nothing")).collect()
}

fn leftovers(files: &[File]) -> Vec<Finding> {
    // Whoever forbids these words has to name them.
    let names_them = |file: &&File| file.path.starts_with("crates/tidy/") || file.path == "CONTRIBUTING.md";
    let read = files.iter().filter(|file| !names_them(file) && !file.has_extension(&["lock"]));
    each_line(read, |line| LEFTOVERS.iter().find(|word| has_word(line, word)).map(|word| format!("says {word}")))
}

fn machine_paths(files: &[File]) -> Vec<Finding> {
    let docs = files.iter().filter(|file| file.has_extension(&["md"]) || file.path.starts_with("docs/"));
    each_line(docs, |line| {
        let starts_a_path = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-./}~*".contains(c));
        let found = |path: &&&str| line.match_indices(**path).any(|(at, _)| starts_a_path(at));
        MACHINE_PATHS.iter().find(found).map(|path| format!("speaks of {path}"))
    })
}

fn each_line<'a>(files: impl Iterator<Item = &'a File>, rule: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate() {
            findings.extend(rule(line).map(|what| file.finding(number + 1, what)));
        }
    }
    findings
}

fn commented_out_code(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(&["rs", "ts"])) {
        for (line, comment) in Source::read(&file.text).comments {
            if comment.starts_with("// ") && comment.trim_end().ends_with([';', '{']) {
                findings.push(file.finding(line, "looks like code that was commented out"));
            }
        }
    }
    findings
}

fn sleeping_tests(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(&["rs"])) {
        let source = Source::read(&file.text);
        let tests_at = match file.of_service() {
            Some((_, path)) if !path.ends_with("tests.rs") => source.tests_at(),
            Some(_) => 0,
            None if file.path.starts_with("trunkline/tests/") => 0,
            None => continue,
        };
        for (at, word) in source.code.match_indices("sleep").filter(|(at, _)| *at >= tests_at) {
            let called = source.code[at + word.len()..].trim_start_matches("_until").starts_with('(');
            let own_word = !source.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if called && own_word {
                findings.push(file.finding(source.line_at(at), "sleeps in a test"));
            }
        }
    }
    findings
}

fn ragged_text(files: &[File]) -> Vec<Finding> {
    let mut findings =
        each_line(files.iter(), |line| line.ends_with(char::is_whitespace).then(|| "ends in white space".to_owned()));
    let unended = files.iter().filter(|file| !file.text.is_empty() && !file.text.ends_with('\n'));
    findings.extend(unended.map(|file| file.finding(file.text.lines().count(), "does not end its last line")));
    findings
}

#[test]
fn no_file_is_longer_than_five_hundred_lines() {
    demand(&long_files(&repository()), "A room is missing: split the file by what its parts are about.");
    assert_eq!(long_files(&[sample("a.rs", &"\n".repeat(501)), sample("b.rs", &"\n".repeat(500))]).len(), 1);
}

#[test]
fn no_folder_or_file_is_an_attic() {
    demand(&attics(&repository()), "Name it after what is in it, or put each thing where it is used.");
    let samples = ["server/src/utils.rs", "portal/common/a.ts", "server/src/Helpers/mod.rs", "a/uncommon.rs"];
    assert_eq!(attics(&samples.map(|path| sample(path, ""))).len(), 3);
}

#[test]
fn nothing_is_left_to_be_done_later() {
    demand(&leftovers(&repository()), "Do it now, or leave it out and say so in docs/ if it is a limit.");
    for text in ["// TODO: x", "# FIXME", "XXX", "todo!()", "unimplemented!(\"x\")"] {
        assert_eq!(leftovers(&[sample("a.rs", text)]).len(), 1, "{text}");
    }
    assert_eq!(leftovers(&[sample("a.sh", "mktemp a-XXXXXX; TODOS")]), []);
}

#[test]
fn no_code_is_commented_out() {
    demand(&commented_out_code(&repository()), "Delete it: git remembers. A sentence ends in a full stop.");
    let text = "// let a = 1;\n    // if a {\n/// let a = 1;\n// A reason.\nlet a = \"// b;\";\n";
    let lines: Vec<_> = commented_out_code(&[sample("a.rs", text)]).iter().map(|found| found.line).collect();
    assert_eq!(lines, [1, 2]);
}

#[test]
fn no_test_sleeps() {
    demand(&sleeping_tests(&repository()), "Wait for what must happen, or move the test's clock.");
    let call = "tokio::time::sleep(a).await;\nthread::sleep(b);\nsleep_until(c);\n";
    let in_unit_test = format!("sleep(a);\n#[cfg(test)]\nmod tests {{\n{call}}}\n");
    let count = |path: &str, text: &str| sleeping_tests(&[sample(path, text)]).len();
    assert_eq!(count("trunkline/tests/it/trunks.rs", call), 3);
    assert_eq!(count("crates/platform/src/jobs/runner.rs", &in_unit_test), 3);
    assert_eq!(count("crates/platform/src/jobs/runner.rs", call), 0);
    assert_eq!(count("trunkline/tests/it/trunks.rs", "// sleep(a)\nlet a = \"sleep(b)\"; oversleep(c);\n"), 0);
}

#[test]
fn text_has_no_trailing_space_and_ends_its_last_line() {
    demand(&ragged_text(&repository()), "cargo fmt does it for Rust; most editors do it on saving.");
    let lines: Vec<_> = ragged_text(&[sample("a.md", "a \nb\t\nc\nd")]).iter().map(|found| found.line).collect();
    assert_eq!(lines, [1, 2, 4]);
    assert_eq!(ragged_text(&[sample("a.md", "a\n\nb\n"), sample("b.md", "")]), []);
}

#[test]
fn docs_name_no_path_of_somebodys_machine() {
    demand(&machine_paths(&repository()), "Write it from the root of the repository, or as $HOME or $(mktemp -d).");
    let text = "see /root/a\n`/home/me/b`\n=/tmp/c\nhttps://host/work/d\n../tmp/e\n";
    let lines: Vec<_> = machine_paths(&[sample("docs/a.md", text)]).iter().map(|found| found.line).collect();
    assert_eq!(lines, [1, 2, 3]);
}
