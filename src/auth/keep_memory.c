/*
 * keep_memory.c - tokens in memory, for the clients of one process
 *
 * A handful of entries, looked through one by one. One that is locked stays in the list
 * though it has no text yet, or no more.
 */
#include <pthread.h>
#include <string.h>

#include "auth/keep.h"
#include "auth/wipe.h"
#include "base/list.h"
#include "base/mem.h"

struct entry {
    struct mcpi_list node;
    bool locked;
    char *text; /* NULL: none */
    char key[];
};

struct memory {
    struct mcp_token_keep keep;
    const mcp_allocator *mem;
    struct mcpi_wipe secrets;
    pthread_mutex_t lock; /* for what follows */
    struct mcpi_list entries;
};

/* ---- entries; all under lock ------------------------------------------------- */

static struct entry *
memory_find(const struct memory *memory, const char *key)
{
    struct mcpi_list *node;
    struct entry *entry;

    for (node = memory->entries.next; node != &memory->entries; node = node->next) {
        entry = MCPI_CONTAINER(node, struct entry, node);
        if (strcmp(entry->key, key) == 0)
            return entry;
    }
    return NULL;
}

static struct entry *
memory_find_or_add(struct memory *memory, const char *key)
{
    struct entry *entry = memory_find(memory, key);
    size_t size = strlen(key) + 1;

    if (entry)
        return entry;
    entry = mcpi_alloc(memory->mem, sizeof(*entry) + size);
    if (!entry)
        return NULL;
    *entry = (struct entry){.locked = false};
    memcpy(entry->key, key, size);
    mcpi_list_append(&memory->entries, &entry->node);
    return entry;
}

static void
entry_forget(struct memory *memory, struct entry *entry)
{
    mcpi_free(&memory->secrets.allocator, entry->text);
    entry->text = NULL;
}

/* Nobody needs it any more? */
static void
entry_settle(struct memory *memory, struct entry *entry)
{
    if (entry->text || entry->locked)
        return;
    mcpi_list_remove(&entry->node);
    mcpi_free(memory->mem, entry);
}

static int
entry_set(struct memory *memory, struct entry *entry, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = mcpi_alloc(&memory->secrets.allocator, size);

    if (!copy)
        return MCP_E_NOMEM;
    memcpy(copy, text, size);
    entry_forget(memory, entry);
    entry->text = copy;
    return 0;
}

static int
memory_set(struct memory *memory, const char *key, const char *text)
{
    struct entry *entry;
    int r = 0;

    entry = text ? memory_find_or_add(memory, key) : memory_find(memory, key);
    if (!entry)
        return text ? MCP_E_NOMEM : 0;
    if (text)
        r = entry_set(memory, entry, text);
    else
        entry_forget(memory, entry);
    entry_settle(memory, entry);
    return r;
}

/* ---- the interface ------------------------------------------------------------ */

static int
memory_load(void *self, const char *key, char **ret_text)
{
    struct memory *memory = self;
    const struct entry *entry;
    char *text = NULL;
    int r = mcpi_keep_check(key, NULL);

    if (r < 0)
        return r;
    pthread_mutex_lock(&memory->lock);
    entry = memory_find(memory, key);
    if (entry && entry->text)
        r = mcpi_keep_give(entry->text, &text);
    pthread_mutex_unlock(&memory->lock);
    if (r == 0)
        *ret_text = text;
    return r;
}

static int
memory_save(void *self, const char *key, const char *text)
{
    struct memory *memory = self;
    int r = mcpi_keep_check(key, text);

    if (r < 0)
        return r;
    pthread_mutex_lock(&memory->lock);
    r = memory_set(memory, key, text);
    pthread_mutex_unlock(&memory->lock);
    return r;
}

static int
memory_lock(void *self, const char *key)
{
    struct memory *memory = self;
    struct entry *entry;
    int r = mcpi_keep_check(key, NULL);

    if (r < 0)
        return r;
    pthread_mutex_lock(&memory->lock);
    entry = memory_find_or_add(memory, key);
    if (!entry)
        r = MCP_E_NOMEM;
    else if (entry->locked)
        r = MCP_E_AGAIN;
    else
        entry->locked = true;
    pthread_mutex_unlock(&memory->lock);
    return r;
}

static void
memory_unlock(void *self, const char *key)
{
    struct memory *memory = self;
    struct entry *entry;

    if (mcpi_keep_check(key, NULL) < 0)
        return;
    pthread_mutex_lock(&memory->lock);
    entry = memory_find(memory, key);
    if (entry) {
        entry->locked = false;
        entry_settle(memory, entry);
    }
    pthread_mutex_unlock(&memory->lock);
}

/* ---- making and freeing -------------------------------------------------------- */

static void
memory_free(struct mcp_token_keep *keep)
{
    struct memory *memory = MCPI_CONTAINER(keep, struct memory, keep);
    struct mcpi_list *node;
    struct entry *entry;

    while ((node = mcpi_list_pop(&memory->entries)) != NULL) {
        entry = MCPI_CONTAINER(node, struct entry, node);
        entry_forget(memory, entry);
        mcpi_free(memory->mem, entry);
    }
    pthread_mutex_destroy(&memory->lock);
    mcpi_free(memory->mem, memory);
}

int
mcp_token_keep_memory(const mcp_allocator *allocator, mcp_token_keep **ret_keep)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(allocator);
    struct memory *memory;

    if (!ret_keep)
        return MCP_E_INVAL;
    memory = mcpi_alloc_zero(mem, sizeof(*memory));
    if (!memory)
        return MCP_E_NOMEM;
    if (pthread_mutex_init(&memory->lock, NULL) != 0) {
        mcpi_free(mem, memory);
        return MCP_E_NOMEM;
    }
    memory->mem = mem;
    memory->keep.free = memory_free;
    memory->keep.interface = MCP_TOKEN_STORE(.load = memory_load, .save = memory_save,
                                             .lock = memory_lock,
                                             .unlock = memory_unlock, .self = memory);
    mcpi_wipe_init(&memory->secrets, mem);
    mcpi_list_init(&memory->entries);
    *ret_keep = &memory->keep;
    return 0;
}
