/* A real redis-server on a unix socket in a scratch folder, with the settings of production. */
#ifndef TOAST_TESTS_REDIS_SERVER_H
#define TOAST_TESTS_REDIS_SERVER_H

#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct redis_server {
    char *folder, *socket, *address; /* address: unix:<socket> */
    pid_t pid;
};

static inline void redis_server_start(struct redis_server *redis_server)
{
    char *output = mem_printf("%s/redis.log", redis_server->folder);
    char *argv[] = {"redis-server",
                    "--port",
                    "0",
                    "--unixsocket",
                    redis_server->socket,
                    "--dir",
                    redis_server->folder,
                    "--appendonly",
                    "yes",
                    "--appendfsync",
                    "always",
                    "--maxmemory",
                    "256mb",
                    "--maxmemory-policy",
                    "noeviction",
                    "--save",
                    "",
                    NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    unlink(redis_server->socket);
    assert_int_equal(posix_spawnp(&redis_server->pid, "redis-server", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    free(output);
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    snprintf(where.sun_path, sizeof where.sun_path, "%s", redis_server->socket);
    for (int i = 0; i < 3000; i++) {
        char answer[8] = ""; /* "-LOADING" while it reads its log back */
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        bool ready = connect(fd, (struct sockaddr *)&where, sizeof where) == 0 &&
                     send(fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6 &&
                     recv(fd, answer, sizeof answer - 1, 0) > 0 && strncmp(answer, "+PONG", 5) == 0;
        close(fd);
        if (ready)
            return;
        usleep(10000);
    }
    fail_msg("redis-server did not start");
}

/* an inline command beside the queue's own; it must succeed */
static inline void redis_server_command(struct redis_server *redis_server, const char *command)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    char answer[256] = "";
    snprintf(where.sun_path, sizeof where.sun_path, "%s", redis_server->socket);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&where, sizeof where), 0);
    assert_int_equal(send(fd, command, strlen(command), MSG_NOSIGNAL), strlen(command));
    assert_int_equal(send(fd, "\r\n", 2, MSG_NOSIGNAL), 2);
    assert_true(recv(fd, answer, sizeof answer - 1, 0) > 0);
    if (answer[0] == '-')
        fail_msg("%s: %s", command, answer);
    close(fd);
}

static inline void redis_server_create(struct redis_server *redis_server)
{
    redis_server->folder = support_scratch();
    redis_server->socket = mem_printf("%s/redis.sock", redis_server->folder);
    redis_server->address = mem_printf("unix:%s", redis_server->socket);
    redis_server_start(redis_server);
}

static inline void redis_server_kill(struct redis_server *redis_server)
{
    kill(redis_server->pid, SIGKILL);
    waitpid(redis_server->pid, NULL, 0);
}

static inline void redis_server_destroy(struct redis_server *redis_server)
{
    redis_server_kill(redis_server);
    free(redis_server->folder);
    free(redis_server->socket);
    free(redis_server->address);
}

#endif
