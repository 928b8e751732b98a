"""docs - links in the documents lead somewhere; one that is named by a function, as in
[`leg_signal`](../src/core/leg.c), to a file that defines it."""
import re
from check import ROOT, case, finish, tracked

LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(?:#[^)]*)?\)")


def faults(path):
    for text, target in LINK.findall((ROOT / path).read_text()):
        if "://" in target:
            continue
        file = (ROOT / path).parent / target
        name = re.fullmatch(r"`(\w+)`", text)
        if not file.exists():
            yield f"{path}: {target} does not exist"
        elif name and not re.search(rf"^{name[1]}\(", file.read_text(), re.M):
            yield f"{path}: {target} does not define {name[1]}"


for path in tracked("*.md", "docs/**/*.md"):
    case(f"links_of_{path.stem}", list(faults(path)))
finish()
