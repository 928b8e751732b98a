/* schema_report.c - what is wrong with a value, as text and as JSON */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/schema_check.h"

#define FAULTS_DEFAULT 16

/* All texts of one report; paths are as long as a stranger makes keys. */
#define TEXTS_MAX ((size_t)1 << 20)
#define MESSAGE_MAX 400

void
mcpi_report_init(mcp_schema_report *report, const mcp_allocator *mem, size_t max)
{
    *report = (mcp_schema_report){.mem = mem, .max = max};
    mcpi_buf_init(&report->texts, mem, TEXTS_MAX);
}

void
mcpi_report_done(mcp_schema_report *report)
{
    mcpi_buf_done(&report->texts);
    mcpi_free(report->mem, report->places);
}

void
mcpi_report_reset(mcp_schema_report *report)
{
    mcpi_buf_clear(&report->texts);
    report->count = 0;
    report->cut = false;
}

mcp_schema_report *
mcp_schema_report_new(const mcp_allocator *allocator, size_t max_faults)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(allocator);
    mcp_schema_report *report = mcpi_alloc(mem, sizeof(*report));

    if (report)
        mcpi_report_init(report, mem, max_faults ? max_faults : FAULTS_DEFAULT);
    return report;
}

void
mcp_schema_report_free(mcp_schema_report *report)
{
    if (!report)
        return;
    mcpi_report_done(report);
    mcpi_free(report->mem, report);
}

/* ---- writing --------------------------------------------------------------- */

static int
places_grow(mcp_schema_report *report)
{
    size_t room = report->room ? report->room * 2 : 4;
    void *places;

    if (report->count < report->room)
        return 0;
    places = mcpi_realloc(report->mem, report->places, room * sizeof(*report->places));
    if (!places)
        return MCP_E_NOMEM;
    report->places = places;
    report->room = room;
    return 0;
}

static void
fault_write(struct mcpi_check *c, const struct mcpi_schema_node *node,
            const char *keyword, const yyjson_val *value, const char *message)
{
    mcp_schema_report *report = c->report;
    struct mcpi_buf *texts = &report->texts;
    struct mcpi_report_place *place = &report->places[report->count];

    place->instance = texts->len;
    mcpi_schema_path(texts, c->root, value);
    mcpi_buf_char(texts, '\0');
    place->schema = texts->len;
    mcpi_buf_text(texts, node->doc->uri);
    mcpi_buf_char(texts, '#');
    mcpi_schema_path(texts, node->doc->root, node->value);
    if (!node->never)
        mcpi_schema_path_token(texts, keyword, strlen(keyword));
    mcpi_buf_char(texts, '\0');
    place->keyword = texts->len;
    mcpi_buf_append(texts, keyword, strlen(keyword) + 1);
    place->message = texts->len;
    mcpi_buf_append(texts, message, strlen(message) + 1);
}

/* A text too long to keep is left out, and all after it. */
static void
fault_keep(struct mcpi_check *c, size_t before)
{
    mcp_schema_report *report = c->report;

    if (report->texts.status == 0) {
        report->count++;
        return;
    }
    if (report->texts.status == MCP_E_NOMEM)
        (void)mcpi_check_stop(c, MCP_E_NOMEM, NULL);
    mcpi_buf_rewind(&report->texts, before);
    report->cut = true;
    c->full = true;
}

bool
mcpi_check_fault(struct mcpi_check *c, const struct mcpi_schema_node *node,
                 const char *keyword, const yyjson_val *value, const char *format, ...)
{
    char raw[MESSAGE_MAX], message[MESSAGE_MAX];
    size_t before;
    va_list args;

    if (!mcpi_check_goes_on(c))
        return false;
    if (c->report->count == c->report->max) {
        c->report->cut = true;
        c->full = true;
        return false;
    }
    if (places_grow(c->report) < 0)
        return mcpi_check_stop(c, MCP_E_NOMEM, NULL);
    va_start(args, format);
    (void)vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    (void)mcpi_text_clean(message, sizeof(message), raw, strlen(raw));
    before = c->report->texts.len;
    fault_write(c, node, keyword, value, message);
    fault_keep(c, before);
    return false;
}

/* ---- reading --------------------------------------------------------------- */

size_t
mcp_schema_report_count(const mcp_schema_report *report)
{
    return report ? report->count : 0;
}

bool
mcp_schema_report_is_cut(const mcp_schema_report *report)
{
    return report && report->cut;
}

bool
mcp_schema_report_get(const mcp_schema_report *report, size_t index,
                      mcp_schema_fault *ret_fault)
{
    const struct mcpi_report_place *place;

    if (index >= mcp_schema_report_count(report) || !ret_fault)
        return false;
    place = &report->places[index];
    ret_fault->instance_path = report->texts.data + place->instance;
    ret_fault->schema_path = report->texts.data + place->schema;
    ret_fault->keyword = report->texts.data + place->keyword;
    ret_fault->message = report->texts.data + place->message;
    return true;
}

/* One line: a key may have line ends in it, which a text must not. */
static void
line_write(struct mcpi_buf *buf, const mcp_schema_fault *fault)
{
    const char *path = fault->instance_path;
    char *at;

    at = mcpi_buf_reserve(buf, strlen(path) + 1);
    if (at)
        mcpi_buf_commit(buf, mcpi_text_clean(at, strlen(path) + 1, path, strlen(path)));
    mcpi_buf_text(buf, path[0] ? " " : "it ");
    mcpi_buf_text(buf, fault->message);
    mcpi_buf_text(buf, " (");
    path = fault->schema_path;
    at = mcpi_buf_reserve(buf, strlen(path) + 1);
    if (at)
        mcpi_buf_commit(buf, mcpi_text_clean(at, strlen(path) + 1, path, strlen(path)));
    mcpi_buf_text(buf, ")\n");
}

int
mcp_schema_report_print(const mcp_schema_report *report, const mcp_allocator *allocator,
                        char **ret_text, size_t *ret_length)
{
    mcp_schema_fault fault;
    struct mcpi_buf buf;
    int r;

    if (!ret_text)
        return MCP_E_INVAL;
    mcpi_buf_init(&buf, mcpi_mem_or_malloc(allocator), 4 * TEXTS_MAX);
    for (size_t i = 0; mcp_schema_report_get(report, i, &fault); i++)
        line_write(&buf, &fault);
    if (mcp_schema_report_is_cut(report))
        mcpi_buf_text(&buf, "and more\n");
    mcpi_buf_char(&buf, '\0');
    r = buf.status;
    if (r < 0) {
        mcpi_buf_done(&buf);
        return r;
    }
    if (ret_length)
        *ret_length = buf.len - 1;
    *ret_text = buf.data;
    return 0;
}

void
mcp_schema_report_build(const mcp_schema_report *report, mcp_builder *b,
                        const char *key)
{
    mcp_schema_fault fault;

    mcp_builder_begin_array(b, key);
    for (size_t i = 0; mcp_schema_report_get(report, i, &fault); i++) {
        mcp_builder_begin_object(b, NULL);
        mcp_builder_string(b, "instancePath", fault.instance_path);
        mcp_builder_string(b, "schemaPath", fault.schema_path);
        mcp_builder_string(b, "keyword", fault.keyword);
        mcp_builder_string(b, "message", fault.message);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
}
