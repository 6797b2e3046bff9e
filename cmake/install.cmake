# What `cmake --install` writes: public headers, both libraries, nay.pc, the CMake package, libnay(3).
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "nay*.h")
install(TARGETS nay_static nay_shared EXPORT nay-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

install(FILES doc/man/libnay.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)

set(nay_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nay)
install(EXPORT nay-targets NAMESPACE nay:: DESTINATION ${nay_cmake_dir})
configure_package_config_file(cmake/nay-config.cmake.in nay-config.cmake
                              INSTALL_DESTINATION ${nay_cmake_dir})
write_basic_package_version_file(nay-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/nay-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/nay-config-version.cmake DESTINATION ${nay_cmake_dir})

# nay.pc names its directories relative to itself, so that `cmake --install --prefix` and a staged
# DESTDIR need no second configuration. Directories given as absolute paths stay absolute.
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH pc_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_up}")
endif()
set(pc_libdir "\${prefix}")
cmake_path(APPEND pc_libdir "${CMAKE_INSTALL_LIBDIR}")
set(pc_includedir "\${prefix}")
cmake_path(APPEND pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
configure_file(cmake/nay.pc.in nay.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/nay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The last rule: where this went, for scripts/uninstall, which compares. First the prefix, then DESTDIR. An
# install that fails before leaves the record and the manifest of the one before it.
install(CODE "
  if(NOT CMAKE_INSTALL_COMPONENT)
    set(destdir \"\$ENV{DESTDIR}\")
    if(NOT destdir STREQUAL \"\")
      get_filename_component(destdir \"\${destdir}\" ABSOLUTE)
    endif()
    file(WRITE \"${CMAKE_BINARY_DIR}/install_record.txt\" \"\${CMAKE_INSTALL_PREFIX}\\n\${destdir}\\n\")
  endif()")
