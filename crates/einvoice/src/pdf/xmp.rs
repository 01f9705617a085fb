//! Adds the Factur-X properties to the XMP metadata of a finished PDF.
//!
//! They tell a reader that the attachment is an invoice. PDF/A does not define these properties, so the packet must
//! carry a PDF/A extension schema for them too. krilla supports neither, so both are spliced into the finished file,
//! and the packet's `/Length` and the cross-reference table are corrected.

use std::ops::Range;

use super::{ATTACHMENT, PdfError};

const NAMESPACE: &str = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#";
/// The list of extension schemas, which krilla writes for every PDF/A-3.
const SCHEMAS: &[u8] = b"<pdfaExtension:schemas><rdf:Bag>";
const PACKET_END: &[u8] = b"</rdf:RDF>";
/// A cross-reference entry: ten digits of offset, five of generation, `n` or `f`, and a line end of two bytes.
const ENTRY_BYTES: usize = 20;

const PROPERTIES: [(&str, &str, &str); 4] = [
    ("DocumentType", "INVOICE", "INVOICE"),
    ("DocumentFileName", ATTACHMENT, "name of the embedded XML invoice file"),
    ("Version", "1.0", "The actual version of the Factur-X XML schema"),
    ("ConformanceLevel", "EN 16931", "The conformance level of the embedded Factur-X data"),
];

/// Returns the PDF with the Factur-X properties in its metadata.
pub(super) fn declare_facturx(pdf: Vec<u8>) -> Result<Vec<u8>, PdfError> {
    splice(&pdf).ok_or_else(|| PdfError::new("the XMP packet or cross-reference table was not found"))
}

fn splice(pdf: &[u8]) -> Option<Vec<u8>> {
    let schemas = last(pdf, SCHEMAS)?.end;
    let packet_end = last(pdf, PACKET_END)?.start;
    let length = length_before(pdf, schemas)?;
    let (schema, description) = (schema(), description());
    let old_length: usize = std::str::from_utf8(pdf.get(length.clone())?).ok()?.parse().ok()?;
    let new_length = (old_length + schema.len() + description.len()).to_string();

    let mut parts = Vec::with_capacity(pdf.len() + schema.len() + description.len() + 2);
    parts.extend_from_slice(pdf.get(..length.start)?);
    parts.extend_from_slice(new_length.as_bytes());
    parts.extend_from_slice(pdf.get(length.end..schemas)?);
    parts.extend_from_slice(schema.as_bytes());
    parts.extend_from_slice(pdf.get(schemas..packet_end)?);
    parts.extend_from_slice(description.as_bytes());
    parts.extend_from_slice(pdf.get(packet_end..)?);
    let grown = parts.len() - pdf.len();
    shift_offsets(&mut parts, packet_end, grown)?;
    Some(parts)
}

/// The range of the digits of the packet's `/Length`.
fn length_before(pdf: &[u8], position: usize) -> Option<Range<usize>> {
    let start = last(pdf.get(..position)?, b"/Length ")?.end;
    let digits = pdf.get(start..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    Some(start..start + digits)
}

/// Shifts the offsets of every object after `position`, and of the cross-reference table, by `grown` bytes.
fn shift_offsets(pdf: &mut Vec<u8>, position: usize, grown: usize) -> Option<()> {
    let start = last(pdf, b"startxref\n")?.end;
    let digits = pdf.get(start..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let table = number(pdf.get(start..start + digits)?)? + grown;
    pdf.splice(start..start + digits, table.to_string().into_bytes());

    let counts = table + b"xref\n0 ".len();
    let count_digits = pdf.get(counts..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let count = number(pdf.get(counts..counts + count_digits)?)?;
    let entries = counts + count_digits + 1;
    let entries = pdf.get_mut(entries..entries + count * ENTRY_BYTES)?;
    for entry in entries.chunks_exact_mut(ENTRY_BYTES).filter(|entry| entry.get(17) == Some(&b'n')) {
        let field = entry.get_mut(..10)?;
        let offset = number(field)?;
        if offset > position {
            field.copy_from_slice(format!("{:010}", offset + grown).as_bytes());
        }
    }
    Some(())
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn last(bytes: &[u8], pattern: &[u8]) -> Option<Range<usize>> {
    let start = bytes.windows(pattern.len()).rposition(|window| window == pattern)?;
    Some(start..start + pattern.len())
}

fn description() -> String {
    let values: String = PROPERTIES.iter().map(|(name, value, _)| format!("<fx:{name}>{value}</fx:{name}>")).collect();
    format!("<rdf:Description rdf:about=\"\" xmlns:fx=\"{NAMESPACE}\">{values}</rdf:Description>")
}

fn schema() -> String {
    let property = |(name, _, meaning): &(&str, &str, &str)| {
        format!(
            "<rdf:li rdf:parseType=\"Resource\"><pdfaProperty:name>{name}</pdfaProperty:name>\
             <pdfaProperty:valueType>Text</pdfaProperty:valueType>\
             <pdfaProperty:category>external</pdfaProperty:category>\
             <pdfaProperty:description>{meaning}</pdfaProperty:description></rdf:li>"
        )
    };
    let properties: String = PROPERTIES.iter().map(property).collect();
    format!(
        "<rdf:li rdf:parseType=\"Resource\"><pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>\
         <pdfaSchema:namespaceURI>{NAMESPACE}</pdfaSchema:namespaceURI><pdfaSchema:prefix>fx</pdfaSchema:prefix>\
         <pdfaSchema:property><rdf:Seq>{properties}</rdf:Seq></pdfaSchema:property></rdf:li>"
    )
}
