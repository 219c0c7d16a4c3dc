"""A DOCX as its converter can read it: usual namespaces, formulas as TeX, lean styles."""

from __future__ import annotations

import io
import zipfile

from lxml import etree  # type: ignore[import-untyped]  # ships no types

from ingest.parse.faults import DAMAGE, damage_of

_STRICT = b"http://purl.oclc.org/ooxml/"
# Strict OOXML says the same under other names.
_USUAL_NAMES = tuple(
    (_STRICT + strict, b"http://schemas.openxmlformats.org/" + usual)
    for strict, usual in (
        (b"wordprocessingml/", b"wordprocessingml/2006/"),
        (b"officeDocument/", b"officeDocument/2006/"),
        (b"drawingml/", b"drawingml/2006/"),
    )
)
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_WITH_FORMULAS = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
_STYLES = "word/styles.xml"
# Looks only; they are most of a file of styles, and slow to read.
_LOOKS = ("latentStyles", "docDefaults", "rPr", "tblPr", "tblStylePr", "trPr", "tcPr")


def readable_docx(archive: zipfile.ZipFile) -> bytes:
    """The same document, packed anew. Raises `UnreadableItem("broken")`."""
    target = io.BytesIO()
    with damage_of("DOCX"), zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as rewritten:
        for member in archive.infolist():
            if member.is_dir():
                continue
            data = archive.read(member)
            if member.filename.endswith((".xml", ".rels")):
                data = _usual(data)
            if member.filename in _WITH_FORMULAS and b"oMath" in data:
                data = _with_tex(data)
            elif member.filename == _STYLES:
                data = _lean(data)
            rewritten.writestr(member.filename, data)
    return target.getvalue()


def _usual(data: bytes) -> bytes:
    if _STRICT in data:
        for strict, usual in _USUAL_NAMES:
            data = data.replace(strict, usual)
    return data


def _parse(data: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    return etree.fromstring(data, parser=parser)


def _packed(root: etree._Element) -> bytes:
    packed: bytes = etree.tostring(root, encoding="UTF-8", xml_declaration=True, standalone=True)
    return packed


def _with_tex(data: bytes) -> bytes:
    root = _parse(data)
    for formula in list(root.iter(f"{_M}oMath")):
        parent = formula.getparent()
        is_block = parent.tag == f"{_M}oMathPara"
        run = etree.Element(f"{_W}r")
        text = etree.SubElement(run, f"{_W}t")
        marks = "$$" if is_block else "$"
        tex = _tex(formula)
        following = formula.getnext()
        apart = " " if following is not None and following.tag == formula.tag else ""
        text.text = f"{marks}{tex}{marks}{apart}" if tex else ""
        text.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
        run.tail = formula.tail
        parent.replace(formula, run)
    for frame in list(root.iter(f"{_M}oMathPara")):
        _unwrap(frame)
    return _packed(root)


def _tex(formula: etree._Element) -> str:
    """TeX; for a formula that has no translation, its letters."""
    # Here, because it loads models that a document without formulas does not need.
    from markitdown.converter_utils.docx.math.omml import oMath2Latex

    try:
        tex = str(oMath2Latex(formula).latex)  # type: ignore[no-untyped-call]
    except DAMAGE:
        tex = ""
    return " ".join((tex or "".join(formula.itertext(f"{_M}t"))).split())


def _unwrap(frame: etree._Element) -> None:
    """Its runs take the place of the frame; a frame outside a paragraph becomes one."""
    parent = frame.getparent()
    if parent.tag != f"{_W}p":
        frame.tag = f"{_W}p"
        return
    place = parent.index(frame)
    for run in list(frame):
        if run.tag == f"{_W}r":
            parent.insert(place, run)
            place += 1
    parent.remove(frame)


def _lean(data: bytes) -> bytes:
    """Styles without looks; one without an id cannot be named and would stop the reader."""
    root = _parse(data)
    for name in _LOOKS:
        for node in list(root.iter(f"{_W}{name}")):
            node.getparent().remove(node)
    for style in root.findall(f"{_W}style"):
        if f"{_W}styleId" not in style.attrib:
            root.remove(style)
        elif f"{_W}type" not in style.attrib:
            style.set(f"{_W}type", "paragraph")
    return _packed(root)
