/* simulate: schedules of the simulated service from a range of seeds, or one again. Prints what failed,
 * shrunk, and how many there were; status 1 when one failed. bench/simulate runs several. */
#include "engine.h"
#include "run.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: simulate [--seed N] [--schedules N] [--seconds S] [--plant NAME] [--replay CHOICES] [--shrink "
    "RUNS] [--story] [--redis mini|real|both]\n"
    "\n"
    "  --seed N          the first seed (1)\n"
    "  --schedules N     how many (1000)\n"
    "  --seconds S       at most so long\n"
    "  --plant NAME      with a bug: fence, lease, twice, event, cap\n"
    "  --replay CHOICES  one schedule, as a failure printed it\n"
    "  --shrink RUNS     runs that the search for a shorter schedule may take (2000)\n"
    "  --story           of the first seed: what happens in it\n"
    "  --redis KIND      mini: the stand-in within this process (the default); real: a redis-server; both, "
    "and every\n"
    "                    reply of one is compared with the other's\n"
    "Example: simulate --seed 7 --story\n";

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void print_failure(struct run_report *report, uint64_t seed, int shrink)
{
    size_t before = report->list.count;
    printf("seed %llu: %s\n", (unsigned long long)seed, report->failure);
    run_shrink(report, shrink);
    char *choices = choices_text(&report->list);
    printf("%zu choices of %zu, %d steps:\n%s--replay %s\n", report->list.count, before, report->steps,
           report->story, choices);
    free(choices);
}

struct options {
    uint64_t seed;
    long long schedules;
    double seconds;
    const char *replay;
    int shrink;
    bool story;
    enum engine_kind engine;
};

static bool in_time(void *user)
{
    return now_s() < *(const double *)user;
}

static bool search(const struct options *options)
{
    double began = now_s(), until = began + options->seconds;
    struct run_search search = {
        .first = options->seed, .count = options->schedules, .go_on = in_time, .user = &until};
    run_search(&search);
    unsigned long long calls = wire_calls_total();
    double took = now_s() - began;
    if (search.failing) {
        struct run_report report;
        run_seed(search.failing, false, &report);
        print_failure(&report, search.failing, options->shrink);
        run_report_release(&report);
    }
    printf("{\"seed\":%llu,\"schedules\":%lld,\"failed\":%d,\"steps\":%lld,\"calls\":%llu,\"virtual_s\":%lld,"
           "\"seconds\":%.2f}\n",
           (unsigned long long)options->seed, search.done, search.failing != 0, search.steps, calls,
           search.virtual_ms / 1000, took);
    return search.failing != 0;
}

static bool show(const struct run_report *report)
{
    printf("%s%s\n", report->story, report->failed ? report->failure : "nothing was wrong");
    return report->failed;
}

static bool replay(const struct options *options)
{
    struct run_report report;
    choice_list list = {0};
    if (options->replay)
        choices_parse(options->replay, &list);
    if (options->replay)
        run_list(&list, true, &report);
    else
        run_seed(options->seed, true, &report);
    bool failed = show(&report);
    run_report_release(&report);
    VEC_FREE(&list);
    return failed;
}

static bool read_engine(const char *text, enum engine_kind *out)
{
    static const char *const names[] = {"mini", "real", "both"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum engine_kind)i;
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"seed", required_argument, NULL, 's'},    {"schedules", required_argument, NULL, 'n'},
        {"seconds", required_argument, NULL, 't'}, {"plant", required_argument, NULL, 'p'},
        {"replay", required_argument, NULL, 'r'},  {"shrink", required_argument, NULL, 'k'},
        {"story", no_argument, NULL, 'v'},         {"redis", required_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    struct options options = {.seed = 1, .schedules = 1000, .seconds = 1e18, .shrink = 2000};
    const char *plant = NULL;
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (option) {
        case 's': options.seed = strtoull(optarg, NULL, 10); break;
        case 'n': options.schedules = strtoll(optarg, NULL, 10); break;
        case 't': options.seconds = strtod(optarg, NULL); break;
        case 'p': plant = optarg; break;
        case 'r': options.replay = optarg; break;
        case 'k': options.shrink = atoi(optarg); break;
        case 'v': options.story = true; break;
        case 'e':
            if (!read_engine(optarg, &options.engine)) {
                fputs(usage, stderr);
                return 2;
            }
            break;
        case 'h': fputs(usage, stdout); return 0;
        default: fputs(usage, stderr); return 2;
        }
    if (optind < argc || (plant && !run_plant(plant))) {
        fputs(usage, stderr);
        return 2;
    }
    engine_start(options.engine);
    run_prepare(plant ? run_plant(plant) : NULL);
    bool failed = options.replay || options.story ? replay(&options) : search(&options);
    engine_stop();
    return failed;
}
