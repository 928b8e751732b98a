"""package - what `make install` installs can be used, by pkg-config and by CMake."""
import os
import pathlib
from check import BUILD, CC, case, faults_of, finish, run, scratch

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
"""


def by_pkg_config(source, module, *flags):
    """With --static our own archive is taken; the system's libraries stay shared."""
    status, words = run("pkg-config", *flags, "--cflags", "--libs", module)
    if status:
        return [words]
    archive = {"-lmcp": "-l:libmcp.a"} if flags else {}
    words = [archive.get(word, word) for word in words.split()]
    program = source.with_suffix("")
    return faults_of(CC, source, "-o", program, *words) or faults_of(program)


def by_cmake(home, prefix):
    return (faults_of("cmake", "-S", home, "-B", home / "b", f"-DCMAKE_C_COMPILER={CC}",
                      f"-DCMAKE_PREFIX_PATH={prefix}")
            or faults_of("cmake", "--build", home / "b")
            or faults_of(home / "b/shared") + faults_of(home / "b/static"))


with scratch() as folder:
    home = pathlib.Path(folder)
    prefix = home / "usr"
    (core := home / "core.c").write_text(CORE)
    (http := home / "http.c").write_text(HTTP)
    (home / "CMakeLists.txt").write_text(PROJECT)
    case("installs", faults_of("cmake", "--install", BUILD, "--prefix", prefix))
    lib = next(prefix.glob("lib*/**/libmcp.so")).parent
    os.environ["PKG_CONFIG_PATH"] = str(lib / "pkgconfig")
    os.environ["LD_LIBRARY_PATH"] = str(lib)
    case("core_works_by_pkg_config", by_pkg_config(core, "libmcp"))
    case("http_works_by_pkg_config", by_pkg_config(http, "libmcp-http"))
    # Not libmcp-http: distributions' libcurl.pc names private libraries that are absent.
    case("core_works_by_pkg_config_static", by_pkg_config(core, "libmcp", "--static"))
    case("all_work_by_find_package", by_cmake(home, prefix))
finish()
