/* shelf.c - a token store, asked from the loop without waiting */
#include "auth/shelf.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum shelf_kind { LOAD, SAVE, LOCK, UNLOCK };

struct mcpi_shelf_op {
    struct mcpi_errand errand;
    struct mcpi_shelf *shelf;
    enum shelf_kind kind;
    const char *key;  /* in this block */
    const char *text; /* likewise; or NULL */
    int status;
    char *loaded;
    mcpi_shelf_fn *done; /* NULL: nobody waits */
    void *user;
};

static void
op_free(struct mcpi_shelf_op *op)
{
    if (op->loaded)
        explicit_bzero(op->loaded, strlen(op->loaded));
    mcp_text_free(op->loaded, NULL);
    mcpi_free(op->shelf->mem, op);
}

/* ---- where it may block ------------------------------------------------------- */

static int
op_load(const mcp_token_store *store, struct mcpi_shelf_op *op)
{
    char *text = NULL;
    int r = store->load(store->self, op->key, &text);

    if (r >= 0) /* else nothing was given, whatever stands there */
        op->loaded = text;
    return r;
}

static void
op_work(struct mcpi_errand *errand)
{
    struct mcpi_shelf_op *op = MCPI_CONTAINER(errand, struct mcpi_shelf_op, errand);
    const mcp_token_store *store = op->shelf->store;

    op->status = 0;
    if (!store)
        return;
    if (op->kind == LOAD)
        op->status = op_load(store, op);
    else if (op->kind == SAVE)
        op->status = store->save(store->self, op->key, op->text);
    else if (op->kind == LOCK && store->lock)
        op->status = store->lock(store->self, op->key);
    else if (op->kind == UNLOCK && store->unlock)
        store->unlock(store->self, op->key);
    if (op->status > 0) /* who says more than 0 has not failed: a lock is held */
        op->status = 0;
}

/* ---- the loop ------------------------------------------------------------------ */

static void
op_home(struct mcpi_errand *errand)
{
    struct mcpi_shelf_op *op = MCPI_CONTAINER(errand, struct mcpi_shelf_op, errand);
    bool locked = op->kind == LOCK && op->status == 0;

    if (op->done) {
        op->done(op->user, op, op->status, op->loaded);
        if (!locked)
            op_free(op);
    } else if (locked) {
        mcpi_shelf_unlock(op);
    } else {
        op_free(op);
    }
}

static int
op_send(struct mcpi_shelf *shelf, const struct mcpi_shelf_op *what,
        struct mcpi_shelf_op **ret_op)
{
    size_t key_len = strlen(what->key);
    size_t text_len = what->text ? strlen(what->text) : 0;
    size_t size = sizeof(struct mcpi_shelf_op) + key_len + text_len + 2;
    struct mcpi_shelf_op *op = mcpi_alloc(shelf->mem, size);
    char *at;

    if (!op)
        return MCP_E_NOMEM;
    *op = *what;
    at = (char *)(op + 1);
    op->shelf = shelf;
    op->key = mcpi_text_stow(&at, what->key, key_len);
    op->text = mcpi_text_stow(&at, what->text, text_len);
    op->errand.work = op_work;
    op->errand.home = op_home;
    mcpi_errands_send(shelf->errands, &op->errand);
    *ret_op = op;
    return 0;
}

int
mcpi_shelf_load(struct mcpi_shelf *shelf, const char *key, mcpi_shelf_fn *done,
                void *user, struct mcpi_shelf_op **ret_op)
{
    const struct mcpi_shelf_op op = {
        .kind = LOAD, .key = key, .done = done, .user = user};

    return op_send(shelf, &op, ret_op);
}

int
mcpi_shelf_save(struct mcpi_shelf *shelf, const char *key, const char *text,
                mcpi_shelf_fn *done, void *user, struct mcpi_shelf_op **ret_op)
{
    const struct mcpi_shelf_op op = {
        .kind = SAVE, .key = key, .text = text, .done = done, .user = user};

    return op_send(shelf, &op, ret_op);
}

int
mcpi_shelf_lock(struct mcpi_shelf *shelf, const char *key, mcpi_shelf_fn *done,
                void *user, struct mcpi_shelf_op **ret_op)
{
    const struct mcpi_shelf_op op = {
        .kind = LOCK, .key = key, .done = done, .user = user};

    return op_send(shelf, &op, ret_op);
}

void
mcpi_shelf_unlock(struct mcpi_shelf_op *op)
{
    op->kind = UNLOCK;
    op->done = NULL;
    memset(&op->errand.post, 0, sizeof(op->errand.post));
    mcpi_errands_send(op->shelf->errands, &op->errand);
}

void
mcpi_shelf_drop(struct mcpi_shelf_op *op)
{
    if (op)
        op->done = NULL;
}
