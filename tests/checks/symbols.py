"""symbols - each shared library exports exactly what its list in src says."""
from check import BUILD, ROOT, case, finish, run

for library in "libmcp", "libmcp-http":
    wanted = {line.strip() for line in (ROOT / f"src/{library}.sym").read_text().splitlines()
              if line.strip() and not line.startswith("#")}
    _, output = run("nm", "-D", "--defined-only", BUILD / f"lib/{library}.so")
    found = {line.split()[-1] for line in output.splitlines() if line.strip()}
    case(f"{library}_exports_its_list",
         [f"exported, but not in src/{library}.sym: {name}" for name in sorted(found - wanted)]
         + [f"in src/{library}.sym, but not exported: {name}" for name in sorted(wanted - found)])
finish()
