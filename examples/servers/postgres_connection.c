/*
 * postgres_connection.c - one connection to PostgreSQL, and how it comes home
 *
 *     CLOSED -> OPENING -> IDLE -> BUSY -> HOMING -> IDLE      any -> CLOSED
 *
 * Whatever ends a call (its last result, an error, a cancel), its connection goes the
 * same way home: what was asked is read to its end, an open transaction is rolled back,
 * and DISCARD ALL leaves nothing of the session to the next call. Only a connection
 * that has come home is given away again; one that does not within HOME_MS is closed,
 * and opened anew when it is needed.
 *
 * Why a cancel never strikes the connection's next query. PostgreSQL's cancel request
 * names a backend, not a query: it interrupts whatever that backend is doing when the
 * signal arrives. So nothing is sent on the connection before both have happened:
 *
 *   1. PQcancel has returned. It waits until PostgreSQL closes the cancel's own
 *      connection, which is after it has signaled the backend: no signal of ours is
 *      sent later than that.
 *   2. All results of the canceled statement are read. A cancel that meets the backend
 *      before it has begun with the statement is forgotten; so while nothing comes, it
 *      is sent again, and 1 holds for that one too.
 *
 * What is sent after that reaches a backend for which the signal is pending already, or
 * was handled; and a backend that is idle forgets a cancel when the next command comes.
 * That holds for PostgreSQL itself. A proxy in between may answer the cancel before it
 * passes it on; so there is a third rule:
 *
 *   3. DISCARD ALL has succeeded. It is the fence: nobody's answer depends on it. If
 *      the late signal strikes it, it fails with 57014 and is sent again.
 *
 * That makes it unlikely with a proxy, not impossible: one that holds a cancel back for
 * longer than DISCARD ALL takes can still strike the next query, which then fails with
 * 57014. Where that matters, connect to PostgreSQL itself.
 *
 * PQcancel blocks, so it has a thread of its own for that moment (postgres_cancel.c).
 */
#include "postgres_connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_S "5"    /* for a connection to be made; conninfo may say otherwise */
#define HOME_MS 10000 /* for a connection to be usable again */
#define AGAIN_MS 50   /* for a cancel to be heard */
#define QUERY_CANCELED "57014"

/* ---- closing -------------------------------------------------------------------- */

void
connection_close(struct connection *c)
{
    cancel_forget(c->cancel);
    c->cancel = NULL;
    mcp_timer_free(c->timer);
    mcp_timer_free(c->again);
    c->timer = c->again = NULL;
    mcp_watch_free(c->watch);
    c->watch = NULL;
    PQfinish(c->pg);
    c->pg = NULL;
    c->call = NULL;
    c->state = CLOSED;
}

/* It cannot be used any more. Its call has failed, unless it was at its first step: an
 * idle connection may have died unnoticed, and others with it. */
static void
connection_lose(struct connection *c, int status)
{
    struct pool *pool = c->pool;
    struct pool_call *call = c->call;

    connection_close(c);
    if (call && status == MCP_E_CLOSED && c->step == 0 && !c->is_fresh &&
        call->returns < pool->size) {
        call->returns++;
        pool_return(pool, call);
    } else if (call) {
        call->end(call, status, NULL);
    }
    pool_serve(pool);
}

/* ---- going home ----------------------------------------------------------------- */

static void
connection_late(void *user)
{
    struct connection *c = user;

    fprintf(stderr, "postgres-server: a connection did not become usable in time\n");
    connection_lose(c, MCP_E_CLOSED);
}

/* Send what waits to be sent, now or when that is possible. */
static int
connection_flush(struct connection *c)
{
    int left = PQflush(c->pg);

    if (left < 0)
        return MCP_E_CLOSED;
    return mcp_watch_set(c->watch, left ? MCP_READABLE | MCP_WRITABLE : MCP_READABLE);
}

static int
connection_send(struct connection *c, const char *statement)
{
    return PQsendQuery(c->pg, statement) ? connection_flush(c) : MCP_E_CLOSED;
}

/* Whoever waits gets it at once: only then it is fresh. */
static void
connection_rest(struct connection *c, bool is_fresh)
{
    mcp_timer_free(c->timer);
    c->timer = NULL;
    c->state = IDLE;
    c->is_fresh = is_fresh;
    pool_serve(c->pool);
    if (c->state == IDLE)
        c->is_fresh = false;
}

/* The next step on the way home, if it is time for it. */
static void
connection_home(struct connection *c)
{
    int r = 0;

    if (c->cancel) /* rule 1 */
        return;
    if (PQtransactionStatus(c->pg) == PQTRANS_ACTIVE) /* rule 2 */
        return;
    mcp_timer_free(c->again);
    c->again = NULL;
    switch (PQtransactionStatus(c->pg)) {
    case PQTRANS_INTRANS:
    case PQTRANS_INERROR:
        r = connection_send(c, "ROLLBACK");
        break;
    case PQTRANS_IDLE:
        if (c->is_fenced) { /* rule 3 */
            connection_rest(c, false);
            return;
        }
        c->is_fencing = true;
        r = connection_send(c, "DISCARD ALL");
        break;
    default:
        r = MCP_E_CLOSED;
    }
    if (r < 0)
        connection_lose(c, r);
}

static void connection_cancel_again(void *user);

static void
connection_canceled(void *user)
{
    struct connection *c = user;
    int r = 0;

    c->cancel = NULL;
    if (PQtransactionStatus(c->pg) == PQTRANS_ACTIVE)
        r = mcp_timer_new(c->pool->loop, AGAIN_MS, connection_cancel_again, c,
                          &c->again);
    if (r < 0)
        connection_lose(c, r);
    else
        connection_home(c);
}

static int
connection_cancel(struct connection *c)
{
    return cancel_start(&c->pool->cancels, c->pg, c->pool->loop, connection_canceled, c,
                        &c->cancel);
}

static void
connection_cancel_again(void *user)
{
    struct connection *c = user;
    int r;

    mcp_timer_free(c->again);
    c->again = NULL;
    r = connection_cancel(c);
    if (r < 0)
        connection_lose(c, r);
}

static bool
result_is_copy(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT ||
           status == PGRES_COPY_BOTH;
}

bool
connection_is_stuck(struct connection *c)
{
    bool is_copy = false; /* which is not read: it ends with its connection */

    if (c->state != HOMING || !PQconsumeInput(c->pg))
        return false;
    while (PQtransactionStatus(c->pg) == PQTRANS_ACTIVE && !PQisBusy(c->pg) &&
           !is_copy) {
        PGresult *result = PQgetResult(c->pg);

        is_copy = result_is_copy(result);
        PQclear(result);
    }
    if (PQtransactionStatus(c->pg) != PQTRANS_ACTIVE)
        return false;
    cancel_forget(c->cancel);
    return connection_cancel(c) == 0;
}

/* It has no call any more: send it home. What it still runs is canceled. */
static void
connection_release(struct connection *c, bool is_running)
{
    int r;

    c->call = NULL;
    c->state = HOMING;
    c->is_fencing = c->is_fenced = false;
    r = mcp_timer_new(c->pool->loop, HOME_MS, connection_late, c, &c->timer);
    if (r == 0 && is_running)
        r = connection_cancel(c);
    if (r < 0)
        connection_lose(c, r);
    else
        connection_home(c);
}

void
connection_leave(struct connection *c)
{
    connection_release(c, true);
}

/* ---- a call on its connection --------------------------------------------------- */

/* The call is taken from its connection before it ends: ends may begin new calls. */
static void
call_end(struct pool_call *call, bool is_running, int status, const PGresult *error)
{
    connection_release(call->connection, is_running);
    call->end(call, status, error);
}

/* Send the step, or end the call if that was the last one. */
static void
call_go_on(struct connection *c)
{
    const struct pool_call *call = c->call;
    const char *statement = call->steps[c->step];
    int count = c->step == call->bound ? call->parameter_count : 0;

    if (!statement)
        call_end(c->call, false, 0, NULL);
    else if (!PQsendQueryParams(c->pg, statement, count, NULL, call->parameters, NULL,
                                NULL, 0) ||
             !PQsetSingleRowMode(c->pg) || connection_flush(c) < 0)
        connection_lose(c, MCP_E_CLOSED);
}

void
connection_begin(struct connection *c, struct pool_call *call)
{
    c->state = BUSY;
    c->call = call;
    c->step = 0;
    call->connection = c;
    call_go_on(c);
}

/* ---- what comes from PostgreSQL ------------------------------------------------- */

static bool
result_is_error(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_BAD_RESPONSE || status == PGRES_FATAL_ERROR;
}

/* A protocol of its own, which we do not speak: it ends with its connection. PostgreSQL
 * may not notice that as long as it makes rows, so it is canceled too; that cancel has
 * no next query to strike. */
static void
connection_refuse_copy(struct connection *c)
{
    cancel_forget(c->cancel);
    c->cancel = NULL;
    (void)connection_cancel(c);
    connection_lose(c, MCP_E_INVAL);
}

static void
connection_take(struct connection *c, PGresult *result)
{
    bool is_error = result_is_error(result);
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (result_is_copy(result)) {
        connection_refuse_copy(c);
    } else if (c->state == HOMING && c->is_fencing) {
        c->is_fenced = !is_error;
        if (is_error && (!code || strcmp(code, QUERY_CANCELED) != 0))
            connection_lose(c, MCP_E_CLOSED);
    } else if (c->state == BUSY && is_error && (!code || c->step == 0)) {
        connection_lose(c, MCP_E_CLOSED); /* libpq's own error, or BEGIN's: it broke */
    } else if (c->state == BUSY && is_error) {
        call_end(c->call, false, MCP_E_PEER, result);
    } else if (c->state == BUSY && !c->call->take(c->call, result)) {
        call_end(c->call, true, 0, NULL);
    }
}

/* All that has come is looked at; on the way the connection may be closed, or change
 * its state. */
static void
connection_read(struct connection *c)
{
    PGresult *result;

    while ((c->state == BUSY || c->state == HOMING) && !PQisBusy(c->pg)) {
        result = PQgetResult(c->pg);
        if (result) {
            connection_take(c, result);
            PQclear(result);
        } else if (c->state == HOMING) {
            connection_home(c);
            return; /* it waits for the next answer, for its cancel, or is at home */
        } else {
            c->step++;
            call_go_on(c);
            return;
        }
    }
}

/* Of channels that an execute listens to, until it is home: nobody hears of them, and
 * libpq would keep them for good. */
static void
connection_forget_notifications(struct connection *c)
{
    PGnotify *one;

    for (one = PQnotifies(c->pg); one; one = PQnotifies(c->pg))
        PQfreemem(one);
}

static void connection_poll(struct connection *c);

static void
connection_event(void *user, unsigned events)
{
    struct connection *c = user;

    (void)events;
    if (c->state == OPENING) {
        connection_poll(c);
    } else if (!PQconsumeInput(c->pg) || connection_flush(c) < 0) {
        connection_lose(c, MCP_E_CLOSED);
    } else {
        connection_forget_notifications(c);
        connection_read(c);
    }
}

/* A NOTICE of the call's is a log message of its request. */
static void
connection_notice(void *user, const PGresult *notice)
{
    const struct connection *c = user;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    bool is_warning = severity && strcmp(severity, "WARNING") == 0;

    if (!c->call || !c->call->req || !text)
        return;
    (void)mcp_request_log(c->call->req,
                          is_warning ? MCP_SEVERITY_WARNING : MCP_SEVERITY_NOTICE,
                          "postgres", "%s", text);
}

/* ---- opening -------------------------------------------------------------------- */

/* The reason is for who runs this server: it may name hosts and users. */
static void
connection_fail(struct connection *c, const char *why)
{
    struct pool *pool = c->pool;

    fprintf(stderr, "postgres-server: cannot connect: %s", why);
    connection_close(c);
    pool_not_opened(pool);
}

static void
connection_never_opens(void *user)
{
    connection_fail(user, "PostgreSQL does not answer\n");
}

/* Its socket may be another one each time. */
static int
connection_watch(struct connection *c, unsigned events)
{
    return mcp_watch_new(c->pool->loop, PQsocket(c->pg), events, connection_event, c,
                         &c->watch);
}

static void
connection_poll(struct connection *c)
{
    int r;

    mcp_watch_free(c->watch); /* libpq may close the socket */
    c->watch = NULL;
    switch (PQconnectPoll(c->pg)) {
    case PGRES_POLLING_READING:
        r = connection_watch(c, MCP_READABLE);
        break;
    case PGRES_POLLING_WRITING:
        r = connection_watch(c, MCP_WRITABLE);
        break;
    case PGRES_POLLING_OK:
        r = PQsetnonblocking(c->pg, 1) < 0 ? MCP_E_CLOSED
                                           : connection_watch(c, MCP_READABLE);
        if (r == 0) {
            connection_rest(c, true);
            return;
        }
        break;
    default:
        r = MCP_E_CLOSED;
    }
    if (r < 0)
        connection_fail(c, PQerrorMessage(c->pg)); /* ends its line itself */
}

/* The first ones conninfo may change, the last one not. A host that is silently gone is
 * noticed within a minute. */
static PGconn *
pool_dial(const struct pool *pool,
          PGconn *(*dial)(const char *const *keywords, const char *const *values, int))
{
    static const char *const keywords[] = {
        "connect_timeout",  "keepalives_idle",           "keepalives_interval",
        "keepalives_count", "fallback_application_name", "tcp_user_timeout",
        "dbname",           "client_encoding",           NULL};
    const char *const values[] = {
        OPEN_S,  "30",           "10",   "3", "postgres-server",
        "30000", pool->conninfo, "UTF8", NULL};

    return dial(keywords, values, 1);
}

PGconn *
pool_connect(const struct pool *pool)
{
    return pool_dial(pool, PQconnectdbParams);
}

/* libpq keeps to it only where it waits itself. */
static int64_t
connection_timeout_ms(const struct connection *c)
{
    PQconninfoOption *all = PQconninfo(c->pg);
    int64_t seconds = 0;

    for (const PQconninfoOption *one = all; one && one->keyword; one++)
        if (strcmp(one->keyword, "connect_timeout") == 0 && one->val)
            seconds = strtol(one->val, NULL, 10);
    PQconninfoFree(all);
    return (seconds > 0 ? seconds : strtol(OPEN_S, NULL, 10)) * 1000;
}

void
connection_open(struct connection *c)
{
    int r = MCP_E_NOMEM;

    c->state = OPENING;
    c->pg = pool_dial(c->pool, PQconnectStartParams);
    if (c->pg && PQstatus(c->pg) != CONNECTION_BAD) {
        PQsetNoticeReceiver(c->pg, connection_notice, c);
        r = mcp_timer_new(c->pool->loop, connection_timeout_ms(c),
                          connection_never_opens, c, &c->timer);
        if (r == 0)
            r = connection_watch(c, MCP_WRITABLE);
    }
    if (r < 0)
        connection_fail(c, PQerrorMessage(c->pg)); /* ends its line itself */
}
