# memplan::memplan, the planner as a library behind memplan.h; and memplan_plan(): plan memory when a project is built,
# check it against budgets, and compile the plan into a library.
#
# Found by find_package(memplan), with memplan_DIR set to this folder, or included by its path. CMake 3.20 or later.
# Where the library is not installed it is compiled with the project, which must have enabled the language CXX.
#
#   memplan_plan(<name>
#     PROBLEM <file>                      a problem or a model; relative to the source folder
#     [TO c|malloc-c]                     static arrays (the default), or blocks of the heap
#     [LINKER_SCRIPT]                     also write <name>.ld, for the project's own script to INCLUDE;
#                                         every pool needs a base address
#     [CAPACITY [<pool>=]<size>[@<address>]...]
#                                         the sizes of pools, and their base addresses, as in sram=128KiB@0x20000000
#     [BUDGET [<pool>=]<size>...]         what pools may use; the build fails above that
#     [BUDGETS <file>]                    a file of budgets (TOML), of which the table of PROBLEM is used; how it is
#                                         read is said by CAPACITY and OPTIONS
#     [BASELINE <file>] [TOLERANCE <t>]   what was used before; the build fails where a pool uses more
#     [REPORT <file>...]                  .md, .sarif, .xml or .json; relative to the binary folder
#     [TIME_LIMIT <seconds>]
#     [PROFILE speed|balanced|size]       what several pools are for; balanced by default
#     [OPTIONS <option>...])              how a model is read, as in OPTIONS --dim batch=1
#
# <name> is a static library: link it and #include "<name>.h". Plans are deterministic: the same input gives the same
# addresses on every machine. Target <name>_baseline writes BASELINE anew.

if(NOT TARGET memplan::memplan)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/memplan-targets.cmake")
    include("${CMAKE_CURRENT_LIST_DIR}/memplan-targets.cmake")
    # It needs nothing of the library of C++, so that projects in C alone can link it.
    get_target_property(configurations memplan::memplan IMPORTED_CONFIGURATIONS)
    foreach(configuration IN LISTS configurations)
      set_target_properties(memplan::memplan PROPERTIES IMPORTED_LINK_INTERFACE_LANGUAGES_${configuration} "")
    endforeach()
  elseif("CXX" IN_LIST languages AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/../solvers/core/memplan.cpp")
    set(memplan_IS_FOUND_AS_SOURCES TRUE)
    add_subdirectory("${CMAKE_CURRENT_LIST_DIR}/../solvers/core" memplan EXCLUDE_FROM_ALL)
  endif()
endif()

find_program(MEMPLAN_EXECUTABLE memplan DOC "The command memplan, for memplan_plan()")
if(NOT MEMPLAN_EXECUTABLE AND NOT TARGET memplan::memplan)
  set(memplan_FOUND FALSE)
  set(memplan_NOT_FOUND_MESSAGE "The command memplan was not found; set MEMPLAN_EXECUTABLE to its path.")
endif()

function(memplan_plan name)
  set(one_value PROBLEM TO BUDGETS BASELINE TOLERANCE TIME_LIMIT PROFILE)
  set(many_values CAPACITY BUDGET REPORT OPTIONS)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LINKER_SCRIPT" "${one_value}" "${many_values}")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "memplan_plan(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_PROBLEM)
    message(FATAL_ERROR "memplan_plan(${name}): PROBLEM is required")
  endif()
  if(NOT arg_TO)
    set(arg_TO c)
  elseif(NOT arg_TO MATCHES "^(c|malloc-c)$")
    message(FATAL_ERROR "memplan_plan(${name}): TO must be c or malloc-c, got ${arg_TO}")
  endif()
  if(NOT MEMPLAN_EXECUTABLE)
    message(FATAL_ERROR "memplan_plan(${name}): the command memplan was not found; set MEMPLAN_EXECUTABLE to its path")
  endif()

  # 1. The problem, by a path that reports can show: relative to the project, if it is in there.
  cmake_path(ABSOLUTE_PATH arg_PROBLEM NORMALIZE OUTPUT_VARIABLE problem)
  set(shown "${problem}")
  cmake_path(IS_PREFIX CMAKE_SOURCE_DIR "${problem}" NORMALIZE is_inside)
  if(is_inside)
    cmake_path(RELATIVE_PATH shown BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
  endif()

  # 2. Options: some say what the problem is, some how it is planned, and some what is allowed.
  set(of_problem ${arg_OPTIONS})
  foreach(size IN LISTS arg_CAPACITY)
    list(APPEND of_problem --capacity "${size}")
  endforeach()
  set(planned --deterministic)
  foreach(size IN LISTS arg_BUDGET)
    list(APPEND planned --budget "${size}")
  endforeach()
  if(arg_TIME_LIMIT)
    list(APPEND planned --time-limit "${arg_TIME_LIMIT}")
  endif()
  if(arg_PROFILE)
    list(APPEND planned --profile "${arg_PROFILE}")
  endif()
  set(allowed "")
  if(arg_BUDGETS)
    cmake_path(ABSOLUTE_PATH arg_BUDGETS NORMALIZE)
    list(APPEND planned --budgets "${arg_BUDGETS}")
  endif()
  if(arg_TOLERANCE)
    list(APPEND allowed --tolerance "${arg_TOLERANCE}")
  endif()
  set(reports "${CMAKE_CURRENT_BINARY_DIR}/${name}.check.json")
  foreach(report IN LISTS arg_REPORT)
    cmake_path(ABSOLUTE_PATH report BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)
    list(APPEND reports "${report}")
  endforeach()
  foreach(report IN LISTS reports)
    list(APPEND allowed -o "${report}")
  endforeach()
  set(needed "${problem}" "${MEMPLAN_EXECUTABLE}" ${arg_BUDGETS})
  if(arg_BASELINE)
    cmake_path(ABSOLUTE_PATH arg_BASELINE NORMALIZE OUTPUT_VARIABLE baseline)
    add_custom_target(${name}_baseline
      COMMAND "${MEMPLAN_EXECUTABLE}" check "${shown}" ${of_problem} ${planned} --quiet
              -o "${CMAKE_CURRENT_BINARY_DIR}/${name}.check.json" --save-baseline "${baseline}"
      WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" VERBATIM)
    if(EXISTS "${baseline}")
      list(APPEND allowed --baseline "${baseline}")
      list(APPEND needed "${baseline}")
    else()
      message(WARNING "memplan_plan(${name}): there is no ${baseline} yet; build ${name}_baseline and configure again")
    endif()
  endif()

  # 3. The plan, checked; again, too, when options change, which Makefiles would not see by themselves.
  set(stem "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  file(CONFIGURE OUTPUT "${stem}.options" CONTENT "${arg_TO};${of_problem};${planned};${allowed}\n" @ONLY)
  list(APPEND needed "${stem}.options")
  add_custom_command(OUTPUT "${stem}.json"
    COMMAND "${MEMPLAN_EXECUTABLE}" check "${shown}" ${of_problem} ${planned} ${allowed} --save-plan "${stem}.json"
    DEPENDS ${needed} BYPRODUCTS ${reports} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    COMMENT "Planning memory of ${shown}" VERBATIM)

  # 4. The plan as C, and as a linker script.
  add_custom_command(OUTPUT "${stem}.c" "${stem}.h"
    COMMAND "${MEMPLAN_EXECUTABLE}" convert "${shown}" "${stem}.json" ${of_problem} --to ${arg_TO} -o "${stem}.c"
    DEPENDS "${stem}.json" "${stem}.options" "${problem}" WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" VERBATIM)
  set(sources "${stem}.c" "${stem}.h")
  if(arg_LINKER_SCRIPT)
    add_custom_command(OUTPUT "${stem}.ld"
      COMMAND "${MEMPLAN_EXECUTABLE}" convert "${shown}" "${stem}.json" ${of_problem} --to ld -o "${stem}.ld"
      DEPENDS "${stem}.json" "${stem}.options" "${problem}" WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" VERBATIM)
    list(APPEND sources "${stem}.ld")
  endif()

  # 5. The library.
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC "${CMAKE_CURRENT_BINARY_DIR}")
  target_compile_features(${name} PRIVATE c_std_11)
  if(arg_LINKER_SCRIPT)
    target_link_directories(${name} PUBLIC "${CMAKE_CURRENT_BINARY_DIR}")
    set_property(TARGET ${name} APPEND PROPERTY INTERFACE_LINK_DEPENDS "${stem}.ld")
  endif()
endfunction()
