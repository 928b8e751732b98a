"""package - what `make install` installs is all there, and can be used: the programs from
where they are, the libraries by pkg-config and by CMake, from C and from C++17."""
import json
import os
import pathlib
import re
from check import BUILD, CC, ROOT, case, faults_of, finish, run, scratch, skip

CORE = """
#include <mcp/base.h>
#include <stdio.h>
int main(void) { return puts(mcp_version()) < 0; }
"""
HTTP = """
#include <mcp/http.h>
#include <stdio.h>
int main(void)
{
    mcp_error err;
    int r = mcp_server_listen_http(NULL, NULL, NULL, &err);
    puts(mcp_version());
    return puts(mcp_http_version()) < 0 || r != MCP_E_INVAL;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.21)
project(user C)
find_package(libmcp 0.1 REQUIRED COMPONENTS core http static)
add_executable(shared http.c)
target_link_libraries(shared libmcp::http libmcp::mcp)
add_executable(static http.c)
target_link_libraries(static libmcp::http_static libmcp::mcp_static)
foreach(program server client)
    add_executable(${program} ${program}.c)
    target_link_libraries(${program} PRIVATE libmcp::mcp)
endforeach()
"""
# Besides the libraries and what finds them; LIB is their folder.
FILES = """
bin/mcpctl bin/shell-tools LIB/libmcp.so LIB/libmcp.a LIB/libmcp-http.so LIB/libmcp-http.a
LIB/pkgconfig/libmcp.pc LIB/pkgconfig/libmcp-http.pc LIB/cmake/libmcp/libmcp-config.cmake
share/bash-completion/completions/mcpctl share/zsh/site-functions/_mcpctl
share/fish/vendor_completions.d/mcpctl.fish
"""
PAGES = "share/man/man1/mcpctl.1 share/man/man3/mcp_client.3 share/man/man3/mcp_client_spawn.3"
PROBE = BUILD / "bin/probe-server"


def by_pkg_config(source, module, *flags, compiler=(CC,)):
    """With --static our own archive is taken; the system's libraries stay shared."""
    status, words = run("pkg-config", *flags, "--cflags", "--libs", module)
    if status:
        return [words]
    archive = {"-lmcp": "-l:libmcp.a"} if flags else {}
    words = [archive.get(word, word) for word in words.split()]
    return faults_of(*compiler, source, "-o", source.with_suffix(""), *words)


def by_cmake(home, prefix):
    return (faults_of("cmake", "-S", home, "-B", home / "b", f"-DCMAKE_C_COMPILER={CC}",
                      f"-DCMAKE_PREFIX_PATH={prefix}")
            or faults_of("cmake", "--build", home / "b")
            or faults_of(home / "b/shared") + faults_of(home / "b/static"))


def missing(prefix, lib, names):
    names = [name.replace("LIB", lib) for name in names.split()]
    return [f"{name} is not installed" for name in names if not (prefix / name).is_file()]


def readme_programs():
    """The server and the client that the README prints."""
    blocks = re.findall(r"^```c\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    for name in ("server", "client"):
        yield name, next(b for b in blocks if f"<mcp/{name}.h>" in b and "main(" in b)


def sums(home):
    """The README's client in that folder asks its server."""
    status, output = run(home / "client", home / "server")
    right = status == 0 and output == "19 + 23 = 42\n"
    return [] if right else [f"{home}/client: {status}, {output}"]


def readme_by(home, compiler=(CC,)):
    home.mkdir()
    for name, text in readme_programs():
        (home / f"{name}.c").write_text(text)
    faults = [fault for name in ("server", "client") for fault in
              by_pkg_config(home / f"{name}.c", "libmcp", compiler=compiler)]
    return faults or sums(home)


def mcpctl_faults(prefix, readme):
    """In an environment that does not say where its libraries are."""
    bare = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    mcpctl = prefix / "bin/mcpctl"
    status, output = run(mcpctl, "--version", env=bare)
    if status or not re.fullmatch(r"mcpctl \d+\.\d+\.\d+\n", output):
        yield f"mcpctl --version: {status}, {output}"
    status, output = run(mcpctl, "tools", PROBE, "--json", env=bare)
    if status or '"echo"' not in output:
        yield f"mcpctl tools: {status}, {output}"
    if readme.exists():
        status, output = run(mcpctl, "call", readme, "add", "a=19", "b=23", "--json")
        if status or json.loads(output)["content"][0]["text"] != "42":
            yield f"mcpctl call: {status}, {output}"


with scratch() as folder:
    home = pathlib.Path(folder)
    prefix = home / "usr"
    (core := home / "core.c").write_text(CORE)
    (http := home / "http.c").write_text(HTTP)
    (home / "CMakeLists.txt").write_text(PROJECT)
    for name, text in readme_programs():
        (home / f"{name}.c").write_text(text)
    case("installs", faults_of("cmake", "--install", BUILD, "--prefix", prefix))
    lib = next(prefix.glob("lib*/**/libmcp.so")).parent
    case("every_file_is_installed", missing(prefix, str(lib.relative_to(prefix)), FILES) + [
        f"{header} is not installed" for header in ROOT.glob("include/mcp/*.h")
        if not (prefix / "include/mcp" / header.name).is_file()])
    if (BUILD / "src/cli/made/mcpctl.1").exists():
        case("man_pages_are_installed", missing(prefix, "lib", PAGES))
    else:
        skip("man_pages_are_installed", "there was no scdoc to make them")
    os.environ["PKG_CONFIG_PATH"] = str(lib / "pkgconfig")
    os.environ["LD_LIBRARY_PATH"] = str(lib)
    case("core_works_by_pkg_config", by_pkg_config(core, "libmcp") or faults_of(home / "core"))
    case("http_works_by_pkg_config",
         by_pkg_config(http, "libmcp-http") or faults_of(home / "http"))
    # Not libmcp-http: distributions' libcurl.pc names private libraries that are absent.
    case("core_works_by_pkg_config_static",
         by_pkg_config(core, "libmcp", "--static") or faults_of(home / "core"))
    case("all_work_by_find_package", by_cmake(home, prefix))
    case("programs_of_the_readme_work_by_find_package", sums(home / "b"))
    case("programs_of_the_readme_work_by_pkg_config", readme_by(home / "c"))
    case("programs_of_the_readme_are_Cxx17", readme_by(
        home / "cxx", ("c++", "-std=c++17", "-Wall", "-Werror", "-x", "c++")))
    case("installed_mcpctl_works_where_it_is",
         list(mcpctl_faults(prefix, home / "c/server")))
finish()
