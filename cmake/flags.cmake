# flags - how everything of ours is compiled: mcp_flags is linked by each target.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # the same objects go into .so and .a

# Installed programs find the libraries that were installed with them, whatever the prefix;
# a distribution, whose loader looks there anyway, sets CMAKE_SKIP_INSTALL_RPATH.
file(RELATIVE_PATH to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(CMAKE_INSTALL_RPATH $ORIGIN/${to_lib})
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
