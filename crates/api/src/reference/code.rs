//! A sample request as a curl command, as TypeScript with `fetch`, and as Python with `httpx`.

use std::fmt::Write;

use serde_json::Value;

use super::request::{SampleAnswer, SampleBody, SampleRequest};

const KEY: &str = "Idempotency-Key";

pub fn curl(request: &SampleRequest<'_>) -> String {
    let mut lines = vec![format!("curl {}", quoted(&request.url))];
    if request.method != "GET" {
        lines.push(format!("-X {}", request.method));
    }
    if request.needs_token {
        lines.push("-H \"Authorization: Bearer $TOKEN\"".to_owned());
    }
    for (name, value) in &request.headers {
        lines.push(format!("-H {}", quoted(&format!("{name}: {value}"))));
    }
    match &request.body {
        SampleBody::None => {}
        SampleBody::Json(body) => {
            lines.push("-H 'Content-Type: application/json'".to_owned());
            lines.push(format!("-d {}", quoted(&json(body))));
        }
        SampleBody::Form(parts) => {
            lines.extend(parts.iter().map(|(name, value)| format!("-F {}", quoted(&format!("{name}={value}")))));
        }
        SampleBody::File { media_type, name } => {
            lines.push(format!("-H {}", quoted(&format!("Content-Type: {media_type}"))));
            lines.push(format!("--data-binary @{name}"));
        }
    }
    if request.answer == SampleAnswer::Stream {
        lines.push("--no-buffer".to_owned());
    }
    lines.join(" \\\n  ")
}

pub fn typescript(request: &SampleRequest<'_>) -> String {
    let mut before = String::new();
    let mut headers = Vec::new();
    if request.needs_token {
        headers.push("Authorization: `Bearer ${process.env.TOKEN}`".to_owned());
    }
    for (name, value) in &request.headers {
        let value = if *name == KEY { "crypto.randomUUID()".to_owned() } else { literal(value) };
        headers.push(format!("{}: {value}", literal(name)));
    }
    let body = match &request.body {
        SampleBody::None => None,
        SampleBody::Json(body) => {
            headers.push("\"Content-Type\": \"application/json\"".to_owned());
            Some(format!("JSON.stringify({})", indented(&json(body), "  ")))
        }
        SampleBody::Form(parts) => {
            before = form(parts);
            Some("form".to_owned())
        }
        SampleBody::File { media_type, name } => {
            headers.push(format!("\"Content-Type\": {}", literal(media_type)));
            before = "import { readFile } from \"node:fs/promises\";\n\n".to_owned();
            Some(format!("await readFile({})", literal(name)))
        }
    };
    let mut options = Vec::new();
    if request.method != "GET" {
        options.push(format!("method: {}", literal(&request.method)));
    }
    if !headers.is_empty() {
        let headers: String = headers.iter().map(|header| format!("    {header},\n")).collect();
        options.push(format!("headers: {{\n{headers}  }}"));
    }
    options.extend(body.map(|body| format!("body: {body}")));
    let options: String = options.iter().map(|option| format!("  {option},\n")).collect();
    let options = if options.is_empty() { options } else { format!(", {{\n{options}}}") };
    let shown = match request.answer {
        SampleAnswer::None => "console.log(response.status);",
        SampleAnswer::Json => "console.log(response.status, await response.json());",
        SampleAnswer::Text => "console.log(response.status, await response.text());",
        SampleAnswer::Stream => {
            "for await (const part of response.body.pipeThrough(new TextDecoderStream())) {\n  console.log(part);\n}"
        }
    };
    let url = literal(&request.url);
    format!("{before}const response = await fetch({url}{options});\n{shown}")
}

fn form(parts: &[(String, String)]) -> String {
    let mut lines = "import { openAsBlob } from \"node:fs\";\n\nconst form = new FormData();\n".to_owned();
    for (name, value) in parts {
        // Writing to memory cannot fail.
        let _ = match value.strip_prefix('@') {
            Some(file) => {
                let (name, file) = (literal(name), literal(file));
                writeln!(lines, "form.append({name}, await openAsBlob({file}), {file});")
            }
            None => writeln!(lines, "form.append({}, {});", literal(name), literal(value)),
        };
    }
    lines
}

pub fn python(request: &SampleRequest<'_>) -> String {
    let (mut imports, mut headers, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
    if request.needs_token {
        imports.push("import os");
        headers.push("\"Authorization\": f\"Bearer {os.environ['TOKEN']}\"".to_owned());
    }
    for (name, value) in &request.headers {
        let value = if *name == KEY {
            imports.push("import uuid");
            "str(uuid.uuid4())".to_owned()
        } else {
            literal(value)
        };
        headers.push(format!("{}: {value}", literal(name)));
    }
    match &request.body {
        SampleBody::None => {}
        SampleBody::Json(body) => arguments.push(format!("json={}", indented(&python_literal(body, 0), "    "))),
        SampleBody::Form(parts) => arguments.extend(python_form(parts)),
        SampleBody::File { media_type, name } => {
            headers.push(format!("\"Content-Type\": {}", literal(media_type)));
            arguments.push(format!("content=open({}, \"rb\")", literal(name)));
        }
    }
    if !headers.is_empty() {
        let headers: String = headers.iter().map(|header| format!("        {header},\n")).collect();
        arguments.insert(0, format!("headers={{\n{headers}    }}"));
    }
    // httpx has no body argument for these.
    let is_plain = request.method == "DELETE" && !matches!(request.body, SampleBody::None);
    let is_stream = request.answer == SampleAnswer::Stream;
    if is_stream {
        arguments.push("timeout=None".to_owned());
    }
    let (function, first) = match (is_plain, is_stream) {
        (true, _) => ("request".to_owned(), format!("\"DELETE\", {}", literal(&request.url))),
        (_, true) => ("stream".to_owned(), format!("\"GET\", {}", literal(&request.url))),
        _ => (request.method.to_lowercase(), literal(&request.url)),
    };
    let call = match arguments.is_empty() {
        true => format!("httpx.{function}({first})"),
        false => {
            let arguments: String = arguments.iter().map(|argument| format!("    {argument},\n")).collect();
            format!("httpx.{function}(\n    {first},\n{arguments})")
        }
    };
    let imports: String = imports.iter().map(|import| format!("{import}\n")).collect();
    let rest = match request.answer {
        SampleAnswer::None => format!("response = {call}\nprint(response.status_code)"),
        SampleAnswer::Json => format!("response = {call}\nprint(response.status_code, response.json())"),
        SampleAnswer::Text => format!("response = {call}\nprint(response.status_code, response.text)"),
        SampleAnswer::Stream => {
            format!("with {call} as response:\n    for line in response.iter_lines():\n        print(line)")
        }
    };
    format!("{imports}import httpx\n\n{rest}")
}

fn python_form(parts: &[(String, String)]) -> Vec<String> {
    let entries = |wanted: bool| -> Vec<String> {
        let parts = parts.iter().filter(|(_, value)| value.starts_with('@') == wanted);
        parts
            .map(|(name, value)| match value.strip_prefix('@') {
                Some(file) => format!("{}: open({}, \"rb\")", literal(name), literal(file)),
                None => format!("{}: {}", literal(name), literal(value)),
            })
            .collect()
    };
    let arguments = [("data", entries(false)), ("files", entries(true))];
    let arguments = arguments.into_iter().filter(|(_, entries)| !entries.is_empty());
    arguments.map(|(name, entries)| format!("{name}={{{}}}", entries.join(", "))).collect()
}

/// JSON as a Python literal.
fn python_literal(value: &Value, depth: usize) -> String {
    let (inner, outer) = ("    ".repeat(depth + 1), "    ".repeat(depth));
    let block = |open: char, entries: Vec<String>, close: char| match entries.is_empty() {
        true => format!("{open}{close}"),
        false => {
            let entries: String = entries.iter().map(|entry| format!("{inner}{entry},\n")).collect();
            format!("{open}\n{entries}{outer}{close}")
        }
    };
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => literal(text),
        Value::Array(items) => block('[', items.iter().map(|item| python_literal(item, depth + 1)).collect(), ']'),
        Value::Object(fields) => {
            let entry =
                |(name, value): (&String, &Value)| format!("{}: {}", literal(name), python_literal(value, depth + 1));
            block('{', fields.iter().map(entry).collect(), '}')
        }
    }
}

fn json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A string literal of JSON, which is one of TypeScript and Python too.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// All lines but the first, further to the right.
fn indented(text: &str, by: &str) -> String {
    text.replace('\n', &format!("\n{by}"))
}

/// In single quotes, only the single quote itself needs escaping in a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
