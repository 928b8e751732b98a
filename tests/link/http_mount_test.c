/* http_mount_test.c - an endpoint, from any thread */
#include "link/http_mount.h"

#include "link/http_user.h"

/* ---- answers ------------------------------------------------------------- */

static void
an_answer_comes_whole_with_its_type(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    user_call(&u, s, "echo");
    assert_int_equal(u.begins, 0); /* nothing happens on the caller's thread */
    site_run(s);
    assert_int_equal(u.begins, 1);
    assert_int_equal(u.mores, 0);
    assert_true(u.last);
    assert_int_equal(u.status, 200);
    assert_string_equal(u.type, "application/json");
    assert_non_null(strstr(u.text, "\"id\":7"));
    user_done(&u);
    site_finish(s);
}

static void
a_stream_comes_in_pieces_and_ends(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    user_call(&u, s, "flood");
    site_run(s);
    assert_int_equal(u.begins, 1);
    assert_true(u.last);
    assert_string_equal(u.type, "text/event-stream");
    assert_non_null(strstr(u.text, "<0>"));
    assert_non_null(strstr(u.text, "<2>"));
    assert_true(strstr(u.text, "<2>") < strstr(u.text, "\"id\":7"));
    user_done(&u);
    site_finish(s);
}

static void
a_head_that_is_refused_is_answered(void **state)
{
    struct site *s = site_start(false);
    struct mcpi_http_in in = modern_call("echo", MODERN_TOOL("7", "echo"));
    struct user u;

    (void)state;
    in.target = "/elsewhere";
    in.path_len = strlen(in.target);
    assert_int_equal(user_serve(&u, s, &in), 0);
    site_run(s);
    assert_int_equal(u.status, 404);
    assert_true(u.last);
    assert_int_equal(atomic_load(&s->served), 0);
    user_done(&u);
    site_finish(s);
}

static void
a_body_that_is_too_long_is_refused_and_not_copied(void **state)
{
    struct site *s = site_start(false);
    struct mcpi_http_in in = modern_call("echo", MODERN_TOOL("7", "echo"));
    struct user u;

    (void)state;
    in.body_len = s->http.body_bytes + 1; /* reading it would be noticed */
    assert_int_equal(user_serve(&u, s, &in), 0);
    site_run(s);
    assert_int_equal(u.status, 413);
    user_done(&u);
    site_finish(s);
}

/* ---- leaving ------------------------------------------------------------- */

static void
E18_freeing_a_turn_that_is_not_answered_cancels_its_request(void **state)
{
    struct site *s = site_start(false);
    struct user u, other;

    (void)state;
    user_call(&u, s, "hold");
    user_call(&other, s, "hold");
    site_run(s);
    assert_int_equal(s->held_count, 2);
    user_free(&u);
    site_run(s);
    assert_int_equal(atomic_load(&s->canceled), 1);
    assert_int_equal(s->held_count, 1);
    assert_int_equal(u.begins + u.aborts, 0);
    site_let_go(s);
    site_run(s);
    assert_int_equal(other.status, 200);
    user_done(&u);
    user_done(&other);
    site_finish(s);
}

static void
E20_a_turn_that_is_freed_before_it_begins_is_not_served(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    user_call(&u, s, "hold");
    user_free(&u);
    site_run(s);
    assert_int_equal(atomic_load(&s->served), 0);
    assert_int_equal(u.begins + u.aborts, 0);
    user_done(&u);
    site_finish(s);
}

static void
D12_what_is_posted_into_a_session_counts_though_its_client_left(void **state)
{
    struct site *s = site_start(false);
    struct mcpi_session *session;
    struct user u;

    (void)state;
    assert_int_equal(mcpi_session_new(s->endpoint, SENDER(""), &session), 0);
    {
        const mcp_http_field fields[] = {{"Host", "localhost"},
                                         {"Mcp-Session-Id", session->id}};
        const struct mcpi_http_in in = {.method = MCPI_HTTP_DELETE,
                                        .method_name = "DELETE",
                                        .target = "/mcp",
                                        .path_len = 4,
                                        .fields = fields,
                                        .field_count = 2};

        assert_int_equal(user_serve(&u, s, &in), 0);
    }
    user_free(&u);
    site_run(s);
    assert_int_equal(s->endpoint->session_count, 0);
    assert_int_equal(u.begins + u.aborts, 0);
    user_done(&u);
    site_finish(s);
}

static void
keep_ticket(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    (void)request;
    *(mcp_http_ticket **)user = ticket;
}

static void
E20_a_turn_that_is_freed_while_its_caller_is_identified_is_not_served(void **state)
{
    struct site *s = malloc(sizeof(*s));
    mcp_http_ticket *ticket = NULL;
    struct user u;

    (void)state;
    assert_non_null(s);
    site_init(s);
    s->http.identify = keep_ticket;
    s->http.identify_user = &ticket;
    site_open(s, false);
    user_call(&u, s, "hold");
    site_run(s);
    assert_non_null(ticket);
    user_free(&u);
    site_run(s);
    mcp_http_allow(ticket, "somebody");
    site_run(s);
    assert_int_equal(atomic_load(&s->served), 0);
    user_done(&u);
    site_finish(s);
}

/* ---- its end ------------------------------------------------------------- */

static void
turns_alive_at_the_close_are_aborted_and_freed_later(void **state)
{
    struct site *s = site_start(false);
    struct mcpi_http_in in = modern_call("echo", MODERN_TOOL("7", "echo"));
    struct mcpi_mount *mount = mcpi_mount_ref(s->mount);
    mcp_http_turn *none;
    struct user u, paused;

    (void)state;
    user_call(&u, s, "hold");
    user_call(&paused, s, "echo");
    mcpi_mount_turn_pause(paused.turn, true);
    site_run(s);
    mcpi_mount_close(s->mount);
    assert_int_equal(u.aborts, 1);
    assert_int_equal(paused.aborts, 1);
    assert_int_equal(mcpi_mount_serve(mount, &in, &user_ops, &u, &none), MCP_E_CLOSED);
    mcpi_mount_close(s->mount);
    site_run(s);
    assert_int_equal(atomic_load(&s->canceled), 1);
    site_stop(s);
    assert_int_equal(mcpi_mount_serve(mount, &in, &user_ops, &u, &none), MCP_E_CLOSED);
    mcpi_mount_turn_pause(paused.turn, false); /* nobody is there to hear it */
    user_done(&u);
    user_done(&paused);
    mcpi_mount_unref(mount);
    site_finish(s);
}

/* The mount and its turns may outlast server and loop. */
static void
a_turn_may_be_freed_when_the_loop_is_gone(void **state)
{
    struct site *s = site_start(false);
    struct mcpi_mount *mount = mcpi_mount_ref(s->mount);
    struct user u;

    (void)state;
    user_call(&u, s, "echo");
    site_run(s);
    site_stop(s);
    mcpi_mount_unref(s->mount);
    assert_int_equal(mcpi_engine_free(s->engine), 0);
    mcpi_loop_free(s->loop);
    user_done(&u);
    mcpi_mount_unref(mount);
    test_mem_done(&s->mem);
    free(s);
}

static void
what_was_handed_in_before_the_close_is_refused(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    user_call(&u, s, "echo");
    mcpi_mount_close(s->mount);
    site_run(s);
    assert_int_equal(u.status, 503);
    assert_true(u.last);
    user_done(&u);
    site_finish(s);
}

static void
a_listed_page_may_read_that_a_mount_is_draining(void **state)
{
    static const char *const origins[] = {"https://app.example", NULL};
    static const mcp_http_field fields[] = {MODERN_FIELDS,
                                            {"Origin", "https://app.example"}};
    const struct mcpi_http_in in = request_of(MCPI_HTTP_POST, "/mcp", fields,
                                              sizeof(fields) / sizeof(fields[0]), "{}");
    struct site *s = malloc(sizeof(*s));
    struct user u;

    (void)state;
    assert_non_null(s);
    site_init(s);
    s->http.origins = origins;
    site_open(s, false);
    assert_int_equal(user_serve(&u, s, &in), 0);
    assert_true(mcpi_mount_drain(s->mount, NULL, NULL));
    site_run(s);
    assert_int_equal(u.status, 503);
    assert_string_equal(u.origin, "https://app.example");
    user_done(&u);
    site_finish(s);
}

/* It could not be told to go on any more: nothing of it would ever be freed. */
static void
a_paused_turn_that_comes_behind_the_close_is_aborted(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    user_call(&u, s, "echo");
    mcpi_mount_turn_pause(u.turn, true);
    mcpi_mount_close(s->mount);
    site_run(s);
    assert_int_equal(u.begins, 0);
    assert_int_equal(u.aborts, 1);
    mcpi_mount_turn_pause(u.turn, false);
    site_run(s);
    user_done(&u);
    site_finish(s);
}

static void
there_are_no_more_turns_than_connections(void **state)
{
    struct site *s = malloc(sizeof(*s));
    struct mcpi_http_in in = modern_call("hold", MODERN_TOOL("7", "hold"));
    struct user u[3];

    (void)state;
    assert_non_null(s);
    site_init(s);
    s->http.connections = 2;
    site_open(s, false);
    assert_int_equal(user_serve(&u[0], s, &in), 0);
    assert_int_equal(user_serve(&u[1], s, &in), 0);
    assert_int_equal(user_serve(&u[2], s, &in), MCP_E_LIMIT);
    assert_null(u[2].turn);
    user_done(&u[2]);
    site_run(s);
    user_free(&u[0]);
    site_run(s);
    assert_int_equal(user_serve(&u[2], s, &in), 0);
    site_run(s);
    for (int i = 0; i < 3; i++)
        user_done(&u[i]);
    site_run(s);
    assert_int_equal(atomic_load(&s->canceled), 3);
    site_finish(s);
}

static void
make_and_serve(struct test_mem *mem, void *user)
{
    struct mcpi_http_in in = modern_call("echo", MODERN_TOOL("7", "echo"));
    struct mcpi_loop *loop = NULL;
    struct mcpi_mount *mount = NULL;
    struct user u;

    (void)user;
    user_init(&u);
    if (mcpi_loop_new(&mem->allocator, NULL, &loop) < 0 ||
        mcpi_mount_new(loop, &nobody_counts, &mount) < 0 ||
        mcpi_mount_serve(mount, &in, &user_ops, &u, &u.turn) < 0) {
        assert_null(u.turn);
    } else {
        (void)mcpi_loop_step(loop);
        assert_int_equal(u.status, 503); /* it was never opened */
    }
    user_done(&u);
    mcpi_mount_unref(mount);
    mcpi_loop_free(loop);
}

static void
nothing_is_left_when_memory_fails(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(make_and_serve, NULL) >= 4);
}

/* ---- threads ------------------------------------------------------------- */

static void *
serve_until_closed(void *of)
{
    struct site *s = of;
    struct mcpi_http_in in = modern_call("hold", MODERN_TOOL("7", "hold"));
    struct mcpi_mount *mount = mcpi_mount_ref(s->mount);
    int r = 0;

    while (r == 0 || r == MCP_E_LIMIT) { /* the loop may not keep up */
        struct user *u = malloc(sizeof(*u));

        assert_non_null(u);
        user_init(u);
        r = mcpi_mount_serve(mount, &in, &user_ops, u, &u->turn);
        sched_yield();
        user_done(u);
        free(u);
    }
    assert_int_equal(r, MCP_E_CLOSED);
    mcpi_mount_unref(mount);
    return NULL;
}

static void
the_close_may_come_while_threads_hand_in(void **state)
{
    struct site *s = site_start(true);
    pthread_t threads[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, serve_until_closed, s), 0);
    SITE_WAIT(atomic_load(&s->told) > 5 || atomic_load(&s->served) > 50);
    site_stop(s);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    site_finish(s);
}

TEST_MAIN(TEST(an_answer_comes_whole_with_its_type),
          TEST(a_stream_comes_in_pieces_and_ends),
          TEST(a_head_that_is_refused_is_answered),
          TEST(a_body_that_is_too_long_is_refused_and_not_copied),
          TEST(E18_freeing_a_turn_that_is_not_answered_cancels_its_request),
          TEST(E20_a_turn_that_is_freed_before_it_begins_is_not_served),
          TEST(D12_what_is_posted_into_a_session_counts_though_its_client_left),
          TEST(E20_a_turn_that_is_freed_while_its_caller_is_identified_is_not_served),

          TEST(turns_alive_at_the_close_are_aborted_and_freed_later),
          TEST(a_turn_may_be_freed_when_the_loop_is_gone),
          TEST(what_was_handed_in_before_the_close_is_refused),
          TEST(a_listed_page_may_read_that_a_mount_is_draining),
          TEST(a_paused_turn_that_comes_behind_the_close_is_aborted),
          TEST(there_are_no_more_turns_than_connections),
          TEST(nothing_is_left_when_memory_fails),

          TEST(the_close_may_come_while_threads_hand_in))
