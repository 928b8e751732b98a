/* http_client_sockets.c - what the system knows of a client's connections */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "end/http_client_rig.h"

#define SMALL_BYTES (64 * 1024)

/* ---- the client's sockets ------------------------------------------------ */

#define FDS_MAX 256 /* more than a test has */

static atomic_bool are_small;

/* The library's, too. With small buffers a server that does not read is soon felt. */
int
socket(int domain, int type, int protocol)
{
    int fd = (int)syscall(SYS_socket, domain, type, protocol), room = SMALL_BYTES;

    if (fd >= 0 && atomic_load(&are_small))
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    return fd;
}

void
rig_buffers(struct rig *r, bool small)
{
    int room = SMALL_BYTES;

    atomic_store(&are_small, small);
    if (small)
        assert_int_equal(
            setsockopt(r->s.fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
}

int
rig_connecting(struct rig *r)
{
    struct tcp_info info;
    int count = 0;

    (void)r;
    for (int fd = 0; fd < FDS_MAX; fd++) {
        socklen_t len = sizeof(info);

        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
            count += info.tcpi_state == TCP_SYN_SENT;
    }
    return count;
}

/* The socket of this process that has this address; -1: there is none. */
static int
socket_find(const struct sockaddr_in *wanted)
{
    struct sockaddr_in address = {0};

    for (int fd = 0; fd < FDS_MAX; fd++) {
        socklen_t len = sizeof(address);

        if (getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
            address.sin_family == AF_INET && address.sin_port == wanted->sin_port)
            return fd;
    }
    return -1;
}

/* All has been read, or will never be. On loopback what was sent has arrived: whether
 * the other side has said so, which it may put off, is not waited for. */
static bool
is_drained(const struct sockaddr_in *client)
{
    int fd = socket_find(client), waits = 0;

    return fd < 0 || ioctl(fd, FIONREAD, &waits) < 0 || waits == 0;
}

void
rig_await_read(struct visit *v)
{
    struct sockaddr_in address;
    socklen_t len = sizeof(address);

    assert_int_equal(getpeername(v->fd, (struct sockaddr *)&address, &len), 0);
    RIG_UNTIL(is_drained(&address));
    rig_pause(); /* it may have been on its way after all */
    RIG_UNTIL(is_drained(&address));
}

/* ---- a server that does not accept --------------------------------------- */

int
rig_block(struct rig *r)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)r->s.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    http_script_listen(&r->s, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_true(http_script_is_visited(&r->s, AWAIT_MS));
    return fd;
}

void
rig_unblock(struct rig *r, int fd)
{
    struct visit v;

    visit_accept_plain(&v, &r->s);
    visit_close(&v);
    close(fd);
    http_script_listen(&r->s, SOMAXCONN);
}
