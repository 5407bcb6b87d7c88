# simdjson from source, for a portable program: distributions ship it as a shared library alone. Fetched once into the build tree from the
# source archive of its Python binding, pinned by hash, never part of this repository. -DHOTLENS_SIMDJSON=DIR takes an unpacked copy
# (DIR/simdjson.h, DIR/simdjson.cpp) instead.
set(HOTLENS_SIMDJSON "" CACHE PATH "simdjson's single header and source; empty: fetch version 3.12.3")
set(_simdjson_archive pysimdjson-7.0.2)
set(_simdjson_sha256 44cf276e48912a3b9c7ca362c14da8420a7ac15a9f1a16ec95becff86db3904a)
set(_simdjson_cache ${PROJECT_BINARY_DIR}/_simdjson)

function(_simdjson_folder out)
  if(HOTLENS_SIMDJSON)
    set(${out} ${HOTLENS_SIMDJSON} PARENT_SCOPE)
    return()
  endif()
  set(folder ${_simdjson_cache}/${_simdjson_archive}/simdjson)
  set(archive ${_simdjson_cache}/${_simdjson_archive}.tar.gz)
  if(NOT EXISTS ${folder}/simdjson.cpp)
    find_program(HOTLENS_PIP_PYTHON NAMES python3 python REQUIRED)
    file(MAKE_DIRECTORY ${_simdjson_cache})
    # Inside an isolated wheel build PYTHONPATH hides pip.
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH ${HOTLENS_PIP_PYTHON} -m pip download --quiet --disable-pip-version-check --no-deps
              --no-binary pysimdjson --dest ${_simdjson_cache} pysimdjson==7.0.2
      OUTPUT_QUIET ERROR_QUIET)
    set(found "")
    if(EXISTS ${archive})
      file(SHA256 ${archive} found)
    endif()
    if(NOT found STREQUAL _simdjson_sha256)
      message(FATAL_ERROR "${_simdjson_archive}.tar.gz could not be fetched with pip, or has another hash than the pinned one. Check the network, "
        "or configure with -DHOTLENS_SIMDJSON=<a folder with simdjson.h and simdjson.cpp of version 3.12>.")
    endif()
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${_simdjson_cache})
  endif()
  set(${out} ${folder} PARENT_SCOPE)
endfunction()

_simdjson_folder(_simdjson)
message(STATUS "simdjson: ${_simdjson}")
add_library(hotlens_simdjson STATIC ${_simdjson}/simdjson.cpp)
target_include_directories(hotlens_simdjson SYSTEM PUBLIC ${_simdjson})
target_compile_definitions(hotlens_simdjson PUBLIC SIMDJSON_THREADS_ENABLED=1)
target_compile_options(hotlens_simdjson PRIVATE -w)
add_library(simdjson::simdjson ALIAS hotlens_simdjson)
