"""layers - an #include only points down."""
import re
from check import ROOT, case, finish, tracked

ORDER = "base json wire core run link auth api cli".split()
# Whom a layer may include, where that is less than everything below it.
ONLY = {
    "run": {"base", "run"},
    "link": {"base", "json", "wire", "run", "link", "core/port.h"},
    "auth": {"base", "json", "wire", "run", "auth", "link/http_auth.h",
             "link/http_guard.h"},
    "cli": {"cli"},
    "examples": set(),
}


def allowed(layer):
    return ONLY[layer] if layer in ONLY else set(ORDER[:ORDER.index(layer) + 1])


def faults(path, layer):
    text = (ROOT / path).read_text()
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if not found:
            continue
        target = found[1]
        own = (ROOT / path).parent / target
        if layer == "examples" and own.exists():
            continue
        if target in allowed(layer) or target.split("/")[0] in allowed(layer):
            continue
        yield f"{path}:{number} includes {target}"


for layer in ORDER + ["examples"]:
    where = layer if layer == "examples" else f"src/{layer}"
    files = list(tracked(f"{where}/**/*.[ch]"))
    if files:
        case(f"{layer}_includes_point_down", [f for p in files for f in faults(p, layer)])

# What does no I/O includes only what C itself has; yyjson and PCRE2 stay behind json.
STANDARD = set("assert ctype errno float inttypes limits math stdalign stdarg stdatomic "
               "stdbool stddef stdint stdio stdlib string".split())
for layer in "base json wire core".split():
    extra = {"yyjson.h", "pcre2.h"} if layer == "json" else set()
    system = [(p, name) for p in tracked(f"src/{layer}/*.[ch]") for name in re.findall(
        r"^\s*#\s*include\s*<(?!mcp/)(.*)>", (ROOT / p).read_text(), re.M)]
    case(f"{layer}_is_pure", [f"{p} includes <{name}>" for p, name in system
                              if name[:-2] not in STANDARD and name not in extra])

public = [f for p in tracked("include/mcp/*.h") for f in re.findall(
    r'^\s*#\s*include\s*(".*"|<(?!mcp/|std|inttypes).*>)', (ROOT / p).read_text(), re.M)]
case("public_headers_include_only_public_ones", public)
finish()
