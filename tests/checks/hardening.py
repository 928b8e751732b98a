"""hardening - what the compiler and the linker can do against attackers is in what was built."""
import platform
import re
from check import BUILD, case, finish, run


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


FILES = [path for folder in ("bin", "lib") for path in sorted((BUILD / folder).iterdir())
         if path.is_file() and not path.is_symlink() and is_elf(path)]
# What is installed: programs of a few lines may call nothing that is protected.
LARGE = [BUILD / name for name in ("lib/libmcp.so", "lib/libmcp-http.so", "bin/mcpctl",
                                   "bin/shell-tools")]


def read(*options):
    """[(file, what readelf says of it)]"""
    return [(path.name, run("readelf", *options, "-W", path)[1]) for path in FILES]


def relative_paths():
    """The loader looks for libraries in the current folder if one is empty."""
    for name, text in read("-d"):
        for paths in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text):
            for path in paths.split(":"):
                if not re.match(r"/|\$ORIGIN(/|$)", path):
                    yield f"{name} looks for libraries in '{path}' of '{paths}'"


def imports(path):
    return run("nm", "-D", "--undefined-only", path)[1]


case("all_that_is_installed_is_there", [str(path) for path in LARGE if not path.exists()])
case("library_paths_are_absolute", list(relative_paths()))
case("relocations_are_read_only", [
    name for name, text in read("-l", "-d")
    if "GNU_RELRO" not in text or not re.search(r"BIND_NOW|Flags:.*\bNOW\b", text)])
case("programs_have_no_fixed_address", [
    name for name, text in read("-h") if not re.search(r"Type:\s+DYN", text)])
case("stacks_are_not_executable", [
    name for name, text in read("-l") if not re.search(r"GNU_STACK.* RW ", text)])
case("stacks_are_protected", [
    path.name for path in LARGE if "__stack_chk_fail" not in imports(path)])
case("buffers_are_checked", [  # _FORTIFY_SOURCE
    path.name for path in LARGE
    if not re.search(r"__(?!stack)\w+_chk", imports(path))])
# CET. A program has it if the C library's own objects have it too, so that ours are looked at.
if platform.machine() == "x86_64":
    objects = [text for path in (BUILD / "lib").glob("libmcp*.a")
               for text in run("readelf", "-n", "-W", path)[1].split("\nFile: ")[1:]]
    case("jumps_are_checked", [
        text.splitlines()[0] for text in objects if not re.search(r"IBT.*SHSTK", text)]
        or ([] if objects else ["there is no archive"]))
finish()
