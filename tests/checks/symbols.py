"""symbols - each shared library exports exactly what its lists in src say, under the version
of each list; the private list is exactly what the other library needs; and calls inside of
libmcp are direct."""
import re
from check import BUILD, ROOT, case, finish, run

PROJECT = (ROOT / "CMakeLists.txt").read_text()
RELEASE = re.search(r"project\(libmcp VERSION ([\d.]+)", PROJECT)[1]
SERIES = RELEASE.rpartition(".")[0]
PRIVATE = f"LIBMCP_PRIVATE_{RELEASE}"


def listed(name):
    lines = (ROOT / f"src/{name}.sym").read_text().splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def symbols(library, *flags):
    _, output = run("nm", "-D", *flags, BUILD / f"lib/{library}.so")
    words = [line.split() for line in output.splitlines() if line.strip()]
    names = {line[-1].replace("@@", "@") for line in words if line[-2] != "A"}
    return {tuple(name.partition("@")[::2]) for name in names}


def compare(what, name, found, wanted):
    case(what, [f"exported, but not in src/{name}.sym: {one}" for one in sorted(found - wanted)]
         + [f"in src/{name}.sym, but not exported: {one}" for one in sorted(wanted - found)])


for library, series in ("libmcp", "LIBMCP"), ("libmcp-http", "LIBMCP_HTTP"):
    exports = symbols(library, "--defined-only")
    compare(f"{library}_exports_its_list", library,
            {name for name, version in exports if version != PRIVATE}, listed(library))
    case(f"{library}_exports_under_its_versions",
         [f"{name} has version {version or 'none'}" for name, version in sorted(exports)
          if version not in (PRIVATE, f"{series}_{SERIES}")])

private = {name for name, version in symbols("libmcp", "--defined-only") if version == PRIVATE}
compare("libmcp_exports_its_private_list", "libmcp-private", private, listed("libmcp-private"))

needed = {name for name, _ in symbols("libmcp-http", "--undefined-only")
          if name.startswith("mcpi_")}
case("the_private_list_is_what_libmcp_http_needs",
     [f"needed, but not in src/libmcp-private.sym: {name}"
      for name in sorted(needed - listed("libmcp-private"))]
     + [f"in src/libmcp-private.sym, but not needed: {name}"
        for name in sorted(listed("libmcp-private") - needed)])

_, code = run("objdump", "-d", "--no-show-raw-insn", BUILD / "lib/libmcp.so")
indirect = sorted(set(re.findall(r"<(mcpi?_\w+)(?:@\S+)?@plt>", code)))
case("libmcp_calls_itself_directly", [f"through the PLT: {name}" for name in indirect])
finish()
