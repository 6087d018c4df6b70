/* Program images as a hostile reader could write them: refused, or safe to walk, print, verify, prepare and
 * analyse. */
#include "reader.h"

#include "analysis/nda.h"
#include "ir/image.h"
#include "ir/prepare.h"
#include "ir/print.h"

#define T "tensor<4x2xf32>"
static const char *const seeds[] = {
    "func.func @main(%a: " T ") -> " T " { %0 = stablehlo.add %a, %a : " T " return %0 : " T " }",
    "func.func @main(%a: " T
    ", %i: tensor<f32>) -> tensor<2xf32> { %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add "
    "across dimensions = [0] : (" T ", tensor<f32>) -> tensor<2xf32> return %0 : tensor<2xf32> }",
    "func.func @main(%a: " T
    ") -> tensor<4x4xf32> { %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (" T ", " T
    ") -> tensor<4x4xf32> return %0 : tensor<4x4xf32> }",
    "func.func @main(%a: " T ") -> tensor<2x4xi1> { %c = stablehlo.constant dense<0.5> : tensor<2x4xf32> "
    "%0 = stablehlo.transpose %a, dims = [1, 0] : (" T ") -> tensor<2x4xf32> "
    "%1 = stablehlo.compare LT, %0, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1> return %1 : "
    "tensor<2x4xi1> }",
    "func.func @main(%a: tensor<i32>) -> tensor<i32> { %0 = stablehlo.while(%x = %a) : tensor<i32> cond { "
    "%c = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %c : "
    "tensor<i1> } do { "
    "%y = stablehlo.negate %x : tensor<i32> stablehlo.return %y : tensor<i32> } return %0 : tensor<i32> }",
    "func.func private @f(%x: " T ") -> " T " { return %x : " T " } func.func @main(%a: " T ") -> " T
    " { %0 = call @f(%a) : (" T ") -> " T " return %0 : " T " }",
};
#undef T

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    if (!getenv("TOAST_FUZZ_SEEDS"))
        return 0;
    fuzz_reader();
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        struct ir_program program;
        char name[24];
        snprintf(name, sizeof name, "image%zu", i);
        fuzz_program(seeds[i], strlen(seeds[i]), &program);
        fuzz_seed(name, program.image, program.image_size);
        ir_program_release(&program);
    }
    return 0;
}

/* what stands in the first bytes of every image of this build */
static void mend_header(unsigned char *image, size_t size)
{
    struct ir_image_header image_header;
    if (size < sizeof image_header)
        return;
    memcpy(&image_header, image, sizeof image_header);
    memcpy(image_header.magic, IR_IMAGE_MAGIC, sizeof image_header.magic);
    image_header.version = IR_IMAGE_VERSION;
    image_header.sections = IR_IMAGE_SECTION_COUNT;
    image_header.size = size;
    memcpy(image, &image_header, sizeof image_header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *image = mem_alloc(size);
    struct ir_program program, prepared;
    struct nda *nda;
    struct error e = {0};
    struct text out = {0};
    memcpy(image, data, size);
    mend_header(image, size);
    if (ir_image_open(image, size, &program, &e) == ERROR_OK) {
        ir_print(&program, &out);
        if (ir_prepare(&program, &prepared, &e) == ERROR_OK) {
            if (nda_create(&prepared, NULL, &nda, &e) == ERROR_OK)
                nda_destroy(nda);
            ir_program_release(&prepared);
        }
    } else {
        FUZZ_CHECK(e.code == ERROR_INTERNAL && e.message[0]);
    }
    text_release(&out);
    free(image);
    return 0;
}
