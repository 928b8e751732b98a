/*
 * seen_close.c - lets TSan see how libuv closes descriptors
 *
 * libuv closes by syscall(SYS_close), which the sanitizer does not intercept. It then takes
 * a number that another thread gets next, by a call that it does not know either (a pidfd,
 * say), for one that both threads use. Preloaded, this makes a close of it that is seen.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARGUMENTS = 6 };

typedef long syscall_fn(long number, ...);

static syscall_fn *real;

static void __attribute__((constructor)) find(void)
{
    *(void **)&real = dlsym(RTLD_NEXT, "syscall");
}

__attribute__((visibility("default"))) long
syscall(long number, ...)
{
    long a[ARGUMENTS];
    va_list list;

    va_start(list, number); /* all that there may be, as libc does it */
    for (int i = 0; i < ARGUMENTS; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_close)
        return close((int)a[0]);
    if (!real)
        find();
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
