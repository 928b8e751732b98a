/*
 * blocking_tool.c - a tool that blocks, and stops at once when its call is canceled
 *
 * It looks for a text in the files of a folder. It runs on a worker thread, so it may
 * block; it asks between two files whether it is still wanted; and what it holds is given
 * back whatever happens.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <mcp/server.h>

struct search_args {
    const char *folder, *text;
};

static const mcp_field search_fields[] = {
    MCP_FIELD(struct search_args, folder, MCP_STRING, MCP_REQUIRED, "where to look"),
    MCP_FIELD(struct search_args, text, MCP_STRING, MCP_REQUIRED, "what to look for"),
    {0},
};

static void
close_folder(void *folder)
{
    closedir(folder);
}

static bool
file_has(const char *folder, const char *name, const char *text)
{
    char line[4096];
    bool found = false;
    FILE *file;

    snprintf(line, sizeof(line), "%s/%s", folder, name);
    file = fopen(line, "re");
    while (file && !found && fgets(line, sizeof(line), file))
        found = strstr(line, text) != NULL;
    if (file)
        fclose(file);
    return found;
}

static int
search(mcp_request *req, mcp_result *out, void *user)
{
    struct search_args args;
    struct dirent *entry;
    double looked = 0;
    DIR *folder;
    int r;

    (void)user;
    r = mcp_request_bind(req, &args);
    if (r < 0)
        return r;
    folder = opendir(args.folder);
    if (!folder)
        return mcp_result_fail(out, "cannot open %s", args.folder);
    r = mcp_request_defer(req, close_folder, folder); /* on every way out */
    if (r < 0) {
        closedir(folder);
        return r;
    }
    while ((entry = readdir(folder)) != NULL) {
        r = mcp_request_progress(req, ++looked, 0, entry->d_name);
        if (r < 0)
            return r; /* MCP_E_CANCELED: nothing is answered any more */
        if (entry->d_type == DT_REG && file_has(args.folder, entry->d_name, args.text))
            mcp_result_text(out, entry->d_name);
    }
    return mcp_result_textf(out, "%g entries looked at", looked);
}

int
main(void)
{
    const mcp_tool tool = MCP_TOOL(.name = "search",
                                   .description = "Find files that contain a text",
                                   .fields = search_fields, .run = search,
                                   .limit_ms = 60000);
    mcp_server *server = NULL;
    mcp_error err;
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "search", .version = "1.0"), &server,
                       &err);
    if (r == 0)
        r = mcp_server_add_tool(server, &tool, &err);
    if (r == 0)
        r = mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "search: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
