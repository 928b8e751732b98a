"""linkage - a program that speaks over pipes links no TLS and no HTTP client, and no libm,
which is a third of a megabyte for one function."""
import re
from check import BUILD, CC, ROOT, case, faults_of, finish, run, scratch

PROGRAM = """
#include <mcp/base.h>
int main(void) { return mcp_version()[0] == 0; }
"""
HEAVY = re.compile(r"lib(ssl|crypto|curl|llhttp|mcp-http)\b[^\s]*")


def heavy(*command):
    status, output = run(*command)
    if status:
        return [output]
    return [f"needs {found[0]}" for found in HEAVY.finditer(output)]


library = BUILD / "lib/libmcp.so"
case("libmcp_needs_no_TLS_and_no_curl", heavy("ldd", library))

status, needed = run("readelf", "-d", library)
case("libmcp_needs_no_libm", [needed] if status or "[libm." in needed else [])

with scratch() as folder:
    (source := ROOT.__class__(folder) / "stdio.c").write_text(PROGRAM)
    program = source.with_suffix("")
    faults = faults_of(CC, source, "-I", ROOT / "include", "-o", program,
                       "-L", library.parent, f"-Wl,-rpath,{library.parent}", "-lmcp")
    case("stdio_program_needs_no_TLS_and_no_curl",
         faults or heavy("ldd", program) + faults_of(program))
finish()
