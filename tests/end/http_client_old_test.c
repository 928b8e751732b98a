/* http_client_old_test.c - how legacy calls without a session end over HTTP */
#include "end/http_client_matrix.h"

int
main(void)
{
    return run_main(__FILE__, CELL_STATELESS | CELL_OLD);
}
