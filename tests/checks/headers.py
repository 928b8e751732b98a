"""headers - each public header compiles alone, in C99 and in C++17."""
from check import CC, ROOT, case, faults_of, finish, tracked

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]

for header in tracked("include/mcp/*.h"):
    include = ["-I", ROOT / "include", "-include", f"mcp/{header.name}"]
    case(f"{header.stem}_h_is_C99", faults_of(
        CC, "-std=c99", *STRICT, *include, "-x", "c", "/dev/null"))
    case(f"{header.stem}_h_is_Cxx17", faults_of(
        "c++", "-std=c++17", *STRICT, *include, "-x", "c++", "/dev/null"))
finish()
