"""A HIP kernel source as C++ for tests/hip_on_host: launches and __shared__ become function calls.

usage: rewrite.py SOURCE OUTPUT
Lines stay where they are, and #line names the source, so that messages and debuggers do too.
"""
import pathlib
import re
import sys


def closing(text, at):
    """The place after the bracket that closes the one at `at`."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place + 1
    raise ValueError("a bracket is not closed")


def kernel_before(text, end):
    """Where the expression `name` or `name<...>` that ends at `end` begins."""
    at = len(text[:end].rstrip())
    if text[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += (text[at] == ">") - (text[at] == "<")
            if depth == 0:
                break
    return re.search(r"\w+\s*$", text[:at]).start()


def launches(text):
    """KERNEL<<<SHAPE>>>(ARGUMENTS) as a call of hip_on_host::launch."""
    while (at := text.rfind("<<<")) >= 0:
        end = text.index(">>>", at)
        begin = kernel_before(text, at)
        kernel = text[begin:at]
        arguments = text.index("(", end)
        after = closing(text, arguments)
        name = re.match(r"\w+", kernel).group()
        # a comment or macro in between would not survive, and there is none
        text = (f'{text[:begin]}hip_on_host::launch("{name}", '
                f"hip_on_host::shape({text[at + 3:end]}), "
                f"[&](const auto &...given) {{ {kernel}(given...); }}, "
                f"{text[arguments + 1:after - 1]}){text[after:]}")
    return text


def dynamic(match):
    """extern __shared__ TYPE NAME[]; as a pointer."""
    declared = re.sub(r"__attribute__\(\(\w+\(\w+\)\)\)|__align__\(\w+\)", "", match.group(1))
    kind, name = re.fullmatch(r"\s*(.+?)\s*(\w+)\s*\[\s*\]\s*", declared, re.DOTALL).groups()
    return f"{kind} *const {name} = static_cast<{kind} *>(hip_on_host::dynamic_shared());"


def static(match):
    """__shared__ TYPE NAME; as a static variable whose bytes are set when a block begins."""
    names = re.findall(r"(\w+)\s*(?:\[[^;,]*\]\s*)?(?=,|$)", match.group(1))
    begins = "".join(f" static uint64_t {name}_of_block;"
                     f" hip_on_host::begin_shared({name}_of_block, {name});" for name in names)
    return f"static {match.group(1)};{begins}"


def main():
    source, output = map(pathlib.Path, sys.argv[1:])
    text = launches(source.read_text(encoding="utf-8"))
    text = re.sub(r"extern\s+__shared__([^;]+);", dynamic, text)
    text = re.sub(r"__shared__\s+([^;]+);", static, text)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(f'#line 1 "{source}"\n{text}', encoding="utf-8")


if __name__ == "__main__":
    main()
