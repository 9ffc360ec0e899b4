"""Collects the pages of the site: Markdown files of the repository, the pictures and the source files that they link to.

A file keeps its path, so links between pages need no change. A link to a source file or a folder becomes a link to a page that
shows it. GitHub's Markdown and mkdocs' differ in lists: mkdocs wants an empty line before them, and four spaces before what
belongs to an item. It knows one word after the mark of a block of code.
"""
import os
import posixpath
import re
import shutil

from markdown_pages import CODE, LINK, is_external, links, outside_code, target_of
from project_files import project_files

# What browsers show by themselves; every other file that is linked is shown as a page.
SHOWN = {".svg", ".png", ".html"}
EXCLUDED = {"packaging/doctor/README_pypi.md"}  # the text of a package's page on an index
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".inc": "cpp", ".py": "python", ".sql": "sql", ".cmake": "cmake", ".json": "json", ".yml": "yaml",
             ".cff": "yaml"}

FILE_NAME = re.compile(r"\[[\w./-]+\.md\](?=\(([^)\s]+)\))")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ")


def page_of(root, target):
    """The page that shows a file or a folder."""
    if (root / target).is_dir():
        return f"{target}/README.md"
    return target if posixpath.splitext(target)[1] in SHOWN | {".md"} else f"{target}.md"


def title_of(root, page):
    return re.search(r"^# (.+)$", (root / page).read_text(encoding="utf-8"), re.MULTILINE)[1]


def for_mkdocs(root, page, text):
    """Returns the text with links to pages by their titles, and lists as mkdocs reads them."""

    def replace(match):
        if is_external(match[2]) or match[2].startswith("#"):
            return match[0]
        shown = page_of(root, target_of(page, match[2]))
        anchor = "#" + match[2].split("#")[1] if "#" in match[2] else ""
        return match[1] + posixpath.relpath(shown, posixpath.dirname(page) or ".") + anchor + match[3]

    def named(match):  # a link whose text is the name of a file says the title of its page
        target = target_of(page, match[1])
        return f"[{title_of(root, target)}]" if target.endswith(".md") and (root / target).is_file() else match[0]

    lines, before, width, has_parts = [], "", 0, False  # of the item before: its indentation, and whether it has several paragraphs
    for line, is_code in outside_code(text):
        item = None if is_code else ITEM.match(line)
        ends_parts = False
        if item and not line.startswith(" "):
            ends_parts, width, has_parts = width and has_parts, len(item[0]), False
        elif width and line.startswith(" " * width):  # belongs to the item
            line = " " * 4 + line[width:]
        elif line.strip():
            width = 0
        else:
            has_parts = True
        if is_code:
            line = re.sub(r"^(\s*```\w+) .*", r"\1", line)
        else:
            if item and before.strip() and not ITEM.match(before) and (ends_parts or not before.startswith(" ")):
                lines.append("")
            parts, at = [], 0
            for code in CODE.finditer(line):
                parts += [line[at:code.start()], code[0]]
                at = code.end()
            parts.append(line[at:])
            # A link whose text is code is split by it, and its address is in the part after the code.
            line = "".join(part if i % 2 else LINK.sub(replace, FILE_NAME.sub(named, part)) for i, part in enumerate(parts))
        lines.append(line)
        before = line
    return "\n".join(lines)


def head_of(page):
    """What the search reads of a page: history, reasons and the insides come after the pages for users."""
    is_later = page.startswith("docs/decisions/") or page == "CHANGELOG.md" or page.endswith("/README.md")
    return "---\nsearch:\n  boost: 0.3\n---\n\n" if is_later else ""


def source_page(root, target):
    text = (root / target).read_text(encoding="utf-8")
    fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
    language = LANGUAGES.get(posixpath.splitext(target)[1], "text")
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {target}\n\n"
    return f"{head}{fence}{{.{language} linenums=\"1\"}}\n{text.rstrip()}\n{fence}\n"


def folder_page(root, target):
    entries = sorted(os.listdir(root / target))
    return f"---\nsearch:\n  exclude: true\n---\n\n# {target}\n\n```text\n" + "\n".join(entries) + "\n```\n"


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def collect(root, folder):
    """Writes all pages into the folder. Returns the paths of those that are files of the repository."""
    pages = [path.as_posix() for path in project_files(".md")
             if path.as_posix() not in EXCLUDED and not path.parts[0].startswith(".")]
    linked = set()
    for page in pages:
        text = (root / page).read_text(encoding="utf-8")
        linked.update(target_of(page, address) for _, address in links(text) if not is_external(address))
        write(folder, page, head_of(page) + for_mkdocs(root, page, text))
    for target in sorted(linked - set(pages)):
        shown = page_of(root, target)
        if shown in pages or not (root / target).exists():  # mkdocs reports what does not exist
            continue
        if (root / target).is_dir():
            write(folder, shown, folder_page(root, target))
        elif shown != target:
            write(folder, shown, source_page(root, target))
        else:
            (folder / shown).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / target, folder / shown)
    return pages
