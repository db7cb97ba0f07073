"""check_words.py finds phrases in texts, over the ends of lines, and leaves plain English alone."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_words  # noqa: E402


class CheckWords(unittest.TestCase):
    def found(self, name, text):
        """[(line, phrase)]"""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text(text)
            places = check_words.find(check_words.text_of(path))
            return [(line, phrase) for line, phrase, _ in places]

    def test_each_phrase_once(self):
        for text in ("memory a rank", "one a device", "0.5 GB/s a node", "we go on with it",
                     "it goes on", "rows are taken back", "what mends it",
                     "written beside the steps", "the numbers went bad", "a good checkpoint",
                     "'x' is no number", "they are no options", "one word too many",
                     "every so manieth cell", "so many bytes", "wait for ever", "made anew",
                     "whoever waits", "nobody reads it", "nothing to warn of", "--help tells more",
                     "what the run came to", "it wants a list", "it shall end",
                     "it is told", "a whole number", "cannot make a file", "the file is whole",
                     "what becomes of it", "a file needed no more", "they give up a file",
                     "the steps below are the most", "a run that ended by itself",
                     "this ends no run", "four times one", "it is then not used",
                     "can do besides."):
            with self.subTest(text):
                self.assertEqual(len(self.found("a.md", f"x {text} y\n")), 1)

    def test_plain_english(self):
        text = """A rank that fails, on a rank, of a step, within a cell, when a rank ends.
            It needs memory per rank. There is no memory. It is no longer there, and no larger.
            It goes on the device. So many that one fails. A text file. What the user wants.
            Give a rank as many cores as threads. Once a second. At least, at most.
            """
        self.assertEqual(self.found("a.md", text), [])
        self.assertEqual(self.found("a.c", "".join(f"// {line.strip()}\n"
                                                   for line in text.splitlines())), [])

    def test_over_the_ends_of_lines(self):
        self.assertEqual(self.found("a.c", "/* They go\n * on with it,\n * for ever. */\n"),
                         [(1, "go on with"), (3, "for ever")])
        self.assertEqual(self.found("a.c", 'f("%s: they go "\n  "on with\\n"\n  "it");\n'),
                         [(1, "go on with")])
        self.assertEqual(self.found("a.sh", "# they go\n# on with it\n"), [(1, "go on with")])
        self.assertEqual(self.found("a.md", "they go\non with it\n"), [(1, "go on with")])

    def heads(self, name, text):
        """[(line, head)]"""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return [(line, phrase) for line, phrase, _ in check_words.places_in(path, name)]

    def test_heads_of_sentences(self):
        for head in ("What it does", "Whether it does", "Of a face", "Those that do", "That of it",
                     "The same of it"):
            for text in (f"{head}.\n", f"One.\n\n{head}.\n", f"One. {head}.\n", f"# {head}\n",
                         f"- One.\n- {head}.\n", f"1. {head}.\n", f"| one | {head} |\n",
                         f"**{head}** is.\n"):
                with self.subTest(text):
                    self.assertEqual(len(self.heads("a.md", text)), 1)
        self.assertEqual(self.heads("a.sh", "x=1  # Of a\n# b. What\n#\n# of a\n"),
                         [(1, "Of"), (2, "What")])
        self.assertEqual(self.heads("a.py", '"""Whether it is."""\nx = 1  # Of a\n'),
                         [(1, "Whether"), (2, "Of")])

    def test_plain_heads(self):
        text = """What is it? Of course. The same bits are found. This is what it does. It
            knows whether it is. One of them. Does it do\nwhat it should, or what it\nof a
            """
        self.assertEqual(self.heads("a.md", text), [])
        self.assertEqual(self.heads("a.yaml", "".join(f"# {line.strip()}\n"
                                                      for line in text.splitlines())), [])

    def test_heads_in_sources(self):
        text = 'int a; /* of b */\n/* What it does. */\nf("What %s is. Whether");\n'
        self.assertEqual(self.heads("src/other/a.c", text), [(3, "What"), (3, "Whether")])
        self.assertEqual(self.heads("src/base/a.c", text),
                         [(1, "of"), (2, "What"), (3, "What"), (3, "Whether")])

    def test_code_is_not_text(self):
        self.assertEqual(self.found("a.c", '#include "for ever.h"\nint shall = wants(nobody);\n'),
                         [])
        self.assertEqual(self.found("a.c", 'f("memory", "a rank"); /* one */ b; /* a row */\n'), [])


if __name__ == "__main__":
    unittest.main()
