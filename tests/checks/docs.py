"""docs - what the documents claim of the code is so.

Links lead somewhere; one that is named by a function, as in [`leg_signal`](../src/core/leg.c),
to a file that defines it. errors.md has every status, limits.md every limit, with its
value. Programs printed in the README are the ones that are compiled, and features.md has a
section for each feature, with code that stands in an example."""
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


def status_faults():
    statuses = re.findall(r'X\((MCP_E_\w+), (-\d+), "([^"]+)"\)',
                          (ROOT / "include/mcp/base.h").read_text())
    text = (ROOT / "docs/errors.md").read_text()
    for name, value, sentence in statuses:
        if f"| `{name}` | {value} | {sentence} |" not in text:
            yield f"docs/errors.md does not have {name} = {value}, {sentence}"


# What bounds something: a default that an option changes, or a fixed maximum.
LIMIT = re.compile(r"^(?:#define\s+|\s+)((?:\w+_)?DEFAULT_\w+|MCPI?_\w+_MAX|MCPI?_\w+_DEFAULT)"
                   r"(?:\s*=\s*|\s+)([^,/\n=]+?),?\s*(?:/\*.*)?$", re.M)


def value_of(expression):
    """What a C constant expression of ours is worth; None if it is none."""
    plain = re.sub(r"\((?:size_t|uint64_t|int64_t)\)|(?<=\d)[uUlL]+\b", "", expression)
    plain = re.sub(r"U?INT64_C\((\w+)\)", r"\1", plain)
    plain = re.sub(r"\b(?:SECONDS|MS)\((\d+)\)",
                   lambda m: m[1] + ("000000" if m[0][0] == "S" else "000"), plain)
    return eval(plain) if re.fullmatch(r"[\d\s()*+<-]+", plain) else None  # numbers only


def limit_faults():
    text = (ROOT / "docs/limits.md").read_text()
    listed = {(m[1], m[2]): int(m[3]) for m in re.finditer(
        r"^\|[^|]*\| `(\w+)` \| `([\w./]+)` \| (\d+)", text, re.M)}
    found = {}
    for path in tracked("src/**/*.[ch]", "include/mcp/*.h"):
        for name, expression in LIMIT.findall((ROOT / path).read_text()):
            value = value_of(expression)
            if value is not None and value != 0:
                found[name, str(path)] = value
    for key in sorted(found.keys() | listed.keys()):
        if found.get(key) != listed.get(key):
            yield f"{key[0]} of {key[1]}: {found.get(key)}, docs/limits.md: {listed.get(key)}"


def readme_faults():
    readme = (ROOT / "README.md").read_text()
    for program in ("examples/readme_server.c", "examples/readme_client.c"):
        if (ROOT / program).read_text() not in readme:
            yield f"README.md does not print {program} as it is"


# Those of the official audit of an SDK.
FEATURES = ("Listing tools", "Calling tools", "Text, image, audio and embedded", "Tool errors",
            "Tools: list changed", "Listing resources", "Reading text, reading binary",
            "Resource templates, reading by", "Subscribing, unsubscribing",
            "Resources: list changed", "Listing prompts", "Getting a prompt, with arguments",
            "Prompts with embedded resources and images", "Prompts: list changed", "Sampling",
            "Elicitation: form", "Elicitation: URL", "Elicitation: schema validation, defaults, "
            "enums", "Elicitation: complete", "Roots: list, changed", "Log messages", "Log level",
            "Completion", "Ping", "Streamable HTTP, HTTP+SSE", "stdio: server and client",
            "Progress", "Cancellation", "Pagination", "Capability negotiation, version",
            "JSON Schema 2020-12")


def feature_faults():
    text = (ROOT / "docs/features.md").read_text()
    programs = [(ROOT / p).read_text() for p in tracked("examples/*.c")]
    for feature in FEATURES:
        if not re.search(rf"^##+ {re.escape(feature)}", text, re.M):
            yield f"docs/features.md says nothing of: {feature}"
    for block in re.findall(r"```c\n(.*?)```", text, re.S):
        if not any(block in program for program in programs):
            yield f"docs/features.md: no example has this code:\n{block[:200]}"


case("features_are_documented_with_compiled_code", list(feature_faults()))
case("errors_are_all_documented", list(status_faults()))
case("limits_are_all_documented", list(limit_faults()))
case("programs_of_the_readme_are_compiled", list(readme_faults()))
finish()
