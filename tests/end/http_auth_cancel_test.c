/*
 * end/http_auth_cancel_test.c - what waits for authorization ends at any step, at once
 *
 * Each cell is a step at which getting a token is held up, and a cause for which the call
 * that waits for it ends. The call ends once, with its own status; what was begun for it is
 * given up, unless it spends what cannot be spent twice; and the next call signs in.
 */
#include "end/http_auth_rig.h"
#include "support/client_clock.h"

#define WELL_KNOWN "/.well-known/oauth-authorization-server"

/* ---- a store with a door ------------------------------------------------------------------ */

enum door { OPEN = 0, LOAD, SAVE, LOCK, TAKEN };

struct store {
    mcp_token_keep *keep;
    const mcp_token_store *behind;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum door shut;   /* who comes through it waits; TAKEN: somebody has the lock */
    const char *kind; /* of the key: "token", "client" */
    int came;         /* to a door that is shut */
};

static void
store_pass(struct store *s, enum door door, const char *key)
{
    pthread_mutex_lock(&s->lock);
    while (s->shut == door && strncmp(key, s->kind, strlen(s->kind)) == 0) {
        s->came++;
        pthread_cond_wait(&s->changed, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

static void
store_set(struct store *s, enum door shut, const char *kind)
{
    pthread_mutex_lock(&s->lock);
    s->shut = shut;
    s->kind = kind;
    s->came = 0;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static int
store_came(struct store *s)
{
    int came;

    pthread_mutex_lock(&s->lock);
    came = s->came;
    pthread_mutex_unlock(&s->lock);
    return came;
}

static int
store_load(void *self, const char *key, char **ret_text)
{
    struct store *s = self;

    store_pass(s, LOAD, key);
    return s->behind->load(s->behind->self, key, ret_text);
}

static int
store_save(void *self, const char *key, const char *text)
{
    struct store *s = self;

    store_pass(s, SAVE, key);
    return s->behind->save(s->behind->self, key, text);
}

static int
store_lock(void *self, const char *key)
{
    struct store *s = self;
    bool taken;

    store_pass(s, LOCK, key);
    pthread_mutex_lock(&s->lock);
    taken = s->shut == TAKEN;
    s->came += taken;
    pthread_mutex_unlock(&s->lock);
    return taken ? MCP_E_AGAIN : s->behind->lock(s->behind->self, key);
}

static void
store_unlock(void *self, const char *key)
{
    struct store *s = self;

    s->behind->unlock(s->behind->self, key);
}

/* ---- the bench ------------------------------------------------------------------------------- */

struct bench {
    struct auth_rig rig;
    struct virtual_clock clock; /* of the client that is tested */
    struct user user;
    mcp_auth_agent agent;
    struct store store;
    mcp_token_store interface;
    char *known; /* what the server said of itself, modern */
    size_t seen; /* requests at the path that is held, before */
    size_t left; /* connections of the issuer's that were left, before */
    int opened;  /* pages, before */
};

/* Longer than any test lets pass: what ends is ended by its own cause. */
#define LONG_MS (24 * HOUR_MS)

static mcp_auth_options
bench_auth(struct bench *b)
{
    return MCP_AUTH_OPTIONS(.agent = &b->agent, .store = &b->interface, .scope = "read",
                            .login_ms = LONG_MS, .fetch_ms = LONG_MS);
}

static void
bench_open(struct bench *b, enum mcp_era era, bool no_refresh)
{
    memset(b, 0, sizeof(*b));
    b->agent = user_agent(&b->user);
    b->user.moves = true;
    pthread_mutex_init(&b->store.lock, NULL);
    pthread_cond_init(&b->store.changed, NULL);
    assert_int_equal(mcp_token_keep_memory(NULL, &b->store.keep), 0);
    b->store.behind = mcp_token_keep_interface(b->store.keep);
    b->store.kind = "";
    b->interface = MCP_TOKEN_STORE(.load = store_load, .save = store_save,
                                   .lock = store_lock, .unlock = store_unlock,
                                   .self = &b->store);
    rig_open_with(&b->rig, era, &ISSUER_OPTIONS(.no_refresh = no_refresh),
                  MCP_GUARD_OPTIONS(.verify = rig_verify, .verify_user = &b->rig));
}

static void
bench_close(struct bench *b)
{
    store_set(&b->store, OPEN, "");
    issuer_release(b->rig.issuer);
    rig_close(&b->rig);
    assert_int_equal(b->user.begun, b->user.ended);
    mcp_token_keep_free(b->store.keep);
    pthread_cond_destroy(&b->store.changed);
    pthread_mutex_destroy(&b->store.lock);
    free(b->known);
}

/* ---- where it is held up ------------------------------------------------------------------------ */

struct step {
    const char *name;
    const char *path; /* of the issuer's that is held; NULL: none */
    enum door door;
    const char *kind;
    bool idle;     /* the user does nothing */
    bool no_token; /* there are no refresh tokens */
    bool fresh;    /* of a client that has not asked before */
    bool spends;   /* it is not given up */
};

static const struct step steps[] = {
    {.name = "store", .door = LOAD, .kind = "token", .fresh = true},
    {.name = "metadata", .path = WELL_KNOWN},
    {.name = "who", .door = LOAD, .kind = "client", .no_token = true, .fresh = true},
    {.name = "lock", .door = LOCK, .kind = "token"},
    {.name = "lock_of_another", .door = TAKEN, .kind = "token"},
    {.name = "reload", .door = LOAD, .kind = "token"},
    {.name = "refresh", .path = "/token", .spends = true},
    {.name = "registration", .path = "/register", .no_token = true},
    {.name = "keeping_registration", .door = SAVE, .kind = "client", .no_token = true},
    {.name = "page", .idle = true, .no_token = true},
    {.name = "code", .path = "/token", .no_token = true, .spends = true},
    {.name = "keeping",
     .door = SAVE,
     .kind = "token",
     .no_token = true,
     .spends = true},
};

/* From now on it is held up there. */
static void
step_shut(struct bench *b, const struct step *step)
{
    b->opened = b->user.opened;
    b->user.idle = step->idle;
    if (step->path) {
        b->seen = issuer_count(b->rig.issuer, step->path);
        issuer_hold(b->rig.issuer, step->path);
    }
    store_set(&b->store, step->door, step->kind ? step->kind : "");
}

static void
step_await(struct bench *b, const struct step *step)
{
    if (step->path)
        assert_true(issuer_await(b->rig.issuer, step->path, b->seen + 1));
    else if (step->idle)
        RAW_UNTIL(b->user.opened > b->opened);
    else
        RAW_UNTIL(store_came(&b->store) > (step->door == TAKEN));
}

static void
step_open(struct bench *b)
{
    b->user.idle = false;
    issuer_release(b->rig.issuer);
    store_set(&b->store, OPEN, "");
}

/* ---- why it ends ---------------------------------------------------------------------------------- */

enum cause { CANCEL, TIMEOUT, SCOPE, FREE, CLOSE, CAUSES };

static const char *const cause_names[] = {"cancel", "timeout", "scope", "free",
                                          "close"};
static const char *const cause_items[] = {"B5_B7", "B3_B5", "B5_B7", "B5_B7", "B5_B22"};
static const int cause_status[] = {MCP_E_CANCELED, MCP_E_TIMEOUT, MCP_E_CANCELED, 0,
                                   MCP_E_CLOSED};

struct cell {
    enum mcp_era era;
    const struct step *step;
    enum cause cause;
};

struct waiting {
    mcp_call *call;
    mcp_scope *scope;
};

static void
cell_start(struct bench *b, const struct cell *cell, struct waiting *w)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);

    memset(w, 0, sizeof(*w));
    assert_int_equal(mcp_scope_new(NULL, &w->scope), 0);
    if (cell->cause == TIMEOUT)
        opt.timeout_ms = HOUR_MS;
    if (cell->cause == SCOPE)
        opt.scope = w->scope;
    assert_int_equal(mcp_client_start_tool(b->rig.f.client, "say", NULL, &opt,
                                           told_done, &b->rig.f.told, &w->call),
                     0);
    step_await(b, cell->step);
}

static void
cell_end(struct bench *b, const struct cell *cell, struct waiting *w)
{
    switch (cell->cause) {
    case CANCEL:
        assert_int_equal(mcp_call_cancel(w->call, NULL), 0);
        break;
    case TIMEOUT:
        virtual_clock_pass(&b->clock, HOUR_MS);
        break;
    case SCOPE:
        assert_int_equal(mcp_scope_cancel(w->scope, NULL), 0);
        break;
    case FREE:
        mcp_call_free(w->call);
        w->call = NULL;
        break;
    case CLOSE:
        mcp_client_close(b->rig.f.client);
        break;
    default:
        break;
    }
    if (cell->cause != FREE) {
        told_await(&b->rig.f.told, done, 1);
        assert_int_equal(told_status(&b->rig.f.told), cause_status[cell->cause]);
    }
    mcp_call_free(w->call);
    mcp_scope_free(w->scope);
}

/* Nothing waits any more: nothing is under way, but for what is being spent. */
static void
cell_is_given_up(struct bench *b, const struct cell *cell)
{
    const struct step *step = cell->step;

    if (step->spends)
        return;
    RAW_UNTIL(b->user.begun == b->user.ended);
    if (step->path)
        assert_true(issuer_await_left(b->rig.issuer, b->left + 1));
}

/* ---- a cell ------------------------------------------------------------------------------------------- */

static void
bench_connect(struct bench *b, const char *known)
{
    mcp_error err = {0};

    if (rig_try(&b->rig, bench_auth(b), MCP_CLIENT_OPTIONS(.discovery = known),
                &b->rig.f.client, &err) < 0)
        fail_msg("%s", err.message);
}

/* A client with a token that was good a moment ago. */
static void
bench_arm(struct bench *b, const struct step *step)
{
    bench_connect(b, NULL);
    rig_says(&b->rig);
    if (step->fresh) {
        b->known = strdup(mcp_client_discovery(b->rig.f.client));
        rig_disconnect(&b->rig);
        bench_connect(b, b->known);
    }
    client_clock_hold(&b->clock, b->rig.f.client);
    rig_revoke(&b->rig);
}

static void
cell_run(void **state)
{
    const struct cell *cell = *state;
    struct issuer_counts before, after;
    struct waiting w;
    struct bench b;

    bench_open(&b, cell->era, cell->step->no_token);
    bench_arm(&b, cell->step);
    step_shut(&b, cell->step);
    cell_start(&b, cell, &w);
    before = issuer_counts(b.rig.issuer);
    cell_end(&b, cell, &w);
    cell_is_given_up(&b, cell);
    step_open(&b);
    if (cell->cause == CLOSE) {
        rig_disconnect(&b.rig);
        bench_connect(&b, NULL);
    }
    rig_says(&b.rig);
    rig_says_often(&b.rig, 5);
    after = issuer_counts(b.rig.issuer);
    if (cell->step->spends)
        assert_int_equal(after.tokens, before.tokens); /* it was not for nothing */
    assert_int_equal(after.reused, 0);
    assert_int_equal(told_count(&b.rig.f.told, done), cell->cause == FREE ? 0 : 1);
    bench_close(&b);
}

/* ---- the opening ----------------------------------------------------------------------------------------- */

static const struct step first_steps[] = {
    {.name = "store", .door = LOAD, .kind = "token"},
    {.name = "metadata", .path = WELL_KNOWN},
    {.name = "who", .door = LOAD, .kind = "client"},
    {.name = "registration", .path = "/register"},
    {.name = "keeping_registration", .door = SAVE, .kind = "client"},
    {.name = "page", .idle = true},
    {.name = "code", .path = "/token", .spends = true},
};

/* Its own clocks rest meanwhile: a user needs longer than a server to say hello. */
static const enum cause first_causes[] = {SCOPE, CLOSE};

struct opening {
    struct bench *bench;
    const struct cell *cell;
    mcp_scope *scope;
    int status;
    pthread_t thread;
};

/* That it is held up is what we wait for; then it is ended. */
static void *
opening_end(void *arg)
{
    struct opening *o = arg;

    step_await(o->bench, o->cell->step);
    (void)mcp_scope_cancel(o->scope, NULL);
    return NULL;
}

static int
opening_try(struct opening *o)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.era = o->cell->era);
    struct bench *b = o->bench;
    int r;

    if (o->cell->cause == SCOPE) {
        opt.scope = o->scope;
        assert_int_equal(pthread_create(&o->thread, NULL, opening_end, o), 0);
    }
    if (o->cell->cause == CLOSE)
        opt.no_wait = true;
    r = rig_try(&b->rig, bench_auth(b), opt, &b->rig.f.client, NULL);
    if (o->cell->cause == SCOPE)
        pthread_join(o->thread, NULL);
    return r;
}

static void
opening_run(void **state)
{
    const struct cell *cell = *state;
    struct opening o = {.cell = cell};
    struct bench b;
    int r;

    bench_open(&b, cell->era, cell->step->no_token);
    o.bench = &b;
    assert_int_equal(mcp_scope_new(NULL, &o.scope), 0);
    step_shut(&b, cell->step);
    r = opening_try(&o);
    if (cell->cause == CLOSE) {
        assert_int_equal(r, 0);
        step_await(&b, cell->step);
        mcp_client_close(b.rig.f.client);
    } else {
        assert_int_equal(r, cause_status[cell->cause]);
        assert_null(b.rig.f.client);
    }
    RAW_UNTIL(b.user.begun == b.user.ended);
    step_open(&b);
    rig_disconnect(&b.rig);
    bench_connect(&b, NULL);
    rig_says(&b.rig);
    mcp_scope_free(o.scope);
    bench_close(&b);
}

static void
the_clocks_of_the_opening_rest_while_the_user_signs_in(void **state)
{
    const struct cell *cell = *state;
    char back[4096];
    struct bench b;

    bench_open(&b, cell->era, false);
    b.user.idle = true;
    assert_int_equal(
        rig_try(&b.rig, bench_auth(&b),
                MCP_CLIENT_OPTIONS(.no_wait = true, .probe_ms = HOUR_MS,
                                   .hello_ms = HOUR_MS, .on_state = told_state,
                                   .user = &b.rig.f.told),
                &b.rig.f.client, NULL),
        0);
    RAW_UNTIL(b.user.opened == 1);
    client_clock_hold(&b.clock, b.rig.f.client);
    virtual_clock_pass(&b.clock, 2 * HOUR_MS);
    assert_int_equal(told_count(&b.rig.f.told, states), 0);
    browse(b.user.url, back, sizeof(back));
    mcp_auth_answer(b.user.visit, back);
    told_await(&b.rig.f.told, states, 1);
    assert_int_equal(told_status(&b.rig.f.told), 0);
    rig_says(&b.rig);
    bench_close(&b);
}

static void
a_user_has_so_much_time_and_no_more(void **state)
{
    const struct cell *cell = *state;
    struct bench b;
    mcp_auth_options auth;

    bench_open(&b, cell->era, false);
    b.user.idle = true;
    auth = bench_auth(&b);
    auth.login_ms = 100;
    rig_is_refused(&b.rig, auth, "in time");
    assert_int_equal(b.user.ended, 1);
    bench_close(&b);
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct test_case cases[2 * (COUNT(steps) * CAUSES + COUNT(first_steps) * 2 + 2)];
static struct cell cells[COUNT(cases)];
static char names[COUNT(cases)][96];
static size_t count;

static void
add_named(void (*run)(void **state), struct cell cell, const char *name)
{
    (void)snprintf(names[count], sizeof(names[0]), "%s.%s",
                   cell.era == MCP_ERA_MODERN ? "modern" : "legacy", name);
    cells[count] = cell;
    cases[count] = (struct test_case){names[count], run, &cells[count]};
    count++;
}

static void
add(void (*run)(void **state), struct cell cell, const char *item, const char *what)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "%s_%s_%s_%s", item, cause_names[cell.cause],
                   what, cell.step->name);
    add_named(run, cell, name);
}

static void
add_all(enum mcp_era era)
{
    for (size_t s = 0; s < COUNT(steps); s++)
        for (int c = 0; c < CAUSES && !(steps[s].fresh && era == MCP_ERA_LEGACY); c++)
            add(cell_run, (struct cell){era, &steps[s], (enum cause)c}, cause_items[c],
                "at");
    for (size_t s = 0; s < COUNT(first_steps); s++)
        /* who opens waits until the program's own functions are back, as who frees does */
        for (size_t c = first_steps[s].door ? 1 : 0; c < COUNT(first_causes); c++)
            add(opening_run, (struct cell){era, &first_steps[s], first_causes[c]},
                "M27", "opening_at");
    add_named(the_clocks_of_the_opening_rest_while_the_user_signs_in,
              (struct cell){.era = era},
              "the_clocks_of_the_opening_rest_while_the_user_signs_in");
    add_named(a_user_has_so_much_time_and_no_more, (struct cell){.era = era},
              "a_user_has_so_much_time_and_no_more");
}

int
main(void)
{
    add_all(MCP_ERA_MODERN);
    add_all(MCP_ERA_LEGACY);
    return test_main(__FILE__, cases, count);
}
