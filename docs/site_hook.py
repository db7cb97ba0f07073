"""A hook of MkDocs: pages link to configurations and sources outside of docs/. These files become a
part of the site, in its folder `source`, and the links point there."""
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([\w./-]+)(#[\w-]+)?\)")


def place(page):
    """The path of a file of the site in the repository."""
    return page.removeprefix("source/") if page.startswith("source/") else f"docs/{page}"


def targets(page, text):
    """For each link: its text in the page, the path of the site, and the part of a page."""
    for link in LINK.finditer(text):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(place(page)), link[1]))
        if (ROOT / path).is_file():
            site = path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}"
            yield link, site, link[2] or ""


def on_files(files, config):
    waiting = [file.src_uri for file in files.documentation_pages()]
    while waiting:
        page = waiting.pop()
        for _, site, _ in targets(page, (ROOT / place(page)).read_text(encoding="utf-8")):
            if files.get_file_from_path(site) is None:
                files.append(File.generated(config, site, abs_src_path=str(ROOT / place(site))))
                waiting += [site] if site.endswith(".md") else []
    return files


def on_page_markdown(markdown, page, **_):
    here = page.file.src_uri
    for link, site, part in reversed(list(targets(here, markdown))):
        path = posixpath.relpath(site, posixpath.dirname(here) or ".")
        markdown = f"{markdown[:link.start()]}]({path}{part}){markdown[link.end():]}"
    return markdown
