"""Words that read as a translation, and the usual ones for them: in comments, messages, scripts,
configurations and documentation.

usage: check_words.py SOURCE_FOLDER [--summary] [--at-most N] [FOLDER...]
--summary: counts by folder and by phrase. FOLDER: look only there (`tests` too, if named).
--at-most: pass with up to N places, while the texts are being rewritten.
"""
import argparse
import collections
import pathlib
import re
import sys

from source_tree import PRODUCT_FOLDERS, files

TEXTS = (*PRODUCT_FOLDERS, "docs", "configs", "jobscripts", "cmake", ".ci")
TOP_FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json")
C_SUFFIXES = (".c", ".h", ".cpp", ".in")
SUFFIXES = (*C_SUFFIXES, ".md", ".txt", ".py", ".sh", ".sbatch", ".yaml", ".cmake", "run")

# What is counted or measured, and for each of what: "bytes a cell", "one a node".
QUANTITY = (r"(?:\d+|B|[KMG]i?B|[mun]s|bytes?|cells?|blocks?|threads?|ranks?|cores?|tasks?|points?|"
            r"lines?|rows?|planes?|pieces?|boxes|pairs?|vectors?|lanes?|columns?|numbers?|"
            r"messages?|instructions?|ops|updates?|links?|loads?|stores?|requests?|nanoseconds|"
            r"microseconds|sums?|accesses|memory|halos?|cache|traffic|padding|one|two|three|"
            r"once|twice|GPUs?|GCDs?|jobs?)")
EACH = (r"(?:rank|step|node|cell|device|thread|axis|row|plane|exchange|line|point|GPU|GCD|module|"
        r"block|core|side|face|pass|process|pair|snapshot|key|entry|multiprocessor|round|launch|"
        r"group|kind|substep|update|dataset)")

# (a phrase, as a regular expression without regard to case; what to write). A blank stands for any
# white space, also from one line of a comment or of a string to the next.
PHRASES = [
    (rf"\b{QUANTITY} an? {EACH}\b|(/s|\d s|%[.\d]*[fg] s) an? {EACH}\b",
     "per: 'bytes per cell', 'one rank per device'"),
    (r"\b(go|goes|gone|going|went) on with\b", "continue, resume"),
    (r"\b(go|goes|gone|going|went) on\b(?! (a|an|the|one|its|top|rank|\w+ (cores?|nodes?))\b)",
     "continue"),
    (r"\b(take|takes|took|taken|taking) back\b", "roll back, remove, truncate"),
    (r"\bmend(s|ed|ing)?\b", "fix, repair"),
    (r"\bbeside the (time )?steps\b",
     "in the background, concurrently with the time steps"),
    (r"\b(go|goes|gone|going|went) bad\b|\bbad (numbers?|values?)\b", "invalid values"),
    (r"\b(newest|last|oldest|older|a|the|no) good (checkpoint|one|state)s?\b|\bgood checkpoints?\b|"
     r"\bis good\b", "valid (checkpoint)"),
    (r"(?<!\bthere )\b(is|are) no (?!(long|loos|lat|larg|small|fast|slow|wid|bett)er\b|more\b|"
     r"less\b|such\b|matter\b)[a-z]+",
     "is not a ..., is not ..."),
    (r"\bis no matter\b|\bno matter for\b", "does not matter"),
    (r"\bknows? no\b", "does not support, has no"),
    (r"\bone \w+ too many\b", "unexpected ..."),
    (r"\bso manie?th\b", "every n-th"),
    (r"\bso (many|much)\b(?! (that|more|less|faster|slower|smaller|larger|better)\b)",
     "n, that many, the given number of; a given time"),
    (r"\bfor ever\b", "forever, indefinitely"),
    (r"\banew\b", "again, from scratch; rebuilt (made anew)"),
    (r"\bwhoever\b", "the rank (process, caller, user) that"),
    (r"\bwho (opens|changes|has (failed|none|one))\b", "the process (caller, user) that"),
    (r"\b(some|no|any|every)body('s)?\b|\bsomeone\b",
     "a (no, any, every) rank, process, user or program"),
    (r"\bto warn of\b", "no warnings"),
    (r"\btells? more\b|\bsays? more\b", "see ... for details"),
    (r"\bwhat (\w+ ){1,3}(come|comes|came|coming) to\b", "the result, the total"),
    (r"\bwhat (\w+ )?came of\b", "the result, the outcome"),
    (r"\b(is|are|was|were) told\b", "is reported (to a user), is passed (to a function)"),
    (r"\btells? of\b", "reports"),
    (r"\b(cannot|can|could) be told\b|\bcannot tell\b", "cannot be determined"),
    (r"\btell(s|ing)? (\w+ ){0,2}apart\b", "distinguish"),
    (r"\bfor want of\b", "for lack of"),
    (r"(?<!user )(?<!users )(?<!you )(?<!caller )(?<!who )\bwants?\b", "needs, requires, expects"),
    (r"\bshall\b", "must, should, is to"),
    (r"\bby the hand of\b", "by"),
    (r"\bby the (hundred|thousand|dozen)s?\b", "in batches of a hundred"),
    (r"; there are: |\boption '%s'; there are\b", "valid options (commands, ...): ..."),
    (r"\bit has: ", "available: ..."),
    (r"\bminds (neither|nothing|no|it)\b|\bminds? that\b", "ignores"),
    (r"\bstumbles? (over|on)\b", "fails on"),
    (r"\bin the midst\b", "in the middle of, during"),
    (r"\bwithout a word\b", "silently"),
    (r"\b(found|finds?) out\b", "determined, checked"),
    (r"\bpassed over\b", "skipped"),
    (r"\b(that|which) came this far\b|\bstays as the run left it\b",
     "kept: an earlier run had already reached this step"),
    (r"\bmoved? (it|them|the file|%s( and %s)?) away\b", "move the file elsewhere to continue"),
    (r"\bhas other columns\b", "columns differ from ..."),
    (r"\bslivers?\b", "very thin block, rounding remainder"),
    (r"\bthe way of the\b", "how the ... travel, the path of"),
    (r"\b(is|are|stays?|remains?|was|were|stood) as (it|they) (was|were|is|are|stood)\b",
     "unchanged"),
    (r"\ball the same\b", "anyway, nevertheless"),
    (r"\bon (any|other) ranks\b", "on any (another) number of ranks"),
    (r"\bfetch(es|ed|ing)? (\w+ ){0,2}ahead\b|\bfetching ahead\b", "prefetch"),
    (r"\bpast (the|their) ([a-z]+('s)? )?cache\b",
     "bypassing the (page) cache; non-temporal stores"),
    (r"\b(first|second|third)[- ]level( cache)?\b", "L1 cache, L2 cache"),
    (r"\bpushed out\b", "evicted"),
    (r"\b(operating )?system's (file )?cache\b|\bfile cache\b", "page cache"),
    (r"\bcannot cut\b|\bcut back\b", "truncate"),
    (r"\bcannot make\b", "cannot create"),
    (r"\bgreatest\b|\btraffic least\b|\bthe least (is|of)\b",
     "largest, smallest, maximum, minimum; minimize"),
    (r"\bwhole numbers?\b", "integer"),
    (r"\ba text(?! (file|editor|with|that|contains)\b)\b", "a string"),
    (r"\b(never|not) (always )?come back\b", "return"),
    (r"\bdid not come or go\b", "was not completed"),
    (r"\bgoes without\b", "is done without, skips"),
    (r"\brows? (\w+ )?follow(s|ing)? each other\b|\bthat follow each other\b", "contiguous"),
    (r"\b(is|are|be|was|were) whole\b(?! numbers?)|\barrives? whole\b", "complete, intact"),
    (r"\bthis or that\b|\bthe like\b", "name it"),
    (r"\b(the|these|whose) numbers (watched|went|of a)\b", "the quantities, the values"),
    (r"\bdear(er)?\b", "expensive"),
    (r"\bfrom nowhere\b", "without a source"),
    (r"\bat one go\b|\bin one go\b|\bby and by\b", "at once, in one call, gradually"),
    (r"\bhear(s)? of (it|that|this)\b|\ball hear\b", "is notified"),
    (r"\b(said|told) once\b", "reported once"),
    (r"\bsays? where (it|they|each|that) stands?\b", "reports its phase"),
    (r"\bspeaks?\b", "prints, reports"),
    (r"\bobeys?\b", "acts on"),
    (r"\b(that|what|which) (is|are) (still |already )?there\b|\b(is|are|was|were) not there\b|"
     r"\bwhen (it|they) (is|are) there\b", "exists, does not exist, is available, is written"),
    (r"\b(is|are|was|were) proved\b|, proved\b|\bproven to work\b", "verified, tested"),
    (r"\bsound (run|state|file|checkpoint)s?\b", "valid, correct"),
    (r"\bways? of working\b", "variant, mode"),
    (r"\bneed be\b", "than necessary"),
    (r"\bout of all proportion\b", "far out of range"),
    (r"\bunknown sign\b", "unknown character"),
    (r"%\w+ letters\b|\bmost \w+ letters\b|\bletter by letter\b", "characters"),
    (r"(?<=\w) in all(?= ?[.,;:)|])", "in total"),
    (r"\bbesides(?=[.,;:])", "in addition, also"),
    (r"\bbecom(e|es|ing) of\b", "name what happens to it"),
    (r"\bbecom(e|es|ing) others\b", "change into others"),
    (r"\bbecom(e|es|ing) (a )?solid\b", "consolidates, solidifies"),
    (r"\b(give|gives|giving|gave|given) up (an?|its|the file)\b", "release, remove, abandon"),
    (r"\bno more\b(?! (than|of)\b)", "no longer"),
    (r"\b(is|are) the most\b", "is an upper bound"),
    (r"\bends? by (itself|themselves)\b|\bended by (itself|themselves)\b", "terminates normally"),
    (r"\b(ends|changes|stops|breaks|moves) no [a-z]+", "does not end a ..."),
    (r"\btimes one\b", "efficiency, in percent"),
    (r"\b(is|are) then not\b", "in these cases ... is ignored"),
    (r"\bone word more\b|: a word\b", "say what changed"),
]

# (the first words of a sentence, a heading, a list item, a table cell or a comment, with regard to
# case; what to write). A question may begin with "What".
HEADS = [
    (r"What\b(?![^.!?:|\0]*\?)", "a subject and a verb"),
    (r"Whether\b(?! or not\b)", "a subject and a verb; true if ..., is ...?"),
    (r"Of\b(?! course\b)", "a subject and a verb"),
    (r"[Tt]hat of\b|[Tt]hose (that|of|which|whose|who|in|on|at|with|without|from|for)\b",
     "name the subject"),
    (r"The same\b(?! [a-z]+ (is|are|was|were|has|have|holds?|applies|apply|runs?|gives?)\b)",
     "name the subject"),
]
HEAD = r"(?:^|\0|[.!?]\)?) ?[*_\"'(`]*"
# Source folders whose comments are checked for HEADS, without regard to case: one by one, while
# comments are being rewritten. Messages and all other texts are checked everywhere.
CLEAN_FOLDERS = ("src/base/", "src/doctor/", "src/machine/", "halo/", "io/compare/", "io/picture/",
                 "io/raw/", "io/snapshot/")


def spaces(text):
    return re.sub(r"[^\n]", " ", text)


def not_text(text):
    return re.sub(r"[^\s]", "\0", text)


def kind(piece):
    """What stands in a text for some of its characters."""
    if piece.isspace():
        return "\0" if re.match(r"\n[ \t]*\n", piece) else " "
    return piece[0]


def comment_text(token):
    """A comment without its markers, of the same length; NUL where it begins."""
    token = re.sub(r"^/\*+", lambda m: not_text(m.group()), token)
    token = re.sub(r"^//+|\*/$", lambda m: spaces(m.group()), token)
    return re.sub(r"(?m)^[ \t]*(\*|//)", lambda m: spaces(m.group()), token)


def string_text(token):
    return re.sub(r'\\n|\\t|\\"|^"|"$', lambda m: spaces(m.group()), token)


def c_text(source, comments=True, strings=True):
    """Comments and strings of C at their places, all else NUL; adjacent strings are one text."""
    pieces, end = [], 0
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
    for found in token.finditer(source):
        pieces.append(not_text(source[end:found.start()]))
        text = found.group()
        line = source[source.rfind("\n", 0, found.start()) + 1:found.start()]
        if text[0] == "/" and comments:
            pieces.append(comment_text(text))
        elif text[0] == '"' and strings and "#include" not in line.replace(" ", ""):
            pieces.append(string_text(text))
        else:
            pieces.append(not_text(text))
        end = found.end()
    return "".join([*pieces, not_text(source[end:])])


def script_text(source):
    """Scripts and YAML: a comment or docstring begins with NUL; the # of its next lines is not
    part of a sentence."""
    lines, follows = [], False
    for line in source.splitlines(keepends=True):
        marker = re.match(r"[ \t]*#+", line)
        if marker:
            line = (spaces if follows else not_text)(marker.group()) + line[marker.end():]
        follows = bool(marker) and not line.startswith("#!")
        lines.append(re.sub(r'(?<=\S)[ \t]+# |^[ \t]*"{3}', lambda m: not_text(m.group()), line))
    return "".join(lines)


def markdown_text(source):
    """A heading, list item or table cell begins with NUL; a leading > is not part of a sentence."""
    source = re.sub(r"(?m)^[ \t]*(#+|[-*]|\d+\.)(?=[ \t])|\|", lambda m: not_text(m.group()),
                    source)
    return re.sub(r"(?m)^[ \t]*>+", lambda m: spaces(m.group()), source)


def text_of(path):
    source = path.read_text()
    if path.name.endswith(C_SUFFIXES):
        return c_text(source)
    return markdown_text(source) if path.suffix == ".md" else script_text(source)


def sentences(text):
    """The text with single blanks for white space and NUL for blank lines, and the offset of each
    character before."""
    pieces = [(match.start(), kind(match.group()))
              for match in re.finditer(r"\n[ \t]*\n\s*|\s+|\0+|.", text)]
    return "".join(piece for _, piece in pieces), [offset for offset, _ in pieces]


def find(text, phrases=tuple((f"({phrase})", advice) for phrase, advice in PHRASES),
         flags=re.IGNORECASE):
    """[(line, phrase, advice)]; the first of the phrases, each a group, where two fit a place."""
    joined, offsets = sentences(text)
    taken, found = [], []
    for pattern, advice in phrases:
        for match in re.finditer(pattern, joined, flags):
            start, end = match.span(1)
            if not any(start < b and a < end for a, b in taken):
                taken.append((start, end))
                line = text.count("\n", 0, offsets[start]) + 1
                found.append((line, match.group(1).strip(), advice))
    return sorted(found)


def find_heads(text, flags=0):
    return find(text, [(f"{HEAD}({head})", advice) for head, advice in HEADS], flags)


def places_in(path, name):
    """[(line, phrase, advice)] of a file; name: its path below the root."""
    found = find(text_of(path))
    if not path.name.endswith(C_SUFFIXES):
        return sorted(found + find_heads(text_of(path)))
    source = path.read_text()
    found += find_heads(c_text(source, comments=False))
    if name.startswith(CLEAN_FOLDERS):
        found += find_heads(c_text(source, strings=False), re.IGNORECASE)
    return sorted(found)


def places(root, folders):
    """(path, line, phrase, advice) of every place."""
    found = files(root, folders or TEXTS, *SUFFIXES)
    if not folders:
        found += [root / name for name in TOP_FILES if (root / name).is_file()]
    names = [(path, path.relative_to(root).as_posix()) for path in found]
    return [(name, *place) for path, name in names for place in places_in(path, name)]


def folder_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in PRODUCT_FOLDERS and len(parts) > 2 else parts[0]


def print_summary(found):
    by_folder = collections.Counter(folder_of(path) for path, *_ in found)
    by_file = collections.Counter(path for path, *_ in found)
    by_advice = collections.defaultdict(collections.Counter)
    for _, _, phrase, advice in found:
        by_advice[advice][phrase.lower()] += 1
    for title, counts in (("folder", by_folder), ("file", by_file)):
        print(f"places  {title}")
        for name, count in counts.most_common():
            print(f"{count:6}  {name}")
        print()
    print("places  what to write; the phrases found")
    for advice, counts in sorted(by_advice.items(), key=lambda item: -sum(item[1].values())):
        shown = ", ".join(f"{phrase} ({count})" for phrase, count in counts.most_common(6))
        print(f"{sum(counts.values()):6}  {advice}: {shown}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--at-most", type=int, default=0)
    arguments = parser.parse_intermixed_args()
    found = places(arguments.root, arguments.folders)
    if arguments.summary:
        print_summary(found)
    else:
        for path, line, phrase, advice in found:
            print(f'{path}:{line}: "{phrase}": write {advice}')
    print(f"{len(found)} places")
    sys.exit(1 if len(found) > arguments.at_most else 0)


if __name__ == "__main__":
    main()
