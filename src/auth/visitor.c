/* visitor.c - one sign-in of the user */
#include "auth/visitor.h"

#include <string.h>

#include "auth/place.h"
#include "auth/visit.h"
#include "base/mem.h"
#include "base/text.h"

/* Longest URI that somebody is sent back with. */
#define ANSWER_MAX ((size_t)16384)
#define WHY_MAX 200

/* What the agent knows: it lives until the agent was told that it is over, and until what
 * the agent may have said before has arrived. */
struct mcpi_visit {
    struct mcp_auth_visit base;
    const mcp_allocator *mem;
    struct mcpi_loop *loop;
    struct mcpi_visitor *visitor; /* NULL: over */
    struct mcpi_post post;
    char *uri;  /* NULL: refused */
    int status; /* MCP_E_AUTH: refused; MCP_E_NOMEM */
    char why[WHY_MAX];
};

static void
visit_free(struct mcpi_visit *visit)
{
    if (visit->uri)
        explicit_bzero(visit->uri, strlen(visit->uri));
    mcpi_free(visit->mem, visit->uri);
    mcpi_free(visit->mem, visit);
}

/* Over. What was said is on its way, or here: it is freed then. */
static void
visit_drop(struct mcpi_visit *visit)
{
    visit->visitor = NULL;
    if (!atomic_load(&visit->base.answered_once))
        visit_free(visit);
}

/* ---- the answer; any thread --------------------------------------------------- */

static void
visit_refuse(struct mcpi_visit *visit, int status, const char *why)
{
    if (!why || !*why)
        why = "the user did not sign in";
    visit->status = status;
    (void)mcpi_text_clean(visit->why, sizeof(visit->why), why, strlen(why));
}

static void
visit_keep(struct mcpi_visit *visit, const char *uri)
{
    size_t len = strlen(uri);

    if (len > ANSWER_MAX) {
        visit_refuse(visit, MCP_E_AUTH, "the answer is too long");
        return;
    }
    visit->uri = mcpi_alloc(visit->mem, len + 1);
    if (visit->uri)
        memcpy(visit->uri, uri, len + 1);
    else
        visit_refuse(visit, MCP_E_NOMEM, mcp_status_text(MCP_E_NOMEM));
}

static void
visit_answered(struct mcp_auth_visit *base, const char *uri, const char *why)
{
    struct mcpi_visit *visit = MCPI_CONTAINER(base, struct mcpi_visit, base);

    if (uri)
        visit_keep(visit, uri);
    else
        visit_refuse(visit, MCP_E_AUTH, why);
    mcpi_loop_post(visit->loop, &visit->post);
}

/* ---- the loop ------------------------------------------------------------------ */

static void
visitor_tell(struct mcpi_visitor *v, int status, const char *text)
{
    mcpi_visitor_end(v);
    v->done(v->user, status, text);
}

/* It ends with its answer, which it still has until it was told. */
static void
visit_tell(struct mcpi_visit *visit)
{
    struct mcpi_visitor *v = visit->visitor;
    bool shown = mcpi_timer_is_armed(&v->timer);

    mcpi_visitor_end(v);
    if (!shown)
        v->done(v->user, MCP_E_AUTH,
                "the sign-in was answered before its page was shown");
    else if (visit->uri)
        v->done(v->user, 0, visit->uri);
    else
        v->done(v->user, visit->status, visit->why);
}

static void
on_answer(struct mcpi_post *post)
{
    struct mcpi_visit *visit = MCPI_CONTAINER(post, struct mcpi_visit, post);

    if (visit->visitor)
        visit_tell(visit);
    visit_free(visit);
}

static void
on_patience(struct mcpi_timer *timer, int64_t now)
{
    (void)now;
    visitor_tell(MCPI_CONTAINER(timer, struct mcpi_visitor, timer), MCP_E_AUTH,
                 "nobody signed in in time");
}

void
mcpi_visitor_init(struct mcpi_visitor *v)
{
    mcpi_timer_init(&v->timer, on_patience);
}

void
mcpi_visitor_end(struct mcpi_visitor *v)
{
    struct mcpi_visit *visit = v->visit;

    mcpi_timer_disarm(mcpi_loop_timers(v->loop), &v->timer);
    mcpi_lookup_abort(&v->lookup);
    v->visit = NULL;
    if (!visit)
        return;
    v->agent->end(v->agent->self, &visit->base);
    visit_drop(visit);
}

/* ---- beginning ----------------------------------------------------------------- */

static int
begin_headless(struct mcpi_visitor *v)
{
    size_t len = strlen(v->headless_uri);

    if (len >= sizeof(v->redirect_uri))
        return MCP_E_INVAL;
    memcpy(v->redirect_uri, v->headless_uri, len + 1);
    return 0;
}

static int
begin_agent(struct mcpi_visitor *v, const char *earlier)
{
    struct mcpi_visit *visit = mcpi_alloc_zero(v->mem, sizeof(*visit));
    int r;

    if (!visit)
        return MCP_E_NOMEM;
    visit->base.answered = visit_answered;
    visit->mem = v->mem;
    visit->loop = v->loop;
    visit->visitor = v;
    visit->post.fn = on_answer;
    v->redirect_uri[0] = '\0';
    r = v->agent->begin(v->agent->self, &visit->base, *earlier ? earlier : NULL,
                        v->redirect_uri);
    if (r < 0) {
        visit_drop(visit);
        return r;
    }
    v->redirect_uri[sizeof(v->redirect_uri) - 1] = '\0';
    v->visit = visit;
    return 0;
}

int
mcpi_visitor_begin(struct mcpi_visitor *v, const char *earlier)
{
    int r = MCP_E_AUTH;

    mcpi_visitor_end(v);
    v->redirects = 0;
    if (v->headless)
        r = begin_headless(v);
    else if (v->agent)
        r = begin_agent(v, earlier);
    if (r == 0 && !mcpi_place_is_safe(v->redirect_uri)) {
        mcpi_visitor_end(v);
        r = MCP_E_AUTH;
    }
    return r;
}

/* ---- without anybody ------------------------------------------------------------ */

static int visitor_look(struct mcpi_visitor *v, const char *url);

/* Is this where we are to be sent back to, whatever it says there? */
static bool
is_home(const struct mcpi_visitor *v, const char *location)
{
    size_t len = strlen(v->redirect_uri);

    return strncmp(location, v->redirect_uri, len) == 0 &&
           (location[len] == '?' || location[len] == '\0' || location[len] == '#');
}

/* A redirect: followed, if that can be. */
static int
follow(struct mcpi_visitor *v, const char *location)
{
    if (!mcpi_place_is_safe(location) || ++v->redirects > MCPI_VISITOR_REDIRECTS_MAX)
        return MCP_E_AUTH;
    return visitor_look(v, location);
}

static void
on_looked(void *user, const struct mcpi_lookup_answer *answer)
{
    struct mcpi_visitor *v = user;
    bool sent_on = answer->http >= 300 && answer->http < 400;
    int r = answer->status;

    if (r == 0 && sent_on && is_home(v, answer->location)) {
        visitor_tell(v, 0, answer->location);
        return;
    }
    if (r == 0)
        r = sent_on ? follow(v, answer->location) : MCP_E_AUTH;
    if (r == MCP_E_NOMEM)
        visitor_tell(v, r, mcp_status_text(r));
    else if (answer->status < 0)
        visitor_tell(v, MCP_E_AUTH, "the page to sign in cannot be reached");
    else if (r < 0)
        visitor_tell(
            v, MCP_E_AUTH,
            "the page to sign in wants somebody to see it, and nobody is here");
}

static int
visitor_look(struct mcpi_visitor *v, const char *url)
{
    const struct mcpi_lookup_options opt = {.loop = v->loop,
                                            .fetcher = v->fetcher,
                                            .method = "GET",
                                            .url = url,
                                            .nearest = v->nearest,
                                            .stays = true,
                                            .limit_us = v->fetch_us,
                                            .done = on_looked,
                                            .user = v};

    return mcpi_lookup_start(&v->lookup, &opt);
}

int
mcpi_visitor_open(struct mcpi_visitor *v, const char *url)
{
    int r;

    mcpi_timer_arm(mcpi_loop_timers(v->loop), &v->timer,
                   mcpi_time_add(mcpi_loop_now(v->loop), v->login_us));
    r = v->headless ? visitor_look(v, url)
                    : v->agent->open(v->agent->self, &v->visit->base, url);
    if (r < 0)
        mcpi_visitor_end(v);
    return r;
}
