# SPDX-License-Identifier: Apache-2.0
#
# Installs the libraries, their public headers, a CMake package (holdfast::holdfast and, for
# HoldfastDB, holdfast::db) and a .pc file for each of the two.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(holdfast_db PROPERTIES EXPORT_NAME db)
set(libraries holdfast holdfast_db)
set(db_flags "-lholdfast_db")
if(HOLDFAST_DB_BEHIND_VIRTUAL_CALLS)
  set_target_properties(holdfast_native_engines PROPERTIES EXPORT_NAME native_engines)
  list(APPEND libraries holdfast_native_engines)
  string(APPEND db_flags " -lholdfast_native_engines")
endif()
install(TARGETS ${libraries} EXPORT holdfast-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT development)

# An application includes holdfast.h, the header of another engine, structures, or HoldfastDB's
# headers. Templates bring some internal headers with them; no others are installed.
include(${CMAKE_CURRENT_LIST_DIR}/public_headers.cmake)
file(GLOB public RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/holdfast/db/*.h ${PROJECT_SOURCE_DIR}/holdfast/structures/*.h)
list(FILTER public EXCLUDE REGEX "-inl\\.h$")
foreach(name ${HOLDFAST_ENGINES})
  list(APPEND public ${HOLDFAST_ENGINE_${name}_HEADER})
endforeach()
holdfast_public_headers(headers holdfast/holdfast.h ${public})
foreach(header ${headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} COMPONENT development
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()

install(EXPORT holdfast-targets NAMESPACE holdfast:: COMPONENT development
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
file(WRITE ${PROJECT_BINARY_DIR}/holdfast-config.cmake
  "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n"
  "include(\${CMAKE_CURRENT_LIST_DIR}/holdfast-targets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfast-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/holdfast-config.cmake
  ${PROJECT_BINARY_DIR}/holdfast-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast COMPONENT development)
# The installed tree may be moved: paths are relative to the files that name them.
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(uring_flag "")
if(HOLDFAST_LIBURING_FOUND)
  set(uring_flag "-luring ")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/holdfast.pc
  "prefix=\${pcfiledir}/${to_prefix}\n"
  "libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}\nincludedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\n\n"
  "Name: holdfast\nDescription: ${PROJECT_DESCRIPTION}\nVersion: ${PROJECT_VERSION}\n"
  "Libs: -L\${libdir} -lholdfast ${uring_flag}-lpthread -lstdc++ -lm\n"
  "Cflags: -I\${includedir}\n")
file(WRITE ${PROJECT_BINARY_DIR}/holdfast_db.pc
  "Name: holdfast_db\nDescription: Ordered key-value store in one file, for C++ and C\n"
  "Version: ${PROJECT_VERSION}\n"
  "Requires: holdfast\nLibs: ${db_flags}\n")
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc ${PROJECT_BINARY_DIR}/holdfast_db.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
