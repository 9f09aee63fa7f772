# Defines the target chronoscope::chronoscope, the header and the library.
#
#   CHRONOSCOPE_CHIP    a folder of lib; this computer's, if the system is Linux
#   CHRONOSCOPE_CLOCK   how marks read the clock, where a chip has several libraries: call32
get_filename_component(_chronoscope "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT CHRONOSCOPE_CHIP AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(CHRONOSCOPE_CHIP "${CMAKE_SYSTEM_PROCESSOR}-unknown-linux-gnu")
endif()
set(_chronoscope_name "libchronoscope")
if(CHRONOSCOPE_CLOCK)
    set(_chronoscope_name "libchronoscope-${CHRONOSCOPE_CLOCK}")
endif()
set(_chronoscope_library "${_chronoscope}/lib/${CHRONOSCOPE_CHIP}/${_chronoscope_name}.a")
if(NOT EXISTS "${_chronoscope_library}")
    set(chronoscope_FOUND FALSE)
    set(chronoscope_NOT_FOUND_MESSAGE
        "the kit has no ${_chronoscope_library}: set CHRONOSCOPE_CHIP to a folder of ${_chronoscope}/lib")
    return()
endif()
if(NOT TARGET chronoscope::chronoscope)
    add_library(chronoscope::chronoscope STATIC IMPORTED)
    set_target_properties(chronoscope::chronoscope PROPERTIES
        IMPORTED_LOCATION "${_chronoscope_library}"
        INTERFACE_INCLUDE_DIRECTORIES "${_chronoscope}/include")
endif()
set(CHRONOSCOPE_PORTS "${_chronoscope}/ports")
