/* link/http_user.h - who carries a turn of a mount, for its tests */
#ifndef TESTS_LINK_HTTP_USER_H
#define TESTS_LINK_HTTP_USER_H

#include "link/http_session.h"
#include "link/http_site.h"

struct user {
    mcp_http_turn *turn;
    pthread_mutex_t lock; /* for what follows */
    int begins, mores, aborts, status;
    bool last;
    char type[64], origin[64]; /* Access-Control-Allow-Origin */
    char *text;
    size_t len;
    void (*inside)(struct user *user); /* called from begin and more */
};

static inline void
user_hear(struct user *u, const char *body, size_t length, bool last)
{
    pthread_mutex_lock(&u->lock);
    assert_false(u->last);
    u->text = realloc(u->text, u->len + length + 1);
    assert_non_null(u->text);
    memcpy(u->text + u->len, body, length);
    u->len += length;
    u->text[u->len] = '\0';
    u->last = last;
    pthread_mutex_unlock(&u->lock);
    if (u->inside)
        u->inside(u);
}

static inline void
on_begin(void *user, int status, const mcp_http_field *fields, size_t field_count,
         const char *body, size_t length, bool last)
{
    struct user *u = user;

    u->begins++;
    u->status = status;
    for (size_t i = 0; i < field_count; i++)
        if (strcmp(fields[i].name, "Content-Type") == 0)
            (void)snprintf(u->type, sizeof(u->type), "%s", fields[i].value);
        else if (strcmp(fields[i].name, "Access-Control-Allow-Origin") == 0)
            (void)snprintf(u->origin, sizeof(u->origin), "%s", fields[i].value);
    user_hear(u, body, length, last);
}

static inline void
on_more(void *user, const char *body, size_t length, bool last)
{
    struct user *u = user;

    assert_int_equal(u->begins, 1);
    u->mores++;
    user_hear(u, body, length, last);
}

static inline void
on_abort(void *user)
{
    ((struct user *)user)->aborts++;
}

static const mcp_http_turn_ops user_ops = {.size = sizeof(mcp_http_turn_ops),
                                           .begin = on_begin,
                                           .more = on_more,
                                           .abort = on_abort};

static inline void
user_init(struct user *u)
{
    memset(u, 0, sizeof(*u));
    pthread_mutex_init(&u->lock, NULL);
    u->text = calloc(1, 1);
}

static inline void
user_free(struct user *u)
{
    mcpi_mount_turn_free(u->turn);
    u->turn = NULL;
}

static inline void
user_done(struct user *u)
{
    user_free(u);
    free(u->text);
    pthread_mutex_destroy(&u->lock);
}

static inline int
user_serve(struct user *u, struct site *s, const struct mcpi_http_in *in)
{
    user_init(u);
    return mcpi_mount_serve(s->mount, in, &user_ops, u, &u->turn);
}

static inline void
user_call(struct user *u, struct site *s, const char *tool)
{
    char body[512];
    struct mcpi_http_in in;

    (void)snprintf(body, sizeof(body), MODERN_TOOL("7", "%s"), tool);
    in = modern_call(tool, body);
    assert_int_equal(user_serve(u, s, &in), 0);
    memset(body, 'x', sizeof(body)); /* it was copied */
}

static inline struct site *
site_start(bool threaded)
{
    struct site *s = malloc(sizeof(*s));

    assert_non_null(s);
    site_init(s);
    site_open(s, threaded);
    return s;
}

static inline void
site_finish(struct site *s)
{
    site_close(s);
    free(s);
}

#endif
