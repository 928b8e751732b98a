/* guard.c - who stands in front of a server and asks for tokens: made and freed */
#include "auth/guard.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "run/curl.h"
#include "json/value.h"

#define JWKS_BYTES_MAX ((size_t)256 * 1024)
#define JWKS_DEPTH_MAX 32

int64_t
mcpi_guard_now(const mcp_guard *guard)
{
    return guard->seams.now ? guard->seams.now(guard->seams.user) : (int64_t)time(NULL);
}

int64_t
mcpi_guard_ticks(const mcp_guard *guard)
{
    return guard->seams.loop ? mcpi_loop_now(guard->seams.loop) : mcpi_loop_clock();
}

const struct mcpi_http_notice *
mcpi_guard_notice(const mcp_guard *guard)
{
    return &guard->settings->notice;
}

/* ---- the end ---------------------------------------------------------------- */

mcp_guard *
mcpi_guard_ref(mcp_guard *guard)
{
    atomic_fetch_add_explicit(&guard->refs, 1, memory_order_relaxed);
    return guard;
}

void
mcpi_guard_unref(mcp_guard *guard)
{
    if (atomic_fetch_sub_explicit(&guard->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; guard->rings && i < guard->settings->issuer_count; i++)
        mcpi_keyring_free(guard->rings[i]);
    mcpi_free(guard->mem, guard->rings);
    mcpi_free(guard->mem, guard->renewals);
    mcpi_keys_unref(guard->fixed);
    mcpi_replay_free(guard->replay);
    mcpi_nonces_done(&guard->nonces);
    mcpi_guard_settings_free(guard->settings);
    mcpi_free(guard->mem, guard);
}

/* Whoever waits for keys hears that there are none any more. */
static void
guard_down(struct mcpi_post *post)
{
    mcp_guard *guard = MCPI_CONTAINER(post, mcp_guard, down);

    for (size_t i = 0; guard->rings && i < guard->settings->issuer_count; i++)
        if (guard->rings[i])
            mcpi_keyring_close(guard->rings[i]);
    if (!guard->seams.fetcher)
        mcpi_curl_free(guard->fetcher);
}

static void
guard_end_loop(mcp_guard *guard)
{
    if (!guard->loop)
        return;
    if (guard->seams.loop) {
        guard_down(&guard->down);
        return;
    }
    mcpi_loop_post(guard->loop, &guard->down);
    mcpi_loop_free(guard->loop); /* which runs it, if its thread has not */
}

void
mcp_guard_free(mcp_guard *guard)
{
    if (!guard || (guard->loop && !mcpi_loop_is_ours(guard->loop)))
        return;
    guard_end_loop(guard);
    mcpi_guard_unref(guard);
}

/* ---- keys, beside ------------------------------------------------------------- */

static void
on_renewed(struct mcpi_keyring_wait *wait)
{
    struct mcpi_guard_renewal *renewal = MCPI_CONTAINER(wait, struct mcpi_guard_renewal,
                                                        wait);
    mcp_guard *guard = renewal->guard;

    atomic_store(&renewal->busy, false);
    mcpi_guard_unref(guard);
}

static void
on_renewal_posted(struct mcpi_post *post)
{
    struct mcpi_guard_renewal *renewal = MCPI_CONTAINER(post, struct mcpi_guard_renewal,
                                                        post);

    mcpi_keyring_ask(renewal->ring, &renewal->wait);
}

void
mcpi_guard_renew(const mcp_guard *guard, size_t issuer)
{
    struct mcpi_guard_renewal *renewal = &guard->renewals[issuer];

    if (atomic_exchange(&renewal->busy, true))
        return;
    mcpi_guard_ref(renewal->guard);
    mcpi_loop_post(guard->loop, &renewal->post);
}

static void
guard_make_renewal(mcp_guard *guard, size_t index)
{
    struct mcpi_guard_renewal *renewal = &guard->renewals[index];

    renewal->post.fn = on_renewal_posted;
    mcpi_list_init(&renewal->wait.node);
    renewal->wait.ready = on_renewed;
    renewal->guard = guard;
    renewal->ring = guard->rings[index];
    atomic_init(&renewal->busy, false);
}

/* ---- the beginning ---------------------------------------------------------- */

/* The keys that the options have. */
static int
guard_take_keys(mcp_guard *guard, mcp_error *err)
{
    const struct mcpi_json_limits limits = {JWKS_BYTES_MAX, JWKS_DEPTH_MAX};
    const char *text = guard->settings->opt.jwks;
    mcp_doc *doc;
    int r;

    r = mcpi_doc_parse(guard->mem, text, strlen(text), &limits, &doc);
    if (r == 0) {
        r = mcpi_keys_read(guard->mem, mcp_doc_root(doc), &guard->fixed);
        mcp_doc_free(doc);
    }
    if (r == 0 || r == MCP_E_NOMEM)
        return r;
    return mcpi_error_set(err, MCP_E_INVAL, "guard option jwks: %s",
                          r == MCP_E_INVAL ? "has no key of a kind that is taken"
                                           : "is no JSON");
}

static int
guard_make_ring(mcp_guard *guard, size_t index)
{
    const mcp_guard_options *opt = &guard->settings->opt;
    const struct mcpi_keyring_options ring = {
        .mem = guard->mem,
        .loop = guard->loop,
        .fetcher = guard->fetcher,
        .issuer = opt->issuers[index],
        .jwks_uri = opt->jwks_uri,
        .keys_us = opt->keys_ms * 1000,
        .nearest = mcpi_guard_settings_nearest(guard->settings, opt->issuers[index]),
        .log = &guard->log};
    int r;

    r = mcpi_keyring_new(&ring, &guard->rings[index]);
    if (r == 0)
        guard_make_renewal(guard, index);
    return r;
}

static int
guard_make_loop(mcp_guard *guard, mcp_error *err)
{
    struct mcpi_curl_options curl = {.ca_file = guard->settings->opt.tls_ca_file};
    int r;

    if (guard->seams.loop) {
        guard->loop = guard->seams.loop;
        guard->fetcher = guard->seams.fetcher;
        return 0;
    }
    r = mcpi_loop_new(guard->mem, &guard->log, &guard->loop);
    if (r < 0)
        return r;
    curl.loop = guard->loop;
    return mcpi_curl_new(&curl, &guard->fetcher, err);
}

/* Keys will have to be fetched. */
static int
guard_make_rings(mcp_guard *guard, mcp_error *err)
{
    size_t count = guard->settings->issuer_count;
    int r;

    r = guard_make_loop(guard, err);
    if (r < 0)
        return r;
    guard->rings = mcpi_alloc_zero(guard->mem, count * sizeof(guard->rings[0]));
    guard->renewals = mcpi_alloc_zero(guard->mem, count * sizeof(guard->renewals[0]));
    if (!guard->rings || !guard->renewals)
        return MCP_E_NOMEM;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = guard_make_ring(guard, i);
    if (r == 0 && !guard->seams.loop)
        r = mcpi_loop_start(guard->loop);
    return r;
}

/* All that can fail. */
static int
guard_fill(mcp_guard *guard, mcp_error *err)
{
    const mcp_guard_options *opt = &guard->settings->opt;
    int r;

    r = mcpi_nonces_init(&guard->nonces);
    if (r == 0)
        r = mcpi_replay_new(guard->mem, MCPI_GUARD_PROOFS_MAX, &guard->replay);
    if (r == 0 && opt->jwks)
        r = guard_take_keys(guard, err);
    else if (r == 0 && !opt->verify)
        r = guard_make_rings(guard, err);
    return r;
}

static int
guard_make(struct mcpi_guard_settings *take_settings,
           const struct mcpi_guard_seams *seams, mcp_guard **ret_guard, mcp_error *err)
{
    mcp_guard *guard;
    int r;

    guard = mcpi_alloc_zero(take_settings->mem, sizeof(*guard));
    if (!guard) {
        mcpi_guard_settings_free(take_settings);
        return MCP_E_NOMEM;
    }
    guard->mem = take_settings->mem;
    guard->settings = take_settings;
    guard->log = (struct mcpi_log){take_settings->opt.on_log,
                                   take_settings->opt.log_user, MCP_LOG_INFO};
    atomic_init(&guard->refs, 1);
    atomic_init(&guard->waiting, 0);
    atomic_init(&guard->waiting_bytes, 0);
    guard->down.fn = guard_down;
    if (seams)
        guard->seams = *seams;
    r = guard_fill(guard, err);
    if (r < 0)
        mcp_guard_free(guard);
    else
        *ret_guard = guard;
    return r;
}

int
mcpi_guard_new(const mcp_guard_options *opt, const struct mcpi_guard_seams *seams,
               mcp_guard **ret_guard, mcp_error *err)
{
    struct mcpi_guard_settings *settings;
    mcp_error why = {0};
    int r;

    if (!ret_guard)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no place for the guard");
    r = mcpi_guard_settings_new(opt, &settings, err);
    if (r < 0)
        return r;
    r = guard_make(settings, seams, ret_guard, &why);
    if (r < 0)
        (void)mcpi_error_set(err, r, "%s",
                             why.message[0] ? why.message : mcp_status_text(r));
    return r;
}

int
mcp_guard_new(const mcp_guard_options *opt, mcp_guard **ret_guard, mcp_error *err)
{
    return mcpi_guard_new(opt, NULL, ret_guard, err);
}
