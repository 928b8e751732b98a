# install - headers, both libraries, pkg-config files and the CMake package.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/libmcp)

# Beside each other, not as a program finds them (cmake/flags.cmake); libmcp needs none.
set_target_properties(mcp_shared PROPERTIES INSTALL_RPATH "")
set_target_properties(mcp-http_shared PROPERTIES INSTALL_RPATH $ORIGIN)
install(TARGETS mcp_shared EXPORT core)
install(TARGETS mcp-http_shared EXPORT http)
install(TARGETS mcp_static mcp-http_static EXPORT static)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/mcp TYPE INCLUDE FILES_MATCHING
    PATTERN *.h)
foreach(part core http static)
    install(EXPORT ${part} NAMESPACE libmcp:: DESTINATION ${package}
        FILE libmcp-${part}.cmake)
endforeach()

configure_package_config_file(cmake/libmcp-config.cmake.in libmcp-config.cmake
    INSTALL_DESTINATION ${package})
# Before 1.0 a minor release may break callers, so it must match.
write_basic_package_version_file(libmcp-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libmcp-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/libmcp-config-version.cmake DESTINATION ${package})

# Relative to the file itself: the prefix is only known when it is installed.
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library libmcp libmcp-http)
    configure_file(cmake/${library}.pc.in ${library}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
