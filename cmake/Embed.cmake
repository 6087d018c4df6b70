# A file's bytes in a program: toast_embed(<layer> <file> <symbol>) adds to toast_<layer> a C file that defines
#   const unsigned char <symbol>[]  (a NUL follows the bytes)   and   const size_t <symbol>_size.
# As a script (cmake -D IN= -D OUT= -D SYMBOL= -P Embed.cmake) it writes that C file.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${IN}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n"
         bytes "${bytes}")
  file(WRITE "${OUT}" "#include <stddef.h>\nextern const unsigned char ${SYMBOL}[];\nextern const size_t ${SYMBOL}_size;\n"
       "const unsigned char ${SYMBOL}[] = {\n${bytes}0};\nconst size_t ${SYMBOL}_size = ${size};\n")
else()
  set(TOAST_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
  function(toast_embed layer file symbol)
    set(out ${CMAKE_BINARY_DIR}/embed/${symbol}.c)
    add_custom_command(OUTPUT ${out} DEPENDS ${CMAKE_SOURCE_DIR}/${file} ${TOAST_EMBED_SCRIPT} VERBATIM
      COMMAND ${CMAKE_COMMAND} -D IN=${CMAKE_SOURCE_DIR}/${file} -D OUT=${out} -D SYMBOL=${symbol}
              -P ${TOAST_EMBED_SCRIPT})
    target_sources(toast_${layer} PRIVATE ${out})
  endfunction()
endif()
