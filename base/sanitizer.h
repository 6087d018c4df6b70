/* Whether this build is for the address or the thread sanitizer. They reserve terabytes of address space
 * and open files of their own, so limits on either cannot be kept under them. */
#ifndef TOAST_BASE_SANITIZER_H
#define TOAST_BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
