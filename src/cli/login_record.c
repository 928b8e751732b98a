/* login_record.c - how somebody has signed in to a server */
#include "cli/login_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mcp/json.h>

#include "cli/state.h"
#include "cli/text.h"

#define FILE_MAX_BYTES (1 << 20) /* thousands of servers: more is no file of ours */

/* The whole file as an object; NULL: there is none that can be used. */
static mcp_doc *
file_read(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(FILE_MAX_BYTES) : NULL;
    mcp_doc *doc = NULL;
    size_t n;

    if (text) {
        n = fread(text, 1, FILE_MAX_BYTES, file);
        (void)mcp_doc_parse(text, n, NULL, &doc, NULL);
    }
    if (file)
        fclose(file);
    free(text);
    return doc;
}

static char *
text_of(const mcp_json *entry, const char *name)
{
    const char *text = mcp_json_string(mcp_json_get(entry, name), NULL);

    return text ? strdup(text) : NULL;
}

void
cli_login_record_load(const char *url, struct cli_login_record *ret_record)
{
    char *path = cli_state_path("logins.json");
    mcp_doc *doc = path ? file_read(path) : NULL;
    const mcp_json *entry = mcp_json_get(mcp_doc_root(doc), url);

    *ret_record = (struct cli_login_record){
        .client_id = text_of(entry, "clientId"),
        .secret_file = text_of(entry, "secretFile"),
        .scope = text_of(entry, "scope"),
        .client_credentials = mcp_json_bool(mcp_json_get(entry, "clientCredentials"),
                                            false),
        .dpop = mcp_json_bool(mcp_json_get(entry, "dpop"), false),
    };
    mcp_doc_free(doc);
    free(path);
}

static void
entry_build(mcp_builder *b, const char *url, const struct cli_login_record *record)
{
    mcp_builder_begin_object(b, url);
    if (record->client_id)
        mcp_builder_string(b, "clientId", record->client_id);
    if (record->secret_file)
        mcp_builder_string(b, "secretFile", record->secret_file);
    if (record->scope)
        mcp_builder_string(b, "scope", record->scope);
    if (record->client_credentials)
        mcp_builder_bool(b, "clientCredentials", true);
    if (record->dpop)
        mcp_builder_bool(b, "dpop", true);
    mcp_builder_end(b);
}

/* Beside it and then in its place: who reads it finds what was or what is. */
static bool
file_replace(const char *path, const char *text, size_t length)
{
    struct cli_text fresh = {0};
    ssize_t n = -1;
    bool ok;
    int fd;

    cli_text_printf(&fresh, "%s.%ld", path, (long)getpid());
    fd = open(cli_text_string(&fresh), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        n = write(fd, text, length);
        close(fd);
    }
    ok = n == (ssize_t)length && rename(cli_text_string(&fresh), path) == 0;
    if (fd >= 0 && !ok)
        (void)unlink(cli_text_string(&fresh));
    cli_text_done(&fresh);
    return ok;
}

bool
cli_login_record_save(const char *url, const struct cli_login_record *record)
{
    char *path = cli_state_path("logins.json");
    mcp_doc *doc = path ? file_read(path) : NULL;
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_json_iterator it;
    const char *text;
    size_t length = 0;
    bool ok;

    mcp_builder_begin_object(b, NULL);
    for (it = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&it);) {
        if (it.key && !mcp_json_is_string(it.key, url))
            mcp_builder_value(b, mcp_json_string(it.key, ""), it.value);
    }
    if (record)
        entry_build(b, url, record);
    mcp_builder_end(b);
    text = mcp_builder_text(b, &length);
    ok = path && text && file_replace(path, text, length);
    mcp_builder_free(b);
    mcp_doc_free(doc);
    free(path);
    return ok;
}

void
cli_login_record_done(struct cli_login_record *record)
{
    free(record->client_id);
    free(record->secret_file);
    free(record->scope);
    *record = (struct cli_login_record){0};
}
