/* toast calibrate: a machine file (a profile, docs/service.md) from what nccl-tests printed. Rows of its
 * tables become points of the collectives' tables; a point in three is also held out and predicted from
 * the others, and the error is printed: what the file is worth between the sizes that were measured.
 * Nothing is fitted beyond that: a table wins over a curve wherever there is one (cost/measured.c). */
#include "base/file.h"
#include "base/memory.h"
#include "cli/output.h"
#include "cost/machine.h"
#include "spmd/local.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TABLES = 32, MOST_POINTS = 256, MOST_BYTES = 16 << 20 };

static const char usage[] =
    "usage: toast calibrate --devices N KIND FILE [KIND FILE ..] [-o FILE]\n\n"
    "Makes a profile of collectives from what nccl-tests printed on N devices: KIND is --all-reduce, "
    "--all-gather,\n"
    "--reduce-scatter, --all-to-all or --permute (sendrecv_perf), FILE its output. Times are those in place "
    "where\n"
    "there are any. Prints for each how well points that were held out are predicted from the others.\n\n"
    "  --devices N           of a group; may be given again before further files\n"
    "  --between-hosts yes|no  the group spans hosts, or not; default: the table serves either\n"
    "  -o FILE               the profile (default: machine.json); --profile FILE of toast plan takes it\n\n"
    "examples:\n"
    "  all_reduce_perf -b 1K -e 1G -f 2 -g 8 > ar.txt\n"
    "  toast calibrate --devices 8 --between-hosts no --all-reduce ar.txt --all-gather ag.txt -o "
    "machine.json\n"
    "  toast plan model.mlir --mesh data=8 --device h100 --profile machine.json\n";

static const struct {
    const char *option, *name;
    uint8_t kind;
} kinds[] = {{"--all-reduce", "all_reduce", SPMD_ALL_REDUCE},
             {"--all-gather", "all_gather", SPMD_ALL_GATHER},
             {"--reduce-scatter", "reduce_scatter", SPMD_REDUCE_SCATTER},
             {"--all-to-all", "all_to_all", SPMD_ALL_TO_ALL},
             {"--permute", "collective_permute", SPMD_PERMUTE}};

struct table {
    const char *name;
    struct cost_table is;
    struct cost_point points[MOST_POINTS];
};
struct calibrate {
    struct table *tables;
    uint32_t count;
    long long devices;
    int8_t spans_hosts;
    const char *out;
};

/* ---- nccl-tests ---- */

/* "size count type redop root time algbw busbw #wrong [time algbw busbw #wrong]": the last time of the
 * line that is followed by two bandwidths; send and receive and all to all have no redop */
static bool read_row(char *line, struct cost_point *point)
{
    char *words[16], *save = NULL, *end;
    int count = 0;
    for (char *word = strtok_r(line, " \t\r", &save); word && count < 16;
         word = strtok_r(NULL, " \t\r", &save))
        words[count++] = word;
    if (count < 8)
        return false;
    long long bytes = strtoll(words[0], &end, 10);
    if (*end || bytes < 1)
        return false;
    double us = strtod(words[count >= 13 ? count - 4 : 5], &end);
    if (*end || !(us > 0) || !(us < 1e10))
        return false;
    *point = (struct cost_point){bytes, (int64_t)(us * 1e6 + 0.5)};
    return true;
}

static enum error_code read_table(const char *path, struct table *table, struct error *e)
{
    char *text = NULL, *save = NULL;
    size_t size;
    TRY(file_read(path, MOST_BYTES, &text, &size, e));
    struct cost_point point;
    uint32_t count = 0;
    for (char *line = strtok_r(text, "\n", &save); line && count < MOST_POINTS;
         line = strtok_r(NULL, "\n", &save)) {
        if (!read_row(line, &point) || (count && point.bytes <= table->points[count - 1].bytes))
            continue;
        if (count && point.time_ps < table->points[count - 1].time_ps)
            point.time_ps = table->points[count - 1].time_ps; /* noise: time does not fall with bytes */
        table->points[count++] = point;
    }
    free(text);
    table->is.points = table->points;
    table->is.count = count;
    if (count < 2)
        return error_set(
            e, ERROR_INVALID_REQUEST,
            "no table of nccl-tests: rows of size, count, type, redop, root, time, algbw, busbw");
    return ERROR_OK;
}

/* ---- held out ---- */

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return one < other ? -1 : one > other;
}

/* every third point but the ends, from the others */
static void print_held_out(const struct table *table)
{
    struct cost_point kept[MOST_POINTS];
    struct cost_table others = table->is;
    struct cost_machine machine = {.tables = &others, .table_count = 1};
    double errors[MOST_POINTS];
    uint32_t count = 0;
    others.points = kept;
    others.count = 0;
    for (uint32_t i = 0; i < table->is.count; i++)
        if (i % 3 != 1 || i + 1 == table->is.count)
            kept[others.count++] = table->points[i];
    for (uint32_t i = 1; i + 1 < table->is.count; i += 3) {
        double ps = 0;
        cost_measured_price(&machine, others.kind, others.devices, others.spans_hosts == 1,
                            (double)table->points[i].bytes, &ps);
        errors[count++] = fabs(ps / (double)table->points[i].time_ps - 1);
    }
    printf("%-18s %4lld devices, %3u points", table->name, (long long)others.devices, table->is.count);
    if (count) {
        qsort(errors, count, sizeof *errors, ascending);
        printf(", %u held out: off by %.1f %% in the middle, %.1f %% at most", count, 100 * errors[count / 2],
               100 * errors[count - 1]);
    }
    printf("\n");
}

/* ---- the file ---- */

static void write_table(const struct table *table, struct text *out)
{
    text_printf(out, "{\"kind\": \"%s\", \"devices\": %lld, ", table->name, (long long)table->is.devices);
    if (table->is.spans_hosts >= 0)
        text_printf(out, "\"between_hosts\": %s, ", table->is.spans_hosts ? "true" : "false");
    text_add(out, "\"points\": [");
    for (uint32_t i = 0; i < table->is.count; i++)
        text_printf(out, "%s[%lld, %.3f]", i ? ", " : "", (long long)table->points[i].bytes,
                    (double)table->points[i].time_ps / 1e6);
    text_add(out, "]}");
}

static enum error_code write_file(const struct calibrate *calibrate, struct error *e)
{
    struct text text = {0};
    text_add(&text, "{\"description\": \"toast calibrate, from nccl-tests\",\n \"collectives\": [");
    for (uint32_t i = 0; i < calibrate->count; i++) {
        text_add(&text, i ? ",\n  " : "\n  ");
        write_table(&calibrate->tables[i], &text);
    }
    text_add(&text, "]}\n");
    enum error_code code = file_write(calibrate->out, text.at, text.size, e);
    text_release(&text);
    return code;
}

/* ---- command line ---- */

/* -1: taken; else the exit status */
static int take_file(struct calibrate *calibrate, uint32_t kind, const char *path)
{
    struct error e = {.code = ERROR_OK};
    struct table *table = &calibrate->tables[calibrate->count];
    if (!calibrate->devices)
        return cli_usage("calibrate", "--devices is needed before %s", kinds[kind].option);
    if (calibrate->count == MOST_TABLES)
        return cli_usage("calibrate", "more than %d files", MOST_TABLES);
    table->name = kinds[kind].name;
    table->is = (struct cost_table){kinds[kind].kind, calibrate->spans_hosts, calibrate->devices, NULL, 0};
    for (uint32_t i = 0; i < calibrate->count; i++)
        if (calibrate->tables[i].is.kind == table->is.kind &&
            calibrate->tables[i].is.devices == table->is.devices &&
            calibrate->tables[i].is.spans_hosts == table->is.spans_hosts)
            return cli_usage("calibrate", "%s on %lld devices is there twice", table->name,
                             calibrate->devices);
    if (read_table(path, table, &e) != ERROR_OK)
        return cli_fail("calibrate", path, &e);
    calibrate->count++;
    return -1;
}

static int take_options(struct calibrate *calibrate, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        uint32_t kind = 0;
        const char *option = argv[i];
        if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (i + 1 == argc)
            return cli_usage("calibrate", "there is no option %s, or it needs a value", option);
        const char *value = argv[++i];
        while (kind < sizeof kinds / sizeof *kinds && strcmp(kinds[kind].option, option) != 0)
            kind++;
        if (strcmp(option, "--devices") == 0) {
            calibrate->devices = strtoll(value, NULL, 10);
            if (calibrate->devices < 2 || calibrate->devices > MESH_MAX_DEVICES)
                return cli_usage("calibrate", "--devices needs 2 or more");
        } else if (strcmp(option, "--between-hosts") == 0) {
            calibrate->spans_hosts = (int8_t)(strcmp(value, "yes") == 0);
        } else if (strcmp(option, "-o") == 0) {
            calibrate->out = value;
        } else if (kind < sizeof kinds / sizeof *kinds) {
            int status = take_file(calibrate, kind, value);
            if (status >= 0)
                return status;
        } else {
            return cli_usage("calibrate", "there is no option %s", option);
        }
    }
    return calibrate->count
               ? -1
               : cli_usage("calibrate", "at least one kind of collective with its file is needed");
}

int cmd_calibrate(int argc, char **argv)
{
    struct calibrate calibrate = {.spans_hosts = -1, .out = "machine.json"};
    struct error e = {.code = ERROR_OK};
    calibrate.tables = mem_zalloc(MOST_TABLES, sizeof *calibrate.tables);
    int status = take_options(&calibrate, argc, argv);
    if (status < 0) {
        status = write_file(&calibrate, &e) == ERROR_OK ? 0 : cli_fail("calibrate", calibrate.out, &e);
        for (uint32_t i = 0; i < calibrate.count && status == 0; i++)
            print_held_out(&calibrate.tables[i]);
    }
    free(calibrate.tables);
    return status;
}
