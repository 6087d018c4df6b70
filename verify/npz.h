/* Inputs of a proof from a file of NumPy (numpy.savez, savez_compressed): a zip archive of arrays in .npy
 * format. Reads bytes in memory, trusts none of them, opens no file. */
#ifndef TOAST_VERIFY_NPZ_H
#define TOAST_VERIFY_NPZ_H

#include "verify/interpret.h"

/* One array for each argument of @main, found by `names[i]` (the argument's path), else `arr_<i>` (what savez
 * calls arrays without a name), else `arg<i>`. Shapes must be the argument's; bfloat16 as two bytes of any
 * kind ("<V2", as ml_dtypes stores it, or u2), float8 as one. Numbers of another type (float64 for f32, int64
 * for i32) are converted where the argument's type holds every one of them exactly. out[argument]: owned.
 * ERROR_USAGE: not such an archive, an array that is missing, of another shape, with a number that the
 * argument's type has not, or left over; ERROR_TOO_LARGE: an array beyond 4 GiB; ERROR_NOT_AVAILABLE: an
 * argument's type that is not interpreted. */
enum error_code verify_inputs_npz(const struct ir_program *program, const char *const *names,
                                  const void *bytes, size_t size, struct verify_tensor *out,
                                  struct error *e) BASE_CHECKED;

#endif
