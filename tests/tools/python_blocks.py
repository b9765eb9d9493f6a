"""Compiles the Python blocks of Markdown files, or runs each by itself: python_blocks.py [--run] FILE..."""

import re
import sys
import traceback

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main(arguments):
    run = arguments[:1] == ["--run"]
    failed = count = 0
    for path in arguments[1:] if run else arguments:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for block in BLOCK.finditer(text):
            # The line numbers of errors are those of the page.
            line = text.count("\n", 0, block.start(1))
            count += 1
            try:
                code = compile("\n" * line + block.group(1), path, "exec")
                if run:
                    exec(code, {"__name__": "__main__"})
            except Exception:
                failed += 1
                traceback.print_exc()
    print(f"{count} blocks, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
