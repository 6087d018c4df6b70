/* Reading: speed and memory, on models and on generated modules of 1, 10 and 100 MB.
 *
 *   bench_read [--small] [MODEL...]        from the root of the repository; --small leaves the 100 MB out
 *
 * Two kinds are generated: `ops`, a chain of the ops of a train step, some 110 bytes each, and `constants`,
 * hex constants of 256 KiB. Times are processor time of the reader with its start (this machine may be
 * shared) and the wall's; memory is the peak of the reader and of this process with text, image and view. The
 * bound is 96 MiB + 12 x text for both together. With mlir-opt-19 installed its time for parsing and printing
 * the generic form stands beside ours for reading the same text. */
#include "ir/read.h"
#include "base/file.h"
#include "bench/usage.h"
#include "ir/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct row {
    char name[48];
    size_t text, image, ops;
    double wall_s, cpu_s, mlir_opt_s; /* mlir_opt_s 0: not installed */
    long reader_kib, self_kib;
};

static double now(void)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return (double)when.tv_sec + (double)when.tv_nsec * 1e-9;
}

static double children_cpu(void)
{
    struct rusage rusage;
    getrusage(RUSAGE_CHILDREN, &rusage);
    return (double)(rusage.ru_utime.tv_sec + rusage.ru_stime.tv_sec) +
           (double)(rusage.ru_utime.tv_usec + rusage.ru_stime.tv_usec) * 1e-6;
}

static void generate_ops(struct text *text, size_t bytes)
{
    unsigned k = 0, previous = 0;
    text_add(text, "module @big {\n  func.func public @main(%arg0: tensor<64x2048xf32>, %arg1: "
                   "tensor<2048x2048xbf16>) -> "
                   "tensor<64x2048xf32> {\n    %0 = stablehlo.abs %arg0 : tensor<64x2048xf32>\n");
    for (k = 1; text->size < bytes; k += 8) {
        text_printf(text, "    %%cst_%u = stablehlo.constant dense<%u.5> : tensor<f32>\n", k, k % 1000);
        text_printf(text,
                    "    %%%u = stablehlo.broadcast_in_dim %%cst_%u, dims = [] : (tensor<f32>) -> "
                    "tensor<64x2048xf32>\n",
                    k, k);
        text_printf(text, "    %%%u = stablehlo.multiply %%%u, %%%u : tensor<64x2048xf32>\n", k + 1, previous,
                    k);
        text_printf(text,
                    "    %%%u = stablehlo.convert %%%u : (tensor<64x2048xf32>) -> tensor<64x2048xbf16>\n",
                    k + 2, k + 1);
        text_printf(text,
                    "    %%%u = stablehlo.dot_general %%%u, %%arg1, contracting_dims = [1] x [0], precision "
                    "= [DEFAULT, "
                    "DEFAULT] : (tensor<64x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<64x2048xf32>\n",
                    k + 3, k + 2);
        text_printf(text, "    %%%u = stablehlo.add %%%u, %%%u : tensor<64x2048xf32>\n", k + 4, k + 3, k + 1);
        text_printf(text,
                    "    %%%u = stablehlo.reduce(%%%u init: %%cst_%u) applies stablehlo.add across "
                    "dimensions = [1] : "
                    "(tensor<64x2048xf32>, tensor<f32>) -> tensor<64xf32>\n",
                    k + 5, k + 4, k);
        text_printf(text,
                    "    %%%u = stablehlo.broadcast_in_dim %%%u, dims = [0] : (tensor<64xf32>) -> "
                    "tensor<64x2048xf32>\n",
                    k + 6, k + 5);
        text_printf(text, "    %%%u = stablehlo.subtract %%%u, %%%u : tensor<64x2048xf32>\n", k + 7, k + 4,
                    k + 6);
        previous = k + 7;
    }
    text_printf(text, "    return %%%u : tensor<64x2048xf32>\n  }\n}\n", previous);
}

static void generate_constants(struct text *text, size_t bytes)
{
    unsigned k = 0;
    text_add(text,
             "module @big {\n  func.func public @main(%arg0: tensor<256x256xf32>) -> tensor<256x256xf32> {\n"
             "    %0 = stablehlo.abs %arg0 : tensor<256x256xf32>\n");
    for (; text->size < bytes; k++) {
        char digits[9];
        snprintf(digits, sizeof digits, "%08X", k * 2654435761u);
        text_printf(text, "    %%c%u = stablehlo.constant dense<\"0x", k);
        for (int i = 0; i < 256 * 256; i++)
            text_add_n(text, digits, 8);
        text_printf(text,
                    "\"> : tensor<256x256xf32>\n    %%%u = stablehlo.add %%%u, %%c%u : tensor<256x256xf32>\n",
                    k + 1, k, k);
    }
    text_printf(text, "    return %%%u : tensor<256x256xf32>\n  }\n}\n", k);
}

/* Processor time of mlir-opt-19 on a text, 0 when it is not installed. */
static double mlir_opt(const char *text, size_t size)
{
    char path[] = "/tmp/bench-read-XXXXXX";
    int fd = mkstemp(path);
    double before = children_cpu();
    bool written = fd >= 0 && write(fd, text, size) == (ssize_t)size;
    char *command = mem_printf(
        "mlir-opt-19 --allow-unregistered-dialect --mlir-print-op-generic %s -o /dev/null 2>/dev/null", path);
    int status = written ? system(command) : -1;
    double taken = children_cpu() - before;
    free(command);
    if (fd >= 0)
        close(fd);
    unlink(path);
    return status == 0 ? taken : 0;
}

/* In a process of its own, so that peaks are this row's. */
static void measure(struct row *row, char *text, size_t size, bool compare)
{
    struct ir_program program;
    struct error e;
    double start = now();
    row->text = size;
    if (ir_read(text, size, NULL, &program, &e) != ERROR_OK) {
        fprintf(stderr, "%s:%d:%d: %s\n", row->name, e.line, e.column, e.message);
        _exit(1);
    }
    row->wall_s = now() - start;
    row->cpu_s = children_cpu();
    row->image = program.image_size;
    row->ops = program.op_count;
    struct rusage self, readers;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &readers);
    row->self_kib = self.ru_maxrss;
    row->reader_kib = readers.ru_maxrss;
    if (compare)
        row->mlir_opt_s = mlir_opt(text, size);
    ir_program_release(&program);
}

static char *make_text(const char *what, size_t *size, bool generic)
{
    struct text other_text = {0};
    struct error e;
    unsigned megabytes;
    char *text = NULL;
    if (sscanf(what, "ops %u", &megabytes) == 1) {
        generate_ops(&other_text, (size_t)megabytes * 1000000);
    } else if (sscanf(what, "constants %u", &megabytes) == 1) {
        generate_constants(&other_text, (size_t)megabytes * 1000000);
    } else if (file_read(what, (size_t)1 << 32, &text, size, &e) != ERROR_OK) {
        fprintf(stderr, "%s\n", e.message);
        _exit(1);
    }
    if (generic) {
        struct ir_program program;
        if (ir_read(text, *size, NULL, &program, &e) != ERROR_OK)
            _exit(1);
        ir_print(&program, &other_text);
        ir_program_release(&program);
        free(text);
    }
    if (other_text.at)
        *size = other_text.size;
    return other_text.at ? other_text.at : text;
}

/* The text of a generic row is made by another process: its reader would count among this one's children. */
static bool run(const char *what, bool generic, struct row *row)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        size_t size = 0;
        char *text;
        if (generic) {
            char path[] = "/tmp/bench-generic-XXXXXX";
            int fd = mkstemp(path), status;
            pid_t maker = fork();
            if (maker == 0) {
                text = make_text(what, &size, true);
                _exit(write(fd, text, size) == (ssize_t)size ? 0 : 1);
            }
            waitpid(maker, &status, 0);
            text = make_text(path, &size, false);
            unlink(path);
        } else {
            text = make_text(what, &size, false);
        }
        double before = children_cpu();
        measure(row, text, size, generic);
        row->cpu_s -= before;
        _exit(write(ends[1], row, sizeof *row) == (ssize_t)sizeof *row ? 0 : 1);
    }
    close(ends[1]);
    bool ok = read(ends[0], row, sizeof *row) == (ssize_t)sizeof *row;
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return ok;
}

static void print_row(const struct row *row)
{
    double mb = (double)row->text / 1e6, bound = 96 * 1024 + 12 * (double)row->text / 1024;
    printf("| %-26s | %7.2f | %8zu | %6.3f | %6.3f | %6.1f | %7.1f | %6.1f | %5.2f |", row->name, mb,
           row->ops, row->wall_s, row->cpu_s, mb / row->cpu_s, (double)row->reader_kib / 1024,
           (double)row->self_kib / 1024, (double)(row->reader_kib + row->self_kib) / bound);
    if (row->mlir_opt_s > 0)
        printf(" %6.1f |\n", mb / row->mlir_opt_s);
    else
        printf("      - |\n");
    fflush(stdout);
}

static const char help[] = "usage: bench_read [--small] [MODULE ..]\n"
                           "\n"
                           "Reading: speed and memory of the sandboxed reader, from text to image, beside "
                           "mlir-opt-19 where it is installed. Without\n"
                           "MODULE: four of tests/models, each also in generic form, and generated modules "
                           "of 1, 10 and 100 MB (ops; hex constants).\n"
                           "\n"
                           "  --small   leaves the 100 MB out\n"
                           "\n"
                           "example:\n"
                           "  build/release/bin/bench_read tests/models/t2b.mlir.gz\n";

int main(int argc, char **argv)
{
    static const char *const standard[] = {"tests/models/mlp.mlir", "tests/models/t2b.mlir.gz",
                                           "tests/models/t7b.mlir.gz", "tests/models/gpt.mlir.gz"};
    static const char *const generated[] = {"ops 1",       "ops 10",       "ops 100",
                                            "constants 1", "constants 10", "constants 100"};
    bool small = false;
    char **given = argv;
    int count = 0, failed = 0;
    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--small") == 0)
            small = true;
        else
            given[count++] = argv[i], usage_operand(argv[i]);
    printf("| module                     |      MB |      ops | wall s |  cpu s |   MB/s | reader MiB | here "
           "MiB | of bound | mlir-opt-19 MB/s |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < (count ? count : 4); i++)
        for (int generic = 0; generic < 2; generic++) {
            const char *path = count ? given[i] : standard[i], *slash = strrchr(path, '/');
            struct row row = {.mlir_opt_s = 0};
            snprintf(row.name, sizeof row.name, "%.30s%s", slash ? slash + 1 : path,
                     generic ? ", generic" : "");
            if (run(path, generic, &row))
                print_row(&row);
            else
                failed = 1;
        }
    for (int i = 0; !count && i < 6; i++) {
        struct row row = {.mlir_opt_s = 0};
        snprintf(row.name, sizeof row.name, "%s MB", generated[i]);
        if (small && strstr(generated[i], "100"))
            continue;
        if (run(generated[i], false, &row))
            print_row(&row);
        else
            failed = 1;
    }
    return failed;
}
