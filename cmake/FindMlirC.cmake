# The MLIR C API of Debian's libmlir-19-dev, as the target mlir_c. MLIR itself is linked statically (a parser
# needs six of its libraries), LLVM from the shared library that libmlir-19-dev depends on.
find_path(MLIR_C_INCLUDE mlir-c/IR.h HINTS /usr/lib/llvm-19/include REQUIRED)
find_library(MLIR_CAPI_IR MLIRCAPIIR HINTS /usr/lib/llvm-19/lib REQUIRED)
get_filename_component(mlir_library_dir ${MLIR_CAPI_IR} DIRECTORY)
find_library(LLVM_LIBRARY NAMES libLLVM.so.19.1 libLLVM-19.so REQUIRED)
enable_language(CXX)
add_library(mlir_c INTERFACE)
target_include_directories(mlir_c SYSTEM INTERFACE ${MLIR_C_INCLUDE})
target_link_directories(mlir_c INTERFACE ${mlir_library_dir})
target_link_libraries(mlir_c INTERFACE -Wl,--start-group MLIRCAPIIR MLIRIR MLIRSupport MLIRAsmParser MLIRParser
                      MLIRBytecodeReader MLIRBytecodeWriter MLIRBytecodeOpInterface -Wl,--end-group
                      ${LLVM_LIBRARY} stdc++ m)
