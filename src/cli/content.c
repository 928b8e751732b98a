/* content.c - contents of results for people: texts, images, resources, messages */
#include "cli/content.h"

#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/base64.h"
#include "cli/image.h"
#include "cli/save.h"
#include "cli/text.h"

#define WIDTH_DEFAULT 80
#define WIDTH_LEAST 40
#define MIME_COLUMNS 60 /* of a type that the server names, shown */

/* Design note. Whatever comes from the server gets to `out` by the add functions here,
 * all of which make it harmless. Only cli_image_* write sequences, and those from bytes
 * that were decoded and encoded anew. */
struct showing {
    struct cli *cli;
    struct cli_saver saver;
    struct cli_text out; /* of one block */
    size_t width;
    int code;      /* how to exit: the first failure */
    bool was_told; /* why images are files */
};

static void
showing_init(struct showing *showing, struct cli *cli)
{
    *showing = (struct showing){.cli = cli, .code = CLI_OK};
    showing->saver.folder = cli->options.save;
    showing->width = cli_terminal_width();
}

static void
showing_fail(struct showing *showing, const char *what, const char *why)
{
    int code = cli_fail_with(showing->cli, CLI_OTHER, "%s%s", what, why);

    if (showing->code == CLI_OK)
        showing->code = code;
}

/* What was added goes out. False: stdout is gone. */
static bool
showing_flush(struct showing *showing)
{
    struct cli_text *out = &showing->out;
    bool is_out;

    if (out->failed)
        showing_fail(showing, "out of memory", "");
    is_out = cli_write(showing->cli, cli_text_string(out), out->length) &&
             cli_flush(showing->cli);
    if (!is_out && showing->code == CLI_OK)
        showing->code = CLI_OTHER;
    cli_text_done(out);
    return is_out;
}

static int
showing_done(struct showing *showing)
{
    (void)showing_flush(showing);
    cli_saver_done(&showing->saver);
    return showing->code;
}

/* ---- adding; all of it harmless -------------------------------------------- */

/* One line of a server's, without its end. */
static void
add_line(struct showing *showing, const mcp_json *text)
{
    cli_text_add_harmless(&showing->out, mcp_json_string(text, ""),
                          mcp_json_string_length(text), true);
}

static void
add_heading(struct showing *showing, const mcp_json *text)
{
    cli_text_puts(&showing->out, showing->cli->color ? "\033[1m" : "");
    add_line(showing, text);
    cli_text_puts(&showing->out, showing->cli->color ? "\033[m\n" : "\n");
}

static void
add_text(struct showing *showing, const mcp_json *text)
{
    struct cli_text clean = {0}, *out = &showing->out;

    cli_text_add_harmless(&clean, mcp_json_string(text, ""),
                          mcp_json_string_length(text), false);
    cli_text_add_wrapped(out, cli_text_string(&clean), clean.length, showing->width, 0);
    if (clean.length == 0 || clean.data[clean.length - 1] != '\n')
        cli_text_puts(out, "\n");
    out->failed = out->failed || clean.failed;
    cli_text_done(&clean);
}

static void
add_json(struct showing *showing, const mcp_json *value, bool pretty)
{
    size_t length;
    char *json;

    if (mcp_json_print(value, pretty, NULL, &json, &length) < 0) {
        showing_fail(showing, "this value cannot be printed", "");
        return;
    }
    cli_text_add_json(&showing->out, json, length);
    cli_text_puts(&showing->out, "\n");
    mcp_text_free(json, NULL);
}

/* "812 B", "12 kB", "3.4 MB" */
static void
add_size(struct cli_text *into, size_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB"};
    double size = (double)bytes;
    size_t unit = 0;

    for (; size >= 999.5 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        size /= 1000;
    cli_text_printf(into, unit > 0 && size < 9.95 ? "%.1f %s" : "%.0f %s", size,
                    units[unit]);
}

/* "image/png, 12 kB" */
static void
add_caption(struct showing *showing, const mcp_json *mime_type, size_t bytes)
{
    const char *type = mcp_json_string(mime_type, "data");
    struct cli_text clean = {0};

    cli_text_add_harmless(&clean, type, strlen(type), true);
    cli_text_add_cut(&showing->out, cli_text_string(&clean), clean.length,
                     MIME_COLUMNS);
    cli_text_puts(&showing->out, ", ");
    add_size(&showing->out, bytes);
    cli_text_done(&clean);
}

/* ---- bytes ----------------------------------------------------------------- */

/* Tries to show it on the terminal. False: it has to be a file. */
static bool
image_add(struct showing *showing, const struct cli_text *image)
{
    enum cli_images asked = (enum cli_images)showing->cli->options.images;
    enum cli_images way = cli_image_way(asked, showing->cli->out_is_terminal);
    mcp_error err = {
        .message = "only PNG images can be shown by the protocol of kitty"};

    if (way == CLI_IMAGES_NONE)
        return true;
    if (way == CLI_IMAGES_KITTY && cli_image_is_png(image)) {
        cli_image_add_kitty(&showing->out, image);
        return true;
    }
    if (way == CLI_IMAGES_SIXEL && cli_image_add_sixel(&showing->out, image, &err))
        return true;
    /* who asked for it is told why it is not done; once is enough */
    if (way != CLI_IMAGES_FILE && asked != CLI_IMAGES_AUTO && !showing->was_told) {
        cli_note(&showing->cli->say, "images are saved as files: %s", err.message);
        showing->was_told = true;
    }
    return false;
}

static void
add_file(struct showing *showing, const char *kind, const mcp_json *mime_type,
         const struct cli_text *bytes)
{
    struct cli_text path = {0};
    mcp_error err;

    if (cli_save(&showing->saver, kind, mcp_json_string(mime_type, NULL), bytes, &path,
                 &err)) {
        cli_text_puts(&showing->out, ": ");
        cli_text_add_harmless(&showing->out, cli_text_string(&path), path.length, true);
    } else {
        showing_fail(showing, err.message, "");
    }
    cli_text_done(&path);
}

/* Base64 of an image, audio, or anything: kind is the beginning of a file's name. */
static void
add_bytes(struct showing *showing, const char *kind, const mcp_json *mime_type,
          const mcp_json *data)
{
    struct cli_text bytes = {0};
    bool is_shown = false;

    if (mcp_json_get_type(data) != MCP_JSON_STRING ||
        !cli_base64_decode(&bytes, mcp_json_string(data, ""),
                           mcp_json_string_length(data))) {
        showing_fail(showing, kind, ": its data is no base64");
        cli_text_done(&bytes);
        return;
    }
    if (strcmp(kind, "image") == 0)
        is_shown = image_add(showing, &bytes);
    add_caption(showing, mime_type, bytes.length);
    if (!is_shown || showing->cli->options.save)
        add_file(showing, kind, mime_type, &bytes);
    cli_text_puts(&showing->out, "\n");
    cli_text_done(&bytes);
}

/* ---- blocks ---------------------------------------------------------------- */

/* What a resource contains: text, or bytes. */
static void
add_resource(struct showing *showing, const mcp_json *resource, bool has_heading)
{
    const mcp_json *mime_type = mcp_json_get(resource, "mimeType");
    const mcp_json *text = mcp_json_get(resource, "text");
    const mcp_json *blob = mcp_json_get(resource, "blob");
    const char *type = mcp_json_string(mime_type, "");
    const char *kind = "file";

    if (has_heading)
        add_heading(showing, mcp_json_get(resource, "uri"));
    if (strncasecmp(type, "image/", 6) == 0)
        kind = "image";
    else if (strncasecmp(type, "audio/", 6) == 0)
        kind = "audio";
    if (text)
        add_text(showing, text);
    else if (blob)
        add_bytes(showing, kind, mime_type, blob);
    else
        add_json(showing, resource, false);
}

static void
add_link(struct showing *showing, const mcp_json *block)
{
    const mcp_json *title = mcp_json_get(block, "title");
    const mcp_json *mime_type = mcp_json_get(block, "mimeType");

    add_line(showing, title ? title : mcp_json_get(block, "name"));
    cli_text_puts(&showing->out, ": ");
    add_line(showing, mcp_json_get(block, "uri"));
    if (mime_type) {
        cli_text_puts(&showing->out, " (");
        add_line(showing, mime_type);
        cli_text_puts(&showing->out, ")");
    }
    cli_text_puts(&showing->out, "\n");
}

static void
add_block(struct showing *showing, const mcp_json *block)
{
    const mcp_json *type = mcp_json_get(block, "type");

    if (mcp_json_is_string(type, "text"))
        add_text(showing, mcp_json_get(block, "text"));
    else if (mcp_json_is_string(type, "image"))
        add_bytes(showing, "image", mcp_json_get(block, "mimeType"),
                  mcp_json_get(block, "data"));
    else if (mcp_json_is_string(type, "audio"))
        add_bytes(showing, "audio", mcp_json_get(block, "mimeType"),
                  mcp_json_get(block, "data"));
    else if (mcp_json_is_string(type, "resource_link"))
        add_link(showing, block);
    else if (mcp_json_is_string(type, "resource"))
        add_resource(showing, mcp_json_get(block, "resource"), true);
    else
        add_json(showing, block, false);
}

/* An array of blocks, or one. */
static void
show_blocks(struct showing *showing, const mcp_json *content)
{
    mcp_json_iterator it;

    if (mcp_json_get_type(content) == MCP_JSON_OBJECT)
        add_block(showing, content);
    if (mcp_json_get_type(content) != MCP_JSON_ARRAY)
        return;
    for (it = mcp_json_each(content); mcp_json_next(&it);) {
        add_block(showing, it.value);
        if (!showing_flush(showing))
            return;
    }
}

/* ---- the functions of the header ------------------------------------------- */

int
cli_show_content(struct cli *cli, const mcp_json *content)
{
    struct showing showing;

    showing_init(&showing, cli);
    show_blocks(&showing, content);
    return showing_done(&showing);
}

int
cli_show_contents(struct cli *cli, const mcp_json *contents)
{
    bool has_headings = mcp_json_count(contents) > 1;
    struct showing showing;
    mcp_json_iterator it;

    showing_init(&showing, cli);
    for (it = mcp_json_each(contents); mcp_json_next(&it);) {
        add_resource(&showing, it.value, has_headings);
        if (!showing_flush(&showing))
            break;
    }
    return showing_done(&showing);
}

int
cli_show_messages(struct cli *cli, const mcp_json *messages)
{
    struct showing showing;
    mcp_json_iterator it;

    showing_init(&showing, cli);
    for (it = mcp_json_each(messages); mcp_json_next(&it);) {
        if (mcp_json_at(messages, 0) != it.value)
            cli_text_puts(&showing.out, "\n");
        add_heading(&showing, mcp_json_get(it.value, "role"));
        show_blocks(&showing, mcp_json_get(it.value, "content"));
        if (!showing_flush(&showing))
            break;
    }
    return showing_done(&showing);
}

int
cli_show_value(struct cli *cli, const mcp_json *value)
{
    struct showing showing;

    showing_init(&showing, cli);
    add_json(&showing, value, true);
    return showing_done(&showing);
}

size_t
cli_terminal_width(void)
{
    struct winsize size = {0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return WIDTH_DEFAULT;
    return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col;
}
