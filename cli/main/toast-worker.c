/* toast-worker: takes tasks of planning jobs from Redis; everything is in workers/. */
#include "workers/worker.h"

int main(int argc, char **argv)
{
    return worker_main(argc, argv, tasks_service());
}
