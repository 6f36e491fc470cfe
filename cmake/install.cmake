# SPDX-License-Identifier: Apache-2.0
# Installs the libraries, their headers, a CMake package (holdfast::holdfast and, for HoldfastDB, holdfast::db) and a .pc
# file for each of the two.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(holdfast_db PROPERTIES EXPORT_NAME db)
set(libraries holdfast holdfast_db)
set(db_flags "-lholdfast_db")
if(NOT HOLDFAST_INLINED_SESSIONS)
  set_target_properties(holdfast_native_engines PROPERTIES EXPORT_NAME native_engines)
  list(APPEND libraries holdfast_native_engines)
  string(APPEND db_flags " -lholdfast_native_engines")
endif()
install(TARGETS ${libraries} EXPORT holdfast-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development FILES_MATCHING PATTERN "*.h")
install(EXPORT holdfast-targets NAMESPACE holdfast:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast
  COMPONENT development)
file(WRITE ${PROJECT_BINARY_DIR}/holdfast-config.cmake
  "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n"
  "include(\${CMAKE_CURRENT_LIST_DIR}/holdfast-targets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfast-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/holdfast-config.cmake
  ${PROJECT_BINARY_DIR}/holdfast-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast COMPONENT development)
file(WRITE ${PROJECT_BINARY_DIR}/holdfast.pc
  "prefix=${CMAKE_INSTALL_PREFIX}\n"
  "libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}\nincludedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\n\n"
  "Name: holdfast\nDescription: ${PROJECT_DESCRIPTION}\nVersion: ${PROJECT_VERSION}\n"
  "Libs: -L\${libdir} -lholdfast -lboost_context -lpthread -lstdc++ -lm\nCflags: -I\${includedir}\n")
file(WRITE ${PROJECT_BINARY_DIR}/holdfast_db.pc
  "Name: holdfast_db\nDescription: Ordered key-value store in one file, for C++ and C\nVersion: ${PROJECT_VERSION}\n"
  "Requires: holdfast\nLibs: ${db_flags}\n")
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc ${PROJECT_BINARY_DIR}/holdfast_db.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development)
