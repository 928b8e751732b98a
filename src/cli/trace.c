/* trace.c - the wire on stderr (--trace), with secrets hidden */
#include "cli/trace.h"

#include <stdio.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/secret.h"

static const char *const arrows[] = {"???", "-->", "<--", "---"};
static const char *const names[] = {"unknown", "sent", "came", "event"};

/* As JSON if it is that, else as text. Secrets are hidden in either. */
static bool
hide(const char *text, size_t length, struct cli_text *into)
{
    mcp_doc *doc = NULL;

    if (mcp_doc_parse(text, length, NULL, &doc, NULL) < 0) {
        cli_secret_add(into, text, length);
        return false;
    }
    cli_secret_add_json(into, mcp_doc_root(doc));
    mcp_doc_free(doc);
    return true;
}

void
cli_trace_message(const char *text, size_t length, struct cli_text *into)
{
    struct cli_text hidden = {0};

    (void)hide(text, length, &hidden);
    cli_text_add_harmless(into, cli_text_string(&hidden), hidden.length, true);
    cli_text_done(&hidden);
}

/* {"trace":"sent","at":0.012,"message":{...}}, or "text" for what is no message. */
static void
trace_as_json(struct cli *cli, enum mcp_wire what, double at, const char *text,
              size_t length)
{
    struct cli_text line = {0}, hidden = {0};
    mcp_builder *b = mcp_builder_new(NULL);
    const char *quoted;

    if (what != MCP_WIRE_EVENT && hide(text, length, &hidden)) {
        cli_text_printf(&line,
                        "{\"trace\":\"%s\",\"at\":%.6f,\"message\":", names[what], at);
        cli_text_add_json(&line, cli_text_string(&hidden), hidden.length);
        cli_text_puts(&line, "}");
    } else {
        cli_text_done(&hidden);
        cli_trace_message(text, length, &hidden);
        mcp_builder_string_n(b, NULL, cli_text_string(&hidden), hidden.length);
        quoted = mcp_builder_text(b, NULL);
        cli_text_printf(&line, "{\"trace\":\"%s\",\"at\":%.6f,\"text\":%s}",
                        names[what], at, quoted ? quoted : "null");
    }
    cli_say_line(&cli->say, cli_text_string(&line), line.length);
    mcp_builder_free(b);
    cli_text_done(&hidden);
    cli_text_done(&line);
}

static void
on_wire(mcp_client *client, enum mcp_wire what, const char *text, size_t length,
        void *user)
{
    struct cli *cli = user;
    struct cli_text line = {0};
    double at = (double)cli_now_ns() / 1e9 - cli->trace_began;

    (void)client;
    what = what <= MCP_WIRE_EVENT ? what : (enum mcp_wire)0;
    if (cli->say.is_json) {
        trace_as_json(cli, what, at, text, length);
        return;
    }
    cli_text_printf(&line, "%8.3f %s ", at, arrows[what]);
    cli_trace_message(text, length, &line);
    cli_say_line(&cli->say, cli_text_string(&line), line.length);
    cli_text_done(&line);
}

void
cli_trace_offer(struct cli *cli, mcp_client_options *opt)
{
    if (!cli->options.trace)
        return;
    cli->trace_began = (double)cli_now_ns() / 1e9;
    opt->on_wire = on_wire;
}
