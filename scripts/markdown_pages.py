"""Links and headings of Markdown pages, for what checks them and for the site."""
import posixpath
import re

FENCE = re.compile(r"^\s*(```+|~~~+)")
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
LINK = re.compile(r"(\]\()([^)\s]+)((?:\s+\"[^\"]*\")?\))")
HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$")


def outside_code(text):
    """Yields (line, whether it is part of a block of code) of each line."""
    fence = None
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark[1]
            yield line, True
        elif fence is not None:
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = None
            yield line, True
        else:
            yield line, False


def links(text):
    """Returns (number of the line, address) of each link and picture."""
    return [(number, match[2]) for number, (line, is_code) in enumerate(outside_code(text), 1) if not is_code
            for match in LINK.finditer(CODE.sub(lambda code: " " * len(code[0]), line))]


def is_external(address):
    return re.match(r"[a-z][a-z+.-]*:", address) is not None


def target_of(page, address):
    """The path of the repository to which a relative link leads."""
    path = address.split("#")[0]
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page


def anchors(text):
    """The names that # may have in links to this page: headings as GitHub and mkdocs write them, with a number after a repeated one."""
    found = set()
    for line, is_code in outside_code(text):
        heading = None if is_code else HEADING.match(line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            name = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")
            repeated = sum(1 for other in found if re.fullmatch(re.escape(name) + r"(?:_\d+)?", other))
            found.add(f"{name}_{repeated}" if repeated else name)
    return found
