"""The pages of docs/ as HTML: MkDocs builds them, and every link and heading that they name exists.

usage: check_site.py SOURCE_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def main():
    root = pathlib.Path(sys.argv[1])
    python = root / "build/venv-lint/bin/python"
    if not python.exists() or subprocess.run([python, "-c", "import mkdocs"], check=False,
                                             stderr=subprocess.DEVNULL).returncode != 0:
        print("SKIP: no MkDocs in build/venv-lint (bash jobscripts/setup.sh test)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="isotherm_test_") as folder:
        words = [python, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder]
        if subprocess.run(words, cwd=root, check=False).returncode != 0:
            return 1
        wanted = [folder + f"/{page.relative_to(root / 'docs').with_suffix('.html')}"
                  for page in (root / "docs").rglob("*.md")]
        missing = [page for page in wanted if not pathlib.Path(page).exists()]
        print(f"{len(wanted)} pages", *(f"missing: {page}" for page in missing), sep="\n")
        return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
