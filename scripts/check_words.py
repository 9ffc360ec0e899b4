#!/usr/bin/env python3
"""Checks that comments, messages, docs and names use the usual words of the field. Each rule refuses one word.

    scripts/check_words.py [PATH...]    checks all files of the project, or those below the paths
    scripts/check_words.py --count      prints the number of findings by word and folder
    scripts/check_words.py --self-test  first proves that every rule can fail and that its exceptions pass

Names are split at underscores and capitals: `rowMaker` and `row_maker` contain the word "maker". A phrase may continue on the
next line. For a use that is right as it is, extend the rule's pattern, or name the file and the text in ALLOWED.
"""
import re
import sys
from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from project_files import CPP, ROOT, project_files

SUFFIXES = (*CPP, ".py", ".cmake", ".md", ".js", ".html", ".css", ".in", ".1", ".txt", "")
# This file lists the words; the license and the list of aten names are quoted.
EXCLUDED = {"scripts/check_words.py", "LICENSE", "tests/dispatch/core_aten.txt"}


class Rule(NamedTuple):
    pattern: str  # sees lower case with names split into words, and one space for any white space
    instead: str
    refused: list
    accepted: list


RULES = {
    "beside": Rule(
        r"\bbeside\b", "next to, with, alongside, except",
        ["numbers_beside", "the file beside it"], ["besides", "side by side"]),
    "behind": Rule(
        r"(?<!\bleft )(?<!\bleave )(?<!\bleaves )(?<!\bleaving )(?<!\bfalls )(?<!\bfall )(?<!\bfar )\bbehind\b",
        "after, following, past the end of; of an interface: that implements",
        ["it comes behind it", "kWordsBehind"], ["files are left behind", "a rank that falls behind"]),
    "maker": Rule(
        r"\bmakers?\b", "producer (of a value), vendor (of a device), builder, factory",
        ["maker_of_", "the makers' data sheets", "struct RowMaker"], ["make", "made"]),
    "turned": Rule(
        r"\bturn(?:ed|ing)\b(?! (?:on|off|into|out|around|upside|inside|down|up|away|back)\b)",
        "transposed, transposing; of pairs of columns: rotated",
        ["TileProduct turned", "turning tiles", "turned.zero_()"], ["turned on", "turned into an integer", "take turns"]),
    "greatest": Rule(
        r"\bgreatest\b(?! common divisor)", "largest, max, maximum",
        ["greatest_value", "the greatest of"], ["the greatest common divisor"]),
    "is no": Rule(
        r"(?<!\bthere )\b(?:is|are) no\b(?!-)(?! (?:longer|more|less|faster|slower|larger|smaller|better|worse|op|one|sooner)\b)",
        "is not a, has no, there is no",
        ["it is no loop", "these are no times", "this is\n// no row"], ["there is no queue", "is no longer", "is_none"]),
    "mend": Rule(
        r"\bmend(?:s|ed|ing)?\b", "fix, repair",
        ["./dev format mends it"], ["amend", "recommended"]),
    "hold against": Rule(
        r"\b(?:held|hold|holds|holding) (?:[\w.']+ ){0,4}against\b", "compare with, check against",
        ["it is held against torch", "holds the ratios against their goals"], ["compared against torch"]),
    "whom": Rule(
        r"\bwhom(?:ever)?\b|\bwhoever\b", "the caller, the user, or the name of the object",
        ["to whom it belongs", "whoever asked"], ["whole"]),
    "loop over elements": Rule(
        r"\bloops? over (?:the |its |all |these )?elements\b", "elementwise op, elementwise loop",
        ["is a loop over elements", "// Loops over\n  // elements", "loops_over_elements"], ["loops over rows"]),
    "kernel over rows": Rule(
        r"\b(?:kernels?|ops?|folds?|functions?) over (?:a |the )?rows?\b", "row reduction, reduction over the last axis",
        ["kernels over rows", "a fold over a row"], ["a loop over rows"]),
    "what stands": Rule(
        r"\b(?:what|that which) stands?\b", "name the thing: the nodes between, the text before",
        ["what stands between them"], ["where it stands"]),
    "product of matrices": Rule(
        r"\bproducts? of (?:two |the |its |their )?(?:matrix|matrices)\b", "matmul, GEMM",
        ["products of matrices"], ["product of two numbers", "inner product"]),
    "works": Rule(
        r"\b(?:the|all|its|their|these|those|other|between|many|fewer|larger|pointwise|few|some|per|two|several|such|"
        r"same|most|long|short|idle|\d+|add|sum|count|number of|of|for) works\b(?! (?:on|with|as|by|for|in|like|without|only|"
        r"alone|itself|out|at|from|when|if|too|today|again|there|against)\b)"
        r"|(?:[][(){}<>.&*=!\"']|::) ?works ?[][(){}<>.&*,;:+=\"'-]|\bworks (?:of|launched|take|were|are|before|after)\b",
        "kernels, memcpys and memsets; together: device activity",
        ["the works of a stream", "step.works.empty()", "add_works_of(node)", "fewer works", "sum(works) AS works"],
        ["it works", "the caller works alone", "and works without", "network", "it works on AVX2", "this works."]),
    "room": Rule(
        r"(?<!\bmake )(?<!\bmakes )(?<!\bmaking )(?<!\bleave )(?<!\bleaves )(?<!\bleaving )(?<!\benough )(?<!\bmore )"
        r"(?<!\bthere is )(?<!\bchat )(?<!\bleft )\brooms?\b",
        "scratch, workspace; of a line: width, space",
        ["Room& room", "room_.packed", "room for the panels"], ["it makes room for two", "there is room", "broom"]),
    "kept for backward": Rule(
        r"\bkept for (?:the )?(?:backward|gradients?)\b", "saved for backward",
        ["it is kept for backward"], ["kept for reuse"]),
}

# Names with "most" and "least": in sentences the words are fine.
NAME = Rule(
    r"\b[kK](?:Most|Least)[A-Z]\w*|\b(?:at_)?(?:most|least|MOST|LEAST)_\w+|\w_at_(?:most|least)\b|\w_(?:most|least|MOST|LEAST)\b"
    r"|(?<!\w)--(?:most|least)\b|\w(?:Most|Least)\b",
    "max, min",
    ["kMostLines", "most_calls", "MOST_LINES", "tokens_at_most", "--most 5"], ["at most ten", "the least of them"])

# Uses that are right as they are: (file, text of the line).
ALLOWED = [
    ("CHANGELOG.md", " was `"),  # says what was renamed
    ("CHANGELOG.md", "`works"), ("CHANGELOG.md", "`queue_most`"), ("CHANGELOG.md", ".works"),
    ("doctor/docs/fleet.md", "least(greatest("), ("docs/fleet/duckdb.sql", "least(greatest("),  # functions of SQL
    ("doctor/fleet/columns.h", '"works'), ("doctor/fleet/rank_rows.cc", '"works'),  # names of version 1
    ("doctor/tests/fleet/check_pack.py", '"works'),
]

SPACES = re.compile(r"\s+")
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
# What continues a sentence on the next line: comment markers, and the quotes between two parts of one text.
MARGIN = re.compile(r'^\s*(?://+|#+|\*+|>+)?\s*(?:[fr]?"(?=[^"]*"?[^"]*$))?|["\\\s]*$')


def flatten(lines):
    """Returns the lines as one text with single spaces, and the offset at which each line starts."""
    flat = [SPACES.sub(" ", MARGIN.sub("", line)) for line in lines]
    return " ".join(flat), list(accumulate((len(line) + 1 for line in flat), initial=0))


def find(text):
    """Returns (line, word, what to write instead, the text that was found), by line."""
    lines = text.splitlines()
    found = []
    names, starts = flatten(lines)
    for match in re.finditer(NAME.pattern, names):
        found.append((bisect_right(starts, match.start()), "most or least in a name", NAME.instead, match[0]))
    words, starts = flatten([HUMP.sub(" ", line).lower() for line in lines])
    for word, rule in RULES.items():
        for match in re.finditer(rule.pattern, words):
            found.append((bisect_right(starts, match.start()), word, rule.instead, match[0]))
    return sorted(found)


def check(root, paths):
    problems = []
    for path in paths:
        name = path.as_posix()
        if name in EXCLUDED:
            continue
        text = (root / path).read_text(encoding="utf-8")
        lines = text.splitlines()
        for line, word, instead, matched in find(text):
            if not any(name == file and part in lines[line - 1] for file, part in ALLOWED):
                problems.append((name, line, word, f"{name}:{line}: '{matched.strip()}': write: {instead}"))
    return problems


def self_test():
    for word, rule in [*RULES.items(), ("most or least in a name", NAME)]:
        for text in rule.refused:
            if word not in [found[1] for found in find(text)]:
                sys.exit(f"self-test: the rule '{word}' does not refuse {text!r}")
        for text in rule.accepted:
            if found := [f for f in find(text) if f[1] == word]:
                sys.exit(f"self-test: the rule '{word}' refuses {text!r}: {found}")
    if [found[0] for found in find("one\ntwo beside\nthree")] != [2]:
        sys.exit("self-test: the number of the line is wrong")


def folder_of(name):
    parts = Path(name).parts[:-1]
    return "/".join(parts[:3] if parts[:2] == ("src", "backends") else parts[:2]) or "."


def main():
    if "--self-test" in sys.argv:
        self_test()
    wanted = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("--")]
    paths = [path for path in project_files(*SUFFIXES)
             if not wanted or any(path == below or below in path.parents for below in wanted)]
    problems = check(ROOT, paths)
    if "--count" in sys.argv:
        for title, counts in (("word", Counter(word for _, _, word, _ in problems)),
                              ("folder", Counter(folder_of(name) for name, _, _, _ in problems))):
            print(f"{'findings':>8}  {title}")
            print("\n".join(f"{count:8}  {key}" for key, count in counts.most_common()))
        print(f"{len(problems):8}  in total")
    else:
        print("\n".join(problem for _, _, _, problem in problems) or "words: fine")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
