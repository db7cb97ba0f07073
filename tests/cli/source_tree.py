"""What the checks of the source share: which files are ours, and C without comments."""
import pathlib
import re

PRODUCT_FOLDERS = ("src", "kernels", "halo", "io")
CODE_FOLDERS = (*PRODUCT_FOLDERS, "tests")


def files(root, folders, *suffixes):
    """All files below the folders with one of the suffixes, in a fixed order."""
    return [path for folder in folders for path in sorted((pathlib.Path(root) / folder).rglob("*"))
            if path.is_file() and path.name.endswith(suffixes)
            and not {"build", "__pycache__"} & set(path.relative_to(root).parts)]


def c_files(root, folders=CODE_FOLDERS):
    return files(root, folders, ".c", ".h", ".cpp")


def scripts(root):
    """Shell scripts, those without a suffix included."""
    return files(root, ("tests", "jobscripts"), ".sh", ".sbatch") + files(root, (".ci",), "run")


def blank(match):
    """The same number of lines with nothing on them."""
    return '""' if match.group()[0] == '"' else re.sub(r"[^\n]", " ", match.group())


def without_comments(text, strings=False):
    """C with comments (and strings) blanked, lines kept."""
    found = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
    return found.sub(lambda m: blank(m) if strings or m.group()[0] == "/" else m.group(), text)
