/* run/loop_fixture.h - a loop, and things on it that write down when they ran */
#ifndef TESTS_RUN_LOOP_FIXTURE_H
#define TESTS_RUN_LOOP_FIXTURE_H

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "run/loop.h"
#include "support/test.h"

struct fixture {
    struct test_mem mem;
    struct mcpi_loop *loop;
    char seen[64]; /* the names of what ran */
    size_t seen_len;
};

static inline void
fixture_open(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    test_mem_init(&f->mem);
    assert_int_equal(mcpi_loop_new(&f->mem.allocator, NULL, &f->loop), 0);
}

static inline void
fixture_close(struct fixture *f)
{
    mcpi_loop_free(f->loop);
    test_mem_done(&f->mem);
}

static inline void
see(struct fixture *f, char name)
{
    f->seen[f->seen_len++] = name;
}

/* A post, a flush and a deadline that write their name down, then do one more thing. */
struct item {
    struct mcpi_post post;
    struct mcpi_flush flush;
    struct mcpi_timer timer;
    struct fixture *f;
    char name;
    void (*then)(struct item *item);
    struct item *other;
    int fd;
    int64_t value;
};

static inline void
item_run(struct item *item)
{
    see(item->f, item->name);
    if (item->then)
        item->then(item);
}

static inline void
on_post(struct mcpi_post *post)
{
    item_run(MCPI_CONTAINER(post, struct item, post));
}

static inline void
on_flush(struct mcpi_flush *flush)
{
    item_run(MCPI_CONTAINER(flush, struct item, flush));
}

static inline void
on_deadline(struct mcpi_timer *timer, int64_t now)
{
    struct item *item = MCPI_CONTAINER(timer, struct item, timer);

    item->value = now;
    item_run(item);
}

static inline void
item_init(struct item *item, struct fixture *f, char name)
{
    memset(item, 0, sizeof *item);
    item->post.fn = on_post;
    mcpi_flush_init(&item->flush, on_flush);
    mcpi_timer_init(&item->timer, on_deadline);
    item->f = f;
    item->name = name;
}

static inline void
item_post(struct item *item)
{
    mcpi_loop_post(item->f->loop, &item->post);
}

static inline void
item_arm(struct item *item, int64_t at)
{
    mcpi_timer_arm(mcpi_loop_timers(item->f->loop), &item->timer, at);
}

static inline void
then_stop(struct item *item)
{
    mcpi_loop_stop(item->f->loop);
}

static inline void
then_post_other(struct item *item)
{
    item_post(item->other);
}

static inline void
then_flush_other(struct item *item)
{
    mcpi_loop_flush(item->f->loop, &item->other->flush);
}

static inline bool
is_readable(int fd, int timeout_ms)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};

    return poll(&watched, 1, timeout_ms) == 1 && (watched.revents & POLLIN);
}

static inline void
step(struct fixture *f)
{
    assert_int_equal(mcpi_loop_step(f->loop), 0);
}

static inline void
run(struct fixture *f)
{
    assert_int_equal(mcpi_loop_run(f->loop), 0);
}

struct reader {
    uv_poll_t poll;
    struct fixture *f;
    int fds[2];
    char name;
};

static inline void
on_readable(uv_poll_t *poll, int status, int events)
{
    struct reader *reader = poll->data;

    (void)status, (void)events;
    see(reader->f, reader->name);
    uv_poll_stop(poll);
}

static inline void
reader_open(struct reader *reader, struct fixture *f)
{
    *reader = (struct reader){.f = f, .name = 'r'};
    assert_int_equal(pipe(reader->fds), 0);
    assert_int_equal(uv_poll_init(mcpi_loop_uv(f->loop), &reader->poll, reader->fds[0]),
                     0);
    reader->poll.data = reader;
    assert_int_equal(uv_poll_start(&reader->poll, UV_READABLE, on_readable), 0);
}

static inline void
reader_close(struct reader *reader)
{
    uv_close((uv_handle_t *)&reader->poll, NULL);
    step(reader->f);
    close(reader->fds[0]);
    close(reader->fds[1]);
}

#endif
