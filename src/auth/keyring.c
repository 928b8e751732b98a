/* keyring.c - the keys of one issuer: fetched, kept for a while, fetched anew */
#include "auth/keyring.h"

#include <pthread.h>
#include <string.h>

#include "auth/lookup.h"
#include "auth/metadata.h"
#include "auth/place.h"
#include "base/mem.h"

struct mcpi_keyring {
    struct mcpi_keyring_options opt;
    pthread_mutex_t lock;   /* a leaf, for what follows */
    struct mcpi_keys *keys; /* or NULL */
    int64_t got, landed;    /* when; MCPI_NEVER: never */
    bool flying;            /* they are fetched now; written on the loop only */
    bool ill;               /* the last flight brought none */

    /* Loop only. */
    bool closed;
    struct mcpi_list waiting;
    struct mcpi_lookup lookup;
    struct mcpi_buf places; /* of metadata, still to be tried; each terminated */
    size_t place_at;
    struct mcpi_buf
        uri; /* where the keys are, as metadata said; terminated, or empty */
};

/* ---- any thread ------------------------------------------------------------- */

int
mcpi_keyring_new(const struct mcpi_keyring_options *opt, struct mcpi_keyring **ret_ring)
{
    struct mcpi_keyring *ring;

    ring = mcpi_alloc_zero(opt->mem, sizeof(*ring));
    if (!ring)
        return MCP_E_NOMEM;
    ring->opt = *opt;
    ring->got = ring->landed = MCPI_NEVER;
    mcpi_list_init(&ring->waiting);
    mcpi_buf_init(&ring->places, opt->mem, (size_t)4 * MCPI_PLACE_MAX);
    mcpi_buf_init(&ring->uri, opt->mem, MCPI_PLACE_MAX + 1);
    (void)pthread_mutex_init(&ring->lock, NULL); /* cannot fail on Linux */
    *ret_ring = ring;
    return 0;
}

void
mcpi_keyring_free(struct mcpi_keyring *ring)
{
    if (!ring)
        return;
    mcpi_keys_unref(ring->keys);
    mcpi_buf_done(&ring->places);
    mcpi_buf_done(&ring->uri);
    pthread_mutex_destroy(&ring->lock);
    mcpi_free(ring->opt.mem, ring);
}

/* Has that much time passed since? Under lock. */
static bool
is_past(int64_t since, int64_t us, int64_t now)
{
    return since == MCPI_NEVER || now >= mcpi_time_add(since, us);
}

struct mcpi_keys *
mcpi_keyring_get(struct mcpi_keyring *ring, int64_t now,
                 struct mcpi_keyring_state *ret_state)
{
    int64_t last = mcpi_time_add(ring->opt.keys_us, MCPI_KEYRING_GRACE_US);
    int64_t unseen = 2 * ring->opt.keys_us;
    struct mcpi_keys *keys = NULL;

    pthread_mutex_lock(&ring->lock);
    if (ring->keys && !is_past(ring->got, last, now))
        keys = mcpi_keys_ref(ring->keys);
    ret_state->fresh = keys && !is_past(ring->got, ring->opt.keys_us, now);
    ret_state->will_do = keys && (ring->ill || !is_past(ring->got, unseen, now));
    ret_state->may_wait = ring->flying ||
                          is_past(ring->landed, MCPI_KEYRING_PAUSE_US, now);
    pthread_mutex_unlock(&ring->lock);
    return keys;
}

/* ---- the end of a flight; the loop from here on ------------------------------ */

static int64_t
ring_now(const struct mcpi_keyring *ring)
{
    return mcpi_loop_now(ring->opt.loop);
}

static void
ring_tell(struct mcpi_keyring *ring)
{
    struct mcpi_list waiting, *node;

    mcpi_list_init(&waiting);
    while ((node = mcpi_list_pop(&ring->waiting)) != NULL)
        mcpi_list_append(&waiting, node);
    while ((node = mcpi_list_pop(&waiting)) != NULL) {
        struct mcpi_keyring_wait *wait = MCPI_CONTAINER(node, struct mcpi_keyring_wait,
                                                        node);

        wait->ready(wait);
    }
}

/* keys NULL: none came. */
static void
ring_land(struct mcpi_keyring *ring, struct mcpi_keys *take_keys)
{
    struct mcpi_keys *old = take_keys;
    int64_t now = ring_now(ring);

    pthread_mutex_lock(&ring->lock);
    ring->flying = false;
    ring->landed = now;
    ring->ill = !take_keys;
    if (take_keys) {
        old = ring->keys;
        ring->keys = take_keys;
        ring->got = now;
    }
    pthread_mutex_unlock(&ring->lock);
    mcpi_keys_unref(old);
    ring_tell(ring);
}

/* Next time it is looked up where they are: they may have moved. */
static void
ring_fail(struct mcpi_keyring *ring, const char *why)
{
    mcpi_buf_clear(&ring->uri);
    MCPI_LOG(ring->opt.log, MCP_LOG_WARNING, "the keys of %s cannot be fetched: %s",
             ring->opt.issuer, why);
    ring_land(ring, NULL);
}

/* ---- documents --------------------------------------------------------------- */

static void on_metadata(void *user, const struct mcpi_lookup_answer *answer);

static int
ring_look(struct mcpi_keyring *ring, const char *url,
          void (*done)(void *user, const struct mcpi_lookup_answer *answer))
{
    const struct mcpi_lookup_options opt = {.loop = ring->opt.loop,
                                            .fetcher = ring->opt.fetcher,
                                            .method = "GET",
                                            .url = url,
                                            .nearest = ring->opt.nearest,
                                            .limit_us = MCPI_KEYRING_FETCH_US,
                                            .done = done,
                                            .user = ring};

    return mcpi_lookup_start(&ring->lookup, &opt);
}

/* Why an answer is none; NULL: it is one. */
static const char *
answer_fault(const struct mcpi_lookup_answer *answer)
{
    if (answer->status < 0)
        return answer->why && *answer->why ? answer->why
                                           : mcp_status_text(answer->status);
    if (answer->http != 200)
        return "the answer is an error";
    return answer->json ? NULL : "the answer is no object";
}

static void
on_keys(void *user, const struct mcpi_lookup_answer *answer)
{
    struct mcpi_keyring *ring = user;
    const char *fault = answer_fault(answer);
    struct mcpi_keys *keys = NULL;
    int r = 0;

    if (!fault)
        r = mcpi_keys_read(ring->opt.mem, answer->json, &keys);
    if (!fault && r < 0)
        fault = r == MCP_E_INVAL ? "no key of a kind that is taken is among them"
                                 : mcp_status_text(r);
    if (fault)
        ring_fail(ring, fault);
    else
        ring_land(ring, keys);
}

static void
ring_look_for_keys(struct mcpi_keyring *ring)
{
    const char *url = ring->opt.jwks_uri ? ring->opt.jwks_uri : ring->uri.data;
    int r;

    r = ring_look(ring, url, on_keys);
    if (r < 0)
        ring_fail(ring, mcp_status_text(r));
}

/* The next place where metadata may be. */
static void
ring_look_for_metadata(struct mcpi_keyring *ring, const char *fault)
{
    const char *url = ring->places.data + ring->place_at;
    int r;

    if (ring->place_at >= ring->places.len) {
        ring_fail(ring, fault);
        return;
    }
    ring->place_at += strlen(url) + 1;
    r = ring_look(ring, url, on_metadata);
    if (r < 0)
        ring_fail(ring, mcp_status_text(r));
}

static void
on_metadata(void *user, const struct mcpi_lookup_answer *answer)
{
    struct mcpi_keyring *ring = user;
    const char *fault = answer_fault(answer);
    struct mcpi_issuer_metadata metadata = {0};

    if (!fault)
        fault = mcpi_issuer_metadata_read(answer->json, ring->opt.issuer, &metadata);
    if (!fault && !metadata.jwks_uri)
        fault = "its metadata does not say where they are";
    if (!fault) {
        mcpi_buf_clear(&ring->uri);
        mcpi_buf_append(&ring->uri, metadata.jwks_uri, strlen(metadata.jwks_uri) + 1);
        if (ring->uri.status < 0)
            fault = mcp_status_text(ring->uri.status);
    }
    if (fault)
        ring_look_for_metadata(ring, fault);
    else
        ring_look_for_keys(ring);
}

static void
ring_find_places(struct mcpi_keyring *ring)
{
    int r;

    mcpi_buf_clear(&ring->places);
    ring->place_at = 0;
    r = mcpi_place_issuer_metadata(&ring->places, ring->opt.issuer);
    if (r < 0)
        ring_fail(ring, mcp_status_text(r));
    else
        ring_look_for_metadata(ring, "there is no metadata");
}

/* ---- asking ------------------------------------------------------------------ */

/* Is it time for a flight? Then it is noted down as one. */
static bool
ring_take_off(struct mcpi_keyring *ring)
{
    int64_t now = ring_now(ring);
    bool may;

    pthread_mutex_lock(&ring->lock);
    may = !ring->closed && is_past(ring->landed, MCPI_KEYRING_PAUSE_US, now);
    if (may)
        ring->flying = true;
    pthread_mutex_unlock(&ring->lock);
    return may;
}

void
mcpi_keyring_ask(struct mcpi_keyring *ring, struct mcpi_keyring_wait *wait)
{
    bool joins = ring->flying;

    if (!joins && !ring_take_off(ring)) {
        wait->ready(wait);
        return;
    }
    mcpi_list_append(&ring->waiting, &wait->node);
    if (joins)
        return;
    if (ring->opt.jwks_uri || ring->uri.len > 0)
        ring_look_for_keys(ring);
    else
        ring_find_places(ring);
}

void
mcpi_keyring_close(struct mcpi_keyring *ring)
{
    ring->closed = true;
    mcpi_lookup_abort(&ring->lookup);
    ring_land(ring, NULL);
}
