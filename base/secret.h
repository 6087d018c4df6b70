/* Passwords and tokens: from the environment or from a file, never from a command line, which every user of
 * the machine can read. Thread-safe while nobody changes the environment. */
#ifndef TOAST_BASE_SECRET_H
#define TOAST_BASE_SECRET_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>

/* The value of the variable `name`; else the first line of the file that `name`_FILE names, without its
 * end. *out: owned; NULL when neither is set, or both are empty. ERROR_USAGE: the file cannot be read, or its first
 * line is empty or longer than 4 KiB. */
enum error_code secret_read(const char *name, char **out, struct error *e) BASE_CHECKED;

/* whether a Redis address (redis://[[USER]:PASSWORD@]HOST:PORT) has a password in it */
bool secret_in_address(const char *address);

#endif
