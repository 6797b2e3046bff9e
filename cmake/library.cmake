# nay_add_library(name version map sources...): the targets name_objects, name_static and name_shared, and their aliases
# name::static, name::shared and name::name. The version script gives the SONAME as well, by its first node: the head
# comment of src/libnay.map has the policy.
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
check_c_source_compiles("#include <float.h>
_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1, \"\");
int main(void) { return 0; }" NAY_DOUBLES_ARE_DOUBLES)

function(nay_add_library name version map)
  add_library(${name}_objects OBJECT ${ARGN})
  target_compile_definitions(${name}_objects PRIVATE NAY_SHARED)
  # no contraction: sizes must come out the same on machines with and without fused multiply-add
  target_compile_options(${name}_objects PRIVATE -ffp-contract=off)
  if(NOT NAY_DOUBLES_ARE_DOUBLES) # the 80 bits of the x87, in which old x86 compilers compute doubles
    target_compile_options(${name}_objects PRIVATE -msse2 -mfpmath=sse)
  endif()
  set_target_properties(${name}_objects PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)

  add_library(${name}_static STATIC $<TARGET_OBJECTS:${name}_objects>)
  add_library(${name}_shared SHARED $<TARGET_OBJECTS:${name}_objects>)
  foreach(kind static shared)
    set_target_properties(${name}_${kind} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C EXPORT_NAME ${kind})
    target_link_libraries(${name}_${kind} PRIVATE Threads::Threads)
    add_library(${name}::${kind} ALIAS ${name}_${kind})
  endforeach()

  set(script ${CMAKE_CURRENT_SOURCE_DIR}/${map})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  file(STRINGS ${script} nodes REGEX "^[A-Z]+_[0-9.]+ {")
  string(REGEX REPLACE "^[A-Z]+_([0-9.]+) {.*" "\\1" soversion "${nodes}")
  set_target_properties(${name}_shared PROPERTIES VERSION ${version} SOVERSION ${soversion})
  check_linker_flag(C "LINKER:--version-script=${script}" NAY_HAS_VERSION_SCRIPT)
  if(NAY_HAS_VERSION_SCRIPT)
    target_link_options(${name}_shared PRIVATE "LINKER:--version-script=${script}")
    set_target_properties(${name}_shared PROPERTIES LINK_DEPENDS ${script})
  endif()
  if(BUILD_SHARED_LIBS)
    add_library(${name}::${name} ALIAS ${name}_shared)
  else()
    add_library(${name}::${name} ALIAS ${name}_static)
  endif()
endfunction()
