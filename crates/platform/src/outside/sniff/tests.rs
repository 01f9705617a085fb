#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

fn verdict(bytes: &[u8]) -> Result<FileType, Refusal> {
    in_pieces(bytes, usize::MAX)
}

fn in_pieces(bytes: &[u8], length: usize) -> Result<FileType, Refusal> {
    let mut sniffer = Sniffer::new();
    for piece in bytes.chunks(length.min(bytes.len().max(1))) {
        sniffer.push(piece);
    }
    sniffer.finish()
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR".to_vec();
    png.extend(width.to_be_bytes());
    png.extend(height.to_be_bytes());
    png.extend(b"\x08\x06\0\0\0");
    png
}

/// With a comment before the frame, as cameras write long ones.
fn jpeg(width: u16, height: u16, comment_bytes: u16) -> Vec<u8> {
    let mut jpeg = vec![0xFF, 0xD8, 0xFF, 0xFE];
    jpeg.extend((comment_bytes + 2).to_be_bytes());
    jpeg.extend(std::iter::repeat_n(0xFF, usize::from(comment_bytes)));
    jpeg.extend([0xFF, 0xFF, 0xC2, 0, 17, 8]);
    jpeg.extend(height.to_be_bytes());
    jpeg.extend(width.to_be_bytes());
    jpeg.extend([3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1, 0xFF, 0xDA]);
    jpeg
}

fn pdf(inside: &str) -> Vec<u8> {
    format!("%PDF-1.7\n1 0 obj\n<< /Type /Catalog {inside} >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n").into_bytes()
}

#[test]
fn pdf_jpeg_and_png_are_detected() {
    assert_eq!(verdict(&pdf("")), Ok(FileType::Pdf));
    assert_eq!(verdict(&png(100, 100)), Ok(FileType::Png));
    for comment_bytes in [0, 1, 2, 3, 100, 60_000] {
        assert_eq!(verdict(&jpeg(100, 100, comment_bytes)), Ok(FileType::Jpeg), "{comment_bytes}");
    }
}

#[test]
fn any_other_type_is_rejected() {
    let others: [&[u8]; 10] = [
        b"",
        b"%PDF",
        b"#!/bin/sh\necho hello\n",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<!DOCTYPE html><script>alert(1)</script>",
        b"PK\x03\x04 a zip archive",
        b"GIF89a a moving picture",
        b"MZ\x90\0 a program of some kind",
        b" %PDF-1.7 not at the start",
        b"%PDF-x.7 no version",
    ];
    for other in others {
        assert_eq!(verdict(other), Err(Refusal::OtherType), "{}", String::from_utf8_lossy(other));
    }
}

#[test]
fn an_encrypted_pdf_is_rejected() {
    assert_eq!(verdict(&pdf("/Encrypt 2 0 R")), Err(Refusal::Encrypted));
    assert_eq!(verdict(b"%PDF-1.7\ntrailer<</Root 1 0 R/Encrypt"), Err(Refusal::Encrypted));
    assert_eq!(verdict(&pdf("/EncryptMetadata true")), Ok(FileType::Pdf));
}

#[test]
fn a_pdf_with_a_script_is_rejected_in_any_spelling() {
    for inside in [
        "/OpenAction << /S /JavaScript /JS (app.alert(1)) >>",
        "/AA<</O<</S/JavaScript/JS 5 0 R>>>>",
        "/OpenAction << /S /J#61vaScript >>",
        "/OpenAction << /S /#4a#61#76#61#53#63#72#69#70#74 >>",
        "/A << /S /Launch /F (calc.exe) >>",
        "/A << /S /L#61unch >>",
        "/A << /S /Rendition /OP 0 >>",
        "/A << /JS (1) >>",
        "/A << /#4AS (1) >>",
        "/Names << /JavaScript 7 0 R >>",
    ] {
        assert_eq!(verdict(&pdf(inside)), Err(Refusal::Scripted), "{inside}");
    }
    for inside in ["/JavaScripts 1", "/Launcher 1", "/xJavaScript 1", "/J#zaS 1", "(JavaScript)", "/JSON 1"] {
        assert_eq!(verdict(&pdf(inside)), Ok(FileType::Pdf), "{inside}");
    }
}

#[test]
fn in_a_stream_only_long_names_count_as_scripts() {
    assert_eq!(verdict(&pdf(">>\nstream\n\x01/JS \x02\nendstream\n<<")), Ok(FileType::Pdf));
    assert_eq!(verdict(&pdf(">>\nstream\r\nxx\nendstream\n<< /JS (1)")), Err(Refusal::Scripted));
    assert_eq!(verdict(&pdf("(stream\n) /S /JavaScript")), Err(Refusal::Scripted));
}

/// A PDF with an object stream.
fn packed(dictionary: &str, objects: &[u8]) -> Vec<u8> {
    let begin = format!("%PDF-1.7\n4 0 obj\n<< {dictionary} /Length {} >>\nstream\r\n", objects.len());
    [begin.as_bytes(), objects, b"\nendstream\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"].concat()
}

#[test]
fn object_streams_are_scanned_too() {
    let zlib = |text: &str| miniz_oxide::deflate::compress_to_vec_zlib(text.as_bytes(), 6);
    let harmless = "1 0 << /Type /Catalog >> ".repeat(2_000);
    let scripted = format!("{harmless} << /S /Java#53cript /JS (1) >> {harmless}");
    let flate = "/Type /ObjStm /N 9 /First 5 /Filter /FlateDecode";
    assert_eq!(verdict(&packed(flate, &zlib(&harmless))), Ok(FileType::Pdf));
    assert_eq!(verdict(&packed(flate, &zlib(&scripted))), Err(Refusal::Scripted));
    assert_eq!(verdict(&packed("/N 9 /First 5 /Filter [/FlateDecode]", &zlib("<</JS 1>>"))), Err(Refusal::Scripted));
    assert_eq!(verdict(&packed(flate, &zlib("<</S/Launch"))), Err(Refusal::Scripted));
    assert_eq!(verdict(&packed("/Type /ObjStm /N 9 /First 5", b"<< /JS (1) >>")), Err(Refusal::Scripted));
    // Other streams are images or text.
    assert_eq!(verdict(&packed("/Filter /FlateDecode", &zlib(&scripted))), Ok(FileType::Pdf));
}

#[test]
fn a_comment_or_string_does_not_hide_an_object_stream() {
    let zlib = |text: &str| miniz_oxide::deflate::compress_to_vec_zlib(text.as_bytes(), 6);
    let dictionary = "/Type /ObjStm /N 9 /First 5 /Filter /FlateDecode";
    let script = zlib("1 0 << /S /JavaScript /JS (1) >>");
    for decoy in ["%stream\n", "(stream\n)", "(\\) stream\n)", "% endobj\n", "(endobj )", "((stream ) stream\r)"] {
        assert_eq!(verdict(&packed(&format!("{dictionary} {decoy}"), &script)), Err(Refusal::Scripted), "{decoy}");
        assert_eq!(verdict(&packed(&format!("{decoy} {dictionary}"), &script)), Err(Refusal::Scripted), "{decoy}");
        assert_eq!(verdict(&pdf(decoy)), Ok(FileType::Pdf), "{decoy}");
    }
    // Whoever follows an offset finds an object where others see a comment, a string or a stream.
    let begin = |before: &str, after: &str| {
        let begin = format!("%PDF-1.7\n{before} 6 0 obj << {dictionary} {after} >> stream\n");
        [begin.as_bytes(), &script, b"\nendstream\nendobj\n"].concat()
    };
    for (before, after) in [("%", "\n"), ("(", ""), ("(", ")"), ("5 0 obj << >> stream\n", ""), ("%", "\n>> stream\n")]
    {
        assert_eq!(verdict(&begin(before, after)), Err(Refusal::Opaque), "{before:?} {after:?}");
    }
}

#[test]
fn an_object_stream_is_scanned_to_the_end_of_its_data() {
    // Level 0 stores the text as it is.
    let stored = miniz_oxide::deflate::compress_to_vec_zlib(b"(endstream endobj ) << /S /Java#53cript >>", 0);
    let flate = "/Type /ObjStm /N 9 /First 5 /Filter /FlateDecode";
    assert_eq!(verdict(&packed(flate, &stored)), Err(Refusal::Scripted));
    let file = packed(flate, &stored);
    let cut = file.windows(4).position(|window| window == b"Java").unwrap();
    assert_eq!(verdict(&file[..cut]), Err(Refusal::Broken));
    for keyword in ["stream \n", "stream % comment\r\n", "stream junk\n"] {
        let begin = format!("%PDF-1.7\n4 0 obj\n<< {flate} >> {keyword}");
        let script = miniz_oxide::deflate::compress_to_vec_zlib(b"<< /S /Java#53cript >>", 6);
        let file = [begin.as_bytes(), &script, b"\nendstream\nendobj\n"].concat();
        assert_eq!(verdict(&file), Err(Refusal::Scripted), "{keyword:?}");
    }
}

#[test]
fn xfa_forms_media_and_attachments_are_rejected() {
    assert_eq!(verdict(&pdf("/AcroForm << /XFA 7 0 R >>")), Err(Refusal::Scripted));
    assert_eq!(verdict(&pdf("/Subtype /RichMedia")), Err(Refusal::Scripted));
    assert_eq!(verdict(&pdf("/Names << /Embedded#46iles 7 0 R >>")), Err(Refusal::Attachment));
    assert_eq!(verdict(&pdf(">>\nstream\n/Type /EmbeddedFile \nendstream\n<<")), Err(Refusal::Attachment));
    assert_eq!(verdict(&pdf(">>\nstream\n\x01/XFA \x02\nendstream\n<<")), Ok(FileType::Pdf));
}

#[test]
fn object_streams_that_cannot_be_scanned_are_rejected() {
    for filter in ["/Filter /LZWDecode", "/Filter [/ASCII85Decode /FlateDecode]", "/Filter 9 0 R"] {
        assert_eq!(verdict(&packed(&format!("/Type /ObjStm {filter}"), b"xyz")), Err(Refusal::Opaque), "{filter}");
    }
    let flate = "/Type /ObjStm /Filter /FlateDecode";
    assert_eq!(verdict(&packed(flate, b"this was never compressed")), Err(Refusal::Broken));
    let bomb = miniz_oxide::deflate::compress_to_vec_zlib(&vec![b' '; 65 << 20], 1);
    assert_eq!(verdict(&packed(flate, &bomb)), Err(Refusal::Opaque));
}

#[test]
fn an_image_may_have_at_most_40_megapixels() {
    assert_eq!(verdict(&png(8_000, 5_000)), Ok(FileType::Png));
    assert_eq!(verdict(&png(8_000, 5_001)), Err(Refusal::TooManyPixels));
    assert_eq!(verdict(&png(u32::MAX, u32::MAX)), Err(Refusal::TooManyPixels));
    assert_eq!(verdict(&png(0, 100)), Err(Refusal::Broken));
    assert_eq!(verdict(&jpeg(8_000, 5_000, 7)), Ok(FileType::Jpeg));
    assert_eq!(verdict(&jpeg(8_001, 5_000, 7)), Err(Refusal::TooManyPixels));
    assert_eq!(verdict(&jpeg(0, 5_000, 7)), Err(Refusal::Broken));
}

#[test]
fn an_image_without_a_complete_header_is_rejected() {
    assert_eq!(verdict(&png(10, 10)[..20]), Err(Refusal::Broken));
    assert_eq!(verdict(b"\x89PNG\r\n\x1A\n\0\0\0\x0DIDATxxxxxxxxxxxx"), Err(Refusal::Broken));
    let whole = jpeg(10, 10, 5);
    assert_eq!(verdict(&whole[..whole.len() - 14]), Err(Refusal::Broken));
    assert_eq!(verdict(&[0xFF, 0xD8, 0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 1, 2, 3]), Err(Refusal::Broken));
}

proptest! {
    #[test]
    fn the_result_does_not_depend_on_the_chunks(length in 1usize..40, which in 0usize..7, noise in any::<Vec<u8>>()) {
        let mut file = match which {
            0 => pdf("/S /J#61vaScript"),
            1 => pdf(">>\nstream\n/JS \nendstream\n<<"),
            2 => pdf("/Encrypt 1 0 R"),
            3 => png(9_000, 9_000),
            4 => jpeg(300, 200, 25),
            5 => packed("/ObjStm /FlateDecode", &miniz_oxide::deflate::compress_to_vec_zlib(b"<</JS 1>>", 6)),
            _ => Vec::new(),
        };
        file.extend(noise);
        prop_assert_eq!(in_pieces(&file, length), verdict(&file));
    }

    #[test]
    fn no_input_panics(start in 0usize..3, noise in any::<Vec<u8>>(), length in 1usize..9) {
        let start: &[u8] = [b"%PDF-1.4".as_slice(), b"\xFF\xD8\xFF".as_slice(), b"\x89PNG\r\n\x1A\n".as_slice()][start];
        let _ = in_pieces(&[start, &noise].concat(), length);
    }
}
