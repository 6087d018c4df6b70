# Files' bytes in a program: toast_embed(<layer> <symbol> <file>..) adds to toast_<layer> a C file that defines
#   const unsigned char <symbol>[]  (the files one after the other, then a NUL)   and   const size_t <symbol>_size.
# As a script (cmake -D IN= -D OUT= -D SYMBOL= -P Embed.cmake) it writes that C file.
if(CMAKE_SCRIPT_MODE_FILE)
  set(hex "")
  foreach(file ${IN})
    file(READ "${file}" more HEX)
    string(APPEND hex "${more}")
  endforeach()
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n"
         bytes "${bytes}")
  file(WRITE "${OUT}" "#include <stddef.h>\nextern const unsigned char ${SYMBOL}[];\nextern const size_t ${SYMBOL}_size;\n"
       "const unsigned char ${SYMBOL}[] = {\n${bytes}0};\nconst size_t ${SYMBOL}_size = ${size};\n")
else()
  set(TOAST_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
  function(toast_embed layer symbol)
    set(out ${CMAKE_BINARY_DIR}/embed/${symbol}.c)
    list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE files)
    add_custom_command(OUTPUT ${out} DEPENDS ${files} ${TOAST_EMBED_SCRIPT} VERBATIM
      COMMAND ${CMAKE_COMMAND} "-DIN=${files}" -D OUT=${out} -D SYMBOL=${symbol} -P ${TOAST_EMBED_SCRIPT})
    string(REPLACE "/" "_" name ${layer})
    target_sources(toast_${name} PRIVATE ${out})
  endfunction()
endif()
