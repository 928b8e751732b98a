/* http_client_session_test.c - how calls of a legacy session end over HTTP */
#include "end/http_client_matrix.h"

int
main(void)
{
    return run_main(__FILE__, CELLS_SESSIONS);
}
