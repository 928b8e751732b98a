/* state.c - where mcpctl keeps what lasts */
#include "cli/state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/text.h"

/* Each folder on the way to the file, if it is missing. What fails is seen when the file
 * is opened. */
static void
make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
}

char *
cli_state_path(const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct cli_text path = {0};

    if (state && state[0] == '/')
        cli_text_printf(&path, "%s/mcpctl/%s", state, name);
    else if (home && home[0] == '/')
        cli_text_printf(&path, "%s/.local/state/mcpctl/%s", home, name);
    if (path.failed || path.length == 0) {
        cli_text_done(&path);
        return NULL;
    }
    make_folders(path.data);
    return path.data;
}
