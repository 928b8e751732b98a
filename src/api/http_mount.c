/* http_mount.c - a server inside another HTTP server */
#include <string.h>

#include "api/http_service.h"
#include "base/mem.h"
#include "base/text.h"

struct mcp_http_mount {
    const mcp_allocator *mem;
    struct mcpi_mount *inside;
};

/* ---- the mount ----------------------------------------------------------- */

static int
mount_open(mcp_server *server, const mcp_http_options *given, mcp_http_mount *mount,
           mcp_error *err)
{
    struct mcpi_http_service_options opt = {.server = server, .shards = 1};
    int r;

    r = mcpi_http_settings_new(mount->mem, given, &opt.settings, err);
    if (r < 0)
        return r;
    r = mcpi_http_service_open(&opt, &mount->inside, err);
    mcpi_http_settings_unref(opt.settings);
    return r;
}

int
mcp_http_mount_new(mcp_server *server, const mcp_http_options *opt,
                   mcp_http_mount **ret_mount, mcp_error *err)
{
    mcp_http_mount *mount;
    int r;

    r = mcpi_links_guard(server, err);
    if (r < 0)
        return r;
    if (!ret_mount)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no place for the mount");
    mount = mcpi_alloc_zero(server->trunk.host.mem, sizeof(*mount));
    if (!mount)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    mount->mem = server->trunk.host.mem;
    r = mount_open(server, opt, mount, err);
    if (r < 0) {
        mcpi_free(mount->mem, mount);
        return r;
    }
    *ret_mount = mount;
    return 0;
}

void
mcp_http_mount_free(mcp_http_mount *mount)
{
    if (!mount || !mcpi_mount_is_ours(mount->inside))
        return;
    mcpi_mount_unref(mount->inside);
    mcpi_free(mount->mem, mount);
}

/* ---- requests ------------------------------------------------------------ */

/* Methods are told apart by case (RFC 9110, 9.1). */
static enum mcpi_http_method
method_find(const char *name)
{
    static const struct {
        const char *name;
        enum mcpi_http_method method;
    } rows[] = {{"POST", MCPI_HTTP_POST},
                {"GET", MCPI_HTTP_GET},
                {"DELETE", MCPI_HTTP_DELETE},
                {"OPTIONS", MCPI_HTTP_OPTIONS},
                {"HEAD", MCPI_HTTP_HEAD}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(name, rows[i].name) == 0)
            return rows[i].method;
    return MCPI_HTTP_OTHER;
}

static int
request_read(const mcp_http_request *given, struct mcpi_http_in *ret)
{
    mcp_http_request request;

    if (!given || mcpi_options_read(&request, sizeof(request), given) < 0)
        return MCP_E_INVAL;
    if (!request.method || !request.target ||
        (request.body_length > 0 && !request.body) ||
        (request.field_count > 0 && !request.fields))
        return MCP_E_INVAL;
    for (size_t i = 0; i < request.field_count; i++)
        if (!request.fields[i].name || !request.fields[i].value)
            return MCP_E_INVAL;
    *ret = (struct mcpi_http_in){.method = method_find(request.method),
                                 .method_name = request.method,
                                 .target = request.target,
                                 .path_len = strcspn(request.target, "?#"),
                                 .fields = request.fields,
                                 .field_count = request.field_count,
                                 .body = request.body,
                                 .body_len = request.body_length,
                                 .address = request.address,
                                 .secure = request.secure};
    return 0;
}

int
mcp_http_serve(mcp_http_mount *mount, const mcp_http_request *request,
               const mcp_http_turn_ops *ops, void *user, mcp_http_turn **ret_turn)
{
    struct mcpi_http_in in;
    int r;

    if (!mount || !ret_turn || !ops || ops->size < sizeof(*ops) || !ops->begin ||
        !ops->more || !ops->abort)
        return MCP_E_INVAL;
    if (!mcpi_mount_is_ours(mount->inside))
        return MCP_E_STATE;
    r = request_read(request, &in);
    if (r < 0)
        return r;
    return mcpi_mount_serve(mount->inside, &in, ops, user, ret_turn);
}

void
mcp_http_turn_pause(mcp_http_turn *turn, bool pause)
{
    if (turn && mcpi_mount_turn_is_ours(turn))
        mcpi_mount_turn_pause(turn, pause);
}

void
mcp_http_turn_free(mcp_http_turn *turn)
{
    if (turn && mcpi_mount_turn_is_ours(turn))
        mcpi_mount_turn_free(turn);
}
