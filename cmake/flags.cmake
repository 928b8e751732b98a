# flags - how everything of ours is compiled: mcp_flags is linked by each target.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # the same objects go into .so and .a

# Programs find the libraries that were built or installed with them, whatever the prefix; a
# distribution, whose loader looks there anyway, sets CMAKE_SKIP_RPATH. The paths are the same
# in the build tree: CMake would leave room in those that it has to change later, as an empty
# path, and an empty path is the current folder.
file(RELATIVE_PATH to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
if(NOT DEFINED CMAKE_INSTALL_RPATH)
    set(CMAKE_INSTALL_RPATH $ORIGIN/${to_lib} $ORIGIN/../lib)
    list(REMOVE_DUPLICATES CMAKE_INSTALL_RPATH)
endif()
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

# Against attackers, in all that is built here; tests/checks/hardening.py looks at it.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckPIESupported)
check_pie_supported()
foreach(flag stack-protector-strong stack-clash-protection cf-protection=full)
    string(MAKE_C_IDENTIFIER MCP_HAS_${flag} found)
    check_c_compiler_flag(-f${flag} ${found})
    if(${found})
        add_compile_options(-f${flag})
    endif()
endforeach()
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
# Needs an optimizer, and is in the way of sanitizers.
if(NOT MCP_SANITIZE)
    set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
    check_c_source_compiles("#include <string.h>\nint main(void) { return 0; }"
        MCP_HAS_FORTIFY_3)
    unset(CMAKE_REQUIRED_FLAGS)
    set(level $<IF:$<BOOL:${MCP_HAS_FORTIFY_3}>,3,2>)
    add_compile_options(-U_FORTIFY_SOURCE
        $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=${level}>)
endif()

add_library(mcp_flags INTERFACE)
target_include_directories(mcp_flags INTERFACE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(mcp_flags INTERFACE _GNU_SOURCE
    MCPI_VERSION="${PROJECT_VERSION}")
target_compile_options(mcp_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
    -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla
    -Wimplicit-fallthrough)

if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(mcp_flags INTERFACE -Wlogical-op -Wduplicated-cond)
endif()
if(MCP_WERROR)
    target_compile_options(mcp_flags INTERFACE -Werror)
endif()
if(MCP_SANITIZE)
    target_compile_options(mcp_flags INTERFACE -fsanitize=${MCP_SANITIZE}
        -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(mcp_flags INTERFACE -fsanitize=${MCP_SANITIZE})
endif()
if(MCP_COVERAGE)
    target_compile_options(mcp_flags INTERFACE --coverage)
    target_link_options(mcp_flags INTERFACE --coverage)
endif()
