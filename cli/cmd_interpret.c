/* toast interpret: runs a module in the interpreter of the proof (verify/) on seeded inputs, or on those
 * of a folder, and writes inputs and results as .npy files, for comparison with another implementation. */
#include "base/file.h"
#include "cli/output.h"
#include "verify/prove.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: toast interpret MODULE [--seed N] [--inputs plain|moments|wild|negative] [-o DIR]\n"
    "       toast interpret MODULE --from DIR [-o DIR]\n\n"
    "  --seed N       seed of the inputs; default 1\n"
    "  --inputs KIND  plain; moments (of Adam: first 0, second 1); wild (some indices out of range);\n"
    "                 negative (some indices counted from the end)\n"
    "  --from DIR     inputs from DIR/in<i>.npy instead, e.g. of another run\n"
    "  -o DIR         writes in<i>.npy and out<i>.npy: integers as int64, narrow floats as float32\n\n"
    "Global modules only: a manual computation runs all its devices. Prints what ran.\n\n"
    "example:\n"
    "  toast interpret model.mlir --seed 1 -o out/\n";

struct command {
    const char *module, *seed, *inputs, *from, *output;
};

static const char *npy_type(enum ir_element element)
{
    switch ((int)element) {
    case IR_I1: return "|b1";
    case IR_UI64: return "<u8";
    case IR_F64: return "<f8";
    case IR_C64: return "<c8";
    case IR_C128: return "<c16";
    default: return ir_element_is_float(element) ? "<f4" : "<i8";
    }
}

static void npy_shape(const struct verify_tensor *tensor, struct text *out)
{
    text_add(out, "(");
    for (uint32_t i = 0; i < tensor->rank; i++)
        text_printf(out, "%lld,%s", (long long)tensor->dims[i], i + 1 < tensor->rank ? " " : "");
    text_add(out, ")");
}

/* version 1.0 of the format: magic, header length, a Python dictionary padded to 64 bytes, the elements */
static enum error_code write_npy(const char *folder, const char *word, uint32_t index,
                                 const struct verify_tensor *tensor, struct error *e)
{
    struct text header = {0}, file = {0};
    text_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': ", npy_type(tensor->element));
    npy_shape(tensor, &header);
    text_add(&header, ", }");
    while ((10 + header.size + 1) % 64)
        text_add_char(&header, ' ');
    text_add_char(&header, '\n');
    text_add_n(&file, "\x93NUMPY\x01\x00", 8);
    text_add_char(&file, (char)(header.size & 255));
    text_add_char(&file, (char)(header.size >> 8));
    text_add_n(&file, header.at, header.size);
    text_add_n(&file, tensor->data,
               (size_t)verify_tensor_count(tensor) * verify_element_size(tensor->element));
    char *path = mem_printf("%s/%s%u.npy", folder, word, index);
    enum error_code code = file_write(path, file.at, file.size, e);
    free(path);
    text_release(&header);
    text_release(&file);
    return code;
}

/* the elements of a file that write_npy could have written for tensor */
static enum error_code read_npy(const char *folder, uint32_t index, struct verify_tensor *tensor,
                                struct error *e)
{
    char *path = mem_printf("%s/in%u.npy", folder, index), *bytes = NULL;
    size_t size = 0, body = (size_t)verify_tensor_count(tensor) * verify_element_size(tensor->element);
    enum error_code code = file_read(path, (size_t)1 << 34, &bytes, &size, e);
    size_t header =
        !code && size >= 10 ? 10 + (unsigned char)bytes[8] + 256 * (size_t)(unsigned char)bytes[9] : 0;
    if (!code &&
        (header < 10 || header > size || memcmp(bytes, "\x93NUMPY", 6) != 0 || size - header != body ||
         !memmem(bytes, header, npy_type(tensor->element), strlen(npy_type(tensor->element)))))
        code = error_set(e, ERROR_INVALID_REQUEST, "%s is not an array of %zu bytes of %s", path, body,
                         npy_type(tensor->element));
    if (!code)
        memcpy(tensor->data, bytes + header, body);
    free(bytes);
    free(path);
    return code;
}

static enum error_code make_inputs(const struct command *command, const struct ir_program *program,
                                   uint32_t block, struct verify_tensor *in, struct error *e)
{
    static const char *const kinds[] = {"plain", "moments", "wild", "negative"};
    enum error_code code = ERROR_OK;
    for (int k = 0; k < 4 && !command->from; k++)
        if (strcmp(command->inputs ? command->inputs : "plain", kinds[k]) == 0)
            return verify_inputs(program, command->seed ? strtoull(command->seed, NULL, 10) : 1,
                                 (enum verify_inputs_mode)k, in, e);
    if (!command->from)
        return error_set(e, ERROR_USAGE, "--inputs is plain, moments, wild or negative, not '%s'",
                         command->inputs);
    for (uint32_t i = 0; i < program->blocks[block].arg_count && !code; i++) {
        code =
            verify_tensor_create(program, program->values[program->blocks[block].args + i].type, &in[i], e);
        code = code ? code : read_npy(command->from, i, &in[i], e);
    }
    return code;
}

static enum error_code run(const struct command *command, struct error *e)
{
    struct ir_program program = {0};
    enum error_code code = cli_prepare_module(command->module, NULL, &program, e);
    if (code)
        return code;
    uint32_t block = ir_region_block(&program, ir_function(&program, "main"), 0),
             last = ir_block_terminator(&program, block);
    uint32_t in_count = program.blocks[block].arg_count, out_count = program.ops[last].operand_count;
    struct verify_tensor *in = mem_zalloc(in_count + 1, sizeof *in),
                         *out = mem_zalloc(out_count + 1, sizeof *out);
    struct verify_statistics statistics = {0};
    code = make_inputs(command, &program, block, in, e);
    double start = clock_seconds();
    code = code ? code : verify_run(&program, "main", 1, in, out, NULL, &statistics, e);
    double seconds = clock_seconds() - start;
    if (!code && command->output)
        code = file_make_directory(command->output, e);
    for (uint32_t i = 0; i < in_count && !code && command->output; i++)
        code = write_npy(command->output, "in", i, &in[i], e);
    for (uint32_t i = 0; i < out_count && !code && command->output; i++)
        code = write_npy(command->output, "out", i, &out[i], e);
    if (!code)
        printf("%u arguments, %u results; %llu ops (%llu more shared between devices), %llu collectives, "
               "%.3g operations"
               " in %.3f s\n",
               in_count, out_count, (unsigned long long)statistics.ops_executed,
               (unsigned long long)statistics.ops_shared, (unsigned long long)statistics.collectives,
               (double)statistics.operations, seconds);
    for (uint32_t i = 0; i < in_count; i++)
        verify_tensor_release(&in[i]);
    for (uint32_t i = 0; i < out_count; i++)
        verify_tensor_release(&out[i]);
    free(in);
    free(out);
    ir_program_release(&program);
    return code;
}

int cmd_interpret(int argc, char **argv)
{
    struct command command = {0};
    struct error e = {0};
    for (int i = 1; i < argc; i++) {
        const char **value = strcmp(argv[i], "--seed") == 0     ? &command.seed
                             : strcmp(argv[i], "--inputs") == 0 ? &command.inputs
                             : strcmp(argv[i], "--from") == 0   ? &command.from
                             : strcmp(argv[i], "-o") == 0       ? &command.output
                                                                : NULL;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (value && i + 1 == argc)
            return cli_usage("interpret", "%s needs a value", argv[i]);
        if (value)
            *value = argv[++i];
        else if (argv[i][0] == '-' && argv[i][1])
            return cli_usage("interpret", "there is no option %.60s", argv[i]);
        else if (command.module)
            return cli_usage("interpret", "one module, not two");
        else
            command.module = argv[i];
    }
    if (!command.module)
        return cli_usage("interpret", "a module is needed");
    return run(&command, &e) ? cli_fail("interpret", command.module, &e) : 0;
}
