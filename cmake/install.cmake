# What `cmake --install` writes: public headers, both forms of both libraries, their .pc files and CMake packages, the
# pages of section 3.
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "nay*.h")
install(FILES bindings/cpp/nay.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(NAY_SST)
  install(DIRECTORY sst/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "nay*.h")
endif()

# Pages of section 3 are built from doc/man/*.3.md. Without Python they are not installed.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND)
  set(man3_names libnay)
  if(NAY_SST)
    list(APPEND man3_names libnaysst)
  endif()
  foreach(name ${man3_names})
    set(page ${CMAKE_CURRENT_BINARY_DIR}/${name}.3)
    add_custom_command(OUTPUT ${page}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tools/man3.py ${name} > ${page}
      DEPENDS doc/man/${name}.3.md tools/man3.py include/nay.h VERBATIM)
    list(APPEND man3_pages ${page})
  endforeach()
  add_custom_target(nay_man3 ALL DEPENDS ${man3_pages})
  install(FILES ${man3_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
else()
  message(STATUS "libnay(3) is not built: no Python")
endif()

# nay_install_package(name version): its libraries and its CMake package
function(nay_install_package name version)
  set(directory ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(TARGETS ${name}_static ${name}_shared EXPORT ${name}-targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ${name}-targets NAMESPACE ${name}:: DESTINATION ${directory})
  configure_package_config_file(cmake/${name}-config.cmake.in ${name}-config.cmake INSTALL_DESTINATION ${directory})
  write_basic_package_version_file(${name}-config-version.cmake VERSION ${version} COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}-config.cmake
                ${CMAKE_CURRENT_BINARY_DIR}/${name}-config-version.cmake DESTINATION ${directory})
endfunction()
nay_install_package(nay ${PROJECT_VERSION})
if(NAY_SST)
  nay_install_package(naysst ${naysst_version})
endif()

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
if(NAY_SST)
  configure_file(cmake/naysst.pc.in naysst.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/naysst.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

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
