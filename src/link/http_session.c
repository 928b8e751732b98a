/*
 * http_session.c - legacy sessions
 *
 *   found -> ending -> closing -> freed
 *
 * ending: no request finds it any more; all that it asked is canceled, and every POST
 * gets its last word. closing: core wants the link closed; each stream writes what it
 * has and ends, and the last one to do so wakes the session's flush. Only there is it
 * freed, where nothing of core is on the stack. Core bounds the time (cut).
 */
#include "link/http_session.h"

#include <string.h>

#include "base/mem.h"
#include "link/http_session_id.h"
#include "wire/rpc.h"

static int64_t
session_now(const struct mcpi_session *session)
{
    return mcpi_loop_now(session->endpoint->loop);
}

/* ---- its streams ----------------------------------------------------------- */

static struct mcpi_http_stream *
stream_of(const struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct mcpi_http_stream, in_session);
}

/* The GET that gets what belongs to no request, or NULL. */
static struct mcpi_http_stream *
session_taker(const struct mcpi_session *session)
{
    const struct mcpi_list *node;
    struct mcpi_http_stream *s;

    for (node = session->kept.prev; node != &session->kept; node = node->prev) {
        s = stream_of(node);
        if (s->is_get && s->turn)
            return s;
    }
    return NULL;
}

bool
mcpi_session_is_taker(const struct mcpi_session *session,
                      const struct mcpi_http_stream *stream)
{
    return session_taker(session) == stream;
}

static bool
session_has_client(const struct mcpi_session *session)
{
    const struct mcpi_list *node;

    if (!mcpi_list_empty(&session->streams))
        return true;
    for (node = session->kept.next; node != &session->kept; node = node->next)
        if (stream_of(node)->turn)
            return true;
    return false;
}

static void
session_keep(struct mcpi_session *session, struct mcpi_http_stream *s, bool keep)
{
    mcpi_list_remove(&s->in_session);
    mcpi_list_append(keep ? &session->kept : &session->streams, &s->in_session);
    if (s->kept != keep)
        session->kept_count += keep ? 1 : -(size_t)1;
    s->kept = keep;
}

/* Of those that are kept: the one that waits for its client for the longest time, or
 * NULL; *ret_listening: how many have theirs. */
static struct mcpi_http_stream *
session_oldest_waiting(const struct mcpi_session *session, size_t *ret_listening)
{
    const struct mcpi_list *node;
    struct mcpi_http_stream *oldest = NULL, *s;

    *ret_listening = 0;
    for (node = session->kept.next; node != &session->kept; node = node->next) {
        s = stream_of(node);
        if (s->turn)
            ++*ret_listening;
        else if (!oldest)
            oldest = s;
    }
    return oldest;
}

/* Room for one more, at the cost of those that have waited for the longest time. */
static void
session_make_room(struct mcpi_session *session)
{
    struct mcpi_http_stream *oldest;
    size_t listening;

    while (session->kept_count >= session->endpoint->http->session_streams &&
           (oldest = session_oldest_waiting(session, &listening)) != NULL) {
        mcpi_session_forget(session, oldest->number);
        mcpi_http_stream_end(oldest);
    }
}

/* Who has a client now may have to say what waits. */
static void
session_wake_taker(struct mcpi_session *session)
{
    struct mcpi_http_stream *taker = session_taker(session);

    if (taker)
        mcpi_http_stream_wake(taker);
}

void
mcpi_session_attached(struct mcpi_session *session, struct mcpi_http_stream *stream)
{
    session_keep(session, stream, stream->is_get);
}

/* So all sessions stand in the order in which they were last busy. At the close somebody
 * walks through them. */
static void
session_was_busy(struct mcpi_session *session)
{
    struct mcpi_endpoint *endpoint = session->endpoint;

    session->touched = session_now(session);
    if (endpoint->closing)
        return;
    mcpi_list_remove(&session->in_endpoint);
    mcpi_list_append(&endpoint->all_sessions, &session->in_endpoint);
}

void
mcpi_session_detached(struct mcpi_session *session, struct mcpi_http_stream *stream)
{
    session_was_busy(session);
    if (!stream->kept) {
        session_make_room(session); /* or it is one above: its client was there */
        session_keep(session, stream, true);
    }
    session_wake_taker(session);
}

void
mcpi_session_left(struct mcpi_session *session, struct mcpi_http_stream *stream)
{
    session_was_busy(session);
    mcpi_list_remove(&stream->in_session);
    if (stream->kept)
        session->kept_count--;
    if (stream->is_get)
        session_wake_taker(session);
    if (session->closing)
        mcpi_loop_flush(session->endpoint->loop, &session->flush);
}

void
mcpi_session_forget(struct mcpi_session *session, uint64_t number)
{
    const mcp_event_store *store = session->endpoint->http->store;

    if (store)
        store->forget(store->self, session->id, number);
}

void
mcpi_session_delivered(struct mcpi_session *session, uint64_t number)
{
    unsigned at;

    for (at = 0; at < MCPI_SESSION_DELIVERED; at++)
        if (session->delivered[at] == number)
            return; /* once more, to somebody who came back */
    at = session->history++ % MCPI_SESSION_DELIVERED;
    if (session->delivered[at] != 0)
        mcpi_session_forget(session, session->delivered[at]);
    session->delivered[at] = number;
}

/* ---- the end --------------------------------------------------------------- */

static void
session_hide(struct mcpi_session *session)
{
    if (session->ending)
        return;
    session->ending = true;
    (void)mcpi_map_remove(&session->endpoint->sessions, &session->by_id);
    mcpi_timer_disarm(mcpi_loop_timers(session->endpoint->loop), &session->idle);
}

static void
session_end_streams(struct mcpi_list *list)
{
    struct mcpi_list *node;

    while ((node = mcpi_list_first(list)) != NULL)
        mcpi_http_stream_end(stream_of(node));
}

static void
session_tell(const struct mcpi_session *session, bool begun)
{
    const mcp_http_options *http = session->endpoint->http;

    if (http->on_session)
        http->on_session(http->session_user, session->id, begun);
}

void
mcpi_session_begun(struct mcpi_session *session)
{
    if (session->begun)
        return;
    session->begun = true;
    session_tell(session, true);
}

static void
session_free(struct mcpi_session *session)
{
    struct mcpi_endpoint *endpoint = session->endpoint;
    const mcp_event_store *store = endpoint->http->store;

    session_hide(session);
    session_end_streams(&session->streams);
    session_end_streams(&session->kept);
    mcpi_flush_cancel(&session->flush);
    mcpi_list_remove(&session->in_endpoint);
    mcpi_peer_lost(session->peer, MCP_E_CLOSED, session_now(session));
    mcpi_peer_free(session->peer);
    if (store)
        store->forget(store->self, session->id, 0);
    if (session->begun)
        session_tell(session, false);
    mcpi_account_give(session->account, MCPI_HELD_SESSIONS, 1);
    mcpi_account_unref(session->account);
    mcpi_free(endpoint->mem, session->principal);
    mcpi_free(endpoint->mem, session);
    mcpi_endpoint_count(endpoint, -1, 0);
    mcpi_endpoint_check(endpoint);
}

/* Has all been written that waits? Requests end their own streams. */
static bool
session_is_written(const struct mcpi_session *session)
{
    const struct mcpi_http_stream *taker = session_taker(session);

    if (!mcpi_list_empty(&session->streams))
        return false;
    return !taker ||
           (!taker->busy && mcpi_outlet_is_empty(mcpi_peer_outlet(session->peer)));
}

static void
on_flush(struct mcpi_flush *flush)
{
    struct mcpi_session *session = MCPI_CONTAINER(flush, struct mcpi_session, flush);

    if (session->cut || (session->closing && session_is_written(session)))
        session_free(session);
}

void
mcpi_session_end(struct mcpi_session *session, const char *reason)
{
    if (session->ending)
        return;
    session_hide(session);
    mcpi_peer_end(session->peer, reason, session_now(session));
}

void
mcpi_session_close(struct mcpi_session *session)
{
    mcpi_peer_drain(session->peer, session_now(session));
}

/* Core only notes down that it wants one closed: none is freed in here. */
void
mcpi_session_close_all(struct mcpi_endpoint *endpoint)
{
    struct mcpi_list *node = endpoint->all_sessions.next;

    for (; node != &endpoint->all_sessions; node = node->next)
        mcpi_session_close(MCPI_CONTAINER(node, struct mcpi_session, in_endpoint));
}

/* ---- idle ------------------------------------------------------------------ */

/* How long it may be idle. Whoever has only said initialize has not shown that it means
 * it: a storm of those must not take all places for long. */
static int64_t
session_patience(const struct mcpi_session *session)
{
    int64_t idle_ms = session->endpoint->http->session_idle_ms;
    int64_t ms = idle_ms > 0 ? idle_ms : MCPI_NEVER / 1000;

    if (!session->is_used && ms > MCPI_SESSION_FRESH_MS)
        ms = MCPI_SESSION_FRESH_MS;
    return ms * 1000;
}

static void
session_arm(struct mcpi_session *session, int64_t from)
{
    int64_t when = mcpi_time_add(from, session_patience(session));

    mcpi_timer_arm(mcpi_loop_timers(session->endpoint->loop), &session->idle, when);
}

/* Who is busy now, or was asked something meanwhile, is looked at again later (D18). */
static void
on_idle(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_session *session = MCPI_CONTAINER(timer, struct mcpi_session, idle);

    if (!mcpi_peer_is_idle(session->peer) || session_has_client(session))
        session_arm(session, now);
    else if (mcpi_time_add(session->touched, session_patience(session)) > now)
        session_arm(session, session->touched);
    else
        mcpi_session_end(session, "the session was idle for too long");
}

void
mcpi_session_touch(struct mcpi_session *session)
{
    session_was_busy(session);
    session->is_used = true;
}

/* ---- what core asks -------------------------------------------------------- */

/* Whose wire object an outlet is; NULL: the peer's own, and nobody listens. */
static struct mcpi_http_stream *
outlet_stream(struct mcpi_outlet *outlet)
{
    struct mcpi_peer *peer = mcpi_outlet_peer(outlet);

    if (outlet == mcpi_peer_outlet(peer))
        return session_taker(mcpi_peer_link(peer));
    return mcpi_outlet_link(outlet);
}

static void
op_wake(struct mcpi_outlet *outlet)
{
    struct mcpi_http_stream *s = outlet_stream(outlet);

    if (s)
        mcpi_http_stream_wake(s);
}

static void
op_settle(struct mcpi_outlet *outlet)
{
    mcpi_http_stream_settle(mcpi_outlet_link(outlet));
}

static void
op_fail(struct mcpi_outlet *outlet, int status)
{
    mcpi_http_stream_fail(mcpi_outlet_link(outlet), status);
}

static void
op_detach(struct mcpi_outlet *outlet)
{
    struct mcpi_http_stream *s = outlet_stream(outlet);

    if (s)
        mcpi_http_stream_detach(s);
}

static void
op_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    struct mcpi_session *session = mcpi_peer_link(peer);

    session_hide(session);
    session->closing = true;
    session->cut = session->cut || how == MCPI_CLOSE_NOW;
    mcpi_loop_flush(session->endpoint->loop, &session->flush);
}

static const struct mcpi_link_ops session_ops = {.wake = op_wake,
                                                 .settle = op_settle,
                                                 .fail = op_fail,
                                                 .detach = op_detach,
                                                 .close = op_close};

/* ---- making and finding ---------------------------------------------------- */

static int
session_open_peer(struct mcpi_session *session)
{
    const mcp_http_options *http = session->endpoint->http;
    unsigned traits = MCPI_UNORDERED;

    if (!http->silent_end)
        traits |= MCPI_LAST_WORD;
    if (http->json)
        traits |= MCPI_NO_REQUESTS;
    return mcpi_peer_new(session->endpoint->engine, &session_ops, traits, session,
                         &session->peer);
}

static int
session_set_up(struct mcpi_session *session, const struct mcpi_http_who *who)
{
    const mcp_allocator *mem = session->endpoint->mem;
    const char *principal = who->principal;
    size_t size = strlen(principal) + 1;
    int r;

    r = mcpi_session_id_make(session->id, session->endpoint->opt.shard);
    if (r < 0)
        return r;
    session->principal = mcpi_alloc(mem, size);
    if (!session->principal)
        return MCP_E_NOMEM;
    memcpy(session->principal, principal, size);
    r = session_open_peer(session);
    if (r < 0) {
        mcpi_free(mem, session->principal);
        return r;
    }
    session->account = mcpi_account_ref(who->account);
    mcpi_outlet_set_account(mcpi_peer_outlet(session->peer), who->account);
    return 0;
}

static uint64_t
id_hash(const struct mcpi_endpoint *endpoint, const char *id)
{
    return mcpi_map_hash(&endpoint->sessions, id, strlen(id));
}

/* Nothing is asked of it, and nothing is on its way. */
static bool
session_may_go(const struct mcpi_session *session)
{
    return !session->ending && mcpi_peer_is_idle(session->peer) &&
           !mcpi_peer_expects(session->peer) && !session_has_client(session);
}

/* Whose session ends for a new one. */
enum victim { OWN, OF_A_GREEDY_CLIENT, ANY };

static bool
session_is_of(const struct mcpi_session *session, enum victim victim,
              const struct mcpi_account *account)
{
    if (victim == OWN)
        return session->account == account;
    return victim == ANY ||
           mcpi_account_holds(session->account, MCPI_HELD_SESSIONS) > MCPI_UNSHARED_MAX;
}

/* The one of these that is idle for the longest time. Those that are found busy go to the
 * end, where they belong: thousands that listen are not looked at for each new one. */
static struct mcpi_session *
session_oldest_idle(struct mcpi_endpoint *endpoint, enum victim victim,
                    const struct mcpi_account *account)
{
    struct mcpi_list *node = endpoint->all_sessions.next, *next;
    const struct mcpi_list *last = endpoint->all_sessions.prev;
    struct mcpi_session *session;

    for (bool more = node != &endpoint->all_sessions; more; node = next) {
        session = MCPI_CONTAINER(node, struct mcpi_session, in_endpoint);
        more = node != last;
        next = node->next;
        if (!session_may_go(session)) {
            mcpi_list_remove(node);
            mcpi_list_append(&endpoint->all_sessions, node);
        } else if (session_is_of(session, victim, account)) {
            return session;
        }
    }
    return NULL;
}

/* Nothing of core is on the stack, and it has nothing to say. */
static bool
session_evict(struct mcpi_endpoint *endpoint, struct mcpi_session *session)
{
    if (!session)
        return false;
    MCPI_LOG(endpoint->log, MCP_LOG_INFO,
             "http: an idle session ends, to make room for a new one");
    session_free(session);
    return true;
}

/* One for one, though others may have come since, so that its client has more than its
 * share: the place is handed over instead of given back. */
static struct mcpi_session *
session_hand_over(struct mcpi_endpoint *endpoint, const struct mcpi_account *account)
{
    struct mcpi_session *session = session_oldest_idle(endpoint, OWN, account);

    if (session) {
        mcpi_account_unref(session->account);
        session->account = NULL;
    }
    return session;
}

/* Those of clients that have many go first. */
static bool
session_evict_other(struct mcpi_endpoint *endpoint)
{
    struct mcpi_session *session;

    session = session_oldest_idle(endpoint, OF_A_GREEDY_CLIENT, NULL);
    if (!session)
        session = session_oldest_idle(endpoint, ANY, NULL);
    return session_evict(endpoint, session);
}

/* A client with more than a few sessions makes room at its own cost only. */
static bool
account_has_few(const struct mcpi_account *account)
{
    return mcpi_account_holds(account, MCPI_HELD_SESSIONS) < MCPI_UNSHARED_MAX;
}

bool
mcpi_endpoint_make_room(struct mcpi_endpoint *endpoint, struct mcpi_account *account)
{
    struct mcpi_session *session = session_hand_over(endpoint, account);

    if (session) /* before anybody can see that it has ended */
        (void)mcpi_account_keep_place(account);
    return session_evict(endpoint, session) ||
           (account_has_few(account) && session_evict_other(endpoint));
}

void
mcpi_endpoint_found_no_room(const struct mcpi_endpoint *endpoint,
                            struct mcpi_account *account)
{
    mcpi_account_search_from(
        account, mcpi_time_add(mcpi_loop_now(endpoint->loop), MCPI_SESSION_SEARCH_US));
}

/* A place for one more: here, or soon on another loop. */
static bool
endpoint_search(struct mcpi_endpoint *endpoint, struct mcpi_account *account)
{
    if (!mcpi_account_may_search(account, mcpi_loop_now(endpoint->loop)))
        return false;
    if (session_evict(endpoint, session_hand_over(endpoint, account)) ||
        (account_has_few(account) && session_evict_other(endpoint) &&
         mcpi_account_take(account, MCPI_HELD_SESSIONS, 1)))
        return true;
    if (endpoint->opt.wants_room)
        endpoint->opt.wants_room(endpoint->opt.user, account);
    else
        mcpi_endpoint_found_no_room(endpoint, account);
    return false;
}

int
mcpi_endpoint_enter_session(struct mcpi_endpoint *endpoint,
                            struct mcpi_account *account)
{
    if (!account && endpoint->session_count >= endpoint->http->sessions)
        return session_evict_other(endpoint) ? 0 : MCP_E_LIMIT;
    if (mcpi_account_use_place(account) ||
        mcpi_account_take(account, MCPI_HELD_SESSIONS, 1))
        return 0;
    return endpoint_search(endpoint, account) ? 0 : MCP_E_LIMIT;
}

int
mcpi_session_new(struct mcpi_endpoint *endpoint, const struct mcpi_http_who *who,
                 struct mcpi_session **ret_session)
{
    struct mcpi_session *session;
    int r;

    session = mcpi_alloc_zero(endpoint->mem, sizeof(*session));
    if (!session)
        return MCP_E_NOMEM;
    r = mcpi_endpoint_enter_session(endpoint, who->account);
    if (r < 0) {
        mcpi_free(endpoint->mem, session);
        return r;
    }
    session->endpoint = endpoint;
    mcpi_list_init(&session->streams);
    mcpi_list_init(&session->kept);
    mcpi_timer_init(&session->idle, on_idle);
    mcpi_flush_init(&session->flush, on_flush);
    r = session_set_up(session, who);
    if (r < 0) {
        mcpi_account_give(who->account, MCPI_HELD_SESSIONS, 1);
        mcpi_free(endpoint->mem, session);
        return r;
    }
    mcpi_map_add(&endpoint->sessions, &session->by_id, id_hash(endpoint, session->id));
    mcpi_list_init(&session->in_endpoint);
    mcpi_list_append(&endpoint->all_sessions, &session->in_endpoint);
    mcpi_endpoint_count(endpoint, 1, 0);
    session->touched = session_now(session);
    session_arm(session, session->touched);
    *ret_session = session;
    return 0;
}

static bool
session_has_id(const struct mcpi_map_node *node, const void *id)
{
    return mcpi_session_id_is(id, MCPI_CONTAINER(node, struct mcpi_session, by_id)->id);
}

static struct mcpi_session *
session_of_id(const struct mcpi_endpoint *endpoint, const char *id)
{
    struct mcpi_map_node *node;

    if (strlen(id) >= MCPI_SESSION_ID)
        return NULL;
    node = mcpi_map_find(&endpoint->sessions, id_hash(endpoint, id), session_has_id,
                         id);
    return node ? MCPI_CONTAINER(node, struct mcpi_session, by_id) : NULL;
}

struct mcpi_session *
mcpi_session_find(struct mcpi_endpoint *endpoint, const char *id, const char *principal)
{
    struct mcpi_session *session = session_of_id(endpoint, id);

    if (!session || !mcpi_session_id_is(principal ? principal : "", session->principal))
        return NULL;
    return session;
}

struct mcpi_peer *
mcpi_session_named(const struct mcpi_endpoint *endpoint, const struct mcpi_http_in *in)
{
    const char *id = mcpi_http_get(in, "mcp-session-id", NULL);
    const struct mcpi_session *session = id ? session_of_id(endpoint, id) : NULL;

    return session ? session->peer : NULL;
}

/* ---- GET ------------------------------------------------------------------- */

static struct mcpi_http_stream *
list_find(const struct mcpi_list *list, uint64_t number)
{
    const struct mcpi_list *node;

    for (node = list->next; node != list; node = node->next)
        if (stream_of(node)->number == number && stream_of(node)->outlet)
            return stream_of(node);
    return NULL;
}

/* Only of this session: what others were told is none of its business. 1: there is nothing
 * more to come back for. */
static int
session_resume(struct mcpi_session *session, const struct mcpi_http_stream_options *opt,
               const char *event)
{
    struct mcpi_http_stream *s;
    uint64_t stream, after;

    if (!mcpi_event_id_read(event, &stream, &after) || stream == 0)
        return MCP_E_INVAL;
    s = list_find(&session->kept, stream);
    if (!s)
        s = list_find(&session->streams, stream);
    if (s)
        return mcpi_http_stream_resume(s, after, opt->turn);
    return mcpi_http_stream_replay(opt, stream, after);
}

static int
session_listen(struct mcpi_session *session, const struct mcpi_http_stream_options *opt)
{
    struct mcpi_http_stream *s;
    size_t listening;

    (void)session_oldest_waiting(session, &listening);
    if (listening >= session->endpoint->http->session_streams)
        return MCP_E_LIMIT;
    session_make_room(session);
    return mcpi_http_stream_new(opt, &s);
}

/* So is an event source told not to come again (HTML, Server-sent events). A stream that
 * ends at once would be taken for one that was cut. */
static void
get_stop(struct mcpi_turn *turn)
{
    const struct mcpi_http_out nothing = {.status = 204};

    (void)mcpi_turn_reply(turn, &nothing); /* the carrier keeps what has not left */
}

static void
get_refuse(struct mcpi_session *session, struct mcpi_turn *turn, int status)
{
    struct mcpi_endpoint *endpoint = session->endpoint;

    /* Not 404, which says that the session is gone, and not a fresh stream: who waits
     * for an answer would wait there for ever (D9). */
    if (status == MCP_E_INVAL)
        mcpi_endpoint_refuse(endpoint, turn, 400, NULL, MCPI_RPC_INVALID_REQUEST,
                             "Last-Event-ID names no event that is still known");
    else if (status == MCP_E_LIMIT)
        mcpi_endpoint_refuse(endpoint, turn, 429, NULL, MCPI_RPC_INTERNAL_ERROR,
                             "Too many streams of this session");
    else
        mcpi_endpoint_refuse(endpoint, turn, 503, NULL, MCPI_RPC_INTERNAL_ERROR,
                             status == MCP_E_CLOSED ? "The event store has failed"
                                                    : "Out of memory");
}

void
mcpi_session_get(struct mcpi_session *session, struct mcpi_turn *turn,
                 const struct mcpi_http_in *in)
{
    const mcp_http_options *http = session->endpoint->http;
    const char *event = mcpi_http_get(in, "last-event-id", NULL);
    struct mcpi_http_stream_options opt = {.endpoint = session->endpoint,
                                           .session = session,
                                           .peer = session->peer,
                                           .turn = turn,
                                           .may_sse = true,
                                           .resumable = http->store != NULL,
                                           .is_get = true};
    int r;

    mcpi_session_touch(session);
    if (http->json) {
        mcpi_endpoint_refuse(session->endpoint, turn, 405, NULL,
                             MCPI_RPC_INVALID_REQUEST, "This server has no streams");
        return;
    }
    if (http->store && event && *event)
        r = session_resume(session, &opt, event);
    else
        r = session_listen(session, &opt);
    if (r < 0)
        get_refuse(session, turn, r);
    else if (r > 0)
        get_stop(turn);
}
