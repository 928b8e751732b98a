/*
 * doc.c - documents: a text parsed into values, counted, within limits
 *
 * A document is one block: the header, room for the values, the text. yyjson reads the
 * text in place and asks for memory once, for the array of values, by a guess; should
 * that be too small, it asks for more. The room is the guess, so only a text of very
 * short values spills over into a second block. Freeing is freeing these
 * one or two blocks, however deep the values are.
 *
 * The guess is generous, and a request may be kept for as long as a client listens. So
 * of a short text the values are counted beforehand: each stands at the start, or behind
 * a bracket, a comma or a colon. yyjson is told that it got what it asked for; it writes
 * a value when it has read one, and never more of them than that.
 *
 * yyjson knows no depth limit and does not recurse. Depth is checked afterwards, in one
 * pass over the values, and not at all if there are too few of them to be too deep. The
 * same pass finds out which large objects name a key twice, while there is an allocator
 * and an owner to write the answer down; small ones are looked at when somebody asks.
 *
 * yyjson refuses half of a surrogate pair. What a peer wrote is then repaired and read a
 * second time: a text without a fault pays nothing for that. What half it was is lost, so
 * a string that holds U+FFFD is marked, and is not an id.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/surrogate.h"
#include "json/value.h"
#include "json/yy.h"

#define BOM "\xEF\xBB\xBF"
#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

#define DEFAULT_MAX_BYTES ((size_t)64 << 20)
#define DEFAULT_MAX_DEPTH 128

/* Bytes of text for each value there is room for, and some for the shortest texts: what
 * yyjson asks for first. Messages have 8 to 12, so few ever need more. */
#define BYTES_PER_VALUE 6
#define VALUES_SPARE 12

/* Texts up to this are counted. */
#define COUNTED_MAX 4096

/* What yyjson puts before the values, in values. Only the root in it is of use to us, so
 * that when all is read our own header takes its place. */
#define VALUES_HEAD ((sizeof(yyjson_doc) + sizeof(yyjson_val) - 1) / sizeof(yyjson_val))

struct mcp_doc {
    atomic_uint refs;
    bool repaired;
    const mcp_allocator *mem;
    const yyjson_val *root;
    void *spill;  /* the values, if there was no room for them */
    size_t bytes; /* in all */
    size_t wipe;  /* so many of this block, before it is freed */
};

_Static_assert(sizeof(struct mcp_doc) <= VALUES_HEAD * sizeof(yyjson_val),
               "the header of a document does not fit");

/* A document that is being read. */
struct block {
    const mcp_allocator *mem;
    void *values; /* its header, then; the text is behind them */
    size_t room;  /* bytes there, as far as yyjson needs to know */
    void *spill;
    size_t bytes, own_bytes; /* in all; without the spill */
    size_t wipe;             /* of the one with the text */
    char *text;
    bool repaired;
};

struct rules {
    size_t max_bytes;
    size_t max_depth;
    bool unique_keys;
    bool secret;
    bool lenient;
};

/* ---- memory for yyjson ----------------------------------------------------- */

static void *
room_malloc(void *ctx, size_t size)
{
    struct block *block = ctx;

    if (size <= block->room)
        return block->values;
    block->spill = mcpi_alloc(block->mem, size);
    block->bytes += size;
    return block->spill;
}

static void *
room_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
    struct block *block = ctx;
    void *spill;

    if (ptr == block->values && size <= block->room)
        return ptr;
    spill = mcpi_realloc(block->mem, block->spill, size);
    if (!spill)
        return NULL;
    if (ptr == block->values)
        memcpy(spill, ptr, old_size);
    block->bytes += block->spill ? size - old_size : size;
    block->spill = spill;
    return spill;
}

/* Only called when reading fails; the block is freed then, and the spill with it. */
static void
room_free(void *ctx, void *ptr)
{
    (void)ctx;
    (void)ptr;
}

/* ---- keys named twice ------------------------------------------------------ */

struct key_hash {
    uint64_t hash;
    const yyjson_val *key;
};

static bool
keys_equal(const yyjson_val *a, const yyjson_val *b)
{
    /* not their tags: these tell apart whether there was an escape in the text */
    return mcpi_yy_len(a) == mcpi_yy_len(b) &&
           memcmp(a->uni.str, b->uni.str, mcpi_yy_len(a)) == 0;
}

static const yyjson_val *
pairwise_duplicate(const yyjson_val *object)
{
    const yyjson_val *keys[MCPI_YY_PAIRWISE];
    const yyjson_val *key = object + 1;
    size_t count = mcpi_yy_len(object);

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (keys_equal(keys[j], key))
                return key;
        }
        keys[i] = key;
        key = mcpi_yy_next(key + 1);
    }
    return NULL;
}

/* A radix sort, last byte first: a peer chooses the keys, and no order is bad for it.
 * Eight passes, so the result is where it began. */
static void
hashes_sort(struct key_hash *hashes, struct key_hash *spare, size_t count)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        struct key_hash *sorted = spare;
        size_t starts[257] = {0};

        for (size_t i = 0; i < count; i++)
            starts[(hashes[i].hash >> shift & 0xFF) + 1]++;
        for (size_t i = 1; i < 256; i++)
            starts[i] += starts[i - 1];
        for (size_t i = 0; i < count; i++)
            sorted[starts[hashes[i].hash >> shift & 0xFF]++] = hashes[i];
        spare = hashes;
        hashes = sorted;
    }
}

/* Equal keys have equal hashes and are neighbours now. Different keys of one hash are
 * rare without a secret seed too: of 64 bits nobody finds more than a few. */
static const yyjson_val *
hashes_duplicate(const struct key_hash *hashes, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t j = i; j > 0 && hashes[j - 1].hash == hashes[i].hash; j--) {
            if (keys_equal(hashes[j - 1].key, hashes[i].key))
                return hashes[i].key;
        }
    }
    return NULL;
}

static int
large_duplicate(const mcp_allocator *mem, const yyjson_val *object,
                const yyjson_val **ret_key)
{
    static const uint64_t seed[2] = {0, 0};
    const yyjson_val *key = object + 1;
    size_t count = mcpi_yy_len(object);
    struct key_hash *hashes;

    hashes = mcpi_alloc(mem, 2 * count * sizeof(*hashes));
    if (!hashes)
        return MCP_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        hashes[i].hash = mcpi_siphash(seed, key->uni.str, mcpi_yy_len(key));
        hashes[i].key = key;
        key = mcpi_yy_next(key + 1);
    }
    hashes_sort(hashes, hashes + count, count);
    *ret_key = hashes_duplicate(hashes, count);
    mcpi_free(mem, hashes);
    return 0;
}

/* Still the only owner of the values, so a large object can be marked. */
static int
object_check(const mcp_doc *doc, yyjson_val *object, const struct rules *rules,
             mcp_error *err)
{
    const yyjson_val *key = NULL;
    int r;

    if (mcpi_yy_len(object) > MCPI_YY_PAIRWISE) {
        r = large_duplicate(doc->mem, object, &key);
        if (r < 0)
            return mcpi_error_set(err, r, "%s", mcp_status_text(r));
        if (key)
            object->tag |= MCPI_YY_DUPLICATES;
    } else if (rules->unique_keys) {
        key = pairwise_duplicate(object);
    }
    if (rules->unique_keys && key)
        return mcpi_error_set(err, MCP_E_SYNTAX, "an object names the key \"%s\" twice",
                              key->uni.str);
    return 0;
}

/* ---- parsing --------------------------------------------------------------- */

/* Could these values break a rule? The depth is never above their number, and a member
 * is two of them. */
static bool
values_need_check(size_t count, const struct rules *rules)
{
    return rules->unique_keys || count > rules->max_depth ||
           count / 2 > MCPI_YY_PAIRWISE;
}

static int
values_check(const mcp_doc *doc, yyjson_val *v, const struct rules *rules,
             mcp_error *err)
{
    const yyjson_val *ends[MCPI_JSON_DEPTH_MAX];
    const yyjson_val *end = mcpi_yy_next(v);
    size_t depth = 0;
    int r;

    if (!values_need_check((size_t)(end - v), rules))
        return 0;
    for (; v < end; v++) {
        while (depth > 0 && v >= ends[depth - 1])
            depth--;
        if (!mcpi_yy_is_container(v))
            continue;
        if (depth == rules->max_depth)
            return mcpi_error_set(err, MCP_E_LIMIT, "nested deeper than %zu levels",
                                  rules->max_depth);
        ends[depth++] = mcpi_yy_next(v);
        if (mcpi_yy_type(v) == YYJSON_TYPE_OBJ) {
            r = object_check(doc, v, rules, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* No more values than this are in the text, were it well formed or not. In two loops, for
 * counters of a byte: these are added up many at a time. */
static size_t
values_most(const char *text, size_t len)
{
    size_t most = 1;

    for (size_t at = 0; at < len;) {
        size_t end = len - at < UINT8_MAX ? len : at + UINT8_MAX;
        uint8_t count = 0;

        for (; at < end; at++)
            count = (uint8_t)(count + (text[at] == ',' || text[at] == ':' ||
                                       text[at] == '{' || text[at] == '['));
        most += count;
    }
    return most;
}

/* How many there must be room for, if that was found out and is less than the guess; else
 * 0. */
static size_t
values_count(const char *text, size_t len, size_t guess)
{
    size_t most;

    if (len > COUNTED_MAX)
        return 0;
    most = VALUES_HEAD + values_most(text, len);
    return most < guess ? most : 0;
}

/* With the text in it and nothing parsed. False: no memory. */
static bool
block_init(struct block *block, const mcp_allocator *mem, const char *text, size_t len)
{
    size_t guess = len / BYTES_PER_VALUE + VALUES_SPARE;
    size_t count = values_count(text, len, guess);
    size_t room = (count > 0 ? count : guess) * sizeof(yyjson_val);

    block->mem = mem;
    block->room = count > 0 ? SIZE_MAX : room; /* it is enough, whatever it asks for */
    block->spill = NULL;
    block->bytes = block->own_bytes = room + len + YYJSON_PADDING_SIZE;
    block->wipe = 0;
    block->repaired = false;
    block->values = mcpi_alloc(mem, block->bytes);
    if (!block->values)
        return false;
    block->text = (char *)block->values + room;
    if (len > 0)
        memcpy(block->text, text, len);
    memset(block->text + len, 0, YYJSON_PADDING_SIZE);
    return true;
}

static mcp_doc *
block_to_doc(const struct block *block, const yyjson_val *root)
{
    mcp_doc *doc = block->values;

    atomic_init(&doc->refs, 1);
    doc->mem = block->mem;
    doc->root = root;
    doc->spill = block->spill;
    doc->bytes = block->bytes;
    doc->wipe = block->wipe;
    doc->repaired = block->repaired;
    return doc;
}

/* Reading has failed: the text again, with each half of a surrogate pair replaced. False:
 * there is none. */
static bool
block_repair(struct block *block, const char *text, size_t len)
{
    memcpy(block->text, text, len);
    if (mcpi_surrogates_repair(block->text, len) == 0)
        return false;
    mcpi_free(block->mem, block->spill);
    block->spill = NULL;
    block->bytes = block->own_bytes;
    block->repaired = true;
    return true;
}

static void
repaired_mark(yyjson_val *v)
{
    for (const yyjson_val *end = mcpi_yy_next(v); v < end; v++) {
        if (mcpi_yy_type(v) == YYJSON_TYPE_STR &&
            memmem(v->uni.str, mcpi_yy_len(v), REPLACEMENT, sizeof(REPLACEMENT) - 1))
            v->tag |= MCPI_YY_REPAIRED;
    }
}

static yyjson_doc *
block_values(struct block *block, const char *text, size_t len,
             const struct rules *rules, yyjson_read_err *ret_fault)
{
    const yyjson_alc alc = {room_malloc, room_realloc, room_free, block};
    yyjson_doc *parsed;

    parsed = yyjson_read_opts(block->text, len, YYJSON_READ_INSITU, &alc, ret_fault);
    if (parsed || !rules->lenient ||
        ret_fault->code != YYJSON_READ_ERROR_INVALID_STRING ||
        !block_repair(block, text, len))
        return parsed;
    parsed = yyjson_read_opts(block->text, len, YYJSON_READ_INSITU, &alc, ret_fault);
    if (parsed)
        repaired_mark(parsed->root);
    return parsed;
}

static int
block_read(struct block *block, const char *text, size_t len, const struct rules *rules,
           mcp_doc **ret_doc, mcp_error *err)
{
    yyjson_read_err fault;
    yyjson_doc *parsed;

    parsed = block_values(block, text, len, rules, &fault);
    if (parsed) {
        yyjson_val *root = parsed->root;

        *ret_doc = block_to_doc(block, root);
        return values_check(*ret_doc, root, rules, err);
    }
    if (fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    return mcpi_error_set(err, MCP_E_SYNTAX, "not valid JSON at byte %zu: %s",
                          fault.pos, fault.msg);
}

static int
doc_parse(const mcp_allocator *mem, const char *text, size_t len,
          const struct rules *rules, mcp_doc **ret_doc, mcp_error *err)
{
    struct block block;
    mcp_doc *doc = NULL;
    int r;

    /* the second bound only keeps the size of the block from wrapping around */
    if (len > rules->max_bytes || len > SIZE_MAX / 16)
        return mcpi_error_set(err, MCP_E_LIMIT, "%zu bytes of JSON are more than %zu",
                              len, rules->max_bytes);
    if (rules->lenient && len >= sizeof(BOM) - 1 &&
        memcmp(text, BOM, sizeof(BOM) - 1) == 0) {
        text += sizeof(BOM) - 1;
        len -= sizeof(BOM) - 1;
    }
    if (!block_init(&block, mem, text, len))
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    if (rules->secret)
        block.wipe = block.bytes;
    r = block_read(&block, text, len, rules, &doc, err);
    if (r < 0) {
        mcpi_free(mem, block.spill);
        explicit_bzero(block.values, block.wipe);
        mcpi_free(mem, block.values);
        return r;
    }
    *ret_doc = doc;
    return 0;
}

int
mcp_doc_parse(const char *text, size_t length, const mcp_json_options *opt,
              mcp_doc **ret_doc, mcp_error *err)
{
    mcp_json_options options;
    struct rules rules = {.secret = false};

    if ((!text && length > 0) || !ret_doc)
        return mcpi_error_set(err, MCP_E_INVAL, "no text, or nowhere to put it");
    if (mcpi_options_read(&options, sizeof(options), opt) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "options of an unknown kind");
    if (options.max_depth > MCPI_JSON_DEPTH_MAX)
        return mcpi_error_set(err, MCP_E_INVAL, "max_depth is over %d",
                              MCPI_JSON_DEPTH_MAX);
    rules.max_bytes = options.max_bytes ? options.max_bytes : DEFAULT_MAX_BYTES;
    rules.max_depth = options.max_depth ? options.max_depth : DEFAULT_MAX_DEPTH;
    rules.unique_keys = options.unique_keys;
    return doc_parse(mcpi_mem_or_malloc(options.allocator), text, length, &rules,
                     ret_doc, err);
}

mcp_doc *
mcp_doc_ref(mcp_doc *doc)
{
    if (doc)
        atomic_fetch_add_explicit(&doc->refs, 1, memory_order_relaxed);
    return doc;
}

static void
doc_destroy(mcp_doc *doc)
{
    const mcp_allocator *mem = doc->mem;

    mcpi_free(mem, doc->spill);
    explicit_bzero(doc, doc->wipe);
    mcpi_free(mem, doc);
}

void
mcp_doc_free(mcp_doc *doc)
{
    /* release what this owner read and wrote before, acquire what the others did */
    if (doc && atomic_fetch_sub_explicit(&doc->refs, 1, memory_order_acq_rel) == 1)
        doc_destroy(doc);
}

size_t
mcpi_doc_bytes(const mcp_doc *doc)
{
    return doc ? doc->bytes : 0;
}

const mcp_json *
mcp_doc_root(const mcp_doc *doc)
{
    return doc ? mcpi_yy_json(doc->root) : NULL;
}

static struct rules
rules_of(const struct mcpi_json_limits *limits)
{
    struct rules rules = {.max_bytes = limits->max_bytes};

    rules.max_depth = limits->max_depth < MCPI_JSON_DEPTH_MAX ? limits->max_depth
                                                              : MCPI_JSON_DEPTH_MAX;
    return rules;
}

int
mcpi_doc_parse(const mcp_allocator *mem, const char *text, size_t len,
               const struct mcpi_json_limits *limits, mcp_doc **ret_doc)
{
    struct rules rules = rules_of(limits);

    return doc_parse(mcpi_mem_or_malloc(mem), text, len, &rules, ret_doc, NULL);
}

int
mcpi_doc_parse_lenient(const mcp_allocator *mem, const char *text, size_t len,
                       const struct mcpi_json_limits *limits, mcp_doc **ret_doc)
{
    struct rules rules = rules_of(limits);

    rules.lenient = true;
    return doc_parse(mcpi_mem_or_malloc(mem), text, len, &rules, ret_doc, NULL);
}

bool
mcpi_doc_is_repaired(const mcp_doc *doc)
{
    return doc && doc->repaired;
}

bool
mcpi_json_is_repaired(const mcp_json *string)
{
    return mcp_json_get_type(string) == MCP_JSON_STRING &&
           (mcpi_yy(string)->tag & MCPI_YY_REPAIRED);
}

int
mcpi_doc_parse_secret(const mcp_allocator *mem, const char *text, size_t len,
                      const struct mcpi_json_limits *limits, mcp_doc **ret_doc)
{
    struct rules rules = rules_of(limits);

    rules.secret = true;
    return doc_parse(mcpi_mem_or_malloc(mem), text, len, &rules, ret_doc, NULL);
}

bool
mcpi_json_has_duplicates(const mcp_json *object)
{
    const yyjson_val *v = mcpi_yy(object);

    if (!v || mcpi_yy_type(v) != YYJSON_TYPE_OBJ)
        return false;
    if (mcpi_yy_len(v) > MCPI_YY_PAIRWISE)
        return v->tag & MCPI_YY_DUPLICATES;
    return pairwise_duplicate(v);
}
