/* A generated transformer of any depth, for tests and benchmarks of the analysis.
 *
 * Per layer attention with a softmax and a feed-forward part, then the same layers backward: they use the
 * saved softmax, so that conflicts of both passes form boxes as in a train step. */
#ifndef TOAST_TESTS_LAYERS_H
#define TOAST_TESTS_LAYERS_H

#include "base/memory.h"

#define LAYERS_X "tensor<16x512x1024xf32>"
#define LAYERS_Q "tensor<16x8x512x128xf32>"
#define LAYERS_A "tensor<16x8x512x512xf32>"
#define LAYERS_R "tensor<16x8x512xf32>"
#define LAYERS_F "tensor<16x512x4096xf32>"
#define LAYERS_P "tensor<1024x8x128xf32>"
#define LAYERS_U "tensor<1024x4096xf32>"

static inline void layers_forward(struct text *text, int i)
{
    for (int k = 0; k < 3; k++) {
        text_printf(
            text,
            "  %%h%d_%d = stablehlo.dot_general %%x%d, %%w%d_%d, contracting_dims = [2] x [0] : (" LAYERS_X
            ", " LAYERS_P ") -> tensor<16x512x8x128xf32>\n",
            i, k, i, i, k);
        text_printf(text,
                    "  %%q%d_%d = stablehlo.transpose %%h%d_%d, dims = [0, 2, 1, 3] : "
                    "(tensor<16x512x8x128xf32>) -> " LAYERS_Q "\n",
                    i, k, i, k);
    }
    text_printf(text,
                "  %%a%d = stablehlo.dot_general %%q%d_0, %%q%d_1, batching_dims = [0, 1] x [0, 1], "
                "contracting_dims = [3] x [3] : (" LAYERS_Q ", " LAYERS_Q ") -> " LAYERS_A "\n",
                i, i, i);
    text_printf(text, "  %%e%d = stablehlo.exponential %%a%d : " LAYERS_A "\n", i, i);
    text_printf(text,
                "  %%s%d = stablehlo.reduce(%%e%d init: %%zero) applies stablehlo.add across dimensions = "
                "[3] : (" LAYERS_A ", tensor<f32>) -> " LAYERS_R "\n",
                i, i);
    text_printf(text,
                "  %%t%d = stablehlo.broadcast_in_dim %%s%d, dims = [0, 1, 2] : (" LAYERS_R ") -> " LAYERS_A
                "\n",
                i, i);
    text_printf(text, "  %%p%d = stablehlo.divide %%e%d, %%t%d : " LAYERS_A "\n", i, i, i);
    text_printf(text,
                "  %%z%d = stablehlo.dot_general %%p%d, %%q%d_2, batching_dims = [0, 1] x [0, 1], "
                "contracting_dims = [3] x [2] : (" LAYERS_A ", " LAYERS_Q ") -> " LAYERS_Q "\n",
                i, i, i);
    text_printf(
        text,
        "  %%o%d = stablehlo.dot_general %%z%d, %%w%d_0, contracting_dims = [1, 3] x [1, 2] : (" LAYERS_Q
        ", " LAYERS_P ") -> " LAYERS_X "\n",
        i, i, i);
    text_printf(text, "  %%y%d = stablehlo.add %%x%d, %%o%d : " LAYERS_X "\n", i, i, i);
    text_printf(text,
                "  %%u%d = stablehlo.dot_general %%y%d, %%f%d, contracting_dims = [2] x [0] : (" LAYERS_X
                ", " LAYERS_U ") -> " LAYERS_F "\n",
                i, i, i);
    text_printf(text, "  %%v%d = stablehlo.tanh %%u%d : " LAYERS_F "\n", i, i);
    text_printf(text,
                "  %%d%d = stablehlo.dot_general %%v%d, %%f%d, contracting_dims = [2] x [1] : (" LAYERS_F
                ", " LAYERS_U ") -> " LAYERS_X "\n",
                i, i, i);
    text_printf(text, "  %%x%d = stablehlo.add %%y%d, %%d%d : " LAYERS_X "\n", i + 1, i, i);
}

/* the shape of a gradient: through the feed-forward part, then through the saved softmax */
static inline void layers_backward(struct text *text, int i)
{
    text_printf(text,
                "  %%gu%d = stablehlo.dot_general %%g%d, %%f%d, contracting_dims = [2] x [0] : (" LAYERS_X
                ", " LAYERS_U ") -> " LAYERS_F "\n",
                i, i + 1, i);
    text_printf(text, "  %%gv%d = stablehlo.multiply %%gu%d, %%v%d : " LAYERS_F "\n", i, i, i);
    text_printf(
        text,
        "  %%gf%d = stablehlo.dot_general %%y%d, %%gv%d, contracting_dims = [0, 1] x [0, 1] : (" LAYERS_X
        ", " LAYERS_F ") -> " LAYERS_U "\n",
        i, i, i);
    text_printf(text, "  %%nf%d = stablehlo.subtract %%f%d, %%gf%d : " LAYERS_U "\n", i, i, i);
    text_printf(text,
                "  %%gz%d = stablehlo.dot_general %%g%d, %%w%d_0, contracting_dims = [2] x [0] : (" LAYERS_X
                ", " LAYERS_P ") -> tensor<16x512x8x128xf32>\n",
                i, i + 1, i);
    text_printf(text,
                "  %%gp%d = stablehlo.dot_general %%gz%d, %%q%d_2, batching_dims = [0, 2] x [0, 1], "
                "contracting_dims = [3] x [3] : (tensor<16x512x8x128xf32>, " LAYERS_Q ") -> " LAYERS_A "\n",
                i, i, i);
    text_printf(text, "  %%ga%d = stablehlo.multiply %%gp%d, %%p%d : " LAYERS_A "\n", i, i, i);
    text_printf(text,
                "  %%gq%d = stablehlo.dot_general %%ga%d, %%q%d_1, batching_dims = [0, 1] x [0, 1], "
                "contracting_dims = [3] x [2] : (" LAYERS_A ", " LAYERS_Q ") -> " LAYERS_Q "\n",
                i, i, i);
    text_printf(
        text,
        "  %%gx%d = stablehlo.dot_general %%gq%d, %%w%d_1, contracting_dims = [1, 3] x [1, 2] : (" LAYERS_Q
        ", " LAYERS_P ") -> " LAYERS_X "\n",
        i, i, i);
    text_printf(text, "  %%g%d = stablehlo.add %%g%d, %%gx%d : " LAYERS_X "\n", i, i + 1, i);
}

static inline void layers_generate(struct text *text, int layers)
{
    text->size = 0;
    text_add(text, "func.func @main(%x0: " LAYERS_X);
    for (int i = 0; i < layers; i++)
        text_printf(text,
                    ", %%w%d_0: " LAYERS_P ", %%w%d_1: " LAYERS_P ", %%w%d_2: " LAYERS_P ", %%f%d: " LAYERS_U,
                    i, i, i, i);
    text_add(text, ") -> (" LAYERS_X);
    for (int i = 0; i < layers; i++)
        text_add(text, ", " LAYERS_U);
    text_add(text, ") {\n  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n");
    for (int i = 0; i < layers; i++)
        layers_forward(text, i);
    text_printf(text, "  %%g%d = stablehlo.negate %%x%d : " LAYERS_X "\n", layers, layers);
    for (int i = layers - 1; i >= 0; i--)
        layers_backward(text, i);
    text_add(text, "  return %g0");
    for (int i = 0; i < layers; i++)
        text_printf(text, ", %%nf%d", i);
    text_add(text, " : " LAYERS_X);
    for (int i = 0; i < layers; i++)
        text_add(text, ", " LAYERS_U);
    text_add(text, "\n}\n");
}

#endif
