/* fd.h - a descriptor that nobody takes for stderr */
#ifndef MCPI_RUN_FD_H
#define MCPI_RUN_FD_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* This descriptor, or the same under another number if it is one of the three that
 * everybody writes to: in a program without a stderr, what somebody prints there must not
 * get onto a wire, or into a file of tokens. -1 stays -1, and is what comes if there is no other number;
 * it is closed then. Leaves errno. */
static inline int
mcpi_fd_above_stdio(int take_fd)
{
    int above, number;

    if (take_fd < 0 || take_fd > STDERR_FILENO)
        return take_fd;
    above = fcntl(take_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    number = errno;
    (void)close(take_fd);
    errno = number;
    return above;
}

#endif
