"""Links of the documentation that lead out of its folder, and its navigation, for MkDocs.

Files of the repository that a page links to become part of the site, below `repository/`: texts as
pages, others as plain text. A link to a folder becomes its words. Pages that the navigation does
not name are in its last part.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def uri(path):
    """The address in the site of a file of the repository."""
    if path.startswith("docs/"):
        return path[len("docs/"):]
    return f"repository/{path}" + ("" if path.endswith(".md") else ".txt")


def target(path, link):
    """The file of the repository that a link in the file `path` leads to, and its anchor."""
    name, _, anchor = link.partition("#")
    where = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
    return where, anchor


def is_outward(link):
    return ":" in link


def linked(path):
    """The files that a text links to."""
    text = CODE.sub("", (ROOT / path).read_text())
    links = (match[2] for match in LINK.finditer(text))
    return {target(path, link)[0] for link in links if not is_outward(link)}


def named(nav):
    """The pages that a navigation names."""
    for entry in nav:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else named(value)


def on_config(config):
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    further = sorted(pages - set(named(config["nav"])))
    if further:
        titles = ((docs / page).read_text().split("\n", 1)[0].lstrip("# ") for page in further)
        entries = [{title: page} for title, page in zip(titles, further)]
        config["nav"].append({"Further": entries})
    return config


def on_files(files, config):
    pages = {f"docs/{file.src_uri}" for file in files if file.src_uri.endswith(".md")}
    known, waiting = set(pages), list(pages)
    while waiting:
        for path in linked(waiting.pop()) - known:
            if not (ROOT / path).is_file():
                continue
            known.add(path)
            if path.startswith("docs/"):
                continue
            files.append(File.generated(config, uri(path), abs_src_path=str(ROOT / path)))
            # Links of a page of the repository are followed no further: it would bring in all.
    return files


def on_page_markdown(markdown, page, config, files):
    path = page.file.src_uri
    path = path[len("repository/"):] if path.startswith("repository/") else f"docs/{path}"

    def moved(match):
        words, link = match[1], match[2]
        if is_outward(link):
            return match[0]
        where, anchor = target(path, link)
        if files.get_file_from_path(uri(where)) is None:
            # A broken link stays for MkDocs to report; one to a folder is only words.
            return words if (ROOT / where).exists() else match[0]
        relative = posixpath.relpath(uri(where), posixpath.dirname(page.file.src_uri) or ".")
        return f"[{words}]({relative}{'#' + anchor if anchor else ''})"

    parts, last = [], 0
    for code in CODE.finditer(markdown):
        # Code in the words of a link is part of the link.
        if code[0].startswith("```"):
            parts += [LINK.sub(moved, markdown[last:code.start()]), code[0]]
            last = code.end()
    return "".join(parts) + LINK.sub(moved, markdown[last:])
